/* Makes elements and texts. Texts of models go through `textContent` only: HTML of a model is never parsed. */

/** Makes an element with properties and children; `undefined` children are left out. */
export function element(tag, properties = {}, ...children) {
  const { dataset, attributes, ...rest } = properties;
  const made = Object.assign(document.createElement(tag), rest);
  Object.assign(made.dataset, dataset);
  for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Fills the `{names}` of a text. */
export function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

/** Makes a button that acts. */
export function actionButton(label, act) {
  const made = element("button", { type: "button", className: "link-button", textContent: label });
  made.addEventListener("click", act);
  return made;
}

/** Makes a button that copies a text; `app.js` does the rest. */
export function copyButton(text, { copy, copied }) {
  const label = element("span", { textContent: copy });
  return element(
    "button",
    {
      type: "button",
      className: "outline secondary small copy labelled",
      dataset: { copy: text, copied },
    },
    label,
  );
}
