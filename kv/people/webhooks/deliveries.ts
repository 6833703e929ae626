/** Queues deliveries of webhooks, one for each event and endpoint, and keeps the log of their tries. */
import type { AccountId, WebhookEndpointId, WebhookEventId } from "../../../core/lib/ids/ids.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import {
  exampleEvent,
  webhookBody,
  type WebhookKind,
} from "../../../core/people/webhooks/events.ts";
import {
  type AfterFailure,
  afterFailure,
  type FailingStreak,
  slowAtAfter,
  type WebhookOutcome,
} from "../../../core/people/webhooks/retries.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import {
  accountKey,
  webhookEndpointsKey,
  webhookStateKey,
  webhookTriesPrefix,
  webhookTryKey,
} from "../../engine/schema/keys.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import { finishClaim, type OutboxClaim, postponeClaim } from "../../engine/outbox/outbox_claims.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, mailReaderOf } from "../accounts/accounts.ts";
import { addWebhookEvent } from "./events.ts";
import {
  addEndpointLine,
  type WebhookEndpoint,
  type WebhookRow,
  withEndpoint,
} from "./endpoints.ts";
import {
  commitDeliveries,
  type DroppedEvents,
  endpointQueue,
  readEndpointStates,
  type WebhookDelivery,
  type WebhookState,
  withoutDelivery,
} from "./endpoint_queues.ts";

/** Tries of one endpoint that the log keeps; the next one replaces the oldest. */
export const maxWebhookTryRows = 100;

/** Milliseconds that a try is kept. */
export const webhookTryMs = 30 * dayMs;

/** Attempts of the commit that ends a try: the owner, and other tries of the endpoint, compete. */
const recordAttempts = 12;

/** One try, as the log keeps it. */
export interface WebhookTry extends Omit<WebhookDelivery, "tries" | "accountId" | "endpointId"> {
  /** Numbers the tries of an endpoint. */
  readonly number: number;
  /** 1 for the first try of its delivery. */
  readonly attempt: number;
  readonly atMs: number;
  readonly durationMs: number;
  readonly outcome: WebhookOutcome;
  /** Moment of the next try; absent: there is none. */
  readonly nextAtMs?: number;
}

/** A try that has ended. */
export interface EndedTry {
  readonly outcome: WebhookOutcome;
  readonly atMs: number;
  readonly durationMs: number;
  /** 0 (included) to 1: spreads the pause. */
  readonly random: number;
}

/** The streak that still counts: failures of before the endpoint was switched on again do not. */
function streakOf({ streak }: Pick<WebhookState, "streak">, { onSinceMs = 0 }: WebhookEndpoint) {
  return streak !== undefined && streak.sinceMs >= onSinceMs ? streak : undefined;
}

/** Adds what follows a failed try to its commit: the next one, and the end of an endpoint that only fails. */
function followFailure(
  operation: AtomicWrite,
  claim: OutboxClaim<WebhookDelivery>,
  { nextAtMs, switchedOff }: AfterFailure,
  { endpoint, row, account, nowMs }: {
    readonly endpoint: WebhookEndpoint;
    readonly row: WebhookRow;
    readonly account: Account | null;
    readonly nowMs: number;
  },
): void {
  const queue = endpointQueue(claim.payload);
  if (nextAtMs === undefined) finishClaim(operation, queue, claim);
  else {
    const payload = { ...claim.payload, tries: claim.payload.tries + 1 };
    postponeClaim(operation, queue, claim, { dueAtMs: nextAtMs, payload });
  }
  if (switchedOff === undefined || !endpoint.isOn) return;
  const off = { ...endpoint, isOn: false, switchedOff: { why: switchedOff, atMs: nowMs } };
  const { accountId } = claim.payload;
  operation.set(webhookEndpointsKey(accountId), withEndpoint(row, off));
  const done = { by: { kind: "gateway" }, nowMs } as const;
  addEndpointLine(operation, accountId, done, { before: endpoint, after: off });
  addWebhookEvent(operation, accountId, {
    type: "webhook.switched_off",
    data: {
      webhook_id: endpoint.id,
      name: endpoint.name,
      host: new URL(endpoint.url).host,
      reason: switchedOff,
    },
  }, nowMs);
  const reader = account === null ? undefined : mailReaderOf(account, "webhook_switched_off");
  if (reader === undefined) return;
  const job = {
    kind: "webhook_switched_off",
    ...reader,
    url: endpoint.url,
    why: switchedOff,
  } as const;
  addMail(operation, job, { nowMs });
}

/** State of an endpoint after a failed try. A test changes none of it. */
function afterTry(
  { tries, cause }: WebhookDelivery,
  { outcome, random }: EndedTry,
  streak: FailingStreak | undefined,
  nowMs: number,
): AfterFailure | undefined {
  if (outcome.kind === "delivered") return undefined;
  const isOnce = cause === "test";
  const after = afterFailure(outcome, { tries: tries + 1, nowMs, random, streak, isOnce });
  return isOnce ? { ...after, switchedOff: undefined } : after;
}

function stateAfter(
  former: WebhookState | null,
  { number, kept, ended: { atMs, durationMs }, isLast }: {
    readonly number: number;
    readonly kept: FailingStreak | undefined;
    readonly ended: EndedTry;
    readonly isLast: boolean;
  },
): WebhookState {
  const { streak: _, slowAtMs, ...rest } = former ?? { tries: 0 };
  const slowAt = slowAtAfter(defined({ slowAtMs }), { endedAtMs: atMs + durationMs, durationMs });
  const state = { ...rest, tries: number, ...defined({ streak: kept, slowAtMs: slowAt }) };
  return isLast ? withoutDelivery(state) : state;
}

/**
 * Ends a try: its row of the log, the state of the endpoint, and the next try or the end of the delivery are one commit.
 *
 * @returns whether the endpoint was switched off, so that a mail waits; `lost` if another worker has the delivery
 */
export async function recordTry(
  kv: KeyValueStore,
  claim: OutboxClaim<WebhookDelivery>,
  ended: EndedTry,
): Promise<"recorded" | "switched_off" | "lost"> {
  const { accountId, endpointId, tries, ...told } = claim.payload;
  const nowMs = ended.atMs + ended.durationMs;
  const outcome = await compareAndSet<"recorded" | "switched_off">(async () => {
    const [entry, state, account] = await kv.getMany<[WebhookRow, WebhookState, Account]>([
      webhookEndpointsKey(accountId),
      webhookStateKey(accountId, endpointId),
      accountKey(accountId),
    ]);
    const operation = kv.atomic();
    const endpoint = entry.value?.endpoints.find(({ id }) => id === endpointId);
    if (entry.value === null || endpoint === undefined) {
      finishClaim(operation, endpointQueue(claim.payload), claim);
      return (await operation.commit()).ok ? { done: "recorded" } : "again";
    }
    const number = (state.value?.tries ?? 0) + 1;
    const streak = streakOf(state.value ?? {}, endpoint);
    const after = afterTry(claim.payload, ended, streak, nowMs);
    const row: WebhookTry = {
      ...told,
      number,
      attempt: tries + 1,
      atMs: ended.atMs,
      durationMs: ended.durationMs,
      outcome: ended.outcome,
      ...defined({ nextAtMs: after?.nextAtMs }),
    };
    const kept = told.cause === "test" ? streak : after?.streak;
    operation.check(entry, state)
      .set(
        state.key,
        stateAfter(state.value, { number, kept, ended, isLast: row.nextAtMs === undefined }),
      )
      .set(webhookTryKey(accountId, endpointId, number % maxWebhookTryRows), row, {
        expireIn: webhookTryMs,
      });
    if (after === undefined) finishClaim(operation, endpointQueue(claim.payload), claim);
    else {
      const facts = { endpoint, row: entry.value, account: account.value, nowMs };
      followFailure(operation, claim, after, facts);
    }
    const done = after?.switchedOff === undefined ? "recorded" : "switched_off";
    return (await operation.commit()).ok ? { done } : "again";
  }, { attempts: recordAttempts });
  return outcome === "conflict" ? "lost" : outcome.done;
}

/** Condition of an endpoint, as its owner sees it. */
export interface EndpointCondition {
  /** Its failures in a row; absent: there are none. */
  readonly streak: FailingStreak | undefined;
  /** Events that wait for it, those that wait for their next try included. */
  readonly waiting: number;
  /** The last events that were dropped because too many waited; absent: none ever was. */
  readonly dropped: DroppedEvents | undefined;
}

/** An endpoint, and how it fares. */
export interface ListedWebhook extends EndpointCondition {
  readonly endpoint: WebhookEndpoint;
}

/** Reads how each endpoint fares, in the order of the endpoints. */
export async function readConditions(
  kv: KeyValueStore,
  accountId: AccountId,
  endpoints: readonly WebhookEndpoint[],
): Promise<readonly ListedWebhook[]> {
  const states = await readEndpointStates(kv, accountId, endpoints);
  return endpoints.map((endpoint, at) => {
    const state = states[at] ?? {};
    const { queue, dropped }: Partial<WebhookState> = state;
    return { endpoint, streak: streakOf(state, endpoint), waiting: queue?.waiting ?? 0, dropped };
  });
}

/** A page of the log of an endpoint. */
export interface TryPage {
  readonly tries: readonly WebhookTry[];
  readonly hasMore: boolean;
}

/** Lists the tries of an endpoint, newest first: at most `count`, those before a number. */
export async function listTries(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  { count, before = Infinity }: { readonly count: number; readonly before?: number | undefined },
): Promise<TryPage> {
  const rows = kv.list<WebhookTry>({ prefix: webhookTriesPrefix(accountId, endpointId) }, {
    limit: maxWebhookTryRows,
  });
  const all = (await Array.fromAsync(rows, ({ value }) => value))
    .filter(({ number }) => number < before)
    .sort((one, other) => other.number - one.number);
  return { tries: all.slice(0, count), hasMore: all.length > count };
}

/** Finds a try that the log still has. */
export async function getTry(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  number: number,
): Promise<WebhookTry | undefined> {
  const key = webhookTryKey(accountId, endpointId, number % maxWebhookTryRows);
  const { value } = await kv.get<WebhookTry>(key);
  return value?.number === number ? value : undefined;
}

/** Queues the event of a try once more, with the same id and body. */
export async function sendAgain(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  { eventId, type, body }: Pick<WebhookTry, "eventId" | "type" | "body">,
  nowMs: number,
): Promise<"committed" | "conflict"> {
  const again = { accountId, endpointId, eventId, type, body, cause: "again", tries: 0 } as const;
  return await commitDeliveries(kv, [again], { nowMs });
}

/** Queues the example of a kind of event, marked as a test. It is tried once. */
export async function sendTest(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  type: WebhookKind,
  nowMs: number,
): Promise<WebhookEventId | "conflict"> {
  const eventId = newId("webhookEvent", nowMs);
  const body = webhookBody(exampleEvent(type), { atMs: nowMs, isTest: true });
  const test = { accountId, endpointId, eventId, type, body, cause: "test", tries: 0 } as const;
  return await commitDeliveries(kv, [test], { nowMs }) === "conflict" ? "conflict" : eventId;
}
