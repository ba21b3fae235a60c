"use strict";
// The currency filter of the report, and sorting and folding of its tables.
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // The fragment of the address contains the section and the currency: #prices&currency=EUR.
  const readAddress = () => {
    const parts = location.hash.slice(1).split("&");
    const at = parts[0].includes("=") ? "" : parts.shift();
    return { at, currency: new URLSearchParams(parts.join("&")).get("currency") || "" };
  };
  const address = (at, currency) => `#${[at, currency && `currency=${encodeURIComponent(currency)}`].filter(Boolean).join("&")}`;
  const scrollTo = (at) => { if (at) document.getElementById(at)?.scrollIntoView(); };

  const currencySelect = document.getElementById("currency");
  const isHidden = (e, currency) => currency !== "" && "currency" in e.dataset && e.dataset.currency !== currency;

  // showEmpty shows or hides the line of a panel without amounts in the currency.
  const showEmpty = (panel, currency, empty) => {
    let line = panel.querySelector(".nothing");
    if (!line) {
      line = document.createElement("p");
      line.className = "empty nothing";
      const source = panel.querySelector(".source"); // the report of a client has none
      if (source) source.before(line);
      else panel.append(line);
    }
    // Further rows of a cut table may have the currency.
    line.textContent = panel.querySelector(".more") ? `No amounts in ${currency} in the rows shown.` : `No amounts in ${currency}.`;
    line.hidden = !empty;
  };

  // filterChart limits the variants of a chart to a currency. It returns false if none is left.
  const filterChart = (panel, currency) => {
    const node = panel.querySelector(".chart"), select = panel.querySelector("select.variants");
    if (!node) return false;
    const fits = Charts.read(node).variants.map((v) => currency === "" || !v.currency || v.currency === currency);
    if (select) for (const o of select.options) o.hidden = o.disabled = !fits[Number(o.value)];
    const now = Number(select?.value || 0), next = fits[now] ? now : Math.max(fits.indexOf(true), 0);
    if (select) select.value = String(next);
    const none = !fits.includes(true);
    node.classList.toggle("away", none);
    select?.parentElement.classList.toggle("away", none);
    return !none;
  };

  // filterPage shows the headlines, rows and charts of one currency, and those without a
  // currency. An empty currency shows all.
  const filterPage = (currency) => {
    all(".tile").forEach((t) => t.classList.toggle("away", isHidden(t, currency)));
    for (const panel of all(".panel")) {
      const rows = all("tbody tr", panel);
      rows.forEach((r) => r.classList.toggle("away", isHidden(r, currency)));
      all("tbody", panel).forEach(refold);
      const drawn = filterChart(panel, currency), left = rows.some((r) => !r.classList.contains("away"));
      if (rows.length > 0) showEmpty(panel, currency, !left && !drawn);
    }
    all(".jump a").forEach((a) => { a.setAttribute("href", address(a.dataset.at, currency)); });
    Charts.drawAll();
  };
  const applyAddress = () => {
    const { at, currency } = readAddress();
    const known = [...(currencySelect?.options || [])].some((o) => o.value === currency);
    if (currencySelect) currencySelect.value = known ? currency : "";
    filterPage(known ? currency : "");
    scrollTo(at);
  };
  all(".jump a").forEach((a) => {
    a.dataset.at = a.getAttribute("href").slice(1);
    a.addEventListener("click", () => setTimeout(() => scrollTo(a.dataset.at)));
  });
  if (currencySelect) {
    currencySelect.addEventListener("change", () => {
      history.replaceState(null, "", address(readAddress().at, currencySelect.value) || " ");
      filterPage(currencySelect.value);
    });
    addEventListener("hashchange", applyAddress);
  }

  // The sort key of a cell is its exact number, or else its text.
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, "en", { numeric: true });
  };
  const blank = (text) => text === "" || text === "\u2013";
  const foldedRows = 10;
  const refold = (body) => {
    const long = "folds" in body.parentElement.dataset;
    [...body.rows].filter((r) => !r.classList.contains("away")).forEach((row, i) => row.classList.toggle("over", long && i >= foldedRows));
  };
  const sort = (table, head, column) => {
    const down = head.ariaSort ? head.ariaSort === "ascending" : head.classList.contains("n");
    all("th", table).forEach((h) => { h.ariaSort = null; });
    head.ariaSort = down ? "descending" : "ascending";
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a, column), key(b, column)];
      if (blank(x) || blank(y)) return blank(x) - blank(y);
      return down ? compare(y, x) : compare(x, y);
    });
    body.append(...rows);
    refold(body);
  };
  for (const table of all("table")) {
    all("th", table).forEach((head, column) => {
      const b = document.createElement("button");
      b.type = "button";
      b.append(...head.childNodes);
      b.addEventListener("click", () => sort(table, head, column));
      head.append(b);
    });
    const body = table.tBodies[0];
    if (body.rows.length <= foldedRows + 3) continue;
    table.dataset.folds = "";
    refold(body);
    const more = document.createElement("button");
    more.type = "button";
    more.className = "all";
    more.textContent = `Show all ${body.rows.length} rows`;
    more.addEventListener("click", () => { table.classList.add("unfolded"); more.remove(); });
    table.parentElement.after(more);
  }

  applyAddress();
})();
