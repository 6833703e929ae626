/**
 * Delivers webhooks to the endpoints of customers: one POST for each try, signed or as a message to a chat, logged with
 * what follows it.
 */
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { isLoopbackUrl } from "../../core/net/addresses/local_address.ts";
import { type GuardedPostResult, postGuarded } from "../../core/net/remote/guarded_post.ts";
import type { Transport } from "../../core/net/transport/transport.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import {
  chatServices,
  readChatAddress,
  saidLine,
} from "../../core/people/webhooks/destinations.ts";
import { eventMessage } from "../../core/people/webhooks/event_message.ts";
import { storedEvent } from "../../core/people/webhooks/events.ts";
import type { Pace, WebhookOutcome } from "../../core/people/webhooks/retries.ts";
import { signatureHeaders } from "../../core/people/webhooks/signature.ts";
import { accountKey, webhookEndpointsKey } from "../../kv/engine/schema/keys.ts";
import { claimDue, type OutboxClaim } from "../../kv/engine/outbox/outbox_claims.ts";
import {
  handleClaim,
  type OutboxWork,
  type OutboxWorld,
} from "../../kv/engine/outbox/outbox_worker.ts";
import { type Account, accountName, mailAboutOf } from "../../kv/people/accounts/accounts.ts";
import { recordTry } from "../../kv/people/webhooks/deliveries.ts";
import {
  type EndpointName,
  endpointQueue,
  endTurns,
  passTurnOn,
  type WebhookDelivery,
  webhookTurns,
} from "../../kv/people/webhooks/endpoint_queues.ts";
import {
  openSecrets,
  type WebhookEndpoint,
  type WebhookRow,
} from "../../kv/people/webhooks/endpoints.ts";

/** Milliseconds for one try: a receiver writes the event down and answers; its work comes later. */
export const webhookTryTotalMs = 15_000;

/** Bytes of an answer that are read: those of servers are thrown away, those of chat services are short. */
const maxAnswerBytes = 16 * 1024;

/**
 * Endpoints that one process serves at the same time. A delivery is waiting, not work: it costs a socket and some 50 KB,
 * so these are 768 sockets and 40 MB at most. Slow endpoints have places of their own and take none of the quick ones.
 */
const maxServed: Readonly<Record<Pace, number>> = { quick: 128, slow: 256 };

/** Deliveries of one endpoint at the same time: several keep up with its events, one costs little if it hangs. */
const maxAtOnce: Readonly<Record<Pace, number>> = { quick: 4, slow: 1 };

/** Needs of deliveries. */
export interface DeliveryWorld extends OutboxWorld {
  /** Public address of the service, without a trailing slash, for links in messages. */
  readonly baseUrl: string;
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

/** Posts JSON to the address of an endpoint. */
async function post(
  { clock, deadlines, signal, transport, localTransport }: DeliveryWorld,
  { url, body, headers = [] }: {
    readonly url: string;
    readonly body: string;
    readonly headers?: readonly (readonly [name: string, value: string])[];
  },
): Promise<GuardedPostResult> {
  const local = isLoopbackUrl(url) ? localTransport : undefined;
  return await postGuarded({ transport: local ?? transport, deadlines, clock }, {
    url,
    headers: [
      ["content-type", "application/json"],
      ["user-agent", "model-gateway-webhooks"],
      ...headers,
    ],
    body: new TextEncoder().encode(body),
    totalMs: webhookTryTotalMs,
    maxAnswerBytes,
    signal,
  });
}

/** Sends a webhook, signed by each secret. */
async function postSigned(
  world: DeliveryWorld,
  { eventId, body }: WebhookDelivery,
  { url, secrets }: { readonly url: string; readonly secrets: readonly string[] },
): Promise<WebhookOutcome> {
  const atSeconds = Math.floor(world.clock.nowMs() / 1_000);
  const signed = await signatureHeaders(secrets, { id: eventId, atSeconds, body });
  return outcomeOf(await post(world, { url, body, headers: Object.entries(signed) }));
}

/** Sends the message of an event to a chat. A status of success is none if the service did not take the message. */
async function postMessage(
  world: DeliveryWorld,
  { accountId, body }: WebhookDelivery,
  { chat, secret }: {
    readonly chat: NonNullable<WebhookEndpoint["chat"]>;
    readonly secret: string;
  },
): Promise<WebhookOutcome> {
  const { value: account } = await world.kv.get<Account>(accountKey(accountId));
  if (account === null) throw new TypeError("An endpoint has no account");
  const { event, isTest } = storedEvent(body);
  const message = eventMessage(event, {
    locale: account.locale ?? "vi",
    accountName: accountName(account),
    about: mailAboutOf(account),
    baseUrl: world.baseUrl,
    isTest,
  });
  const address = readChatAddress(secret);
  const result = await post(world, chatServices[chat].request(address, message));
  const outcome = outcomeOf(result);
  if (result.kind !== "answered") return outcome;
  const { status } = result;
  const read = chatServices[chat].read(new TextDecoder().decode(result.body));
  const answer = saidLine(read.says, address);
  if (outcome.kind === "failed") {
    return {
      ...outcome,
      retryAfterSeconds: outcome.retryAfterSeconds ?? read.retryAfterSeconds,
      answer,
    };
  }
  return read.isTaken ? { ...outcome, answer } : {
    kind: "failed",
    reason: "refused",
    status,
    retryAfterSeconds: read.retryAfterSeconds,
    answer,
  };
}

async function send(
  world: DeliveryWorld,
  delivery: WebhookDelivery,
  { chat, url }: WebhookEndpoint,
  secrets: readonly string[],
): Promise<WebhookOutcome> {
  const [secret] = secrets;
  if (secret === undefined) return { kind: "failed", reason: "no_secret" };
  return chat === undefined
    ? await postSigned(world, delivery, { url, secrets })
    : await postMessage(world, delivery, { chat, secret });
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
  const outcome = await send(world, claim.payload, endpoint, secrets);
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
