/**
 * What a provider gets of a client's request: the way of a chat call from its bytes to the request of one route, without
 * a gateway, a socket or money.
 */
import { buildModel, type Route } from "../../core/catalog/catalog.ts";
import { providerSchema } from "../../core/catalog/schema.ts";
import { type JsonBody, parseJsonBody } from "../../core/calls/body/json_body.ts";
import { startChatExchange } from "../../core/calls/exchange/chat_exchange.ts";
import { geminiBody } from "../../core/calls/exchange/gemini_body.ts";
import { chatBody, readChatRequest } from "../../core/calls/request/chat_request.ts";
import { joined } from "../../core/lib/bytes/byte_parts.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import { withResolvers } from "../../core/lib/runtime/built_ins.ts";
import { fetchedUrls } from "../../core/net/remote/fetched_urls.ts";
import type { ProviderStyle, RouteCapabilities, Style } from "../../core/wire/contract/contract.ts";
import { fetchedFor } from "./routes.ts";

/** What became of a request. */
export type Sending =
  | { readonly kind: "sent"; readonly bytes: Uint8Array; readonly dropped: readonly string[] }
  | { readonly kind: "refused"; readonly error: GatewayError };

const provider = providerSchema.parse({
  kind: "http",
  baseUrl: "https://provider.example/",
  apiKeyEnv: "PROVIDER_KEY",
});

/** The name of the model at the provider. */
export const upstreamModel = "up-1";

/** The name by which clients of these tests call it. */
const clientModel = "m";

/** A model with one route. */
function modelAt(style: ProviderStyle, capabilities: RouteCapabilities) {
  return buildModel({
    id: clientModel,
    kind: "chat",
    family: "f",
    vision: true,
    aliases: [],
    hedge: false,
    maxOutputTokens: 32_000,
    price: { unit: "token", vndPerMtok: 1 },
    routes: [{
      provider: "p",
      model: upstreamModel,
      style,
      priority: 0,
      weight: 1,
      capabilities,
      allow: ["web_search", "web_fetch", "code_execution", "mcp", "service_tier", "media_output"],
    }],
  }, { p: provider });
}

function bodyOf(
  style: Style,
  value: JsonObject,
): { readonly body: JsonBody; readonly dropped?: readonly string[] } {
  const { model: _model, stream, ...rest } = value;
  const sent = parseJsonBody(
    new TextEncoder().encode(JSON.stringify(style === "gemini" ? rest : value)),
  );
  if (style === "chat") return chatBody(sent);
  if (style !== "gemini") return { body: sent };
  return {
    body: geminiBody(sent, { model: clientModel, stream: stream === true, inArray: false }),
  };
}

/** Sends a request of a client to a route; every error but a refusal is thrown. */
export function sentRequest(
  from: Style,
  value: JsonObject,
  to: ProviderStyle,
  capabilities: RouteCapabilities,
): Sending {
  let bytes: Uint8Array | undefined;
  try {
    const { body, dropped = [] } = bodyOf(from, value);
    const request = readChatRequest(from, body.outline);
    fetchedUrls(body.outline);
    const model = modelAt(to, capabilities);
    const [route] = model.routes as [Route];
    const { dropped: lost } = startChatExchange(
      {
        request,
        body,
        model,
        requestId: "req_000000abc0000xyz",
        nowSeconds: 1_700_000_000,
        clientHeader: () => undefined,
        strict: false,
        dropped,
        ...fetchedFor(to),
      },
      route,
      {
        provider,
        secret: undefined,
        transport: {
          open: (opened) => {
            const { body: parts } = opened;
            if (parts instanceof Uint8Array || Array.isArray(parts)) bytes = joined([parts].flat());
            return { response: withResolvers<never>().promise, cancel() {} };
          },
        },
        onStatus() {},
        mayRepeat: () => false,
        onSentAgain() {},
      },
    );
    if (bytes === undefined) throw new Error("nothing was sent");
    return { kind: "sent", bytes, dropped: lost };
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return { kind: "refused", error };
    throw error;
  }
}

/** The request that a provider got, as the validators read it: with the members of the path where the style has them. */
export function sentValue(style: ProviderStyle, bytes: Uint8Array): JsonObject {
  const value: Json = JSON.parse(new TextDecoder().decode(bytes));
  const inPath = style === "gemini" || style === "converse" ? { model: upstreamModel } : {};
  return { ...inPath, ...value as JsonObject };
}
