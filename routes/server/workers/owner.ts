/**
 * Runs a gateway that serves on several threads. This thread, the owner, has the store open and does what one process
 * does once; workers serve calls, each an instance with leases of its own, and share the port.
 *
 * - Folder `routes/server/workers/`: serving threads: their start and end, and what they tell each other.
 * - In: the configuration, an open store.
 * - Out: threads that serve at one port, with one log, one `/metrics`, and limits that hold over all.
 * - Never: lets a worker open the store, or waits for a lease to expire of a worker that is known to have ended.
 */
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { Config } from "../../../core/config/config.ts";
import { atMost } from "../../../core/lib/time/sleep.ts";
import { announcingStore } from "../../../kv/engine/store/change_notices.ts";
import type { ArchivedStore } from "../../../kv/services/archive/open_archive.ts";
import { openAdmin } from "../assembly/admin_access.ts";
import { assemble, type ConfigSource, type Thread } from "../assembly/assemble.ts";
import { banner, listeningOn } from "../listen/banner.ts";
import { openCustomerApp } from "../assembly/customer_app.ts";
import { FreezeWatch } from "../../process/cron.ts";
import { freeAddress } from "../listen/listen.ts";
import { demoKeyOf } from "../assembly/opening.ts";
import { warnOfPrices } from "../jobs/money_in.ts";
import type { ServeOptions } from "../assembly/serve_options.ts";
import { awaitBalancers, lastEndsMs, untilAborted } from "../../process/keep_serving.ts";
import { startWork } from "../assembly/work.ts";
import { Fleet } from "./fleet.ts";
import { NoticeHub } from "./seat.ts";
import { passedReadsOf } from "../../../kv/engine/messages/message_store.ts";
import { startWorkerThread, type WorkerStart, type WorkerThread } from "./worker_thread.ts";

/** The name of this thread among those that hear notices. */
const ownerName = "owner";

/** Parts that were opened for the workers. */
export interface OwnedParts {
  readonly store: ArchivedStore;
  readonly masterKeys: MasterKeys;
  readonly masterKeysText: string;
  readonly workers: number;
  readonly source: ConfigSource;
  /** Starts a thread; replaced in tests, which end it. */
  readonly startThread?: (start: WorkerStart) => WorkerThread;
}

/** Each thread reads the master keys from its variables: without a file, they are nowhere else. */
function sourceWith({ environment, file }: ConfigSource, masterKeysText: string): ConfigSource {
  return { file, environment: { ...environment, GATEWAY_MASTER_KEYS: masterKeysText.trim() } };
}

/** Serves on workers until `options.signal` is aborted. Returns the exit code of the process. */
export async function serveWithWorkers(
  config: Config,
  parts: OwnedParts,
  options: ServeOptions,
): Promise<number> {
  const { store, masterKeys, workers, startThread = startWorkerThread } = parts;
  const { write, signal } = options;
  const hub = new NoticeHub(store.notices);
  const notices = hub.notices(ownerName);
  const kv = announcingStore(store.kv, (kind) => hub.committed(ownerName, kind));
  let listening: Fleet | undefined;
  const thread: Thread = {
    role: "owner",
    workers,
    share: (states) => listening?.share(states),
  };
  const assembled = await assemble(config, kv, { ...options, masterKeys, notices, thread });
  const { gateway } = assembled;
  const secret = await demoKeyOf(gateway, masterKeys);
  await warnOfPrices(gateway);
  const admin = await openAdmin(gateway, { masterKeys, store }, signal);
  const free = admin.ok ? freeAddress(config) : admin;
  if (!admin.ok || !free.ok) {
    if (!free.ok) write(free.problem);
    await assembled.close();
    if (admin.ok) await admin.stop();
    return 1;
  }
  const on = listeningOn(config, free.address);
  const baseUrl = config.baseUrl ?? on.nearby;
  const customerApp = openCustomerApp(gateway, { masterKeys, baseUrl, write });
  const hopeless = new AbortController();
  const source = sourceWith(parts.source, parts.masterKeysText);
  const fleet = listening = new Fleet({
    kv: store.kv,
    hub,
    limits: gateway.limits,
    rates: gateway.rates,
    write,
    workers,
    gateway,
    start: (number) =>
      startThread({
        number,
        workers,
        source,
        port: free.address.port,
        baseUrl,
        storeReads: passedReadsOf(store.kv),
      }),
    onGiveUp(reason) {
      write(`Cannot go on: ${reason}`);
      hopeless.abort();
    },
  });
  const problem = await fleet.start();
  if (problem !== undefined) write(`Cannot start: ${problem}`);
  else for (const line of banner(config.mode, on, gateway.catalog.current, secret)) write(line);
  const work = problem !== undefined ? undefined : startWork(gateway, customerApp, {
    freeze: new FreezeWatch(gateway.clock),
    cron: options.cron,
    notices,
    threadInstances: () => fleet.instances(),
  });
  if (problem === undefined) await untilAborted(AbortSignal.any([signal, hopeless.signal]));
  gateway.log.event("info", "stopping", { calls_in_flight: fleet.calls });
  fleet.tellStopping();
  if (problem === undefined) await awaitBalancers(config.stopDelayMs, options.abort);
  await Promise.all([fleet.close(config.drainMs, options.abort), work?.stop()]);
  await assembled.close(options.abort);
  await atMost(lastEndsMs, admin.stop());
  gateway.log.event("info", "stopped");
  return problem !== undefined || hopeless.signal.aborted ? 1 : 0;
}
