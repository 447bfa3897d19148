// What the filters of the search page do beyond a form, which works without this: they apply at once, and long lists can be searched.
"use strict";
(() => {
  const wide = matchMedia("(min-width: 60rem)");
  const announcement = document.createElement("p");
  announcement.className = "hidden";
  announcement.setAttribute("role", "status");
  document.body.append(announcement);
  let request = null, searched = location.search;

  const filters = () => document.getElementById("filters");
  // older browsers have no popovers and do not know this selector
  const isSheet = () => "popover" in HTMLElement.prototype && Boolean(filters()?.matches(":popover-open"));
  const addressOf = (form) => `/?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value))}`;

  const boxOf = (value) => [...document.querySelectorAll("#filters input[name=select]:not([type=hidden])")].find((one) => one.value === value);

  // --- results in place: an open sheet stays open, what has the focus keeps it and its place, and lists stay as they were
  const show = async (address, value) => {
    request?.abort();
    request = new AbortController();
    const main = document.querySelector("main");
    main.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { signal: request.signal, headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return location.assign(address);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const form = next.querySelector("#filters form");
      if (!form) return location.assign(address);
      keepLists(form);
      const place = boxOf(value)?.getBoundingClientRect().top;
      filters().querySelector("form").replaceWith(form);
      main.replaceWith(next.querySelector("main"));
      // the form of the search box repeats what is selected
      repeatSelected(next);
      document.title = next.title;
      history.pushState(null, "", address);
      searched = location.search;
      for (const field of form.querySelectorAll(".sift")) if (field.value) sift(field);
      label();
      const box = boxOf(value);
      box?.focus({ preventScroll: true });
      if (box) filters().scrollTop += box.getBoundingClientRect().top - place;
      announcement.textContent = document.querySelector("main h1")?.textContent.trim() || "";
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    }
  };

  const keepLists = (form) => {
    let last = null;
    for (const before of document.querySelectorAll("#filters fieldset")) {
      let group = [...form.querySelectorAll("fieldset")].find((one) => nameOf(one) === nameOf(before));
      if (!group) {
        // it narrows nothing now; it stays, so that the boxes under the pointer do
        group = before.cloneNode(true);
        group.disabled = true;
        group.querySelectorAll(".number").forEach((one) => one.remove());
        if (last) last.after(group);
        else form.querySelector(".facets").prepend(group);
      }
      last = group;
      const [rest, field] = [group.querySelector("details"), group.querySelector(".sift")];
      if (rest && before.querySelector("details")?.open) rest.open = true;
      if (field) field.value = before.querySelector(".sift")?.value || "";
    }
  };

  // the boxes are applied already, so the button says how many results it leads to
  const label = () => {
    const button = document.querySelector("#filters .apply button");
    if (button?.dataset.counted) button.textContent = button.dataset.counted;
  };

  const nameOf = (group) => group.querySelector("legend").textContent;

  const repeatSelected = (next) => {
    const form = document.querySelector("search form");
    form.querySelectorAll("input[type=hidden]").forEach((one) => one.remove());
    form.append(...next.querySelectorAll("search form input[type=hidden]"));
  };

  // --- a list that is searched: values that do not hold the text are left out
  const sift = (field) => {
    const group = field.closest("fieldset"), wanted = field.value.trim().toLowerCase(), rest = group.querySelector("details");
    let count = 0;
    for (const item of group.querySelectorAll("li")) {
      item.hidden = !item.querySelector(".value").textContent.toLowerCase().includes(wanted);
      count += item.hidden ? 0 : 1;
    }
    if (rest && wanted) rest.open = true;
    const none = group.querySelector(".none");
    none.textContent = count ? "" : none.dataset.text;
  };

  document.addEventListener("input", (event) => {
    if (event.target.matches?.("#filters .sift")) sift(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches?.("#filters .sift")) event.preventDefault();
  });
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches?.("#filters input[type=checkbox]")) show(addressOf(box.form), box.value);
  });
  document.addEventListener("submit", (event) => {
    const panel = filters();
    if (!panel?.contains(event.target) || !isSheet()) return;
    event.preventDefault();
    panel.hidePopover();
    document.querySelector(".filtered .open").focus({ focusVisible: false });
  });
  // these events do not bubble
  document.addEventListener("toggle", (event) => {
    const opened = event.target, panel = filters();
    if (event.newState !== "open" || !panel?.contains(opened)) return;
    if (opened === panel) panel.querySelector(".close").focus({ focusVisible: false });
    // "3 more" disappears with its focus, unless something else opened the list
    else if ([document.body, opened.querySelector("summary")].includes(document.activeElement)) opened.querySelector("input").focus();
  }, true);
  // a link within the page is no other search
  addEventListener("popstate", () => {
    if (location.search !== searched) location.reload();
  });
  wide.addEventListener("change", () => {
    if (isSheet()) filters().hidePopover();
  });
  document.documentElement.classList.add("scripted");
  label();
})();
