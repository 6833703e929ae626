/** Asks the provider of a route to count the tokens of a prompt, which costs nothing. */
import { maxErrorBodyBytes, readWhole } from "../../../core/net/transport/read_whole.ts";
import { fetchedUrls } from "../../../core/net/remote/fetched_urls.ts";
import type { JsonBody } from "../../../core/calls/body/json_body.ts";
import {
  type CountingStyle,
  type CountRequest,
  providerCountRequest,
} from "../../../core/calls/exchange/provider_count.ts";
import { providerRequest } from "../../../core/calls/exchange/provider_request.ts";
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { decodeProviderError } from "../../../core/wire/convert/provider_errors.ts";
import { inClientTerms } from "../../../core/wire/stream/client_model.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { vetUrls } from "../call/admission.ts";

/** Milliseconds to wait for the provider's token counter; after that the estimate is sent. */
const countTokensMs = 10_000;

/** The styles of routes that may count. */
const countingStyles: ReadonlySet<Route["style"]> = new Set([
  "messages",
  "gemini",
  "responses",
  "converse",
]);

/** A prompt to count. */
export interface CountCall {
  readonly style: CountingStyle;
  readonly model: Model;
  /** Of a Gemini client with the members of its path. */
  readonly body: JsonBody;
  readonly headers: HttpRequest["headers"];
  readonly clientModel: string;
}

/** The first route that counts, if possible one of the client's style. */
function countingRoute(gateway: Gateway, { model, style }: CountCall): Route | undefined {
  const counting = gateway.router.candidates(model, { style, operation: "chat" })
    .filter((route) => route.countTokens && countingStyles.has(route.style));
  return counting.find((route) => route.style === style) ?? counting[0];
}

/**
 * Returns the provider's count; `undefined` if no route counts, or its provider does not answer.
 *
 * @throws {GatewayError} the refusal of a prompt that reached the provider as the client wrote it; `invalid_request` for
 * URLs that lead to no public server
 */
export async function countAtProvider(
  gateway: Gateway,
  call: CountCall,
): Promise<number | undefined> {
  const route = countingRoute(gateway, call);
  if (route === undefined) return undefined;
  const { provider } = gateway.router.access(route);
  // A provider may fetch what it counts.
  await vetUrls(gateway, fetchedUrls(call.body.outline), [provider]);
  const request = providerCountRequest(call.style, call.body, route, provider);
  return request === undefined ? undefined : await ask(gateway, call, route, request);
}

async function ask(
  gateway: Gateway,
  { style, headers, clientModel }: CountCall,
  route: Route,
  { subpath, body, countedIn }: CountRequest,
): Promise<number | undefined> {
  const { provider, secret, transport } = gateway.router.access(route);
  const exchange = transport.open(providerRequest({
    provider,
    style: route.style,
    model: route.upstreamModel,
    subpath,
    secret,
    body,
    stream: false,
    clientHeader: (name) => style === route.style ? headers.get(name) ?? undefined : undefined,
    onSentAgain: () => {}, // counting twice has no effect
  }));
  const deadline = gateway.deadlines.create(() => exchange.cancel());
  deadline.arm(countTokensMs);
  try {
    const response = await exchange.response;
    const bytes = await readWhole(response, maxErrorBodyBytes);
    const text = new TextDecoder().decode(bytes);
    if (style === route.style && (response.status === 400 || response.status === 413)) {
      const error = decodeProviderError(style, response.status, text);
      throw inClientTerms(error, { clientModel, upstreamModel: route.upstreamModel });
    }
    if (response.status !== 200) return undefined;
    const value: unknown = JSON.parse(text);
    const count = isJsonObject(value) ? value[countedIn] : undefined;
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
