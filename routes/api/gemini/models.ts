/** GET /v1beta/models and /v1beta/models/{id}: the chat models in the shape of the Gemini style. */
import type { Context } from "hono";
import type { Model } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { wrongParameter } from "../../http/query.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { admitRequest, type Incoming } from "../call/incoming.ts";

/** Most models of one page, as at the vendor, and the default. */
const mostModels = 1000;

function modelObject(name: string, model: Model): JsonObject {
  return {
    name: `models/${name}`,
    version: "1",
    displayName: name === model.id ? model.displayName : `${model.displayName} (${name})`,
    inputTokenLimit: model.contextWindow,
    outputTokenLimit: model.maxOutputTokens,
    supportedGenerationMethods: ["generateContent", "countTokens"],
  };
}

async function chatModels(gateway: Gateway, incoming: Incoming): Promise<readonly Model[]> {
  const { principal: { allowedModels } } = await admitRequest(gateway, incoming);
  return gateway.catalog.current.models.filter(({ id, kind }) =>
    kind === "chat" && allowedModels?.has(id) !== false
  );
}

/** Lists chat models and their aliases, in pages if `pageSize` is given. */
export async function serveGeminiModels(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const models = await chatModels(gateway, incoming);
  const listed = models.flatMap((model) =>
    [model.id, ...model.aliases].map((name) => modelObject(name, model))
  );
  const { searchParams } = new URL(incoming.request.url);
  const asked = searchParams.get("pageSize") ?? String(mostModels);
  if (!/^[1-9]\d{0,5}$/.test(asked)) throw wrongParameter("pageSize", "must be a whole number");
  const size = Math.min(Number(asked), mostModels);
  const token = searchParams.get("pageToken") || "0";
  if (!/^\d{1,6}$/.test(token)) throw wrongParameter("pageToken", "is not one of this list");
  const from = Number(token);
  const end = from + size;
  return Response.json({
    models: listed.slice(from, end),
    ...(end < listed.length ? { nextPageToken: String(end) } : {}),
  });
}

/** Shows one chat model. */
export async function serveGeminiModel(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  const models = await chatModels(gateway, incoming);
  const name = context.req.param("id") ?? "";
  const found = gateway.catalog.current.find(name);
  if (found === undefined || !models.includes(found)) {
    throw new GatewayError("model_not_found", "There is no such model");
  }
  return Response.json(modelObject(name, found));
}
