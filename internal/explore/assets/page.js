"use strict";
// Copies the text of the element that a button names.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  navigator.clipboard.writeText(source.textContent).then(
    () => { button.textContent = "Copied"; },
    () => { getSelection().selectAllChildren(source); },
  );
});
// Buttons that need a script are hidden until there is one.
document.documentElement.classList.add("scripted");
