/**
 * Queues the deliveries of each endpoint apart, and gives the endpoints that have some their turns.
 *
 * A queue of its own for each endpoint keeps what waits for one from standing before what waits for another. An endpoint
 * with waiting deliveries has one turn: a row of the queue of turns of its pace, due when its first delivery is. Who
 * claims the turn serves the endpoint alone, of all workers on the store, and passes the turn on behind the others. The
 * state of the endpoint, which all changes check, says where its turn is and how many deliveries wait.
 */
import { z } from "zod";
import type { AccountId, WebhookEndpointId, WebhookEventId } from "../../../core/lib/ids/ids.ts";
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";
import { maxWebhookBodyBytes } from "../../../core/people/webhooks/events.ts";
import {
  type FailingStreak,
  type Pace,
  type PacedTries,
  paceOf,
} from "../../../core/people/webhooks/retries.ts";
import { addToOutbox, nextDueAtMs, type OutboxQueue } from "../../engine/outbox/outbox.ts";
import { finishClaim, type OutboxClaim } from "../../engine/outbox/outbox_claims.ts";
import type { OutboxWork, OutboxWorld } from "../../engine/outbox/outbox_worker.ts";
import { outboxQueuePrefix, outboxRowKey, webhookStateKey } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { deleteRows } from "../../engine/store/delete_rows.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addAct } from "../audit/account_activity.ts";

/**
 * Events that wait for one endpoint at most, those that wait for their next try included: an endpoint that is down for
 * the 28 hours of its tries keeps 89 events an hour. An account, with ten endpoints, keeps 25,000, of some 500 bytes.
 */
export const maxWaitingDeliveries = 2_500;

/** Milliseconds without a dropped event after which the next one is news for the activity log. */
const dropEpisodeMs = dayMs;

/** Attempts of a commit that changes the state of an endpoint: tries and events of the endpoint compete. */
const stateAttempts = 12;

/** Keys that one reading of the store takes. */
const keysPerRead = 10;

/** Why a delivery is made. `again` and `test` are asked for by a person, and made also while the endpoint is off. */
const deliveryCauses = ["event", "again", "test"] as const;

const accountId = z.custom<AccountId>((id) => typeof id === "string" && id.startsWith("acc_"));
const endpointId = z.custom<WebhookEndpointId>((id) =>
  typeof id === "string" && id.startsWith("whe_")
);
const eventId = z.custom<WebhookEventId>((id) => typeof id === "string" && id.startsWith("evt_"));

const endpointName = z.object({ accountId, endpointId });

/** An endpoint and its account. */
export type EndpointName = z.infer<typeof endpointName>;

const delivery = z.object({
  ...endpointName.shape,
  eventId,
  /** The kind of the event. */
  type: z.string(),
  cause: z.enum(deliveryCauses),
  /** As it is signed and sent. */
  body: z.string().max(maxWebhookBodyBytes),
  /** Tries that have ended. */
  tries: z.int().min(0),
});

/** A delivery that waits for its next try. */
export type WebhookDelivery = z.infer<typeof delivery>;

/**
 * The queue into which earlier versions put the deliveries of all endpoints, and operators those that were given up. Its
 * rows move to the queues of their endpoints when they are due. The schedule of tries is in the payload: a claim that is
 * lost with its process counts for nothing.
 */
export const webhookDeliveries: OutboxQueue<WebhookDelivery> = {
  name: "webhook_deliveries",
  parse: (stored) => delivery.parse(stored),
  claimMs: minuteMs,
  maxAttempts: 8,
  backoffMs: [5_000, 30_000, 2 * minuteMs, 10 * minuteMs],
};

/** Returns the queue of an endpoint. */
export function endpointQueue(name: EndpointName): OutboxQueue<WebhookDelivery> {
  return {
    ...webhookDeliveries,
    name: `${webhookDeliveries.name}/${name.accountId}/${name.endpointId}`,
    deadLettersOf: webhookDeliveries.name,
  };
}

function turnQueue(name: string): OutboxQueue<EndpointName> {
  return {
    name,
    parse: (stored) => endpointName.parse(stored),
    // Far longer than a try with the commit of its end.
    claimMs: minuteMs,
    // A turn is a place in the order, and its endpoint waits for it: deliveries are given up, turns are not.
    maxAttempts: Infinity,
    backoffMs: [5_000],
  };
}

/** The turns of quick and of slow endpoints: slow ones, however many, stand before no quick one. */
export const webhookTurns: Readonly<Record<Pace, OutboxQueue<EndpointName>>> = {
  quick: turnQueue("webhook_turns"),
  slow: turnQueue("webhook_slow_turns"),
};

function turnId({ accountId, endpointId }: EndpointName): string {
  return `${accountId}:${endpointId}`;
}

/** Events that were dropped because too many waited. */
export interface DroppedEvents {
  readonly count: number;
  readonly sinceMs: number;
  readonly lastAtMs: number;
}

/** State of an endpoint. Its tries number those of the log. */
export interface WebhookState extends PacedTries {
  readonly streak?: FailingStreak;
  /** Absent: nothing waits. */
  readonly queue?: {
    readonly waiting: number;
    /** Place of its last turn; it is not there while it is claimed. */
    readonly turn: { readonly pace: Pace; readonly dueAtMs: number };
  };
  /** The last events that were dropped, if ever. */
  readonly dropped?: DroppedEvents;
}

type StateEntry = Deno.KvEntryMaybe<WebhookState>;

async function readStates(
  kv: KeyValueStore,
  names: readonly EndpointName[],
): Promise<StateEntry[]> {
  const keys = names.map((one) => webhookStateKey(one.accountId, one.endpointId));
  const reads: Promise<StateEntry[]>[] = [];
  for (let at = 0; at < keys.length; at += keysPerRead) {
    reads.push(kv.getMany<WebhookState[]>(keys.slice(at, at + keysPerRead)));
  }
  return (await Promise.all(reads)).flat();
}

/** Reads how each endpoint of an account fares, in their order; `null`: it was never used. */
export async function readEndpointStates(
  kv: KeyValueStore,
  accountId: AccountId,
  endpoints: readonly { readonly id: WebhookEndpointId }[],
): Promise<readonly (WebhookState | null)[]> {
  const entries = await readStates(kv, endpoints.map(({ id }) => ({ accountId, endpointId: id })));
  return entries.map(({ value }) => value);
}

/** Adds the turn of an endpoint to the commit that sets its state. */
function addTurn(
  operation: Pick<AtomicWrite, "set">,
  name: EndpointName,
  state: WebhookState,
  { dueAtMs, nowMs }: { readonly dueAtMs: number; readonly nowMs: number },
): NonNullable<WebhookState["queue"]>["turn"] {
  const pace = paceOf(state);
  addToOutbox(operation, webhookTurns[pace], { id: turnId(name), payload: name, nowMs, dueAtMs });
  return { pace, dueAtMs };
}

/** Counts an event that is dropped. The first one of an episode gets a line of the activity. */
function dropped(
  operation: AtomicWrite,
  { accountId, endpointId }: EndpointName,
  { dropped }: WebhookState,
  nowMs: number,
): DroppedEvents {
  if (dropped !== undefined && nowMs < dropped.lastAtMs + dropEpisodeMs) {
    return { ...dropped, count: dropped.count + 1, lastAtMs: nowMs };
  }
  addAct(operation, accountId, "webhooks_changed", { by: { kind: "gateway" }, nowMs }, {
    subject: endpointId,
    after: { why: `${maxWaitingDeliveries} events wait; further ones are dropped` },
  });
  return { count: 1, sinceMs: nowMs, lastAtMs: nowMs };
}

/** Moment at which deliveries are queued, and whether they are from a queue already: those are not dropped. */
interface Queued {
  readonly nowMs: number;
  readonly isMoved?: boolean;
}

/**
 * Adds deliveries to the commit of their cause, each to the queue of its endpoint, which has one of them at most. The
 * commit fails if the state of an endpoint changes meanwhile.
 */
async function addDeliveries(
  kv: KeyValueStore,
  operation: AtomicWrite,
  deliveries: readonly WebhookDelivery[],
  queued: Queued,
): Promise<void> {
  const states = await readStates(kv, deliveries);
  await Promise.all(states.map(async (entry, at) => {
    const payload = deliveries[at];
    if (payload !== undefined) await addDelivery(kv, operation, { payload, entry }, queued);
  }));
}

async function addDelivery(
  kv: KeyValueStore,
  operation: AtomicWrite,
  { payload, entry }: { readonly payload: WebhookDelivery; readonly entry: StateEntry },
  { nowMs, isMoved = false }: Queued,
): Promise<void> {
  const { cause, eventId, accountId, endpointId } = payload;
  const name = { accountId, endpointId };
  const state = entry.value ?? { tries: 0 };
  const { queue } = state;
  operation.check(entry);
  // What a person asks for has a limit of its own.
  const isBounded = cause === "event" && !isMoved;
  if (isBounded && queue !== undefined && queue.waiting >= maxWaitingDeliveries) {
    operation.set(entry.key, { ...state, dropped: dropped(operation, name, state, nowMs) });
    return;
  }
  const id = `${eventId}:${endpointId}${cause === "event" ? "" : `:${crypto.randomUUID()}`}`;
  addToOutbox(operation, endpointQueue(name), { id, payload, nowMs });
  let turn = queue?.turn;
  if (turn === undefined) turn = addTurn(operation, name, state, { dueAtMs: nowMs, nowMs });
  else if (turn.dueAtMs > nowMs) {
    const key = outboxRowKey(webhookTurns[turn.pace].name, turn.dueAtMs, turnId(name));
    const later = await kv.get(key);
    // Who has claimed it meanwhile looks for what waits before passing it on.
    if (later.versionstamp !== null) {
      operation.check(later).delete(key);
      turn = addTurn(operation, name, state, { dueAtMs: nowMs, nowMs });
    }
  }
  const waiting = (queue?.waiting ?? 0) + 1;
  operation.set(entry.key, { ...state, queue: { waiting, turn } } satisfies WebhookState);
}

/** Adds deliveries with what `alongside` adds, in one commit that is repeated while tries of the endpoints compete. */
export async function commitDeliveries(
  kv: KeyValueStore,
  deliveries: readonly WebhookDelivery[],
  queued: Queued,
  alongside: (operation: AtomicWrite) => void = () => {},
): Promise<"committed" | "conflict"> {
  const outcome = await compareAndSet<"committed">(async () => {
    const operation = kv.atomic();
    await addDeliveries(kv, operation, deliveries, queued);
    alongside(operation);
    return (await operation.commit()).ok ? { done: "committed" } : "again";
  }, { attempts: stateAttempts });
  return outcome === "conflict" ? outcome : outcome.done;
}

/** Returns the state after one delivery more has ended. */
export function withoutDelivery(state: WebhookState): WebhookState {
  const { queue } = state;
  return queue === undefined
    ? state
    : { ...state, queue: { ...queue, waiting: Math.max(0, queue.waiting - 1) } };
}

/**
 * Passes the turn of an endpoint on: behind those that are due now, or to the time of its next delivery. Without one it
 * ends.
 *
 * @returns the pace of the next turn, and whether it is due; absent: there is none, or another worker has the turn
 */
export async function passTurnOn(
  kv: KeyValueStore,
  { pace, claim, nowMs }: {
    readonly pace: Pace;
    readonly claim: OutboxClaim<EndpointName>;
    readonly nowMs: number;
  },
): Promise<Pace | undefined> {
  const name = claim.payload;
  const outcome = await compareAndSet<Pace | undefined>(async () => {
    const entry = await kv.get<WebhookState>(webhookStateKey(name.accountId, name.endpointId));
    // Read after the state: what is added meanwhile changes the state.
    const nextMs = await nextDueAtMs(kv, endpointQueue(name));
    const { queue, ...state } = entry.value ?? { tries: 0 };
    const operation = kv.atomic().check(entry);
    finishClaim(operation, webhookTurns[pace], claim);
    let next: Pace | undefined;
    if (nextMs !== undefined) {
      const turn = addTurn(operation, name, state, { dueAtMs: Math.max(nextMs, nowMs), nowMs });
      next = turn.pace;
      operation.set(entry.key, { ...state, queue: { waiting: queue?.waiting ?? 1, turn } });
    } else if (entry.value !== null) operation.set(entry.key, state);
    return (await operation.commit()).ok ? { done: next } : "again";
  }, { attempts: stateAttempts });
  return outcome === "conflict" ? undefined : outcome.done;
}

/** Ends the turn of an endpoint that was deleted, with what waited for it. */
export async function endTurns(
  kv: KeyValueStore,
  pace: Pace,
  claim: OutboxClaim<EndpointName>,
): Promise<void> {
  const { accountId, endpointId } = claim.payload;
  await deleteRows(kv, { prefix: outboxQueuePrefix(endpointQueue(claim.payload).name) });
  const operation = kv.atomic().delete(webhookStateKey(accountId, endpointId));
  finishClaim(operation, webhookTurns[pace], claim);
  await operation.commit();
}

/** Rows of {@linkcode webhookDeliveries} that one process moves at the same time. */
const moveLanes = 4;

/** The consumer of {@linkcode webhookDeliveries}: moves each to the queue of its endpoint. */
export function moveWork(
  { kv, clock }: Pick<OutboxWorld, "kv" | "clock">,
  hintTurns: () => void,
): OutboxWork<WebhookDelivery> {
  return {
    queue: webhookDeliveries,
    lanes: moveLanes,
    async handle(claim) {
      const moved = await commitDeliveries(
        kv,
        [claim.payload],
        { nowMs: clock.nowMs(), isMoved: true },
        (operation) => finishClaim(operation, webhookDeliveries, claim),
      );
      if (moved === "conflict") throw new Error("the state of the endpoint keeps changing");
      hintTurns();
      return "settled";
    },
  };
}
