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
import { geminiBody, type GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import type { GeminiEmbeddingOperation } from "../../../core/media/embeddings/gemini_form.ts";
import { loadedOnce } from "../../../core/lib/base/assert.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import { serveChat } from "../chat/chat.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { admitRequest, type Incoming, requireJson } from "../call/incoming.ts";
import { readChatRequest } from "../../../core/calls/request/chat_request.ts";
import { type JsonBody, parseJsonBody, withValue } from "../../../core/calls/body/json_body.ts";
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { stringifyExactly } from "../../../core/lib/runtime/built_ins.ts";
import {
  always,
  count,
  type DescribedField,
  listOf,
  optional,
  ref,
  text,
} from "../../../core/lib/json/schemas.ts";
import { withoutPreferences } from "../../../core/calls/request/route_preferences.ts";
import { countedModel } from "../chat/preferred_models.ts";
import { countAnswer, estimateAnswer, estimateConverted } from "../chat/count_tokens.ts";
import { withPreset } from "../../../core/calls/request/presets.ts";
import { mayCallPreset, namedModel, presetModels, takePreset } from "../chat/preset_request.ts";
import { modelNames, type NamedModel } from "../models/models.ts";
import { countAtProvider } from "../chat/provider_count.ts";
import { wrongParameter } from "../../http/query.ts";

// POST /v1beta/models/{model}:countTokens, free of charge: the count of the provider if it has a counter, else an
// estimate marked as such.

/** Serves one count. */
async function serveGeminiCount(
  gateway: Gateway,
  incoming: Incoming,
  name: string,
): Promise<Response> {
  const { body: bytes, principal } = await admitRequest(gateway, incoming, { charging: "free" });
  requireJson(incoming.request);
  const { headers } = incoming.request;
  const whole = counted(parseJsonBody(bytes));
  const { body: asked, preset: found } = mayCallPreset(name, whole)
    ? await takePreset(gateway, principal, whole, name)
    : { body: whole };
  const sent = found === undefined ? asked : withPreset(
    "gemini",
    // The bytes of a request inside the body are those of the whole.
    parseJsonBody(new TextEncoder().encode(stringifyExactly(asked.value))),
    found.preset,
    undefined,
  ).body;
  const path: GeminiPath = { model: found?.model ?? name, stream: false, inArray: false };
  const body = geminiBody(withoutPreferences("gemini", sent), path);
  const request = readChatRequest("gemini", body.value);
  const { model } = incoming.chosen = countedModel(gateway, { request, sent, principal, headers });
  const counts = await countAtProvider(gateway, {
    style: "gemini",
    model,
    body,
    headers,
    clientModel: name,
  });
  if (counts !== undefined) return countAnswer("gemini", counts);
  return estimateAnswer("gemini", await estimateConverted("gemini", body));
}

/** Returns the request to count: the contents alone, or a whole request inside the body. */
function counted(sent: JsonBody): JsonBody {
  const whole = sent.value["generateContentRequest"] ?? sent.value["generate_content_request"];
  if (whole === undefined) return sent;
  if (!isJsonObject(whole)) {
    const param = "generateContentRequest";
    throw new GatewayError("invalid_request", `${param}: must be an object`, { param });
  }
  const { model: _, ...rest } = whole;
  return withValue(sent, rest);
}

// GET /v1beta/models and /v1beta/models/{id}: the chat models in the shape of the Gemini style.

/** Most models of one page, as at the vendor, and the default. */
const maxModels = 1000;

/** The fields of a model in this style. */
export const geminiModelFields: readonly DescribedField<NamedModel>[] = [
  always("name", text, ({ name }) => `models/${name}`),
  always("version", text, () => "1"),
  always(
    "displayName",
    text,
    ({ name, model }) => name === model.id ? model.displayName : `${model.displayName} (${name})`,
  ),
  always("inputTokenLimit", count, ({ model }) => model.contextWindow),
  always("outputTokenLimit", count, ({ model }) => model.maxOutputTokens),
  always("supportedGenerationMethods", listOf(text), () => ["generateContent", "countTokens"]),
];

interface ModelPage {
  readonly models: readonly NamedModel[];
  readonly nextPageToken: string | undefined;
}

/** The fields of a page of models in this style. */
export const geminiModelListFields: readonly DescribedField<ModelPage>[] = [
  always(
    "models",
    listOf(ref("GeminiModel")),
    ({ models }) => models.map((one) => fieldsJson(geminiModelFields, one)),
  ),
  optional("nextPageToken", text, ({ nextPageToken }) => nextPageToken),
];

/** Lists chat models, their aliases and presets, in pages if `pageSize` is given. */
export async function serveGeminiModels(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const { principal, principal: { allowedModels } } = await admitRequest(gateway, incoming);
  const models = gateway.catalog.current.models.filter(({ id, kind }) =>
    kind === "chat" && allowedModels?.has(id) !== false
  );
  const listed = modelNames(models, await presetModels(gateway, principal));
  const { searchParams } = new URL(incoming.request.url);
  const asked = searchParams.get("pageSize") ?? String(maxModels);
  if (!/^[1-9]\d{0,5}$/.test(asked)) throw wrongParameter("pageSize", "must be a whole number");
  const size = Math.min(Number(asked), maxModels);
  const token = searchParams.get("pageToken") || "0";
  if (!/^\d{1,6}$/.test(token)) throw wrongParameter("pageToken", "is not one of this list");
  const from = Number(token);
  const end = from + size;
  return Response.json(fieldsJson(geminiModelListFields, {
    models: listed.slice(from, end),
    nextPageToken: end < listed.length ? String(end) : undefined,
  }));
}

/** Shows one chat model. */
export async function serveGeminiModel(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  const { principal } = await admitRequest(gateway, incoming);
  const name = context.req.param("id") ?? "";
  const found = await namedModel(gateway, principal, name);
  if (found?.model.kind !== "chat") {
    throw new GatewayError("model_not_found", "There is no such model");
  }
  return Response.json(fieldsJson(geminiModelFields, { ...found, name }));
}

type Serve = (gateway: Gateway, incoming: Incoming, context: Context) => Promise<Reply | Response>;

interface GeminiEndpoint {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly serve: Serve;
}

/** The operations of embeddings, whose code is loaded with the first call. */
const embeddingOperations: Readonly<Record<GeminiEmbeddingOperation, true>> = {
  embedContent: true,
  batchEmbedContents: true,
};

const isEmbedding = (operation: string): operation is GeminiEmbeddingOperation =>
  Object.hasOwn(embeddingOperations, operation);

/** Serves `{model}:{operation}`. A name of a model may have slashes and colons itself. */
const serveOperation: Serve = (gateway, incoming, context) => {
  const { 0: _, 1: model = "", 2: operation = "" } =
    /^(.+):([A-Za-z]+)$/.exec(context.req.param("id") ?? "") ?? [];
  const call = callOf(model, operation, incoming.request.url);
  if (call !== undefined) return serveChat(gateway, "gemini", incoming, call);
  if (operation === "countTokens") return serveGeminiCount(gateway, incoming, model);
  if (isEmbedding(operation)) return embed(gateway, incoming, model, operation);
  throw new GatewayError(
    "not_found",
    "There is no such operation: this gateway offers generateContent, streamGenerateContent, countTokens, embedContent and " +
      "batchEmbedContents",
  );
};

/** Loaded with the first call: most gateways have no models of embeddings. */
const embeddingEndpoint = loadedOnce(() => import("../media/embeddings/embeddings.ts"));

async function embed(
  gateway: Gateway,
  incoming: Incoming,
  model: string,
  operation: GeminiEmbeddingOperation,
): Promise<Reply | Response> {
  const { serveGeminiEmbeddings } = await embeddingEndpoint();
  return await serveGeminiEmbeddings(gateway, incoming, model, operation);
}

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
