/* Checks a proof in the browser by the same code as the command, which is loaded with the page. No request is made. */
"use strict";

const form = document.querySelector("[data-proof-form]");
const checker = form === null ? undefined : import(form.dataset.checker);
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const result = document.querySelector("#proof-result");
  const say = (tone, lines) => {
    result.className = `notice ${tone}`;
    const text = document.createElement("div");
    text.append(...lines.map((line) => {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      return paragraph;
    }));
    result.replaceChildren(text);
    result.hidden = false;
  };
  const words = JSON.parse(form.dataset.words);
  try {
    const { checkDocument, factLine } = await checker;
    const document = JSON.parse(form.elements.proof.value);
    const check = await checkDocument(document, JSON.parse(form.elements.keys.value));
    if (check.ok) say("success", [words.right, ...check.facts.map(factLine)]);
    else say(check.why === "nothing" ? "warning" : "danger", [words[check.why]]);
  } catch {
    say("danger", [words.form]);
  }
});
