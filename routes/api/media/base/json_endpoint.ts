/** Serves calls that get one JSON answer with a list of results: embeddings, ranks, moderation. */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { estimateOutputTokens } from "../../../../core/billing/tokens/rough_estimate.ts";
import type { AppliedPrice } from "../../../../core/billing/usage/receipt.ts";
import { fetchedUrls } from "../../../../core/net/remote/fetched_urls.ts";
import type { ModelKind } from "../../../../core/catalog/catalog.ts";
import { readMediaBody } from "../../../../core/calls/body/body.ts";
import type { MediaWork } from "../../../../core/media/base/exchange.ts";
import type { JsonAnswer, JsonRequest } from "../../../../core/media/base/json_call.ts";
import type { Operation } from "../../../../core/routing/contract/router.ts";
import { chooseRoutes, startCall } from "../../call/admission.ts";
import type { CallCharge } from "../../call/call_settlement.ts";
import { costHeaders, wholeAnswer } from "../../call/response_headers.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import { admitRequest, type Incoming, requireJson } from "../../call/incoming.ts";
import { type MediaRequest, refuseDropped, serveMediaCall } from "./media_call.ts";

/** Facts that distinguish such an endpoint. */
export interface JsonEndpoint<Request extends JsonRequest> {
  readonly kind: ModelKind;
  readonly style: MediaRequest["style"];
  readonly operation: Operation;
  /** Reads the body. @throws {GatewayError} the client's error */
  readonly read: (body: Uint8Array) => Request;
  readonly work: (request: Request) => MediaWork<JsonAnswer>;
  /** Members that were sent and that no provider gets; absent: all are passed on. */
  readonly dropped?: (request: Request) => readonly string[];
  /** Members of the request that are text for the model, beside those that are in all requests. */
  readonly texts?: ReadonlySet<string>;
  /** The most that a call can cost. */
  readonly maxMicroVnd: (price: AppliedPrice, request: Request) => bigint;
  readonly charge: (price: AppliedPrice, request: Request, answer: JsonAnswer) => CallCharge;
}

/**
 * Serves one call. A client that leaves pays: the provider finishes the call anyway.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveJsonEndpoint<Request extends JsonRequest>(
  gateway: Gateway,
  incoming: Incoming,
  endpoint: JsonEndpoint<Request>,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  requireJson(incoming.request);
  const request = endpoint.read(body);
  const dropped = endpoint.dropped?.(request) ?? [];
  refuseDropped(dropped, incoming.request.headers);
  const catalog = gateway.catalog.current;
  const chosen = incoming.chosen = chooseRoutes(catalog, request.model, endpoint.kind, principal);
  if (hasIdempotencyKey(incoming)) {
    const keyed = readMediaBody(body, "application/json");
    const known = await knownAnswer(gateway, incoming, principal, keyed);
    if (known !== undefined) return known;
  }
  const price = applyPrice(chosen.model.price);
  return await serveMediaCall(
    gateway,
    incoming,
    {
      principal,
      chosen,
      start,
      style: endpoint.style,
      operation: endpoint.operation,
      stream: false,
      size: body.length,
      price,
      reserved: endpoint.maxMicroVnd(price, request),
      ...(price.unit === "token" && {
        expectedTokens: { input: estimateOutputTokens(body.length), output: 0 },
      }),
      dropped,
      fields: request.body.outline,
      urls: fetchedUrls(request.body.outline, endpoint.texts),
    },
    endpoint.work(request),
    {
      async deliver({ settlement, headers, bufferedAnswer }, { route, attempts, result }) {
        settlement.firstOutputAt(gateway.clock.monotonicMs());
        const end = { outcome: "completed", status: 200, route, attempts } as const;
        const receipt = await settlement.settle(end, endpoint.charge(price, request, result));
        const answerHeaders = [...headers, ...costHeaders(receipt)];
        return wholeAnswer(result.bytes, answerHeaders, bufferedAnswer, gateway.deadlines);
      },
    },
  );
}
