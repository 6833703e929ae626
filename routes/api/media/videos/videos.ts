/**
 * `POST /v1/videos`: the task is submitted within the request, so that no prompt is ever stored and a
 * refusal of the provider is answered at once and costs nothing. Charge, task and first poll are one commit.
 *
 * - Folder `routes/api/media/videos/`: video tasks: creating, listing, reading, deleting, downloading,
 *   polling.
 * - In: requests of their owners, and answers of providers to polls.
 * - Out: tasks as JSON, files as streams.
 * - Never: stores a prompt, or shows a task to an account that does not own it.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  fieldsOfBody,
  type MediaBody,
  readMediaBody,
  urlsOfBody,
} from "../../../../core/calls/body/body.ts";
import { taggedFields } from "../../../../core/calls/body/sent_tags.ts";
import { modelField } from "../../../../core/calls/body/fields.ts";
import { applyPrice, costOfUnits } from "../../../../core/billing/price.ts";
import { cancelRequest, videoWork } from "../../../../core/media/video/upstream_requests.ts";
import { videoRulesOf } from "../../../../core/catalog/entries/video_rules.ts";
import { videoObject, type VideoTask } from "../../../../core/media/video/task.ts";
import { readVideoRequest, type VideoRequest } from "../../../../core/media/video/request.ts";
import {
  type ClaimedKey,
  claimKey,
  releaseKey,
} from "../../../../kv/services/calls/idempotency.ts";
import { newTaskRows, readVideo, videoPolls } from "../../../../kv/services/videos/mod.ts";
import { chooseRoutes, startCall } from "../../call/admission.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { admitRequest, type Incoming } from "../../call/incoming.ts";
import {
  type Found,
  type MediaCall,
  type MediaRequest,
  refuseDropped,
  serveMediaCall,
} from "../base/media_call.ts";
import { LateReceiptError } from "../../call/call_settlement.ts";
import { costHeaders } from "../../call/response_headers.ts";
import { answerHeaders, requestHeaders } from "../../../http/own_headers.ts";
import { credentialName, smallExchange, upstreamOf } from "./video_tasks.ts";
import { readIdempotencyKey } from "../../../../core/calls/body/idempotency_key.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import { reused, underWay } from "../../call/idempotency.ts";

// `Idempotency-Key` on `POST /v1/videos`: a client that lost the answer sends the request again, and pays once.

/** Meaning of an idempotency key for a request: this call runs, or an earlier one has created the video. */
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

/** Lists the fields for `x-gateway-conversion`. */
function droppedFields({ unknownFields, approximatedFields }: VideoRequest): readonly string[] {
  return [...unknownFields, ...approximatedFields];
}

/** Cancels a task that the provider accepted but that could not be stored. */
async function takeBack(gateway: Gateway, task: VideoTask): Promise<void> {
  const upstream = upstreamOf(gateway, task);
  const request = upstream && cancelRequest(upstream, task.upstreamId);
  if (upstream === undefined || request === undefined) return;
  await smallExchange(gateway, upstream.transport, request).catch(() => {});
}

/** Settles a task that a provider has taken, and answers with it. */
async function submitted(
  { gateway, settlement, headers }: MediaCall<string>,
  found: Found<string>,
  request: VideoRequest,
  claim: ClaimedKey | undefined,
): Promise<Response> {
  const { requestId, price, model, principal } = settlement.terms;
  const { route, begun: { access }, attempts, result: upstreamId } = found;
  const nowMs = gateway.clock.nowMs();
  const priceMicroVnd = costOfUnits(price, 1);
  const task: VideoTask = {
    id: newId("video", nowMs),
    accountId: principal.accountId,
    keyId: principal.key.id,
    requestId,
    model: model.id,
    route: route.id,
    credential: credentialName(gateway, route, access.secret),
    upstreamId,
    state: "queued",
    progress: 0,
    createdAtMs: nowMs,
    completedAtMs: undefined,
    expiresAtMs: undefined,
    deadlineAtMs: nowMs + videoRulesOf(model).deadlineMinutes * 60_000,
    seconds: request.sentSeconds,
    size: request.size,
    error: undefined,
    costMicroVnd: priceMicroVnd,
    refundId: undefined,
  };
  const end = {
    outcome: "completed",
    status: 200,
    route,
    attempts,
  } as const;
  const providerUse = { units: 1, seconds: request.sentSeconds };
  const charge = { units: 1, priceMicroVnd, providerUse };
  try {
    const receipt = await settlement.settle(end, charge, { attach: newTaskRows(task, claim) });
    gateway.media.wakeUp.nudge(videoPolls.name);
    return Response.json(videoObject(task), {
      headers: [...headers, ...costHeaders(receipt)],
    });
  } catch (error) {
    if (error instanceof LateReceiptError) {
      // The task exists as soon as the store is back; if the process stops before that, it was never charged.
      error.settling.then(
        () => gateway.media.wakeUp.nudge(videoPolls.name),
        () => takeBack(gateway, task),
      );
    } else await takeBack(gateway, task);
    throw error;
  }
}

/**
 * Serves the creation of a task.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function createVideo(
  gateway: Gateway,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  const { headers } = incoming.request;
  const media = readMediaBody(body, headers.get("content-type") ?? "");
  const fields = fieldsOfBody(media);
  const chosen = incoming.chosen = chooseRoutes(
    gateway.catalog.current,
    modelField(fields),
    "video",
    principal,
  );
  const request = readVideoRequest(fields, videoRulesOf(chosen.model), chosen.model.id);
  refuseDropped(droppedFields(request), headers);
  const known = await claimOf(gateway, incoming, principal, media);
  if (known?.kind === "done") return known.response;
  try {
    const named = { principal, chosen, start };
    return await carryOut(gateway, incoming, named, { request, media, claim: known?.claim });
  } catch (error) {
    if (!(error instanceof LateReceiptError)) await giveUpClaim(gateway, known?.claim);
    throw error;
  }
}

async function carryOut(
  gateway: Gateway,
  incoming: Incoming,
  named: Pick<MediaRequest, "principal" | "chosen" | "start">,
  { request, media, claim }: {
    readonly request: VideoRequest;
    readonly media: MediaBody;
    readonly claim: ClaimedKey | undefined;
  },
): Promise<Reply | Response> {
  const price = applyPrice(named.chosen.model.price, request.billedSeconds);
  return await serveMediaCall(
    gateway,
    incoming,
    {
      ...named,
      style: "videos",
      operation: "video",
      stream: false,
      size: 1,
      price,
      reserved: costOfUnits(price, 1),
      dropped: droppedFields(request),
      fields: taggedFields(media),
      urls: urlsOfBody(media),
    },
    videoWork(request),
    {
      deliver: (call, found) => submitted(call, found, request, claim),
    },
  );
}
