/**
 * Passes calls of the playground to the API, with a key of the account in place of the session. The browser writes the
 * request as a program would, so what it copies as code is what was sent.
 */
import type { Context } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { getApiKey, revealApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import { answerHeaders } from "../../../http/own_headers.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { clientAddress } from "../../visitor/doer.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

/** The endpoints of the playground; everything else of the API takes a key of one's own. */
export const relayedPaths = [
  "/v1/chat/completions",
  "/v1/images/generations",
  "/v1/audio/speech",
  "/v1/videos",
] as const;
export type RelayedPath = typeof relayedPaths[number];

/** The header in which the page names the key. */
export const keyHeader = "x-playground-key";

/** Headers of answers that the browser needs; the others are about the caller's own connection. */
const passedHeaders = [
  "content-type",
  "content-length",
  "content-range",
  "accept-ranges",
  "retry-after",
  answerHeaders.requestId,
  answerHeaders.model,
  answerHeaders.costVnd,
  answerHeaders.conversion,
];

/** Finds the secret of a key of the account; `undefined` for keys of others and keys that cannot be shown. */
async function secretOf(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  keyId: string,
): Promise<string | undefined> {
  const id = parseId("apiKey", keyId);
  if (id === undefined) return undefined;
  const record = await getApiKey(deps.kv, c.get("signedIn").account.id, id);
  return record === undefined ? undefined : await revealApiKey(deps.masterKeys, record);
}

/** A call to pass on. */
export interface RelayedCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly keyId: string;
  readonly body?: BodyInit;
}

/** Sends a call with a key of the account; `undefined` if there is no such key. */
export async function sendWithKey(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  { method, path, keyId, body }: RelayedCall,
): Promise<Response | undefined> {
  const secret = await secretOf(c, deps, keyId);
  if (secret === undefined) return undefined;
  const headers = new Headers({ authorization: `Bearer ${secret}` });
  if (body !== undefined) headers.set("content-type", "application/json");
  const range = c.req.header("range");
  if (range !== undefined) headers.set("range", range);
  const { signal } = c.req.raw;
  const request = new Request(deps.baseUrl + path, {
    method,
    headers,
    signal,
    ...(body !== undefined && { body }),
  });
  return await deps.dispatch(request, clientAddress(c));
}

/** Passes a call on and its answer back, as it arrives. */
export async function relay(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  call: RelayedCall,
): Promise<Response> {
  const answer = await sendWithKey(c, deps, call);
  if (answer === undefined) return c.json({ error: { type: "authentication_error" } }, 404);
  const headers = new Headers({
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  for (const name of passedHeaders) {
    const value = answer.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(answer.body, { status: answer.status, headers });
}
