/**
 * `POST /v1/images/generations` and `/v1/images/edits`. Charged by the images that arrived.
 *
 * - Folder `routes/api/media/images/`: image generations and edits.
 * - In: an admitted request as JSON or as a form.
 * - Out: images or a stream of them, settled, with its receipt.
 * - Never: charges for an image that did not come.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { isLate } from "../../../../core/calls/stream/early_stream.ts";
import { type ImageResult, imageWork } from "../../../../core/media/images/attempt.ts";
import { type ImageEndpoint, readImageRequest } from "../../../../core/media/images/request.ts";
import { readMediaBody, urlsOfBody } from "../../../../core/calls/body/body.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import { chooseModel } from "../../call/admission.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { deliverImages, deliverImagesEarly, type FoundImages } from "./image_delivery.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import { beginMediaCall, failedCall, type MediaCall, tryRoutes } from "../base/media_call.ts";
import { startCall } from "../../call/call_settlement.ts";

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
