/* Puts the key of the field into all snippets of the page; the key is sent nowhere. */
"use strict";

const filler = document.querySelector("[data-key-filler]");
if (filler !== null) {
  const placeholder = filler.dataset.keyFiller;
  const field = filler.querySelector("input");
  const codes = [...document.querySelectorAll(".code-block code")]
    .map((element) => ({ element, text: element.textContent }));
  const buttons = [...document.querySelectorAll(".code-block [data-copy]")]
    .map((element) => ({ element, text: element.dataset.copy }));
  const fill = () => {
    const key = field.value.trim() || placeholder;
    for (const { element, text } of codes) element.textContent = text.replaceAll(placeholder, key);
    for (const { element, text } of buttons) {
      element.dataset.copy = text.replaceAll(placeholder, key);
    }
  };
  field.addEventListener("input", fill);
  filler.hidden = false;
}
