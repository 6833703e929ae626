/**
 * `POST /v1/images/generations` and `/v1/images/edits`. Charged by the images that arrived.
 *
 * - Folder `routes/api/media/images/`: image generations and edits.
 * - In: an admitted request as JSON or as a form.
 * - Out: images or a stream of them, settled, with its receipt.
 * - Never: charges for an image that did not come.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { arrivalOf, earlyStream, isLate } from "../../../../core/calls/stream/early_stream.ts";
import { type ImageResult, imageWork } from "../../../../core/media/images/attempt.ts";
import {
  chargeForImages,
  type ImageEndpoint,
  readImageRequest,
} from "../../../../core/media/images/request.ts";
import { readMediaBody, urlsOfBody } from "../../../../core/calls/body/body.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import { chooseModel } from "../../call/admission.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import { beginMediaCall, failedCall, type MediaCall, tryRoutes } from "../base/media_call.ts";
import { type CallSettlement, startCall } from "../../call/call_settlement.ts";
import type { AttemptLoopResult } from "../../../../core/calls/attempts/attempt_loop.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import { mediaErrorEvent } from "../../../../core/media/base/events.ts";
import type { MediaExchange } from "../../../../core/media/base/exchange.ts";
import type { StreamEndCode } from "../../../../core/billing/usage/call_failure.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { bytesLeave } from "../../../http/query.ts";
import { costHeaders, streamOf } from "../../call/response_headers.ts";
import { wholeAnswer } from "../../call/whole_answer.ts";

// Delivers what the attempts of an image call found, settled before its last byte.

/** An image call, with what delivering its answer needs. */
export interface ImageDelivery {
  readonly call: MediaCall;
  /** Number of requested images. */
  readonly asked: number;
}

/** The images of a route, as the attempt loop found them. */
export type FoundImages = Extract<
  AttemptLoopResult<MediaExchange, ImageResult>,
  { readonly ok: true }
>;
type WholeResult = Extract<ImageResult, { readonly kind: "answer" }>;
type StreamResult = Extract<ImageResult, { readonly kind: "stream" }>;

/** What a stream keeps of its call. Not the request, whose pictures may be large. */
interface ImageEnd extends Pick<FoundImages, "route" | "attempts"> {
  readonly settlement: CallSettlement;
  readonly asked: number;
}

function endOf({ call, asked }: ImageDelivery, { route, attempts }: FoundImages): ImageEnd {
  return { settlement: call.settlement, asked, route, attempts };
}

async function settleImages(
  { settlement, asked, route, attempts }: ImageEnd,
  outcome: Outcome,
  counts: { readonly finished: number; readonly begun: number },
  endCode?: StreamEndCode,
) {
  const { price } = settlement.call;
  const charge = chargeForImages({ outcome, price, asked, ...counts });
  return await settlement.settle({ outcome, endCode, status: 200, route, attempts }, charge);
}

async function deliverAnswer(
  delivery: ImageDelivery,
  found: FoundImages,
  { bytes, images }: WholeResult,
): Promise<Reply> {
  const outcome = images === 0 ? "empty" : "completed";
  const counts = { finished: images, begun: images };
  const receipt = await settleImages(endOf(delivery, found), outcome, counts);
  const { headers, bufferedAnswer, gateway } = delivery.call;
  return wholeAnswer(
    bytes,
    [...headers, ...costHeaders(receipt)],
    bufferedAnswer,
    gateway.deadlines,
  );
}

function meteredInput(
  delivery: ImageDelivery,
  found: FoundImages,
  { started, images }: StreamResult,
): MeteredStreamInput {
  const { gateway, control, settlement, bufferedAnswer } = delivery.call;
  const end = endOf(delivery, found);
  // Pictures that arrived as a whole answer are in memory until they have left.
  const over = Promise.withResolvers<void>();
  bufferedAnswer.keepUntil(over.promise);
  return {
    started,
    keepAlive: keepAliveComment,
    deadlines: gateway.deadlines,
    control,
    idleMs: idleMs(delivery.call.input.chosen.catalog, found.route),
    settle: async (outcome, endCode) => {
      try {
        await settleImages(end, outcome, images.counts(), endCode);
      } finally {
        over.resolve();
      }
    },
    bytesLeave,
    onBug: settlement.onBug,
  };
}

/** Delivers the images of a route that answered in time. */
export async function deliverImages(
  delivery: ImageDelivery,
  found: FoundImages,
): Promise<Reply> {
  const { call } = delivery;
  call.settlement.firstOutputAt(call.gateway.clock.monotonicMs());
  const { result } = found;
  if (result.kind === "answer") return await deliverAnswer(delivery, found, result);
  return streamOf(meteredStream(meteredInput(delivery, found, result)), call.headers);
}

/** Delivers a stream that begins before there is a picture: see `deliverEarly` of chat. */
export function deliverImagesEarly(
  delivery: ImageDelivery,
  finding: Promise<FoundImages>,
): Reply {
  const { call } = delivery;
  const { gateway, control, settlement, headers } = call;
  const arrival = arrivalOf(finding, {
    streamOf: (found) => {
      settlement.firstOutputAt(gateway.clock.monotonicMs());
      const { result } = found;
      return result.kind === "stream" ? meteredInput(delivery, found, result) : undefined;
    },
    errorEvent: (error) => mediaErrorEvent(error, settlement.call.requestId),
    abandon: () => settlement.abandon(),
  });
  const { deadlines } = gateway;
  call.input.incoming.bufferedBody?.keepUntil(finding);
  call.bufferedAnswer.keepUntil(finding);
  return streamOf(
    earlyStream({ arrival, keepAlive: keepAliveComment, deadlines, control }),
    headers,
  );
}

/**
 * Tries the routes.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} when no route gave a picture; the call is settled then
 */
async function find(
  call: MediaCall<ImageResult>,
  statusSent: () => number | undefined,
): Promise<FoundImages> {
  const found = await tryRoutes(call);
  if (!found.ok) throw await failedCall(call, found, statusSent());
  return found;
}

/**
 * Serves one image call.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveImages(
  gateway: Gateway,
  endpoint: ImageEndpoint,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  const contentType = incoming.request.headers.get("content-type") ?? "";
  const request = readImageRequest(endpoint, body, contentType);
  const chosen = incoming.chosen = chooseModel(
    gateway.catalog.current,
    request.model,
    "image",
    principal,
  );
  if (hasIdempotencyKey(incoming)) {
    const known = await knownAnswer(gateway, incoming, principal, readMediaBody(body, contentType));
    if (known !== undefined) return known;
  }
  const price = applyPrice(chosen.model.price);
  const work = imageWork({
    request,
    requestId: incoming.requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
  });
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
    urls: urlsOfBody(request.body),
    start,
  }, work);
  try {
    let statusSent: number | undefined;
    const finding = find(call, () => statusSent);
    const delivery = { call, asked: request.count };
    if (request.stream && await isLate(gateway.deadlines, finding)) {
      statusSent = 200;
      return deliverImagesEarly(delivery, finding);
    }
    return await deliverImages(delivery, await finding);
  } catch (error) {
    call.settlement.abandon();
    throw error;
  }
}
