"use strict";
// The theme, and buttons that copy. Elements that need a script are hidden until this one
// has run.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");

  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  const remember = (theme) => { try { localStorage.setItem("placementsync-theme", theme); } catch { /* a browser may forbid it */ } };
  const recall = () => { try { return localStorage.getItem("placementsync-theme"); } catch { return null; } };
  const dress = (theme) => {
    button.textContent = `Theme: ${theme}`;
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  let theme = themes.includes(recall()) ? recall() : "system";
  dress(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    remember(theme);
    dress(theme);
  });

  // A button copies the text of the element that it names, or of the code beside it.
  document.addEventListener("click", (event) => {
    const copy = event.target.closest("button[data-copy]");
    if (!copy) return;
    const source = document.getElementById(copy.dataset.copy) || copy.parentElement.querySelector("code");
    navigator.clipboard.writeText(source.textContent).then(
      () => { copy.textContent = "Copied"; },
      () => { getSelection().selectAllChildren(source); copy.textContent = "Selected"; },
    ).then(() => setTimeout(() => { copy.textContent = "Copy"; }, 1500));
  });
})();
