/**
 * POST /v1beta/models/{model}:countTokens, free of charge: the count of the provider if it has a counter, else an
 * estimate marked as such.
 */
import { readChatRequest } from "../../../core/calls/request/chat_request.ts";
import { geminiBody } from "../../../core/calls/exchange/gemini_body.ts";
import { type JsonBody, withValue } from "../../../core/calls/body/body_form.ts";
import { parseJsonBody } from "../../../core/calls/body/json_body.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { chooseModel } from "../call/admission.ts";
import { estimateAnswer, estimateConverted } from "../chat/count_tokens.ts";
import { countAtProvider } from "../chat/provider_count.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { admitRequest, type Incoming, requireJson } from "../call/incoming.ts";

/** Serves one count. */
export async function serveGeminiCount(
  gateway: Gateway,
  incoming: Incoming,
  name: string,
): Promise<Response> {
  const { body: bytes, principal } = await admitRequest(gateway, incoming, { charging: "free" });
  requireJson(incoming.request);
  const catalog = gateway.catalog.current;
  const { model } = incoming.chosen = chooseModel(catalog, name, "chat", principal);
  const body = geminiBody(counted(parseJsonBody(bytes)), {
    model: name,
    stream: false,
    inArray: false,
  });
  readChatRequest("gemini", body.value);
  const { headers } = incoming.request;
  const counts = await countAtProvider(gateway, {
    style: "gemini",
    model,
    body,
    headers,
    clientModel: name,
  });
  if (counts !== undefined) return Response.json({ totalTokens: counts });
  return estimateAnswer({ totalTokens: await estimateConverted("gemini", body) });
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
