/** `Idempotency-Key` on `POST /v1/videos`: a client that lost the answer sends the request again, and pays once. */
import { readIdempotencyKey } from "../../../../core/calls/body/idempotency_key.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { MediaBody } from "../../../../core/calls/body/body.ts";
import { videoObject } from "../../../../core/media/video/object.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import {
  type ClaimedKey,
  claimKey,
  releaseKey,
} from "../../../../kv/services/calls/idempotency.ts";
import { readVideo } from "../../../../kv/services/videos/mod.ts";
import { answerHeaders, requestHeaders } from "../../../http/own_headers.ts";
import { reused, underWay } from "../../call/idempotency.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";

/** What an idempotency key means for a request: this call runs, or an earlier one has created the video. */
export type VideoClaim =
  | { readonly kind: "claimed"; readonly claim: ClaimedKey }
  | { readonly kind: "done"; readonly response: Response };

/**
 * Checks the key, before anything is reserved or sent. `undefined` if the client sent none.
 *
 * @throws {GatewayError} `order_under_way` while another call runs under the key, `idempotency_key_reused` when the
 * key belongs to another request, `maintenance` when the store does not answer
 */
export async function claimOf(
  gateway: Gateway,
  incoming: Incoming,
  principal: Principal,
  body: MediaBody,
): Promise<VideoClaim | undefined> {
  const text = incoming.request.headers.get(requestHeaders.idempotencyKey);
  if (text === null) return undefined;
  const { accountId } = principal;
  const { requestId } = incoming;
  const key = await readIdempotencyKey(text, body);
  const nowMs = gateway.clock.nowMs();
  const start = await claimKey(gateway.kv, { ...key, of: "video", accountId, requestId, nowMs });
  switch (start.kind) {
    case "claimed":
      return start;
    case "done": {
      const row = await readVideo(gateway.kv, accountId, start.videoId);
      if (row === undefined) {
        throw new GatewayError("not_found", "The video of this Idempotency-Key was deleted");
      }
      const headers = { [answerHeaders.replayed]: "true" };
      const response = Response.json(videoObject(row.task), { headers });
      return { kind: "done", response };
    }
    case "under_way":
    case "over":
      throw underWay();
    case "other_request":
      throw reused();
  }
}

/** Frees the key of a call that was not charged. If the store does not answer, the claim expires. */
export async function giveUpClaim(gateway: Gateway, claim: ClaimedKey | undefined): Promise<void> {
  if (claim === undefined) return;
  await releaseKey(gateway.kv, claim).catch(() => {});
}
