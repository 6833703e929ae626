/** `Idempotency-Key` on `POST /v1/videos`: a client that lost the answer asks again, and pays once. */
import { readOrderKey } from "../../../core/calls/request/order_key.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { MediaBody } from "../../../core/media/body.ts";
import { videoObject } from "../../../core/media/video/object.ts";
import type { Principal } from "../../../kv/api_keys/key_directory.ts";
import { beginOrder, type BegunOrder, dropOrder } from "../../../kv/calls/orders.ts";
import { readVideo } from "../../../kv/videos/mod.ts";
import { answerHeaders, requestHeaders } from "../../http/own_headers.ts";
import { reused, underWay } from "../idempotency.ts";
import type { Gateway } from "../gateway.ts";
import type { Incoming } from "../incoming.ts";

/** What a request under a key is: an order to carry out, or one that was carried out, with its answer. */
export type VideoOrder =
  | { readonly kind: "begun"; readonly order: BegunOrder }
  | { readonly kind: "ordered"; readonly response: Response };

/**
 * Looks at the key, before anything is held or sent. `undefined`: the client sent none.
 *
 * @throws {GatewayError} `order_under_way` while another call carries it out, `idempotency_key_reused` when the key
 * belongs to another request, `maintenance` when the store does not answer
 */
export async function orderOf(
  gateway: Gateway,
  incoming: Incoming,
  principal: Principal,
  body: MediaBody,
): Promise<VideoOrder | undefined> {
  const text = incoming.request.headers.get(requestHeaders.idempotencyKey);
  if (text === null) return undefined;
  const { accountId } = principal;
  const { requestId } = incoming;
  const key = await readOrderKey(text, body);
  const nowMs = gateway.clock.nowMs();
  const start = await beginOrder(gateway.kv, { ...key, of: "video", accountId, requestId, nowMs });
  switch (start.kind) {
    case "begun":
      return start;
    case "ordered": {
      const row = await readVideo(gateway.kv, accountId, start.videoId);
      if (row === undefined) {
        throw new GatewayError("not_found", "The video of this Idempotency-Key was deleted");
      }
      const headers = { [answerHeaders.replayed]: "true" };
      const response = Response.json(videoObject(row.task), { headers });
      return { kind: "ordered", response };
    }
    case "under_way":
    case "over":
      throw underWay();
    case "other_request":
      throw reused();
  }
}

/** Nothing was charged: the same key may order anew. Where the store is away its row ends by itself. */
export async function giveUpOrder(gateway: Gateway, order: BegunOrder | undefined): Promise<void> {
  if (order === undefined) return;
  await dropOrder(gateway.kv, order).catch(() => {});
}
