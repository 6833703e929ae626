/**
 * Writes the 404 for a path that is not served. The cause is nearly always a wrong base address, or an endpoint that
 * only vendors have.
 */

/** Characters of an unknown path that the 404 repeats: longer than any path that a library requests. */
const maxRepeatedPathChars = 64;

/** A segment `.` or `..`, plain or encoded. Paths are matched as they were sent, so none of them leads anywhere. */
const dotSegment = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\]|%2f|%5c)/i;

/** Endpoints that vendors offer and this gateway does not, by the beginning of the path, with the reason. */
const outside: readonly (readonly [path: RegExp, what: string])[] = [
  [
    /^\/v1\/(?:files|uploads|containers|vector_stores|skills|memory_stores)\b/,
    "files and stores would lie in the provider's account, which all customers share; send the contents with the call",
  ],
  [
    /^\/(?:v1\/(?:messages\/)?|v1beta\/)batch(?:es|Embed\w*)?\b|:(?:async)?[bB]atch\w+$/,
    "the results of a batch come after its call, so their cost cannot be held before; send the calls one by one",
  ],
  [
    /^\/v1(?:beta)?\/(?:agents|sessions|environments|vaults|deployments|interactions|managed_agents|workflows|chatkit)\b/,
    "agents and sessions would run in the provider's account, which all customers share, and their cost cannot be " +
    "held call by call; run the loop of the agent yourself, with a chat endpoint",
  ],
  [
    /^\/v1\/(?:responses|chat\/completions)\/.|^\/v1\/(?:conversations|threads|assistants)\b/,
    "no prompts and answers are stored; send the whole conversation with each call",
  ],
  [
    /^\/v1\/(?:fine[_-]tun(?:ing|es)|evals|graders)\b/,
    "models and data of one customer would lie in the provider's account, which all customers share",
  ],
  [
    /^\/v1beta\/(?:files|cachedContents|fileSearchStores|corpora|tunedModels|ragStores|operations)\b|^\/upload\/v1beta\//,
    "files, caches and models of one customer would lie in the provider's account, which all customers share; send " +
    "the contents with the call",
  ],
  [
    /^\/v1\/realtime\b|^\/v1(?:beta|alpha)\/(?:live|authTokens|auth_tokens)\b|^\/ws\//,
    "audio in real time needs a WebSocket, whose cost cannot be held call by call; use /v1/audio/transcriptions, a " +
    "chat endpoint and /v1/audio/speech",
  ],
  [
    /^\/v1\/organizations?\/(?:admin_api_keys|api_keys|projects|costs|usage|workspaces|invites|users)\b/,
    "the vendor's account is the operator's; keys, members and usage of yours are at /v1/organisation and /v1/usage",
  ],
];

function withoutVersion(path: string): string {
  return path.slice("/v1".length);
}

/** Finds the served path that `pathname` ends with, whatever the base address before it. */
function meantPath(pathname: string, served: readonly string[]): string | undefined {
  const tidy = pathname.replace(/\/{2,}/g, "/").replace(/\/$/, "");
  return served.filter((path) => tidy.endsWith(withoutVersion(path)))
    .sort((a, b) => b.length - a.length)[0];
}

/**
 * The message of a 404.
 * @param pathname the requested path, as it was sent
 * @param served the paths under `/v1` that are served
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 * equal(
 *   unknownPathMessage("/v1/chat/completions/chat/completions", ["/v1/chat/completions"]),
 *   "There is no such path: did you mean /v1/chat/completions? Check the base address",
 * );
 * ```
 */
export function unknownPathMessage(pathname: string, served: readonly string[]): string {
  if (dotSegment.test(pathname)) {
    return "There is no such path: the segments . and .. are not resolved here; send the path without them";
  }
  const told = pathname.slice(0, maxRepeatedPathChars);
  const once = pathname.replace(/^\/v1(?=\/v1\/)/, "");
  const reason = outside.find(([path]) => path.test(once))?.[1];
  const meant = meantPath(pathname, served);
  if (reason !== undefined && meant === undefined) {
    return `There is no such path: this gateway does not offer ${told}: ${reason}`;
  }
  if (meant !== undefined) {
    const advice = withoutVersion(meant) === pathname
      ? "Add /v1 to the base address"
      : "Check the base address";
    return `There is no such path: did you mean ${meant}? ${advice}`;
  }
  if (!pathname.startsWith("/v1/")) return "There is no such path";
  return `There is no such path: this gateway does not offer ${told}. ` +
    `Calls of models go to ${served.join(", ")}`;
}
