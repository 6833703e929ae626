/** Delivers webhooks to the endpoints of customers: one signed POST for each try, logged with what follows it. */
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { isLoopbackUrl } from "../../core/net/addresses/local_address.ts";
import { type GuardedPostResult, postGuarded } from "../../core/net/remote/guarded_post.ts";
import type { Transport } from "../../core/net/transport/transport.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import type { WebhookOutcome } from "../../core/people/webhooks/retries.ts";
import { signatureHeaders } from "../../core/people/webhooks/signature.ts";
import { webhookEndpointsKey } from "../../kv/engine/schema/keys.ts";
import { type OutboxClaim, postponeClaim } from "../../kv/engine/outbox/outbox_claims.ts";
import type { OutboxWork } from "../../kv/engine/outbox/outbox_worker.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import {
  recordTry,
  webhookDeliveries,
  type WebhookDelivery,
} from "../../kv/people/webhooks/deliveries.ts";
import { openSecrets, type WebhookRow } from "../../kv/people/webhooks/endpoints.ts";

/** Milliseconds for one try: a receiver writes the event down and answers; its work comes later. */
export const webhookTryTotalMs = 15_000;

/** Bytes of an answer that are read and thrown away. */
const maxAnswerBytes = 16 * 1024;

/** Deliveries that one process makes at the same time. */
const lanes = 16;

/** Those of one account, so that slow receivers of one customer delay nobody else. */
const maxAtOnceOfAccount = 4;

/** Milliseconds, at least and with spread, until a delivery is looked at again that found its account busy. */
const busyPauseMs = 5_000;
const busySpreadMs = 15_000;

/** What deliveries need. */
export interface DeliveryWorld {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly masterKeys: MasterKeys;
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** Connects to public addresses only. */
  readonly transport: Transport;
  /** Connects to this machine, for a developer's sandbox; absent: nothing does. */
  readonly localTransport?: Transport | undefined;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
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
  claim: OutboxClaim<WebhookDelivery>,
): Promise<"done" | "settled"> {
  const { kv, clock, masterKeys, random } = world;
  const { accountId, endpointId, cause } = claim.payload;
  const { value } = await kv.get<WebhookRow>(webhookEndpointsKey(accountId));
  const endpoint = value?.endpoints.find(({ id }) => id === endpointId);
  if (value === null || endpoint === undefined) return "done";
  // What waits for an endpoint that was switched off is dropped; what a person asks for is sent.
  if (!endpoint.isOn && cause === "event") return "done";
  const atMs = clock.nowMs();
  const beganMs = clock.monotonicMs();
  const secrets = await openSecrets(masterKeys, accountId, value, { endpointId, nowMs: atMs });
  const outcome = await post(world, claim.payload, { url: endpoint.url, secrets });
  const durationMs = Math.round(clock.monotonicMs() - beganMs);
  const recorded = await recordTry(kv, claim, { outcome, atMs, durationMs, random: random() });
  if (recorded === "switched_off") world.hintMail();
  return "settled";
}

/** The consumer of {@linkcode webhookDeliveries}. */
export function deliveryWork(world: DeliveryWorld): OutboxWork<WebhookDelivery> {
  const running = new Map<AccountId, number>();
  return {
    queue: webhookDeliveries,
    lanes,
    async handle(claim) {
      const { accountId } = claim.payload;
      const atOnce = running.get(accountId) ?? 0;
      if (atOnce >= maxAtOnceOfAccount) {
        const operation = world.kv.atomic();
        const pauseMs = busyPauseMs + Math.round(busySpreadMs * world.random());
        const dueAtMs = world.clock.nowMs() + pauseMs;
        postponeClaim(operation, webhookDeliveries, claim, { dueAtMs });
        await operation.commit();
        return "settled";
      }
      running.set(accountId, atOnce + 1);
      try {
        return await deliver(world, claim);
      } finally {
        const others = (running.get(accountId) ?? 1) - 1;
        if (others > 0) running.set(accountId, others);
        else running.delete(accountId);
      }
    },
  };
}
