"use strict";
// The page SQL: the editor, the request of a statement and its cancellation, and the statements of
// this session, which only the browser keeps.
(() => {
  const form = document.getElementById("statement"), area = form.elements.sql;
  const state = document.getElementById("state"), cancel = document.getElementById("cancel");
  const list = document.getElementById("history");
  const result = () => document.getElementById("result");
  let editor; // until the words are loaded, the text area is in use
  let running; // the controller of the request

  const key = "placementsync-statements", mostKept = 50;
  // A browser may forbid sessionStorage; there is no history then.
  const kept = () => { try { return JSON.parse(sessionStorage.getItem(key)) || []; } catch { return []; } };
  const keep = (all) => { try { sessionStorage.setItem(key, JSON.stringify(all)); } catch { /* forbidden or full */ } showKept(); };
  const remember = (text) => keep([text, ...kept().filter((one) => one !== text)].slice(0, mostKept));
  const showKept = () => {
    const all = kept();
    list.hidden = all.length === 0;
    list.querySelector("ol").replaceChildren(...all.map((text) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = text.length > 200 ? `${text.slice(0, 200)}…` : text;
      button.addEventListener("click", () => { area.value = text; editor?.setText(text); });
      item.append(button);
      return item;
    }));
  };
  list.querySelector(":scope > button").addEventListener("click", () => keep([]));
  showKept();

  const showProblem = (text) => {
    const box = document.createElement("div");
    box.className = "notice bad";
    box.setAttribute("role", "alert");
    box.textContent = text;
    result().replaceChildren(box);
  };

  // keepAddress writes the statement into the address, so that it can be kept and sent.
  const keepAddress = () => {
    const asked = new URLSearchParams({ sql: area.value });
    if (form.elements.as_of.value) asked.set("as_of", form.elements.as_of.value);
    const address = `?${asked}`;
    history.replaceState(null, "", address.length < 8000 ? address : location.pathname);
  };

  const run = async () => {
    running?.abort();
    const mine = running = new AbortController(), begun = performance.now();
    cancel.hidden = false;
    state.textContent = "Running";
    result().setAttribute("aria-busy", "true");
    let shown = "";
    try {
      const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), signal: mine.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html"), found = page.getElementById("result");
      if (found) {
        result().replaceWith(document.adoptNode(found));
        Charts.drawAll();
        keepAddress();
        shown = `${((performance.now() - begun) / 1000).toFixed(1)} s`;
      } else showProblem(page.querySelector(".notice")?.textContent || `The server answered ${response.status}.`);
    } catch (problem) {
      if (mine !== running) return; // another statement runs
      if (problem.name === "AbortError") shown = "Cancelled";
      else showProblem("The server did not answer. The statement is kept here.");
    }
    if (mine !== running) return;
    running = undefined;
    cancel.hidden = true;
    state.textContent = shown;
    result().removeAttribute("aria-busy");
    if (document.activeElement === cancel || document.activeElement === document.body) editor?.focus();
  };

  form.addEventListener("submit", (event) => {
    if (area.value.trim() === "") { event.preventDefault(); editor?.focus(); return; }
    remember(area.value);
    if (event.submitter?.name === "format") return; // the browser saves the file
    event.preventDefault();
    run();
  });
  cancel.addEventListener("click", () => running?.abort());
  document.addEventListener("click", (event) => {
    const place = event.target.closest("button[data-line]");
    if (place) editor?.select(Number(place.dataset.line), Number(place.dataset.column));
  });

  area.required = false; // a hidden field cannot show that it is required
  fetch(form.dataset.words).then((response) => response.json()).then((words) => {
    editor = sqlEditor.open(area, { words, nonce: form.dataset.nonce, run: () => form.requestSubmit() });
    document.documentElement.dataset.editor = "";
  });
})();
