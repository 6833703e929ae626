/* Shows a visitor's answer as it arrives, then the receipt. Without it the form is answered with a page. */
"use strict";

const form = document.querySelector("#trial");
const place = document.querySelector("#trial-answer");

/* The receipt is written before the stream ends; a slow store is asked so often, a second between two. */
const maxReceiptLooks = 5;

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

/* The text of the answer in one event; errors of the API stand in the stream, too. */
function textOf(data) {
  const { choices, error } = JSON.parse(data);
  if (error !== undefined) throw new Error("the answer broke off");
  return choices?.[0]?.delta?.content ?? "";
}

async function showStream(body, paragraph) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const data = line.startsWith("data:") ? line.slice(5).trim() : "";
      if (data !== "" && data !== "[DONE]") paragraph.append(textOf(data));
    }
  }
}

async function showReceipt(id) {
  for (let look = 0; look < maxReceiptLooks; look++) {
    const response = await fetch(`/try/receipts/${encodeURIComponent(id)}`);
    if (response.ok) {
      place.insertAdjacentHTML("beforeend", await response.text());
      return;
    }
    if (response.status !== 404) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function ask(words) {
  const model = form.elements.model.selectedOptions[0].textContent;
  const response = await fetch("/try/stream", {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
  });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    // A whole page comes where the form is no longer valid: load it again.
    if (response.redirected || response.status === 403) return location.reload();
    place.innerHTML = await response.text();
    return;
  }
  const paragraph = element("p", "", "plain-text");
  place.replaceChildren(
    element("h3", words.answerOf.replace("{model}", () => model)),
    paragraph,
  );
  try {
    await showStream(response.body, paragraph);
    if (paragraph.textContent === "") paragraph.textContent = words.noText;
  } catch {
    place.append(element("p", words.broken, "notice danger"));
  }
  await showReceipt(response.headers.get("x-request-id"));
}

if (form !== null) {
  const words = JSON.parse(place.dataset.words);
  const button = form.querySelector('[type="submit"]');
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    place.setAttribute("aria-busy", "true");
    place.replaceChildren(element("p", words.asking, "muted"));
    try {
      await ask(words);
    } catch {
      place.replaceChildren(element("p", words.broken, "notice danger"));
    } finally {
      button.disabled = false;
      place.removeAttribute("aria-busy");
    }
  });
}
