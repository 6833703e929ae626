/* Sends a prompt, shows the answer as it streams in, then its receipt. */
"use strict";

const form = document.getElementById("playground");
const send = document.getElementById("playground-send");
const stop = document.getElementById("playground-stop");
const answer = document.getElementById("playground-answer");
const receipt = document.getElementById("playground-receipt");
let running;

function setBusy(busy) {
  send.disabled = busy;
  stop.hidden = !busy;
  answer.setAttribute("aria-busy", String(busy));
}

/* Yields the data of each server-sent event. */
async function* events(body) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data:")) yield line.slice(5).trim();
    }
  }
}

function showFailure(message) {
  answer.classList.remove("muted");
  answer.textContent = `${form.dataset.failed}: ${message}`;
}

/* Failures of the gateway are JSON; a page comes from the sign-in, or from a token that is no longer valid. */
async function showRefusal(response) {
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  if (!isJson) return showFailure(form.dataset.signedOut);
  showProblem((await response.json()).error, String(response.status));
}

/* The message in the page's language by error type; without one, the message of the API. */
function showProblem(error, otherwise) {
  const words = JSON.parse(form.dataset.problems)[error?.type];
  showFailure(words ?? error?.message ?? otherwise);
  if (error?.type !== "insufficient_balance") return;
  const link = document.createElement("a");
  link.href = "/wallet";
  link.textContent = form.dataset.topUp;
  answer.append(" ", link);
}

async function readAnswer(response) {
  for await (const data of events(response.body)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) return showProblem(chunk.error, "");
    answer.append(chunk.choices?.[0]?.delta?.content ?? "");
  }
}

async function showReceipt(requestId) {
  const response = await fetch(`/receipts/${encodeURIComponent(requestId)}?fragment`, {
    headers: { accept: "text/html" },
  });
  if (!response.ok || response.redirected) return;
  receipt.innerHTML = await response.text();
  receipt.hidden = false;
}

async function run() {
  const fields = Object.fromEntries(new FormData(form));
  running = new AbortController();
  setBusy(true);
  receipt.hidden = true;
  answer.textContent = "";
  answer.classList.remove("muted");
  let requestId;
  try {
    const response = await fetch("/playground/run", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-csrf-token": document.querySelector('meta[name="csrf-token"]').content,
      },
      body: JSON.stringify(fields),
      signal: running.signal,
    });
    requestId = response.headers.get("x-request-id");
    if (response.ok && !response.redirected) await readAnswer(response);
    else await showRefusal(response);
  } catch (error) {
    if (error.name !== "AbortError") showFailure(error.message);
  } finally {
    setBusy(false);
  }
  if (requestId !== undefined && requestId !== null) await showReceipt(requestId);
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
form?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(send);
});
stop?.addEventListener("click", () => running?.abort());
