/** An account with endpoints for webhooks, a real receiver on this machine, and the workers in the hands of the test. */
import { Webhook } from "standardwebhooks";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import type { Connect } from "../../../core/net/transport/connection.ts";
import type { WebhookEndpointId } from "../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { webhookKinds } from "../../../core/people/webhooks/events.ts";
import { nextDueAtMs, type OutboxQueue } from "../../../kv/engine/outbox/outbox.ts";
import { claimDue, type OutboxClaim } from "../../../kv/engine/outbox/outbox_claims.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { type OutboxWorld, runDue } from "../../../kv/engine/outbox/outbox_worker.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { listTries, type WebhookTry } from "../../../kv/people/webhooks/deliveries.ts";
import {
  addChat,
  addEndpoint,
  type Chat,
  type EndpointOptions,
  type NewWebhookSecret,
  type WebhookEndpoint,
} from "../../../kv/people/webhooks/endpoints.ts";
import {
  moveWork,
  webhookDeliveries,
  type WebhookDelivery,
  webhookTurns,
} from "../../../kv/people/webhooks/endpoint_queues.ts";
import { passOnWork } from "../../../kv/people/webhooks/events.ts";
import { deliveryWorks, type DeliveryWorld } from "../../../routes/hooks/webhook_delivery.ts";
import { denoConnect } from "../../../routes/process/deno_connect.ts";
import { ManualTime } from "../manual_time.ts";

/** A request as the receiver got it. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the receiver answers. */
export type Answer = (received: ReceivedWebhook) => Response | Promise<Response>;

/** A real HTTP server on this machine. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  answer: Answer;
}

/** Opens a receiver. */
export function openReceiver(
  answer: Answer = () => new Response(null, { status: 204 }),
): Receiver {
  const received: ReceivedWebhook[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const one = {
      path: new URL(request.url).pathname,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    };
    received.push(one);
    return await receiver.answer(one);
  });
  const receiver: Receiver = {
    received,
    answer,
    url: `http://127.0.0.1:${server.addr.port}/hook`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return receiver;
}

/** Verifies with the reference library at the time of the test, which that library reads from the machine. */
export function verified(
  secret: string,
  { headers, body }: ReceivedWebhook,
  nowMs: number,
): unknown {
  const now = Date.now;
  Date.now = () => nowMs;
  try {
    return new Webhook(secret).verify(body, { ...headers });
  } finally {
    Date.now = now;
  }
}

/** Lists the queues of endpoints in which something waits. */
async function waitingQueues(kv: KeyValueStore): Promise<OutboxQueue<WebhookDelivery>[]> {
  const names = new Set<string>();
  for await (const { key } of kv.list({ prefix: ["outbox"] })) names.add(String(key[1]));
  return [...names].filter((name) => name.startsWith(`${webhookDeliveries.name}/`)).map((name) => ({
    ...webhookDeliveries,
    name,
  }));
}

/** Claims the deliveries that are due, of all endpoints, at most `count` of each. */
export async function claimDeliveries(
  kv: KeyValueStore,
  due: { readonly nowMs: number; readonly count: number },
): Promise<OutboxClaim<WebhookDelivery>[]> {
  const queues = await waitingQueues(kv);
  return (await Promise.all(queues.map((queue) => claimDue(kv, queue, due)))).flat();
}

let forms = 0;

/** A new id of a form. */
export function newFormId(): string {
  return `00000000-0000-4000-8000-${String(++forms).padStart(12, "0")}`;
}

/** Opens the world. `connect` is what guarded connections use; by default there are none. */
export async function openWebhookWorld(options: { readonly connect?: Connect } = {}) {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  const masterKeys = await readMasterKeys(newMasterKey());
  const refuse: Connect = () => Promise.reject(new Error("no network in this test"));
  const transports = [options.connect ?? refuse, denoConnect()]
    .map((connect) => createHttp1Transport({ connect, deadlines, idleConnectionsPerOrigin: 0 }));
  const failures: unknown[] = [];
  const outbox: OutboxWorld = {
    kv,
    clock: time,
    random: () => 0,
    onFailure: ({ error }) => failures.push(error),
  };
  const world: DeliveryWorld = {
    ...outbox,
    baseUrl: "https://gateway.example",
    deadlines,
    masterKeys,
    transport: transports[0]!,
    localTransport: transports[1]!,
    hintMail: () => {},
    hintTurns: () => {},
  };
  const events = passOnWork(outbox, () => {});
  const moves = moveWork(outbox, () => {});
  /** Moves and delivers what is due; returns how many turns endpoints had. */
  const deliver = async (by: DeliveryWorld = world): Promise<number> => {
    const { quick, slow } = deliveryWorks(by);
    let turns = 0;
    for (;;) {
      await runDue(by, moves);
      const more = (await Promise.all([runDue(by, quick), runDue(by, slow)])).reduce((a, b) =>
        a + b
      );
      if (more === 0) return turns;
      turns += more;
    }
  };
  const newAccount = (email: string) =>
    createAccount(kv, { nowMs: time.nowMs(), email, locale: "en" });
  const account = await newAccount("ann@example.com");
  return {
    kv,
    time,
    masterKeys,
    account,
    outbox,
    world,
    events,
    deliver,
    /** Errors of workers. */
    failures,
    newAccount,
    async endpoint(
      url: string,
      { owner = account, ...more }: Partial<EndpointOptions> & { readonly owner?: Account } = {},
    ): Promise<NewWebhookSecret> {
      const added = await addEndpoint(kv, masterKeys, owner.id, {
        url,
        name: "",
        kinds: webhookKinds,
        formId: newFormId(),
        nowMs: time.nowMs(),
        ...more,
      });
      if (!added.ok) throw new Error(added.reason);
      return added.done;
    },
    /** Adds a chat that gets every event. */
    async chat(chat: Chat, owner = account): Promise<WebhookEndpoint> {
      const added = await addChat(kv, masterKeys, owner.id, {
        name: "",
        kinds: webhookKinds,
        formId: newFormId(),
        nowMs: time.nowMs(),
        chat,
      });
      if (!added.ok) throw new Error(added.reason);
      return added.done.endpoint;
    },
    /** Reads when the next endpoint has its turn. */
    async nextTurnAtMs(): Promise<number | undefined> {
      const turns = [webhookTurns.quick, webhookTurns.slow].map((queue) => nextDueAtMs(kv, queue));
      const dueAtMs = (await Promise.all(turns)).filter((ms) => ms !== undefined);
      return dueAtMs.length === 0 ? undefined : Math.min(...dueAtMs);
    },
    /** Passes on and delivers what is due; returns how many turns endpoints had. */
    async run(): Promise<number> {
      await runDue(outbox, events);
      return await deliver();
    },
    async tries(id: WebhookEndpointId, owner = account): Promise<readonly WebhookTry[]> {
      return (await listTries(kv, owner.id, id, { count: 1_000 })).tries;
    },
    [Symbol.dispose]() {
      for (const transport of transports) transport.close();
      deadlines.close();
      kv.close();
    },
  };
}
