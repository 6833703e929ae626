/* Sends requests to the API through the session, and puts what goes wrong into the words of the page. */
import { filled } from "./dom.js";

/** Something that went wrong, as the page says it, and what to do about it. */
export class Problem extends Error {
  constructor(text, action) {
    super(text);
    this.action = action;
  }
}

/* Where a problem is mended, by its code, else by its type. */
const remedies = {
  insufficient_balance: { href: "/wallet", label: "topUp" },
  spending_limit_reached: { href: "/keys", label: "keyLimit" },
  budget_exceeded: { href: "/budgets", label: "budget" },
  authentication_error: { href: "/keys", label: "keys" },
  permission_error: { href: "/keys", label: "keys" },
  not_found_error: { href: "/playground", label: "reload" },
  signed_out: { href: "/playground", label: "reload" },
};

function problemOf(page, name, text) {
  const remedy = remedies[name];
  const action = remedy && { href: remedy.href, label: page.actions[remedy.label] };
  return new Problem(text ?? page.problems[name], action);
}

/** The problem of an error object of the API: by its code, else by its type. */
export function problemOfError(page, error, retryAfter) {
  const { code, type, message } = error ?? {};
  if (Object.hasOwn(page.problems, code ?? "")) return problemOf(page, code);
  if (type === "rate_limit_error" && Number(retryAfter) > 0) {
    return new Problem(filled(page.problems.rate_limit_wait, { seconds: retryAfter }));
  }
  if (type === "invalid_request_error") {
    return problemOf(page, type, `${page.problems[type]} ${message ?? ""}`);
  }
  return problemOf(page, Object.hasOwn(page.problems, type ?? "") ? type : "api_error");
}

/* Failures of the gateway are JSON; a page comes from the sign-in, or from a token that is no longer valid. */
async function problemOfResponse(page, response) {
  if (response.status === 413) return problemOf(page, "request_too_large");
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  if (response.redirected || !isJson) return problemOf(page, "signed_out");
  const { error } = await response.json();
  return problemOfError(page, error, response.headers.get("retry-after"));
}

async function answered(page, asking) {
  let response;
  try {
    response = await asking;
  } catch (error) {
    throw error.name === "AbortError" ? error : problemOf(page, "network");
  }
  if (!response.ok || response.redirected) {
    const problem = await problemOfResponse(page, response);
    // An error in place of an answer is never charged.
    throw Object.assign(problem, {
      isFree: true,
      requestId: response.headers.get("x-request-id"),
    });
  }
  return response;
}

/** Posts a request of the API. */
export async function post(page, { path, body }, keyId, signal) {
  const asking = fetch(`/playground/api${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-csrf-token": document.querySelector('meta[name="csrf-token"]').content,
      [page.keyHeader]: keyId,
    },
    body: JSON.stringify(body),
    signal,
  });
  return await answered(page, asking);
}

/** Reads what the API says of a video. */
export async function readVideo(page, id, keyId, signal) {
  const asking = fetch(videoPath(id, "", keyId), { signal });
  return await (await answered(page, asking)).json();
}

/** The path of a video, or of its file. */
export function videoPath(id, file, keyId) {
  const query = new URLSearchParams({ keyId });
  return `/playground/api/v1/videos/${encodeURIComponent(id)}${file}?${query}`;
}

/** Yields the data of each server-sent event. */
export async function* events(body) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data:")) yield line.slice(5).trim();
  }
}

/* A call that was stopped is settled a moment later: so often the page looks for its receipt. */
const maxReceiptLooks = 7;
/* The first pause between two looks; each later one is twice as long, so a slow settlement is awaited for 16 s. */
const receiptPauseMs = 250;

/** Reads the figures of a call; `undefined` if it has no receipt. */
export async function readFigures(requestId) {
  for (let look = 0; look < maxReceiptLooks; look++) {
    const response = await fetch(`/playground/calls/${encodeURIComponent(requestId)}`);
    if (response.ok && !response.redirected) return await response.json();
    if (response.status !== 404) return undefined;
    await new Promise((resolve) => setTimeout(resolve, receiptPauseMs * 2 ** look));
  }
  return undefined;
}
