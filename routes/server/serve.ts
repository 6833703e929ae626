/**
 * Runs the gateway until a signal stops it.
 *
 * - Folder `routes/server/`: the process: opening every part, listening, jobs, stopping in order.
 * - In: the configuration, signals, a clock.
 * - Out: a running server, log lines, an exit code.
 * - Never: holds a price, a wire format, or the markup of a page.
 */
import type { Config } from "../../core/config/config.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { atMost } from "../../core/lib/time/sleep.ts";
import type { ArchivedStore } from "../../kv/services/archive/open_archive.ts";
import { createApp } from "./listen/app.ts";
import { openAdmin } from "./assembly/admin_access.ts";
import { assemble, workersOf } from "./assembly/assemble.ts";
import { banner, listeningOn } from "./listen/banner.ts";
import { openCustomerApp } from "./assembly/customer_app.ts";
import { FreezeWatch } from "../process/cron.ts";
import { type Answer, answerWith, listen } from "./listen/listen.ts";
import { demoKeyOf, openParts } from "./assembly/opening.ts";
import { warnOfPrices } from "./jobs/money_in.ts";
import { awaitBalancers, lastEndsMs, untilAborted } from "../process/keep_serving.ts";
import { startWork } from "./assembly/work.ts";
import type { serveWithWorkers } from "./workers/owner.ts";
import type { ServeOptions } from "./assembly/serve_options.ts";

/**
 * Serves until `signal` is aborted; then waits for load balancers, stops accepting, waits for streams up to the
 * deadline, settles and flushes. If it cannot start, it writes the reason as one line.
 *
 * @returns the exit code of the process
 */
export async function serve(settings: Config, options: ServeOptions): Promise<number> {
  const opened = await openParts(settings, options);
  if (!opened.ok) {
    options.write(opened.problem);
    return 1;
  }
  using _store = opened.store;
  const { config } = opened;
  const { source } = options;
  const workers = source === undefined ? 1 : workersOf(config);
  return source === undefined || workers === 1
    ? await serveAlone(config, opened, options)
    : await serveOnThreads(config, { ...opened, workers, source }, options);
}

/** Loaded only where it is used: a platform without threads need not have them. */
async function serveOnThreads(...all: Parameters<typeof serveWithWorkers>): Promise<number> {
  const { serveWithWorkers } = await import("./workers/owner.ts");
  return await serveWithWorkers(...all);
}

/** Serves on this thread. */
async function serveAlone(
  config: Config,
  { store, masterKeys }: { readonly store: ArchivedStore; readonly masterKeys: MasterKeys },
  options: ServeOptions,
): Promise<number> {
  const { write, signal } = options;
  const assembled = await assemble(config, store.kv, {
    ...options,
    masterKeys,
    notices: store.notices,
  });
  const { gateway } = assembled;
  const secret = await demoKeyOf(gateway, masterKeys);
  await warnOfPrices(gateway);
  const admin = await openAdmin(gateway, { masterKeys, store }, signal);
  let answer: Answer = () => new Response(null, { status: 503 });
  const freeze = new FreezeWatch(gateway.clock);
  const listening = admin.ok
    ? listen(gateway, (request, remoteAddress) => {
      freeze.request();
      return answer(request, remoteAddress);
    })
    : admin;
  if (!admin.ok || !listening.ok) {
    if (!listening.ok) write(listening.problem);
    await assembled.close();
    if (admin.ok) await admin.stop();
    return 1;
  }
  // Pages and links contain the port, which with port 0 is known only now. No request is read
  // before this turn of the event loop ends.
  const on = listeningOn(config, listening.address);
  const customerApp = openCustomerApp(gateway, {
    masterKeys,
    baseUrl: config.baseUrl ?? on.nearby,
    write,
  });
  answer = answerWith(gateway, createApp(gateway, { stopping: () => signal.aborted, customerApp }));
  for (const line of banner(config.mode, on, gateway.catalog.current, secret)) write(line);
  const work = startWork(gateway, customerApp, {
    freeze,
    cron: options.cron,
    notices: store.notices,
  });

  await untilAborted(signal);
  gateway.log.event("info", "stopping", { calls_in_flight: gateway.calls.count });
  await awaitBalancers(config.stopDelayMs, options.abort);
  // shutdown() stops accepting at once and resolves when all responses are out; assembled.close() makes them end.
  const stopped = listening.shutdown();
  await work.stop();
  await assembled.close(options.abort);
  await atMost(lastEndsMs, stopped);
  await atMost(lastEndsMs, admin.stop());
  gateway.log.event("info", "stopped");
  return 0;
}
