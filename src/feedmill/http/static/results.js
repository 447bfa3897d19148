// What results do beyond links and forms, which work without this: they come while somebody types, filters apply at once, and long
// lists of filters can be searched.
"use strict";
(() => {
  const wide = matchMedia("(min-width: 60rem)");
  const announcement = document.createElement("p");
  announcement.className = "hidden";
  announcement.setAttribute("role", "status");
  document.body.append(announcement);
  // one request at a time, so that only the newest answer is shown
  let request = null, searched = location.search;

  const filters = () => document.getElementById("filters");
  // older browsers have no popovers and do not know this selector
  const isSheet = () => "popover" in HTMLElement.prototype && Boolean(filters()?.matches(":popover-open"));
  const addressOf = (form) => `/?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value))}`.replace(/\?$/, "");

  const boxOf = (value) => [...document.querySelectorAll("#filters input[name=select]:not([type=hidden])")].find((one) => one.value === value);

  const dayOf = (days) => days.querySelector("input").name;
  const sameDays = (days) => [...document.querySelectorAll("#filters .days")].find((one) => dayOf(one) === dayOf(days));

  // --- results in place: an open sheet stays open, what has the focus keeps it and its place, and lists stay as they were
  const show = async (address, value, chosen) => {
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
      const place = boxOf(value)?.getBoundingClientRect().top, days = document.activeElement.closest(".days");
      const isHeld = isSheet();
      filters().querySelector("form").replaceWith(form);
      main.replaceWith(next.querySelector("main"));
      if (isHeld) hold(true);
      carry(next);
      history.pushState(null, "", address);
      searched = location.search;
      for (const field of form.querySelectorAll(".sift")) if (field.value) sift(field);
      label();
      const box = boxOf(value);
      box?.focus({ preventScroll: true });
      if (box) filters().scrollTop += box.getBoundingClientRect().top - place;
      else if (days) sameDays(days)?.querySelector("button").focus({ preventScroll: true });
      else if (chosen !== undefined) findNext(chosen).focus();
      announce();
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    }
  };

  // what follows a filter that was taken away: the next one, and behind the last one the results
  const findNext = (chosen) => (isSheet() ? filters().querySelector(".close") : document.querySelectorAll(".chosen a")[chosen] || document.querySelector("main"));

  const keepLists = (form) => {
    for (const before of document.querySelectorAll("#filters fieldset")) {
      const group = [...form.querySelectorAll("fieldset")].find((one) => nameOf(one) === nameOf(before));
      if (!group) continue;
      const [rest, range, field] = [".rest", ".range", ".sift"].map((part) => group.querySelector(part));
      if (rest && before.querySelector(".rest")?.open) rest.open = true;
      if (range && before.querySelector(".range")?.open) range.open = true;
      if (field) field.value = before.querySelector(".sift")?.value || "";
    }
  };

  // the boxes are applied already, so the button says how many results it leads to
  const label = () => {
    const button = document.querySelector("#filters .apply button");
    if (button?.dataset.counted) button.textContent = button.dataset.counted;
  };

  const nameOf = (group) => group.querySelector("legend").textContent;

  // --- what lies outside of the results: the search box repeats what is selected, the sign-in leads back to the results
  const carry = (next) => {
    const form = document.querySelector("search form");
    form.querySelectorAll("input[type=hidden]").forEach((one) => one.remove());
    form.append(...next.querySelectorAll("search form input[type=hidden]"));
    document.title = next.title;
    document.head.querySelector("link[rel=alternate]")?.remove();
    document.head.append(...next.head.querySelectorAll("link[rel=alternate]"));
    // signing in and out leads back to these results; the session may have ended, or begun in another tab
    const [account, other] = [document, next].map((one) => one.querySelector(".account"));
    if (account && other && !account.contains(document.activeElement)) account.replaceWith(other);
  };

  const announce = () => {
    announcement.textContent = document.querySelector("main h1")?.textContent.trim() || "";
  };

  // --- a list that is searched: values that do not hold the text are left out
  const sift = (field) => {
    const group = field.closest("fieldset"), wanted = field.value.trim().toLowerCase(), rest = group.querySelector(".rest");
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
    if (!panel?.contains(event.target)) return;
    event.preventDefault();
    // boxes are applied already; days are not, because a browser reports each digit of a year
    if ([...panel.querySelectorAll("input[type=date]")].some((one) => one.value !== one.defaultValue)) show(addressOf(event.target));
    if (!isSheet() || event.submitter?.closest(".days")) return;
    panel.hidePopover();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".chosen a, .filters .top a");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    show(link.href, undefined, [...document.querySelectorAll(".chosen a")].indexOf(link));
  });

  // --- the sheet of filters is a dialog: until it is closed, nothing else has the focus or is read out
  const hold = (isHeld) => {
    for (const one of document.querySelectorAll(".skip, header, .notice, main, footer")) one.inert = isHeld;
    filters().role = isHeld ? "dialog" : "complementary";
    filters().ariaModal = isHeld ? "true" : null;
  };
  // These events do not bubble. A browser gives the focus back before the second one, if the button is still the same.
  document.addEventListener("beforetoggle", (event) => {
    if (event.newState === "closed" && event.target === filters()) hold(false);
  }, true);
  document.addEventListener("toggle", (event) => {
    const panel = filters(), isOpen = event.newState === "open";
    if (event.target !== panel) return;
    if (isOpen) hold(true);
    const isLost = document.activeElement === document.body || panel.contains(document.activeElement) !== isOpen;
    if (isLost) (isOpen ? panel.querySelector(".close") : document.querySelector(".bar .open")).focus({ focusVisible: false });
  }, true);

  // --- back from a copy or from similar documents: the link that led there has the focus, and stands where it stood
  const places = (() => {
    try {
      return sessionStorage;
    } catch {
      return {};
    }
  })();
  document.addEventListener("click", (event) => {
    const links = [...(event.target.closest?.(".also")?.querySelectorAll("a") || [])], at = links.findIndex((one) => one.contains(event.target));
    if (at >= 0) places[links.at(-1).id] = `${at} ${links[at].getBoundingClientRect().top}`;
  });
  addEventListener("load", () => {
    const id = location.hash.slice(1), [at, top] = (places[id] || "").split(" ");
    const link = top && document.getElementById(id)?.parentElement.querySelectorAll("a")[at];
    if (!link) return;
    history.replaceState(null, "", location.search);
    link.focus({ preventScroll: true });
    scrollBy(0, link.getBoundingClientRect().top - top);
  });

  // a link within the page is no other search
  addEventListener("popstate", () => {
    if (location.search !== searched) location.reload();
  });
  wide.addEventListener("change", () => {
    if (isSheet()) filters().hidePopover();
  });
  document.documentElement.classList.add("scripted");
  label();

  // --- results while typing. Requests for words that are half typed say so: they are no queries of a person. A pause makes one of them.
  const TYPED_MS = 150, PAUSE_MS = 1000, QUICK_MS = 400, PATIENCE_MS = 1500, MAX_SLOW = 2;
  const box = document.getElementById("q"), form = box.form;
  const [loading] = performance.getEntriesByType("navigation");
  let slow = 0, began = 0, typed = 0, pause = 0, hasEntry = false;

  const end = () => delete form.dataset.typing;
  if (loading?.responseStart - loading?.requestStart > QUICK_MS) end();
  // somebody may begin to save data at any time
  const saves = () => navigator.connection?.saveData || matchMedia("(prefers-reduced-data: reduce)").matches;
  const types = () => "typing" in form.dataset && !saves();
  const isEnough = (text) => (text.length > 1 || text > "\u2e7f") && text.length <= 200;

  // a server that is busy, or slow twice in a row, gets no more such requests from this page
  const measure = (isAnswered) => {
    if (performance.now() - began > QUICK_MS) slow += 1;
    else if (isAnswered) slow = 0;
    if (slow >= MAX_SLOW) end();
  };

  const ask = async (isQuery) => {
    // at its end the last word may go on
    const address = addressOf(form) + (/\S$/.test(box.value) && box.selectionEnd === box.value.length ? "&prefix=1" : "");
    if (request?.isTyped) measure(false);
    request?.abort();
    const own = (request = Object.assign(new AbortController(), { isTyped: true }));
    began = performance.now();
    const patience = setTimeout(() => stop(own), PATIENCE_MS);
    try {
      // a copy of it in the browser would be shown as the page of this address later
      const answer = await fetch(address, { signal: own.signal, cache: "no-store", headers: { Accept: "text/html", ...(!isQuery && { "X-Feedmill-Typing": "1" }) } });
      if (!answer.ok || answer.redirected) return stop(own);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (request !== own) return;
      measure(true);
      request = null;
      // a word that is half typed may find nothing
      if (isQuery || !next.querySelector(".nothing")) place(next, address);
      if (isQuery) settle();
    } catch (error) {
      if (error.name !== "AbortError") stop(own);
    } finally {
      clearTimeout(patience);
    }
  };

  const stop = (own) => {
    end();
    own.abort();
  };

  // the box stays as it is, with its focus and its caret; so do results in which somebody is already
  const place = (next, address) => {
    const [shown, found] = [document, next].map((one) => one.querySelector(".found") || one.querySelector("main"));
    if (shown.contains(document.activeElement)) return;
    if (describe(shown) !== describe(found)) {
      if (!document.querySelector(".signs")) shown.before(next.querySelector(".signs"));
      shown.replaceWith(found);
      // once the box is empty it stays where it is, so that nobody loses it
      if (box.value.trim()) document.body.className = next.body.className;
      label();
    }
    carry(next);
    if (address.slice(1) === location.search) return;
    history[hasEntry ? "replaceState" : "pushState"](null, "", address);
    hasEntry = true;
    searched = location.search;
  };

  // what a person sees of results, without how long they took
  const describe = (results) => {
    const copy = results.cloneNode(true);
    copy.querySelector(".count span")?.remove();
    return copy.outerHTML;
  };

  const settle = () => {
    hasEntry = false;
    announce();
  };

  const type = () => {
    const text = box.value.trim();
    clearTimeout(typed);
    clearTimeout(pause);
    const isEmpty = !text && document.querySelector(".found");
    if (!types() || !(isEmpty || isEnough(text))) request?.isTyped && request.abort();
    else typed = setTimeout(() => ask(false), TYPED_MS);
    // nothing stays that belongs to what is in the box no more
    if (types() && (isEmpty || text) && text.length <= 200) pause = setTimeout(() => types() && ask(true), PAUSE_MS);
  };

  // search.js tells when words were typed, and not letters of which an input method composes them
  box.addEventListener("typed", type);
  form.addEventListener("submit", (event) => {
    clearTimeout(typed);
    clearTimeout(pause);
    request?.abort();
    const shown = new URLSearchParams(location.search);
    if (!hasEntry && !(shown.has("prefix") && shown.get("q") === box.value)) return;
    // the page takes the place of what was shown while typing
    event.preventDefault();
    location.replace(addressOf(form));
  });
})();
