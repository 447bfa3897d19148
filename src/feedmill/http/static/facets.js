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
  const addressOf = (form) => `/?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value))}`;

  // --- results in place: what has the focus keeps it, and what was open stays open
  const show = async (address, focused) => {
    request?.abort();
    request = new AbortController();
    const found = document.querySelector(".found");
    found.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { signal: request.signal, headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return location.assign(address);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const shown = next.querySelector(".found");
      if (!shown) return location.assign(address);
      const open = [...found.querySelectorAll("fieldset")].filter((one) => one.querySelector("details")?.open).map(nameOf);
      const sifted = new Map([...found.querySelectorAll("fieldset")].map((one) => [nameOf(one), one.querySelector(".sift")?.value]));
      const scrolled = filters()?.scrollTop;
      for (const group of shown.querySelectorAll("fieldset")) {
        if (open.includes(nameOf(group)) && group.querySelector("details")) group.querySelector("details").open = true;
        if (sifted.get(nameOf(group)) && group.querySelector(".sift")) group.querySelector(".sift").value = sifted.get(nameOf(group));
      }
      found.replaceWith(shown);
      // the form of the search box repeats what is selected
      repeatSelected(next);
      document.title = next.title;
      history.pushState(null, "", address);
      searched = location.search;
      for (const field of document.querySelectorAll("#filters .sift")) if (field.value) sift(field);
      if (filters()) filters().scrollTop = scrolled;
      [...document.querySelectorAll("#filters input")].find((one) => one.name === "select" && one.value === focused)?.focus({ preventScroll: true });
      announcement.textContent = document.querySelector("main h1")?.textContent.trim() || "";
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    }
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
    if (wide.matches && box.matches?.("#filters input[type=checkbox]")) show(addressOf(box.form), box.value);
  });
  document.addEventListener("submit", (event) => {
    const panel = filters();
    if (!panel?.contains(event.target)) return;
    event.preventDefault();
    const address = addressOf(event.target);
    if (panel.matches(":popover-open")) panel.hidePopover();
    show(address);
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
    if (filters()?.matches(":popover-open")) filters().hidePopover();
  });
  document.documentElement.classList.add("scripted");
})();
