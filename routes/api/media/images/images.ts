/**
 * `POST /v1/images/generations` and `/v1/images/edits`. Charged by the images that arrived.
 *
 * - Folder `routes/api/media/images/`: image generations and edits.
 * - In: an admitted request as JSON or as a form.
 * - Out: images or a stream of them, settled, with its receipt.
 * - Never: charges for an image that did not come.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { type ImageResult, imageWork } from "../../../../core/media/images/attempt.ts";
import type { Model } from "../../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import {
  chargeForImages,
  type ImageEndpoint,
  type ImageRequest,
  readImageRequest,
} from "../../../../core/media/images/request.ts";
import { readMediaBody, urlsOfBody } from "../../../../core/calls/body/body.ts";
import { taggedFields } from "../../../../core/calls/body/sent_tags.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import { chooseRoutes, startCall } from "../../call/admission.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import { type Found, type MediaCall, serveMediaCall } from "../base/media_call.ts";
import type { CallSettlement } from "../../call/call_settlement.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import type { StreamEndCode } from "../../../../core/billing/usage/call_failure.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { bytesLeave } from "../../../http/query.ts";
import { costHeaders, streamOf, wholeAnswer } from "../../call/response_headers.ts";

// Delivers what the attempts of an image call found, settled before its last byte.

/** An image call, with what delivering its answer needs. */
interface ImageDelivery {
  readonly call: MediaCall;
  /** Number of requested images. */
  readonly asked: number;
}

type FoundImages = Found<ImageResult>;
type WholeResult = Extract<ImageResult, { readonly kind: "answer" }>;
type StreamResult = Extract<ImageResult, { readonly kind: "stream" }>;

/** Parts of its call that a stream keeps. Not the request, whose pictures may be large. */
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
  const { price } = settlement.terms;
  const charge = chargeForImages({ outcome, price, asked, ...counts });
  return await settlement.settle({ outcome, endCode, status: 200, route, attempts }, charge);
}

async function deliverAnswer(
  delivery: ImageDelivery,
  found: FoundImages,
  { bytes, images }: WholeResult,
): Promise<Reply> {
  const counts = { finished: images, begun: images };
  const receipt = await settleImages(endOf(delivery, found), "completed", counts);
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
    idleMs: idleMs(settlement.terms.catalog, found.route),
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
async function deliverImages(
  delivery: ImageDelivery,
  found: FoundImages,
): Promise<Reply> {
  const { call } = delivery;
  call.settlement.firstOutputAt(call.gateway.clock.monotonicMs());
  const { result } = found;
  if (result.kind === "answer") return await deliverAnswer(delivery, found, result);
  return streamOf(meteredStream(meteredInput(delivery, found, result)), call.headers);
}

/**
 * Refuses several images in one call where the price is per call and a limit of the key counts images: receipts count
 * one unit for such a call, so more would pass the limit unseen.
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
function refuseUncountedImages(
  { id, price }: Model,
  { key }: Principal,
  { count }: ImageRequest,
): void {
  if (count === 1 || price.unit === "image" || key.imagesPerDay === undefined) return;
  throw new GatewayError(
    "invalid_request",
    `n: this API key has a limit of images per day, with which the model ${id}, priced per call, gives one image per call`,
    { param: "n" },
  );
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
  const chosen = incoming.chosen = chooseRoutes(
    gateway.catalog.current,
    request.model,
    "image",
    principal,
  );
  refuseUncountedImages(chosen.model, principal, request);
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
  const units = price.unit === "image" ? request.count : 1;
  const deliveryOf = (call: MediaCall): ImageDelivery => ({ call, asked: request.count });
  return await serveMediaCall(
    gateway,
    incoming,
    {
      principal,
      chosen,
      start,
      style: "images",
      operation: "image",
      stream: request.stream,
      size: request.count,
      price,
      reserved: costOfUnits(price, units),
      makes: { images: BigInt(units) },
      fields: taggedFields(request.body),
      urls: urlsOfBody(request.body),
    },
    work,
    {
      deliver: (call, found) => deliverImages(deliveryOf(call), found),
      lateStream: (call, found) =>
        found.result.kind === "stream"
          ? meteredInput(deliveryOf(call), found, found.result)
          : undefined,
    },
  );
}
