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
      button.addEventListener("click", () => show(text));
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

  const show = (text) => { area.value = text; editor?.setText(text); };

  // keepAddress writes the statement into the address, so that it can be kept and sent, and Back shows the last one.
  const keepAddress = () => {
    const asked = new URLSearchParams({ sql: area.value });
    if (form.elements.as_of.value) asked.set("as_of", form.elements.as_of.value);
    const address = `?${asked}`;
    if (address === location.search) return;
    history.pushState({ sql: area.value }, "", address.length < 8000 ? address : location.pathname);
  };
  addEventListener("popstate", (event) => {
    show(event.state?.sql ?? new URLSearchParams(location.search).get("sql") ?? "");
    if (event.state) run(); else result().replaceChildren();
  });

  const run = async () => {
    running?.abort();
    const mine = running = new AbortController(), begun = performance.now();
    cancel.hidden = false;
    document.activeElement?.blur(); // closes the completion
    const tick = () => { state.textContent = `Running, ${Math.floor((performance.now() - begun) / 1000)} of at most ${form.dataset.limit} s`; };
    tick();
    const clock = setInterval(() => { if (mine === running) tick(); else clearInterval(clock); }, 1000);
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
    // A row has one line until it is clicked. A click on a head sorts the shown rows.
    const row = event.target.closest("#result tbody tr"), head = event.target.closest("#result th");
    if (row && !event.target.closest("a, summary, button") && String(getSelection()) === "") row.classList.toggle("open");
    if (head) sort(head);
  });

  const sort = (head) => {
    const table = head.closest("table"), column = head.cellIndex, down = head.ariaSort === "ascending";
    for (const h of table.tHead.rows[0].cells) h.ariaSort = null;
    head.ariaSort = down ? "descending" : "ascending";
    const isNumber = head.classList.contains("n");
    const key = (row) => row.cells[column].textContent.trim();
    const number = (row) => Number(key(row).replaceAll(",", "").replace("\u2212", "-"));
    const compare = (a, b) => isNumber ? number(a) - number(b) : key(a).localeCompare(key(b), "en", { numeric: true });
    const isBlank = (row) => key(row) === "\u2013";
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => isBlank(a) || isBlank(b) ? isBlank(a) - isBlank(b) : down ? compare(b, a) : compare(a, b));
    table.tBodies[0].append(...rows);
  };

  // listTables shows the tables and their columns beside the editor. A click inserts a name.
  const listTables = (schemas) => {
    const list = document.getElementById("tables");
    const add = (parent, name, text, about, insert) => {
      const e = parent.appendChild(document.createElement(name));
      e.textContent = text;
      if (about) e.title = about;
      if (insert) e.addEventListener("click", () => { editor.focus(); document.execCommand("insertText", false, insert); });
      return e;
    };
    for (const [schema, tables] of Object.entries(schemas)) {
      if (schema === "past" || schema === "history") continue; // the columns of main
      for (const table of tables) {
        const name = schema === "main" ? table.name : `${schema}.${table.name}`;
        const box = list.appendChild(document.createElement("details"));
        add(box, "summary", name, table.about);
        add(box, "button", `insert ${name}`, "", name).type = "button";
        for (const c of table.columns) {
          const button = add(box, "button", c.name, `${c.type}: ${c.about}`, c.name);
          button.type = "button";
        }
      }
    }
    list.hidden = false;
  };

  area.required = false; // a hidden field cannot show that it is required
  fetch(form.dataset.words).then((response) => response.json()).then((words) => {
    editor = sqlEditor.open(area, { words, nonce: form.dataset.nonce, run: () => form.requestSubmit() });
    listTables(words.schemas);
    document.documentElement.dataset.editor = "";
  });
})();
