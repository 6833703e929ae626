/**
 * Applies `Idempotency-Key` to chat, image and speech calls: the same key and body are charged once within a day.
 * While the first call runs in this process, on whichever thread, a second one waits for it. Then it gets the same
 * answer if that is still in memory, or else a 409 that names the receipt. A call that cost nothing frees its key.
 */
import type { ReplayedAnswer } from "../../../core/calls/replay/replayed_answers.ts";
import { readIdempotencyKey } from "../../../core/calls/body/idempotency_key.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import type { MediaBody } from "../../../core/calls/body/body.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { claimKey, type KeyClaim } from "../../../kv/services/calls/idempotency.ts";
import { readReceipt } from "../../../kv/money/receipts/receipts.ts";
import { answerHeaders, requestHeaders } from "../../http/own_headers.ts";
import { pathOf } from "../../http/query.ts";
import { KeyedCall } from "../gateway/keyed_call.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "./incoming.ts";

const header = requestHeaders.idempotencyKey;

/** Most checks of a key by one request. Each one after the first follows a call that cost nothing. */
const looks = 4;

/** Whether the client sent a key. */
export function hasIdempotencyKey({ request }: Incoming): boolean {
  return request.headers.has(header);
}

/**
 * Checks the key, before anything is reserved or sent. Returns the answer of the first call if it is kept; otherwise
 * this call claims the key, as `incoming.keyedCall`.
 *
 * @param said what the request says beside its body and path
 * @throws {GatewayError} `order_under_way` while another instance runs the call, `already_answered` when the answer
 * is not kept, `idempotency_key_reused` when the key belongs to another request, `maintenance` when the store does
 * not answer
 */
export async function knownAnswer(
  gateway: Gateway,
  incoming: Incoming,
  principal: Principal,
  body: MediaBody,
  said = "",
): Promise<Response | undefined> {
  const { kv, clock, keyedCalls } = gateway;
  const { request, requestId } = incoming;
  const { accountId } = principal;
  const key = await readIdempotencyKey(
    request.headers.get(header) ?? "",
    body,
    `${pathOf(request.url)}${said}`,
  );
  const id = `${accountId} ${key.id}`;
  let wasUnderWay = false;
  for (let look = 1; look <= looks; look++) {
    const entered = keyedCalls.enter(id, key.fingerprint);
    if ("over" in entered) {
      if (entered.fingerprint !== key.fingerprint) throw reused();
      if (!await keyedCalls.wait(entered)) break;
      // A client that has left must not start, and pay for, a call.
      if (request.signal.aborted) break;
      continue;
    }
    let isBegun = false;
    try {
      const nowMs = clock.nowMs();
      const claiming = claimKey(kv, { ...key, of: "call", accountId, requestId, nowMs });
      entered.claims(claiming.then(({ kind }) => kind === "claimed", () => false));
      const start = await claiming;
      isBegun = start.kind === "claimed";
      if (start.kind !== "claimed") {
        if (start.kind !== "under_way" || gateway.peers === undefined) {
          return await answerOf(gateway, start, id);
        }
        // A call that no other thread runs may have ended since its row was read.
        if (!await gateway.peers.finished(id) && wasUnderWay) break;
        // A client that has left must not start, and pay for, a call.
        if (request.signal.aborted) break;
        wasUnderWay = true;
        continue;
      }
      incoming.keyedCall = new KeyedCall(gateway, start.claim, id, accountId, entered.leave);
      return undefined;
    } finally {
      if (!isBegun) entered.leave();
    }
  }
  throw underWay();
}

/** Answers a request whose key is known. */
async function answerOf(
  { kv, keyedCalls, peers }: Gateway,
  start: Exclude<KeyClaim, { readonly kind: "claimed" }>,
  id: string,
): Promise<Response> {
  switch (start.kind) {
    case "over": {
      const kept = keyedCalls.replayed.find(id) ?? await peers?.replayed(id);
      if (kept !== undefined) return replay(kept);
      const receipt = await readReceipt(kv, start.requestId);
      throw answered(start.requestId, receipt?.costMicroVnd);
    }
    case "other_request":
      throw reused();
    case "under_way":
    case "done":
      throw underWay();
  }
}

function replay({ status, headers, body }: ReplayedAnswer): Response {
  const [whole] = body;
  const response = new Response(body.length === 1 ? whole : ReadableStream.from(body), { status });
  for (const [name, value] of headers) response.headers.append(name, value);
  response.headers.set(answerHeaders.replayed, "true");
  return response;
}

/** Makes the error for a key whose first call still runs. */
export function underWay(): GatewayError {
  return new GatewayError(
    "order_under_way",
    "A request with this Idempotency-Key is in progress; try again",
    { param: header, retryAfterSeconds: 2 },
  );
}

/** Makes the error for a key that another request has used. */
export function reused(): GatewayError {
  return new GatewayError(
    "idempotency_key_reused",
    "This Idempotency-Key was used for another request; take a new one",
    { param: header },
  );
}

function answered(requestId: RequestId, costMicroVnd: bigint | undefined): GatewayError {
  const cost = costMicroVnd === undefined ? "" : ` and cost ${formatVnd(costMicroVnd)} VND`;
  return new GatewayError(
    "already_answered",
    `The request with this Idempotency-Key was answered as ${requestId}${cost}; the answer is no longer kept. ` +
      "Take a new key to ask, and pay, again",
    { param: header },
  );
}
