/* The dialog that shows a request as code, in one of four languages. */
import { codeWriters } from "./code.js";
import { copyButton, element } from "./dom.js";

/** Opens the dialog; closing it removes it. */
export function openCodeDialog(page, request) {
  const { texts } = page;
  const code = element("code");
  const pre = element(
    "pre",
    { tabIndex: 0, attributes: { role: "region", "aria-label": texts.codeTitle } },
    code,
  );
  const block = element("div", { className: "code-block" }, pre);
  const show = (language) => {
    code.textContent = codeWriters[language](request, page.baseUrl);
    block.querySelector(".copy")?.remove();
    block.append(copyButton(code.textContent, texts));
    for (const button of languages.children) {
      button.setAttribute("aria-pressed", String(button.textContent === language));
    }
  };
  const languages = element("div", {
    className: "languages",
    attributes: { role: "group", "aria-label": texts.language },
  });
  for (const language of Object.keys(codeWriters)) {
    const button = element("button", {
      type: "button",
      className: "link-button",
      textContent: language,
    });
    button.addEventListener("click", () => show(language));
    languages.append(button);
  }
  const close = element("button", {
    type: "button",
    className: "outline secondary small",
    textContent: texts.close,
  });
  const title = element("h2", { id: "code-title", textContent: texts.codeTitle });
  const dialog = element(
    "dialog",
    { className: "code-dialog", attributes: { "aria-labelledby": "code-title" } },
    element(
      "div",
      { className: "dialog-body" },
      element("div", { className: "dialog-head" }, title, close),
      languages,
      block,
      element("p", { className: "muted", textContent: texts.codeNote }),
    ),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show("curl");
  dialog.showModal();
}
