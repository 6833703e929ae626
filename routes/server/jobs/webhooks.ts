/** Passes on and delivers the webhooks of a running gateway. */
import { errorName } from "../../../core/lib/base/assert.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { allowsLocalEndpoints } from "../../../core/people/webhooks/endpoint_url.ts";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import {
  type OutboxWorld,
  runDue,
  startOutboxWorker,
} from "../../../kv/engine/outbox/outbox_worker.ts";
import { webhookDeliveries } from "../../../kv/people/webhooks/deliveries.ts";
import { passOnWork, webhookEvents } from "../../../kv/people/webhooks/events.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { deliveryWork } from "../../hooks/webhook_delivery.ts";
import { denoConnect } from "../../process/deno_connect.ts";

/** Milliseconds between two runs of cron that send what is due. */
const sendEveryMs = 60_000;

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
    onFailure: ({ queue, id, attempt, fate, error }) =>
      log.event("warn", "webhook failed", { queue, id, attempt, fate, error: errorName(error) }),
  };
  const stopping = new AbortController();
  const localTransport = allowsLocalEndpoints(config, baseUrl)
    ? createHttp1Transport({ connect: denoConnect(), deadlines, idleConnectionsPerOrigin: 0 })
    : undefined;
  const deliveries = deliveryWork({
    kv,
    clock,
    deadlines,
    masterKeys,
    random,
    transport: media.remote.transport,
    localTransport,
    hintMail: () => media.wakeUp.nudge(mailQueue.name),
    signal: stopping.signal,
  });
  const deliveryWorker = startOutboxWorker(world, deliveries);
  const events = passOnWork(world, () => deliveryWorker.nudge());
  const eventWorker = startOutboxWorker(world, events);
  const { wakeUp } = media;
  const removals = [
    wakeUp.add(webhookEvents.name, eventWorker),
    wakeUp.add(webhookDeliveries.name, deliveryWorker),
    // Most events are in commits with mails, at which their acts hint.
    wakeUp.add(mailQueue.name, eventWorker),
  ];
  return {
    nudge: () => {
      eventWorker.nudge();
      deliveryWorker.nudge();
    },
    sweep: {
      name: "send webhooks",
      everyMs: sendEveryMs,
      async run() {
        await runDue(world, events);
        await runDue(world, deliveries);
      },
      withoutTimer: true,
    },
    async stop() {
      for (const remove of removals) remove();
      stopping.abort();
      await Promise.all([eventWorker.stop(), deliveryWorker.stop()]);
      localTransport?.close();
    },
  };
}
