/**
 * POST /v1/messages/count_tokens, free of charge: the count of the provider if it has a counter, else an estimate
 * marked as such.
 */
import type { HttpRequest } from "../../http/http_request.ts";
import { answerHeaders } from "../../http/own_headers.ts";
import { readWhole } from "../../../core/calls/read_whole.ts";
import { readCountTokensRequest } from "../../../core/calls/request/chat_request.ts";
import { countTokensBody } from "../../../core/calls/request/count_tokens_body.ts";
import { type JsonBody, parseJsonBody } from "../../../core/calls/request/json_body.ts";
import { countTokensPath } from "../../../core/clouds/request_form.ts";
import { providerRequest } from "../../../core/calls/request/provider_request.ts";
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { inClientTerms } from "../../../core/wire/stream/client_model.ts";
import { decodeProviderError } from "../../../core/wire/errors/errors.ts";
import { GatewayError } from "../../../core/errors.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { maxErrorBodyBytes } from "../../../core/calls/limits.ts";
import { estimateInputTokens } from "../../../core/billing/tokens/estimate_input.ts";
import { chooseModel } from "../admission.ts";
import type { Gateway } from "../gateway.ts";
import { admitRequest, checkVersion, type Incoming, requireJson } from "../incoming.ts";

/** Milliseconds to wait for the provider's token counter; after that the estimate is sent. */
const countTokensMs = 10_000;

/** Asks the provider; `undefined` if it cannot answer. */
async function countUpstream(
  gateway: Gateway,
  route: Route,
  body: JsonBody,
  { headers, clientModel }: {
    readonly headers: HttpRequest["headers"];
    readonly clientModel: string;
  },
): Promise<number | undefined> {
  const { provider, secret, transport } = gateway.router.access(route);
  const exchange = transport.open(providerRequest({
    provider,
    style: "messages",
    model: route.upstreamModel,
    subpath: countTokensPath,
    secret,
    body: countTokensBody(body, provider, route.upstreamModel),
    stream: false,
    clientHeader: (name) => headers.get(name) ?? undefined,
    onSentAgain: () => {}, // counting twice has no effect
  }));
  const deadline = gateway.deadlines.create(() => exchange.cancel());
  deadline.arm(countTokensMs);
  try {
    const response = await exchange.response;
    const bytes = await readWhole(response, maxErrorBodyBytes);
    const text = new TextDecoder().decode(bytes);
    if (response.status === 400 || response.status === 413) {
      const error = decodeProviderError("messages", response.status, text);
      throw inClientTerms(error, { clientModel, upstreamModel: route.upstreamModel });
    }
    if (response.status !== 200) return undefined;
    const value: unknown = JSON.parse(text);
    const count = isJsonObject(value) ? value["input_tokens"] : undefined;
    return typeof count === "number" && Number.isSafeInteger(count) && count >= 0
      ? count
      : undefined;
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    exchange.cancel();
    return undefined; // its failure affects neither the route's health nor the caller
  } finally {
    deadline.disarm();
  }
}

function countingRoute(gateway: Gateway, model: Model): Route | undefined {
  return gateway.router.candidates(model, { style: "messages", operation: "chat" })
    .find((route) => route.countTokens && route.style === "messages");
}

/** Serves one count. */
export async function serveCountTokens(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const { body: bytes, principal } = await admitRequest(gateway, incoming, { charging: "free" });
  const { headers } = incoming.request;
  requireJson(incoming.request);
  checkVersion(headers);
  const body = parseJsonBody(bytes);
  const request = readCountTokensRequest(body.value);
  const { model } = incoming.chosen = chooseModel(
    gateway.config.catalog,
    request.model,
    "chat",
    principal,
  );
  const route = countingRoute(gateway, model);
  const counted = route === undefined
    ? undefined
    : await countUpstream(gateway, route, body, { headers, clientModel: request.model });
  const responseHeaders = new Headers({ "content-type": "application/json" });
  if (counted === undefined) responseHeaders.set(answerHeaders.estimate, "true");
  const inputTokens = counted ?? await estimateInputTokens(body.value);
  return new Response(JSON.stringify({ input_tokens: inputTokens }), { headers: responseHeaders });
}
