/** `POST /v1/images/generations` and `/v1/images/edits` (spec section 4). Charged by the images that came. */
import { type ImageResult, imageWork } from "../../core/images/attempt.ts";
import { chargeForImages } from "../../core/images/charge.ts";
import { type ImageEndpoint, readImageRequest } from "../../core/images/request.ts";
import { meteredStream } from "../../core/call/metered_stream.ts";
import { toolsOfCall } from "../../core/media/upstream_body.ts";
import { applyPrice, costOfUnits } from "../../core/money/price.ts";
import { idleMs } from "../../core/routing/patience.ts";
import type { Attempt, Outcome } from "../../core/receipt.ts";
import type { Route } from "../../core/catalog/catalog.ts";
import { chooseModel } from "./admission.ts";
import type { Gateway } from "./gateway.ts";
import { admitRequest, type Incoming } from "./incoming.ts";
import { beginMediaCall, failedCall, type MediaCall, tryRoutes } from "./media_call.ts";
import { startCall } from "./media_settlement.ts";
import { costHeaders } from "./response_headers.ts";

const keepAlive = new TextEncoder().encode(": keep-alive\n\n");

interface Delivery {
  readonly call: MediaCall;
  readonly asked: number;
  readonly route: Route;
  readonly attempts: readonly Attempt[];
}

async function settleImages(
  delivery: Delivery,
  outcome: Outcome,
  counts: { readonly finished: number; readonly begun: number },
) {
  const { call, asked, route, attempts } = delivery;
  const { price } = call.input;
  const charge = chargeForImages({ outcome, price, asked, ...counts });
  return await call.settlement.settle({ outcome, status: 200, ...charge, route, attempts });
}

async function deliver(delivery: Delivery, result: ImageResult): Promise<Response> {
  const { call } = delivery;
  call.settlement.firstOutput();
  if (result.kind === "stream") {
    const stream = meteredStream({
      started: result.started,
      keepAlive,
      deadlines: call.gateway.deadlines,
      control: call.control,
      idleMs: idleMs(call.gateway.config.catalog, delivery.route),
      settle: async (outcome) => {
        await settleImages(delivery, outcome, result.images.counts());
      },
      onBug: call.settlement.onBug,
    });
    return new Response(stream, {
      headers: [
        ["content-type", "text/event-stream; charset=utf-8"],
        ["cache-control", "no-cache, no-transform"],
        ["x-accel-buffering", "no"],
        ...call.headers,
      ],
    });
  }
  const counts = { finished: result.images, begun: result.images };
  const outcome = result.images === 0 ? "empty" : "completed";
  const receipt = await settleImages(delivery, outcome, counts);
  return new Response(result.bytes as Uint8Array<ArrayBuffer>, {
    headers: [["content-type", "application/json"], ...call.headers, ...costHeaders(receipt)],
  });
}

/**
 * Serves one image call.
 *
 * @throws {GatewayError} for everything the client should be told; nothing is charged then
 */
export async function serveImages(
  gateway: Gateway,
  endpoint: ImageEndpoint,
  incoming: Incoming,
): Promise<Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  const contentType = incoming.request.headers.get("content-type") ?? "";
  const request = readImageRequest(endpoint, body, contentType);
  const chosen = chooseModel(gateway.config.catalog, request.model, "image", principal);
  const price = applyPrice(chosen.model.price);
  const call = await beginMediaCall(gateway, {
    incoming,
    principal,
    chosen,
    style: "images",
    operation: "image",
    stream: request.stream,
    price,
    worstCaseMicroVnd: costOfUnits(price, price.unit === "image" ? request.count : 1),
    dropped: [],
    start,
  });
  try {
    const work = imageWork({
      request,
      requestId: incoming.requestId,
      nowSeconds: Math.floor(start.startedAtMs / 1000),
      tools: toolsOfCall(gateway.media.tools),
    });
    const found = await tryRoutes(call, work);
    if (!found.ok) throw await failedCall(call, found);
    const { route, attempts, result } = found;
    return await deliver({ call, asked: request.count, route, attempts }, result);
  } catch (error) {
    call.settlement.abandon();
    throw error;
  }
}
