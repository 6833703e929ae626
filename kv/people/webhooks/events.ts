/**
 * Queues events in the commits that make them true, and passes each on to the endpoints that want it.
 *
 * A commit that reports an event neither reads endpoints nor waits for anything: it writes one row. A worker turns the
 * row into deliveries, in one commit with the end of the row.
 */
import { z } from "zod";
import { type AccountId, newId, type WebhookEventId } from "../../../core/lib/ids/ids.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import {
  isWebhookKind,
  parseWebhookEvent,
  webhookBody,
  type WebhookEvent,
} from "../../../core/people/webhooks/events.ts";
import {
  accountOfKey,
  allWebhookEndpointsPrefix,
  webhookEndpointsAfter,
  webhookEndpointsKey,
} from "../../engine/schema/keys.ts";
import { addToOutbox, type OutboxQueue } from "../../engine/outbox/outbox.ts";
import { finishClaim, type OutboxClaim, postponeClaim } from "../../engine/outbox/outbox_claims.ts";
import type { OutboxWork, OutboxWorld } from "../../engine/outbox/outbox_worker.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { commitDeliveries, type WebhookDelivery } from "./endpoint_queues.ts";
import type { WebhookRow } from "./endpoints.ts";

/**
 * Accounts whose deliveries of an event to all accounts are queued in one commit: each has ten endpoints at most, with
 * a body of 7 KB and two checks (its state and its turn), and a commit takes 800 KB and a hundred checks.
 */
const accountsPerCommit = 4;

/** Events that are passed on at the same time by one process. */
const lanes = 4;

/** An event that waits to be passed on. */
interface WaitingEvent {
  readonly eventId: WebhookEventId;
  /** Moment at which it became true. */
  readonly atMs: number;
  readonly event: WebhookEvent;
  /** Owner of the event; absent: it is about the service, and for all accounts. */
  readonly accountId?: AccountId | undefined;
  /** The last account to which an event for all was passed on. */
  readonly after?: AccountId | undefined;
}

const accountId = z.custom<AccountId>((id) => typeof id === "string" && id.startsWith("acc_"));
const waitingEvent = z.object({
  eventId: z.custom<WebhookEventId>((id) => typeof id === "string" && id.startsWith("evt_")),
  atMs: z.number(),
  event: z.unknown().transform(parseWebhookEvent),
  accountId: accountId.optional(),
  after: accountId.optional(),
});

/** The queue of events that are not yet passed on. */
export const webhookEvents: OutboxQueue<WaitingEvent> = {
  name: "webhook_events",
  parse: (stored) => waitingEvent.parse(stored),
  isOfLaterVersion(stored) {
    const { data } = z.object({ event: z.object({ type: z.string() }) }).safeParse(stored);
    return data !== undefined && !isWebhookKind(data.event.type);
  },
  claimMs: minuteMs,
  maxAttempts: 8,
  backoffMs: [5_000, 30_000, 2 * minuteMs, 10 * minuteMs],
};

/**
 * Adds an event of an account to the commit of the fact that it reports: both are there, or neither. Costs one row and
 * no check, also for accounts without endpoints. A nudge of the mail queue after the commit, as all acts with mails
 * give it, sends it at once.
 *
 * @example
 * ```ts
 * import { newId } from "../../../core/lib/ids/ids.ts";
 * import { addWebhookEvent } from "./events.ts";
 * using kv = await Deno.openKv(":memory:");
 * const operation = kv.atomic().set(["wallet", "acc_1"], "credited");
 * const event = { type: "topup.credited", data: { amount_vnd: "500000" } } as const;
 * addWebhookEvent(operation, newId("account", 0), event, 1_000);
 * await operation.commit();
 * ```
 */
export function addWebhookEvent(
  operation: Pick<AtomicWrite, "set">,
  accountId: AccountId,
  event: WebhookEvent,
  nowMs: number,
): void {
  addEvent(operation, { event, accountId, atMs: nowMs });
}

/** Adds an event about the service, which every account gets that wants it, to the commit of its fact. */
export function addServiceEvent(
  operation: Pick<AtomicWrite, "set">,
  event: Extract<WebhookEvent, { readonly type: "incident.opened" | "incident.ended" }>,
  nowMs: number,
): void {
  addEvent(operation, { event, atMs: nowMs });
}

function addEvent(operation: Pick<AtomicWrite, "set">, facts: Omit<WaitingEvent, "eventId">): void {
  const eventId = newId("webhookEvent", facts.atMs);
  const { atMs: nowMs } = facts;
  addToOutbox(operation, webhookEvents, { id: eventId, payload: { eventId, ...facts }, nowMs });
}

/** Returns the deliveries of an event to the endpoints of one account that want it. */
function deliveriesOf(
  accountId: AccountId,
  { endpoints }: WebhookRow,
  { eventId, event, atMs }: WaitingEvent,
): WebhookDelivery[] {
  const body = webhookBody(event, { atMs });
  const told = { eventId, type: event.type, body, cause: "event", tries: 0 } as const;
  return endpoints
    // What was before an endpoint is no news for it, however late it is passed on.
    .filter(({ isOn, kinds, createdAtMs }) =>
      isOn && createdAtMs <= atMs && kinds.includes(event.type)
    )
    .map(({ id }) => ({ accountId, endpointId: id, ...told }));
}

async function passOn(
  { kv, clock }: Pick<OutboxWorld, "kv" | "clock">,
  claim: OutboxClaim<WaitingEvent>,
): Promise<"settled"> {
  const waiting = claim.payload;
  const nowMs = clock.nowMs();
  const part = waiting.accountId === undefined
    ? await partOf(kv, waiting.after)
    : await rowOf(kv, waiting.accountId);
  const deliveries = part.flatMap(({ accountId, row }) => deliveriesOf(accountId, row, waiting));
  const after = waiting.accountId === undefined
    ? part[accountsPerCommit - 1]?.accountId
    : undefined;
  const outcome = await commitDeliveries(kv, deliveries, { nowMs }, (operation) => {
    if (after === undefined) finishClaim(operation, webhookEvents, claim);
    else {
      const payload = { ...waiting, after };
      postponeClaim(operation, webhookEvents, claim, { dueAtMs: nowMs, payload });
    }
  });
  if (outcome === "conflict") throw new Error("the states of the endpoints keep changing");
  return "settled";
}

async function rowOf(kv: KeyValueStore, accountId: AccountId) {
  const { value } = await kv.get<WebhookRow>(webhookEndpointsKey(accountId));
  return value === null ? [] : [{ accountId, row: value }];
}

async function partOf(kv: KeyValueStore, after: AccountId | undefined) {
  const selector = after === undefined
    ? { prefix: allWebhookEndpointsPrefix() }
    : webhookEndpointsAfter(after);
  const rows = kv.list<WebhookRow>(selector, { limit: accountsPerCommit });
  return await Array.fromAsync(rows, ({ key, value }) => ({
    accountId: accountOfKey(key),
    row: value,
  }));
}

/** The consumer of {@linkcode webhookEvents}. */
export function passOnWork(
  world: Pick<OutboxWorld, "kv" | "clock">,
  hintTurns: () => void,
): OutboxWork<WaitingEvent> {
  return {
    queue: webhookEvents,
    lanes,
    async handle(claim) {
      const outcome = await passOn(world, claim);
      hintTurns();
      return outcome;
    },
  };
}
