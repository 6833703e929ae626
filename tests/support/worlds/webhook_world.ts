/** An account with endpoints for webhooks, a real receiver on this machine, and the workers in the hands of the test. */
import { Webhook } from "standardwebhooks";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import type { Connect } from "../../../core/net/transport/connection.ts";
import type { WebhookEndpointId } from "../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { webhookKinds } from "../../../core/people/webhooks/events.ts";
import { type OutboxWorld, runDue } from "../../../kv/engine/outbox/outbox_worker.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { listTries, type WebhookTry } from "../../../kv/people/webhooks/deliveries.ts";
import {
  addEndpoint,
  type EndpointOptions,
  type NewWebhookSecret,
} from "../../../kv/people/webhooks/endpoints.ts";
import { passOnWork } from "../../../kv/people/webhooks/events.ts";
import { deliveryWork, type DeliveryWorld } from "../../../routes/hooks/webhook_delivery.ts";
import { denoConnect } from "../../../routes/process/deno_connect.ts";
import { ManualTime } from "../manual_time.ts";

/** A request as the receiver got it. */
export interface ReceivedWebhook {
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
    const one = { headers: Object.fromEntries(request.headers), body: await request.text() };
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
    kv,
    clock: time,
    deadlines,
    masterKeys,
    random: () => 0,
    transport: transports[0]!,
    localTransport: transports[1]!,
    hintMail: () => {},
  };
  const events = passOnWork(outbox, () => {});
  const deliveries = deliveryWork(world);
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
    deliveries,
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
    /** Passes on and delivers what is due; returns how many tries and pauses there were. */
    async run(): Promise<number> {
      await runDue(outbox, events);
      return await runDue(outbox, deliveries);
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
