/** Passes on and delivers the webhooks of a running gateway. */
import { errorName } from "../../../core/lib/base/assert.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { allowsLocalEndpoints } from "../../../core/people/webhooks/endpoint_url.ts";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import {
  type OutboxWorker,
  type OutboxWorld,
  runDue,
  startOutboxWatch,
  startOutboxWorker,
} from "../../../kv/engine/outbox/outbox_worker.ts";
import { moveWork, webhookDeliveries } from "../../../kv/people/webhooks/endpoint_queues.ts";
import { passOnWork, webhookEvents } from "../../../kv/people/webhooks/events.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { deliveryWorks } from "../../hooks/webhook_delivery.ts";
import { denoConnect } from "../../process/deno_connect.ts";

/** Milliseconds between two runs of cron that send what is due. */
const sendEveryMs = 60_000;

/** Prefix of the names of all queues of webhooks. */
const webhookQueues = "webhook_";

/** Starts the workers that pass events on to endpoints and deliver them. */
export function startWebhookWorker(
  gateway: Gateway,
  { baseUrl, masterKeys }: { readonly baseUrl: string; readonly masterKeys: MasterKeys },
): BackgroundWorker {
  const { config, kv, clock, random, log, media, deadlines } = gateway;
  const world: OutboxWorld = {
    kv,
    clock,
    random,
    isTold: media.wakeUp.isTold,
    isWatched: true,
    onFailure: ({ queue, id, attempt, fate, error }) =>
      log.event("warn", "webhook failed", { queue, id, attempt, fate, error: errorName(error) }),
  };
  const stopping = new AbortController();
  const localTransport = allowsLocalEndpoints(config, baseUrl)
    ? createHttp1Transport({ connect: denoConnect(), deadlines, idleConnectionsPerOrigin: 0 })
    : undefined;
  const { wakeUp } = media;
  const deliveryWorkers: OutboxWorker[] = [];
  const hintTurns = () => {
    for (const worker of deliveryWorkers) worker.nudge();
  };
  const works = deliveryWorks({
    ...world,
    baseUrl,
    deadlines,
    masterKeys,
    transport: media.remote.transport,
    localTransport,
    hintMail: () => wakeUp.nudge(mailQueue.name),
    hintTurns,
    signal: stopping.signal,
  });
  const moves = moveWork(world, hintTurns);
  const events = passOnWork(world, hintTurns);
  const eventWorker = startOutboxWorker(world, events);
  deliveryWorkers.push(
    startOutboxWorker(world, moves),
    startOutboxWorker(world, works.quick),
    startOutboxWorker(world, works.slow),
  );
  const workers = [eventWorker, ...deliveryWorkers];
  const endWatch = startOutboxWatch(world, webhookQueues, workers);
  const removals = [
    wakeUp.add(webhookEvents.name, eventWorker),
    ...deliveryWorkers.map((worker) => wakeUp.add(webhookDeliveries.name, worker)),
    // Most events are in commits with mails, at which their acts hint.
    wakeUp.add(mailQueue.name, eventWorker),
  ];
  return {
    nudge: () => {
      for (const worker of workers) worker.nudge();
    },
    sweep: {
      name: "send webhooks",
      everyMs: sendEveryMs,
      async run() {
        await runDue(world, events);
        await runDue(world, moves);
        await Promise.all([runDue(world, works.quick), runDue(world, works.slow)]);
      },
      withoutTimer: true,
    },
    async stop() {
      for (const remove of removals) remove();
      stopping.abort();
      await Promise.all([endWatch(), ...workers.map((worker) => worker.stop())]);
      localTransport?.close();
    },
  };
}
