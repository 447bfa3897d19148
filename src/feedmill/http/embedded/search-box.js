// <feedmill-search>: a search box with its results for pages of other sites. How to use it: the manual, "Search from another site".
"use strict";
(() => {
  if (customElements.get("feedmill-search")) return;
  const script = document.currentScript;
  const home = script ? new URL(script.src).origin : location.origin;

  // in English; a box in another language reads those of its language from the server
  const TEXTS = {
    label: "Search", button: "Search", suggestions: "Suggestions", results: "Search results", busy: "Searching …", none: "Nothing was found for {query}",
    many: { one: "{total} result", other: "{total} results" }, about: "Results {first}–{last}", more: "More results", all: "All results", meant: "Did you mean {query}?",
    offered: { one: "{count} suggestion", other: "{count} suggestions" }, failed: "The search does not answer now. Try again later.", refused: "You may not search here. Sign in and try again.",
    opens: "opens in a new window", without: "Without: {words}",
  };

  const read = new Map();
  const readTexts = (server, language) => {
    const url = `${server}/search-box.json?${new URLSearchParams({ lang: language })}`;
    if (!read.has(url)) {
      const reading = fetch(url, { credentials: "omit" }).then((answer) => (answer.ok ? answer.json() : Promise.reject(answer.status)));
      // without an answer the box stays in English, and asks again for the next one
      read.set(url, reading.catch(() => (read.delete(url), {})));
    }
    return read.get(url);
  };

  const STYLE = `
    :host { display: block; color: var(--feedmill-color, inherit); font: var(--feedmill-font, inherit);
      --_background: var(--feedmill-field, Canvas); --_ink: var(--feedmill-field-color, CanvasText); --_accent: var(--feedmill-accent, #1f5f5b); --_on-accent: var(--feedmill-on-accent, #fff);
      --_link: var(--feedmill-link, LinkText); --_line: var(--feedmill-line, color-mix(in srgb, currentColor 55%, transparent));
      --_faint: var(--feedmill-faint, color-mix(in srgb, currentColor 78%, transparent)); --_mark: var(--feedmill-mark, #fdeebb);
      --_on-mark: var(--feedmill-on-mark, #1d2526); --_radius: var(--feedmill-radius, .4rem); }
    @supports (color: light-dark(red, red)) { :host { --_accent: var(--feedmill-accent, light-dark(#1f5f5b, #57b6ae));
      --_on-accent: var(--feedmill-on-accent, light-dark(#fff, #0d1414)); } }
    :host([hidden]) { display: none; }
    *, ::before { box-sizing: border-box; }
    form { display: flex; gap: .5rem; position: relative; }
    .field { flex: 1; position: relative; min-width: 0; }
    .hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    input, button { font: inherit; border-radius: var(--_radius); padding: .5em .75em; }
    input { width: 100%; color: var(--_ink); background: var(--_background); border: 1px solid var(--_line); }
    button { border: 1px solid var(--_accent); background: var(--_accent); color: var(--_on-accent); cursor: pointer; }
    .plain { background: none; color: var(--_link); border-color: var(--_line); }
    :focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; }
    ul, ol { list-style: none; margin: 0; padding: 0; }
    [role="listbox"] { position: absolute; inset-block-start: calc(100% + .2rem); inset-inline: 0; z-index: 10; max-height: 22em; overflow: auto;
      color: var(--_ink); background: var(--_background); border: 1px solid var(--_line); border-radius: var(--_radius); box-shadow: 0 6px 24px rgb(0 0 0 / .2); }
    [role="option"] { padding: .4em .75em; cursor: pointer; overflow-wrap: anywhere; }
    [role="option"]:hover, [aria-selected="true"] { background: var(--_accent); color: var(--_on-accent); }
    .count, .trouble, .meant { margin: .8em 0 0; }
    .count { color: var(--_faint); text-align: -webkit-match-parent; text-align: match-parent; }
    ol li { margin-block-start: 1em; overflow-wrap: anywhere; }
    a { color: var(--_link); }
    .title { font-weight: 600; }
    .url { color: var(--_faint); font-size: .9em; }
    .snippet, .missing { margin: .2em 0 0; }
    .missing { color: var(--_faint); font-size: .9em; }
    time::before { content: " · "; }
    .notes:empty { display: none; }
    .notes { margin-block-start: .8em; padding-inline-start: .75em; border-inline-start: 3px solid var(--_accent); }
    mark { background: var(--_mark); color: var(--_on-mark); }
    .steps { display: flex; flex-wrap: wrap; gap: 1em; align-items: center; margin-block-start: 1em; }
    [hidden] { display: none !important; }
    @media (forced-colors: active) { [aria-selected="true"] { outline: 2px solid Highlight; } }`;

  let sheet = null;
  const readSheet = () => {
    if (!sheet) {
      // no <style> element, which the policy of the page may forbid
      sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
    }
    return sheet;
  };

  const make = (name, given = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  // A URL that a browser may open without harm. The server checks it too, on its own pages.
  const isSafe = (url) => /^(https?|ftps?|smb):\/\//i.test(url);

  class FeedmillSearch extends HTMLElement {
    static observedAttributes = ["label", "placeholder", "lang"];
    // a token of the server for this page's user; a property, so that it stands in no HTML
    token = "";
    // texts in place of those of the language
    texts = {};
    #known = new Map();
    #typed = "";
    #chosen = -1;
    #timer = 0;
    #suggesting = null;
    #searching = null;
    #query = "";
    #shown = 0;
    #texts = TEXTS;
    #reading = null;

    connectedCallback() {
      if (!this.shadowRoot) this.#build();
      this.#translate();
      const query = this.getAttribute("q");
      if (query) this.search(query);
    }

    disconnectedCallback() {
      clearTimeout(this.#timer);
      this.#suggesting?.abort();
      this.#searching?.abort();
    }

    attributeChangedCallback() {
      if (this.shadowRoot) this.#translate();
    }

    // Searches for a text and shows the results, as if it had been typed.
    search(query) {
      this.input.value = this.#typed = query;
      return this.#search(query, 0);
    }

    focus(options) {
      this.input?.focus(options);
    }

    get server() {
      return (this.getAttribute("server") || home).replace(/\/+$/, "");
    }

    #build() {
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [readSheet()];
      this.input = make("input", { part: "input", id: "q", type: "search", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "suggestions", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "2000", dir: "auto", enterkeyhint: "search" });
      this.caption = make("label", { part: "label", class: "hidden", for: "q" });
      this.list = make("ul", { part: "suggestions", id: "suggestions", role: "listbox", hidden: "" });
      this.button = make("button", { part: "button", type: "submit" });
      this.form = make("form", { part: "form", role: "search" }, make("div", { class: "field" }, this.caption, this.input, this.list), this.button);
      this.status = make("p", { part: "status", class: "count", role: "status", hidden: "", dir: "auto" });
      this.spoken = make("p", { class: "hidden", role: "status" });
      this.trouble = make("p", { part: "error", class: "trouble", role: "alert", hidden: "" });
      this.notes = make("ul", { part: "warnings", class: "notes" });
      this.meant = make("p", { class: "meant", hidden: "" });
      this.results = make("ol", { part: "results" });
      this.more = make("button", { part: "more", type: "button", class: "plain" });
      this.all = make("a", { part: "all", rel: "noopener" });
      this.steps = make("div", { class: "steps", hidden: "" }, this.more, this.all);
      this.found = make("section", { part: "found", hidden: "" }, this.notes, this.meant, this.results, this.steps);
      root.append(this.form, this.spoken, this.status, this.trouble, this.found);

      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.search(this.input.value);
      });
      this.input.addEventListener("input", () => {
        this.#typed = this.input.value;
        this.#chosen = -1;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#suggest(), 120);
      });
      this.input.addEventListener("keydown", (event) => this.#press(event));
      this.input.addEventListener("blur", () => this.#close());
      // before the box loses the focus, which would close the list
      this.list.addEventListener("pointerdown", (event) => event.preventDefault());
      this.list.addEventListener("click", (event) => {
        const option = event.target.closest("li");
        if (option) this.search(option.textContent);
      });
      this.more.addEventListener("click", () => this.#search(this.#query, this.#shown));
    }

    // Names the parts in the language of the box, at first in the one it had, until the texts are there.
    #translate() {
      const language = this.#language;
      const reading = (this.#reading = /^en\b/i.test(language) ? null : readTexts(this.server, language));
      this.#name();
      const take = (texts) => {
        if (this.#reading !== reading) return;
        this.#texts = { ...TEXTS, ...texts };
        this.#name();
      };
      if (reading) reading.then(take);
      else take(TEXTS);
    }

    #name() {
      this.input.placeholder = this.getAttribute("placeholder") || "";
      this.caption.textContent = this.getAttribute("label") || this.#text("label");
      this.button.textContent = this.#text("button");
      this.list.setAttribute("aria-label", this.#text("suggestions"));
      this.found.setAttribute("aria-label", this.#text("results"));
      this.more.textContent = this.#text("more");
    }

    get #language() {
      const language = this.closest("[lang]")?.lang || navigator.language || "en";
      // numbers and days are written in it, which fails for what is no language
      return /^[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?$/i.test(language) ? language : "en";
    }

    #text(name, values = {}, count = 0) {
      const found = this.texts[name] ?? this.#texts[name];
      const text = typeof found === "string" ? found : found[new Intl.PluralRules(this.#language).select(count)] ?? found.other;
      return text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
    }

    async #ask(path, parameters, signal) {
      for (const name of ["site", "client"]) if (this.getAttribute(name)) parameters[name] = this.getAttribute(name);
      const headers = { Accept: "application/json" };
      if (this.token) headers.Authorization = `Bearer ${this.token}`;
      const credentials = this.getAttribute("credentials") === "include" ? "include" : "omit";
      const answer = await fetch(`${this.server}/api/v1/${path}?${new URLSearchParams(parameters)}`, { signal, headers, credentials, mode: "cors" });
      if (!answer.ok) throw Object.assign(new Error(`${path}: ${answer.status}`), { status: answer.status });
      return answer.json();
    }

    // --- suggestions: a combobox with a list, as the ARIA patterns describe it

    async #suggest() {
      const text = this.input.value;
      this.#suggesting?.abort();
      if (this.getAttribute("suggest") === "off" || !text.trim() || text.length > 200) return this.#close();
      // the page may change the user or the collection meanwhile
      const key = [this.token, this.getAttribute("site"), this.getAttribute("client"), text].join();
      if (this.#known.has(key)) return this.#offer(this.#known.get(key));
      this.#suggesting = new AbortController();
      try {
        const { suggestions } = await this.#ask("suggest", { q: text, num: "8" }, this.#suggesting.signal);
        const others = suggestions.filter((one) => one.toLowerCase() !== text.trim().toLowerCase());
        if (this.#known.size > 100) this.#known.clear();
        this.#known.set(key, others);
        if (this.input.value === text) this.#offer(others);
      } catch {
        // a suggestion that does not come is no error for anybody
      }
    }

    #offer(texts) {
      this.list.replaceChildren(...texts.map((text, place) => make("li", { part: "suggestion", id: `suggestion${place}`, role: "option", "aria-selected": "false", dir: "auto" }, text)));
      if (!texts.length || this.shadowRoot.activeElement !== this.input) return this.#close();
      this.#chosen = -1;
      this.list.hidden = false;
      this.input.setAttribute("aria-expanded", "true");
      this.spoken.textContent = this.#text("offered", { count: texts.length.toLocaleString(this.#language) }, texts.length);
    }

    #close() {
      this.list.hidden = true;
      this.#chosen = -1;
      this.spoken.textContent = "";
      this.input.setAttribute("aria-expanded", "false");
      this.input.removeAttribute("aria-activedescendant");
    }

    #choose(place) {
      this.#chosen = place;
      [...this.list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
      const option = this.list.children[place];
      if (option) this.input.setAttribute("aria-activedescendant", option.id);
      else this.input.removeAttribute("aria-activedescendant");
      option?.scrollIntoView({ block: "nearest" });
      this.input.value = option ? option.textContent : this.#typed;
    }

    #press(event) {
      const size = this.list.hidden ? 0 : this.list.children.length;
      if (event.isComposing) return;
      if (event.key === "Escape") {
        // a browser would clear the box
        event.preventDefault();
        clearTimeout(this.#timer);
        this.#suggesting?.abort();
        if (size) this.#choose(-1);
        else this.clear();
        this.#close();
      } else if (event.key === "ArrowDown") {
        event.preventDefault();
        if (size) this.#choose(this.#chosen + 1 < size ? this.#chosen + 1 : -1);
        else this.#suggest();
      } else if (event.key === "ArrowUp" && size) {
        event.preventDefault();
        this.#choose(this.#chosen < 0 ? size - 1 : this.#chosen - 1);
      }
    }

    // --- results

    // Removes the results, and what was typed.
    clear() {
      this.#searching?.abort();
      this.input.value = this.#typed = this.#query = "";
      for (const part of [this.found, this.status, this.trouble]) part.hidden = true;
    }

    async #search(query, start) {
      clearTimeout(this.#timer);
      this.#suggesting?.abort();
      this.#searching?.abort();
      this.#close();
      if (!query.trim()) return this.clear();
      const searching = (this.#searching = new AbortController());
      this.#tell("feedmill-search", { query, start });
      this.trouble.hidden = true;
      this.status.hidden = false;
      this.status.textContent = this.#text("busy");
      try {
        const num = this.getAttribute("num") || "10";
        const page = await this.#ask("search", { q: query, start, num, match: this.getAttribute("match") || "auto" }, searching.signal);
        await this.#reading;
        if (searching.signal.aborted) return;
        this.#query = query;
        this.#show(page, start);
        this.#tell("feedmill-results", { query, start, total: page.total });
      } catch (error) {
        if (searching.signal.aborted) return;
        this.found.hidden = !start;
        this.status.hidden = true;
        this.trouble.hidden = false;
        this.trouble.textContent = this.#text(error.status === 401 || error.status === 403 ? "refused" : "failed");
        this.#tell("feedmill-error", { query, status: error.status ?? 0 });
      }
    }

    #tell(name, detail) {
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
    }

    #show(page, start) {
      const items = page.results.map((result) => this.#item(result));
      const form = !page.total ? "none" : page.exact ? "many" : "about";
      const [total, first, last] = [page.total, 1, start + items.length].map((number) => number.toLocaleString(this.#language));
      this.status.textContent = this.#text(form, { query: page.query, total, first, last }, page.total);
      if (start) this.results.append(...items);
      else this.results.replaceChildren(...items);
      this.#shown = start + items.length;
      this.notes.replaceChildren(...page.warnings.map((text) => make("li", { dir: "auto" }, text)));
      this.meant.hidden = !page.spelling || start > 0;
      if (!this.meant.hidden) this.#propose(page.spelling);
      this.steps.hidden = !page.total;
      this.more.hidden = !items.length || this.#shown >= page.total;
      this.all.textContent = this.#text("all");
      this.all.href = `${this.server}/?${new URLSearchParams({ q: page.query })}`;
      this.found.hidden = false;
      // whoever asked for more goes on at the first of them
      if (start) items[0]?.querySelector("a")?.focus();
    }

    #propose(query) {
      const button = make("button", { part: "spelling", type: "button", class: "plain" }, this.#text("meant", { query }));
      button.addEventListener("click", () => {
        this.search(query);
        this.input.focus();
      });
      this.meant.replaceChildren(button);
    }

    #item(result) {
      const url = result.display_url || result.url;
      const title = make("bdi", {}, result.title?.trim() || url);
      const link = isSafe(url) ? make("a", { part: "title", class: "title", href: url, rel: "noopener" }, title) : make("span", { part: "title", class: "title" }, title);
      if (this.getAttribute("target") === "_blank" && link.href) {
        link.target = "_blank";
        link.append(make("span", { class: "hidden" }, ` (${this.#text("opens")})`));
      }
      const snippet = make("bdi");
      // positions count characters, of which some are two units of a string
      const characters = [...result.snippet];
      let position = 0;
      for (const [low, high] of result.snippet_marks) {
        snippet.append(characters.slice(position, low).join(""), make("mark", { part: "mark" }, characters.slice(low, high).join("")));
        position = high;
      }
      snippet.append(characters.slice(position).join(""));
      const about = make("div", { part: "url", class: "url" }, make("bdi", { dir: "ltr" }, url));
      if (result.date) about.append(make("time", { part: "date", datetime: result.date }, new Date(result.date).toLocaleDateString(this.#language)));
      const item = make("li", { part: "result" }, link, about, make("p", { part: "snippet", class: "snippet" }, snippet));
      // screen readers choose a voice by it
      if (result.language) for (const text of [title, snippet]) text.lang = result.language;
      if (result.missing) {
        const [before, after] = this.#text("without").split("{words}");
        const words = result.missing.flatMap((word) => [" ", make("s", { dir: "auto" }, word)]).slice(1);
        item.append(make("p", { part: "missing", class: "missing", lang: this.#language }, before, ...words, after));
      }
      return item;
    }
  }

  customElements.define("feedmill-search", FeedmillSearch);

  // A script element with data-box is the place of a box, and its other data are the attributes of the box.
  if (script?.dataset.box !== undefined) {
    const { box, ...rest } = script.dataset;
    script.after(make("feedmill-search", rest));
  }
})();
