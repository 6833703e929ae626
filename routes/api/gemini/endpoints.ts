/**
 * The endpoints of the Gemini style under `/v1beta` and `/v1`: calls, counts of tokens, models.
 *
 * See docs/api.md#gemini-clients.
 *
 * - Folder `routes/api/gemini/`: the paths of Gemini clients, and how their key may travel.
 * - In: requests of Gemini clients.
 * - Out: the same calls as on other chat endpoints, and lists of models in this style.
 * - Never: repeats a key that came in a query, in a log or an error.
 */
import type { Context } from "hono";
import type { GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import { serveChat } from "../chat/chat.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "../call/incoming.ts";
import { serveGeminiCount } from "./count_tokens.ts";
import { serveGeminiModel, serveGeminiModels } from "./models.ts";

type Serve = (gateway: Gateway, incoming: Incoming, context: Context) => Promise<Reply | Response>;

interface GeminiEndpoint {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly serve: Serve;
}

/** Serves `{model}:{operation}`. A name of a model may have slashes and colons itself. */
const serveOperation: Serve = (gateway, incoming, context) => {
  const { 0: _, 1: model = "", 2: operation = "" } =
    /^(.+):([A-Za-z]+)$/.exec(context.req.param("id") ?? "") ?? [];
  const call = callOf(model, operation, incoming.request.url);
  if (call !== undefined) return serveChat(gateway, "gemini", incoming, call);
  if (operation === "countTokens") return serveGeminiCount(gateway, incoming, model);
  throw new GatewayError(
    "not_found",
    "There is no such operation: this gateway offers generateContent, streamGenerateContent and countTokens",
  );
};

function callOf(model: string, operation: string, url: string): GeminiPath | undefined {
  if (operation === "generateContent") return { model, stream: false, inArray: false };
  if (operation !== "streamGenerateContent") return undefined;
  return { model, stream: true, inArray: new URL(url).searchParams.get("alt") !== "sse" };
}

/** Calls whose model is spelled without escapes, as every library spells it. */
const plainCall = /^\/v1(?:beta)?\/models\/([\w./:@-]+):(generateContent|streamGenerateContent)$/;

/** Returns what the path and the query of a call say; `undefined` for any other request, and for unusual spellings. */
export function geminiCallAt(path: string, url: string): GeminiPath | undefined {
  const [, model = "", operation = ""] = plainCall.exec(path) ?? [];
  return callOf(model, operation, url);
}

/** The endpoints of the style, by path. Paths of both methods have one name for their end, as Hono's router needs. */
export const geminiEndpoints: readonly GeminiEndpoint[] = [
  { method: "POST", path: "/v1beta/models/:id{.+}", serve: serveOperation },
  // The vendor's library for JavaScript takes this version. Its lists are told by a header of theirs.
  { method: "POST", path: "/v1/models/:id{.+}", serve: serveOperation },
  { method: "GET", path: "/v1beta/models", serve: serveGeminiModels },
  { method: "GET", path: "/v1beta/models/:id{.+}", serve: serveGeminiModel },
];
