// What the search page does beyond links and forms, which work without it: suggestions while typing, keys, and reports of clicks.
"use strict";
(() => {
  const box = document.getElementById("q");
  if (!box) return;
  const form = box.form;

  // --- suggestions: a combobox with a list, as the ARIA patterns describe it
  const list = document.createElement("ul");
  list.id = "suggestions";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", box.dataset.suggestions);
  box.parentElement.append(list);
  const announcement = document.createElement("p");
  announcement.className = "hidden";
  announcement.setAttribute("role", "status");
  form.append(announcement);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]]) box.setAttribute(name, value);

  let typed = box.value, chosen = -1, timer = 0, request = null;
  const known = new Map();

  const close = () => {
    list.hidden = true;
    chosen = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  };

  const mark = (place) => {
    chosen = place;
    [...list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    if (place < 0) box.removeAttribute("aria-activedescendant");
    else box.setAttribute("aria-activedescendant", list.children[place].id);
    box.value = place < 0 ? typed : list.children[place].textContent;
  };

  const show = (texts) => {
    list.replaceChildren(...texts.map((text, place) => {
      const option = document.createElement("li");
      option.id = `suggestion${place}`;
      option.dir = "auto";
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const same = text.toLowerCase().startsWith(typed.toLowerCase()) ? typed.length : 0;
      const rest = document.createElement("b");
      rest.textContent = text.slice(same);
      option.append(text.slice(0, same), rest);
      return option;
    }));
    if (!texts.length || document.activeElement !== box) return close();
    list.hidden = false;
    chosen = -1;
    box.setAttribute("aria-expanded", "true");
    announcement.textContent = box.dataset.counts.split("|")[texts.length - 1];
  };

  const ask = async () => {
    const text = box.value;
    typed = text;
    request?.abort();
    if (!text.trim() || text.length > 200) return close();
    if (known.has(text)) return show(known.get(text));
    request = new AbortController();
    try {
      const site = form.elements.site ? `&site=${encodeURIComponent(form.elements.site.value)}` : "";
      const client = form.elements.client ? `&client=${encodeURIComponent(form.elements.client.value)}` : "";
      // results that come while typing are to be seen below the list
      const answer = await fetch(`/api/v1/suggest?num=${"typing" in form.dataset ? 5 : 8}&q=${encodeURIComponent(text)}${site}${client}`, { signal: request.signal, headers: { Accept: "application/json" } });
      if (!answer.ok) return close();
      const { suggestions } = await answer.json();
      const others = suggestions.filter((one) => one !== text.trim().toLowerCase());
      known.set(text, others);
      if (box.value === text) show(others);
    } catch {
      // a suggestion that does not come is no error for anybody
    }
  };

  const type = () => {
    // at once, not when suggestions are requested: Escape restores what was typed last
    typed = box.value;
    chosen = -1;
    clearTimeout(timer);
    timer = setTimeout(ask, 80);
    // for the results, which come while typing too
    box.dispatchEvent(new Event("typed"));
  };
  // An input method composes words of several letters, which are no words yet. A Korean syllable is what it will be.
  box.addEventListener("input", (event) => {
    if (!event.isComposing || /^\p{Script=Hangul}+$/u.test(event.data ?? "")) type();
  });
  box.addEventListener("compositionend", type);
  box.addEventListener("blur", () => setTimeout(close, 120));
  box.addEventListener("keydown", (event) => {
    // keys of an input method choose among its own candidates
    if (event.isComposing) return;
    const size = list.hidden ? 0 : list.children.length;
    if (event.key === "Escape") {
      // a browser would clear the box, so that what Escape does would hang on how fast suggestions come
      event.preventDefault();
      clearTimeout(timer);
      request?.abort();
      if (size) mark(-1);
      close();
    } else if (event.key === "ArrowDown" && size) {
      event.preventDefault();
      mark(chosen + 1 < size ? chosen + 1 : -1);
    } else if (event.key === "ArrowUp" && size) {
      event.preventDefault();
      mark(chosen < 0 ? size - 1 : chosen - 1);
    } else if (event.key === "ArrowDown" && box.value.trim() && !event.altKey) {
      ask();
    }
  });
  list.addEventListener("pointerdown", (event) => {
    const option = event.target.closest("li");
    if (!option) return;
    event.preventDefault();
    box.value = option.textContent;
    form.requestSubmit();
  });

  // --- a notice, such as that of signing out, is announced: what a page holds when it comes is not
  const notice = document.querySelector(".notice");
  if (notice) setTimeout(() => { announcement.textContent = notice.textContent.trim(); }, 300);

  // --- keys: "/" goes to the search box, up and down walk through the results
  const listLinks = () => [...document.querySelectorAll(".results h2 a")];
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    const types = at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    const links = listLinks();
    if (event.ctrlKey || event.metaKey || event.altKey || types) return;
    if (event.key === "/") {
      event.preventDefault();
      box.focus();
      box.select();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && links.includes(at)) {
      event.preventDefault();
      links[links.indexOf(at) + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    }
  });

  // --- clicks: which result was opened for which query
  const report = (event) => {
    const link = event.target.closest(".results :is(h2, .alike) a");
    if (!link || (event.type === "auxclick" && event.button !== 1)) return;
    // of a corrected query the correction: its results were shown, and the place is one among them
    const results = document.querySelector(".results"), items = [...document.querySelectorAll(".results > li")];
    const fields = new URLSearchParams({ ct: "c", url: link.href, q: results.dataset.query, r: results.start + items.indexOf(link.closest(".results > li")) });
    for (const name of ["site", "client"]) if (form.elements[name]) fields.set(name, form.elements[name].value);
    navigator.sendBeacon?.(`/click?${fields}`);
  };
  document.addEventListener("click", report);
  document.addEventListener("auxclick", report);
})();
