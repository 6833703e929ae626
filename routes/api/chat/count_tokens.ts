/**
 * POST /v1/messages/count_tokens, free of charge: the count of the provider if it has a counter, else an estimate
 * marked as such.
 */
import { answerHeaders } from "../../http/own_headers.ts";
import { readCountTokensRequest } from "../../../core/calls/request/chat_request.ts";
import { parseJsonBody } from "../../../core/calls/request/json_body.ts";
import { estimateInputTokens } from "../../../core/billing/tokens/estimate_input.ts";
import { chooseModel } from "../admission.ts";
import type { Gateway } from "../gateway.ts";
import { admitRequest, checkVersion, type Incoming, requireJson } from "../incoming.ts";
import { countAtProvider } from "./provider_count.ts";

/** Serves one count. */
export async function serveCountTokens(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const { body: bytes, principal } = await admitRequest(gateway, incoming, { charging: "free" });
  const { headers } = incoming.request;
  requireJson(incoming.request);
  checkVersion(headers);
  const body = parseJsonBody(bytes);
  const request = readCountTokensRequest(body.value);
  const { model } = incoming.chosen = chooseModel(
    gateway.catalog.current,
    request.model,
    "chat",
    principal,
  );
  const counted = await countAtProvider(gateway, {
    style: "messages",
    model,
    body,
    headers,
    clientModel: request.model,
  });
  const responseHeaders = new Headers({ "content-type": "application/json" });
  if (counted === undefined) responseHeaders.set(answerHeaders.estimate, "true");
  const inputTokens = counted ?? await estimateInputTokens(body.value);
  return new Response(JSON.stringify({ input_tokens: inputTokens }), { headers: responseHeaders });
}
