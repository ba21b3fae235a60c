"use strict";
// The theme button and the copy buttons. The class "scripted" shows the elements that need
// scripts.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");

  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  // A browser may forbid localStorage; the theme then lasts as long as the page.
  const saveTheme = (theme) => { try { localStorage.setItem("placementsync-theme", theme); } catch { /* forbidden */ } };
  const savedTheme = () => { try { return localStorage.getItem("placementsync-theme"); } catch { return null; } };
  const applyTheme = (theme) => {
    button.textContent = `Theme: ${theme}`;
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  let theme = themes.includes(savedTheme()) ? savedTheme() : "system";
  applyTheme(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    saveTheme(theme);
    applyTheme(theme);
  });

  // A slash focuses the search of the page.
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("q");
    if (event.key !== "/" || !search || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
    event.preventDefault();
    search.focus();
  });

  // The address of a form contains only the fields that differ from their defaults. Without scripts it contains all.
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const [name, value] of [...event.formData.entries()]) {
      const field = event.target.elements[name];
      if (!(field instanceof RadioNodeList) && value === (field?.dataset.default ?? "")) event.formData.delete(name);
    }
  });

  // A copy button copies its data-text, the element whose id is in data-copy, or else the code beside it.
  document.addEventListener("click", (event) => {
    const copy = event.target.closest("button[data-copy]");
    if (!copy) return;
    const source = copy.dataset.text ? copy : document.getElementById(copy.dataset.copy) || copy.parentElement.querySelector("code");
    const label = copy.textContent;
    navigator.clipboard.writeText(copy.dataset.text || source.textContent).then(
      () => { copy.textContent = "Copied"; },
      () => {
        copy.textContent = copy.dataset.text || "Selected";
        getSelection().selectAllChildren(source);
      },
    ).then(() => setTimeout(() => { copy.textContent = label; }, 1500));
  });
})();
