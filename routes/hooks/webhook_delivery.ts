/** Delivers webhooks to the endpoints of customers: one signed POST for each try, logged with what follows it. */
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { isLoopbackUrl } from "../../core/net/addresses/local_address.ts";
import { type GuardedPostResult, postGuarded } from "../../core/net/remote/guarded_post.ts";
import type { Transport } from "../../core/net/transport/transport.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import type { Pace, WebhookOutcome } from "../../core/people/webhooks/retries.ts";
import { signatureHeaders } from "../../core/people/webhooks/signature.ts";
import { webhookEndpointsKey } from "../../kv/engine/schema/keys.ts";
import { claimDue, type OutboxClaim } from "../../kv/engine/outbox/outbox_claims.ts";
import {
  handleClaim,
  type OutboxWork,
  type OutboxWorld,
} from "../../kv/engine/outbox/outbox_worker.ts";
import { recordTry } from "../../kv/people/webhooks/deliveries.ts";
import {
  type EndpointName,
  endpointQueue,
  endTurns,
  passTurnOn,
  type WebhookDelivery,
  webhookTurns,
} from "../../kv/people/webhooks/endpoint_queues.ts";
import { openSecrets, type WebhookRow } from "../../kv/people/webhooks/endpoints.ts";

/** Milliseconds for one try: a receiver writes the event down and answers; its work comes later. */
export const webhookTryTotalMs = 15_000;

/** Bytes of an answer that are read and thrown away. */
const maxAnswerBytes = 16 * 1024;

/**
 * Endpoints that one process serves at the same time. A delivery is waiting, not work: it costs a socket and some 50 KB,
 * so these are 768 sockets and 40 MB at most. Slow endpoints have places of their own and take none of the quick ones.
 */
const maxServed: Readonly<Record<Pace, number>> = { quick: 128, slow: 256 };

/** Deliveries of one endpoint at the same time: several keep up with its events, one costs little if it hangs. */
const maxAtOnce: Readonly<Record<Pace, number>> = { quick: 4, slow: 1 };

/** What deliveries need. */
export interface DeliveryWorld extends OutboxWorld {
  readonly deadlines: Deadlines;
  readonly masterKeys: MasterKeys;
  /** Connects to public addresses only. */
  readonly transport: Transport;
  /** Connects to this machine, for a developer's sandbox; absent: nothing does. */
  readonly localTransport?: Transport | undefined;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
  /** Called after an endpoint has changed its pace and waits for its turn among others. */
  readonly hintTurns: () => void;
  /** Ends the tries in flight; they are made again later. */
  readonly signal?: AbortSignal | undefined;
}

/** Thrown when the process stops during a try. */
class StoppedError extends Error {
  override name = "StoppedError";
}

function outcomeOf(result: GuardedPostResult): WebhookOutcome {
  switch (result.kind) {
    case "answered": {
      const { status, retryAfterSeconds } = result;
      return status >= 200 && status < 300
        ? { kind: "delivered", status }
        : { kind: "failed", reason: "status", status, retryAfterSeconds };
    }
    case "timeout":
    case "unreachable":
    case "broken_answer":
      return { kind: "failed", reason: result.kind };
    case "stopped":
      throw new StoppedError();
  }
}

async function post(
  world: DeliveryWorld,
  { eventId, body }: WebhookDelivery,
  { url, secrets }: { readonly url: string; readonly secrets: readonly string[] },
): Promise<WebhookOutcome> {
  if (secrets.length === 0) return { kind: "failed", reason: "no_secret" };
  const { clock, deadlines, signal, transport, localTransport } = world;
  const atSeconds = Math.floor(clock.nowMs() / 1_000);
  const signed = await signatureHeaders(secrets, { id: eventId, atSeconds, body });
  const local = isLoopbackUrl(url) ? localTransport : undefined;
  return outcomeOf(
    await postGuarded({ transport: local ?? transport, deadlines, clock }, {
      url,
      headers: [
        ["content-type", "application/json"],
        ["user-agent", "model-gateway-webhooks"],
        ...Object.entries(signed),
      ],
      body: new TextEncoder().encode(body),
      totalMs: webhookTryTotalMs,
      maxAnswerBytes,
      signal,
    }),
  );
}

async function deliver(
  world: DeliveryWorld,
  row: WebhookRow,
  claim: OutboxClaim<WebhookDelivery>,
): Promise<"done" | "settled"> {
  const { kv, clock, masterKeys, random } = world;
  const { accountId, endpointId, cause } = claim.payload;
  const endpoint = row.endpoints.find(({ id }) => id === endpointId);
  if (endpoint === undefined) return "done";
  // What waits for an endpoint that was switched off is dropped; what a person asks for is sent.
  if (!endpoint.isOn && cause === "event") return "done";
  const atMs = clock.nowMs();
  const beganMs = clock.monotonicMs();
  const secrets = await openSecrets(masterKeys, accountId, row, { endpointId, nowMs: atMs });
  const outcome = await post(world, claim.payload, { url: endpoint.url, secrets });
  const durationMs = Math.round(clock.monotonicMs() - beganMs);
  const recorded = await recordTry(kv, claim, { outcome, atMs, durationMs, random: random() });
  if (recorded === "switched_off") world.hintMail();
  return "settled";
}

/** Serves an endpoint whose turn it is: makes the deliveries that are due, as many as its pace allows. */
async function serve(
  world: DeliveryWorld,
  pace: Pace,
  claim: OutboxClaim<EndpointName>,
): Promise<void> {
  const { kv, clock } = world;
  const { accountId, endpointId } = claim.payload;
  const { value } = await kv.get<WebhookRow>(webhookEndpointsKey(accountId));
  if (value?.endpoints.some(({ id }) => id === endpointId) !== true) {
    return await endTurns(kv, pace, claim);
  }
  const queue = endpointQueue(claim.payload);
  const count = maxAtOnce[pace];
  const due = await claimDue(kv, queue, { nowMs: clock.nowMs(), count });
  const work = {
    queue,
    lanes: count,
    handle: (one: typeof due[number]) => deliver(world, value, one),
  };
  await Promise.all(due.map((one) => handleClaim(world, work, one)));
  const next = await passTurnOn(kv, { pace, claim, nowMs: clock.nowMs() });
  if (next !== undefined && next !== pace) world.hintTurns();
}

/** The consumers of the turns: of quick endpoints, and of slow ones. */
export function deliveryWorks(
  world: DeliveryWorld,
): Readonly<Record<Pace, OutboxWork<EndpointName>>> {
  const workOf = (pace: Pace): OutboxWork<EndpointName> => ({
    queue: webhookTurns[pace],
    lanes: maxServed[pace],
    async handle(claim) {
      await serve(world, pace, claim);
      return "settled";
    },
  });
  return { quick: workOf("quick"), slow: workOf("slow") };
}
