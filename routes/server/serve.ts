/**
 * Runs the gateway until a signal stops it.
 *
 * - Folder `routes/server/`: the process: opening every part, listening, jobs, stopping in order.
 * - In: the configuration, signals, a clock.
 * - Out: a running server, log lines, an exit code.
 * - Never: holds a price, a wire format, or the markup of a page.
 */
import type { Config } from "../../core/config/config.ts";
import { defined } from "../../core/lib/defined.ts";
import { errorLine } from "../../core/lib/error_line.ts";
import type { MasterKeys } from "../../core/api_keys/seal.ts";
import { localAddress } from "../../core/lib/net/local_address.ts";
import { atMostEvery } from "../../core/lib/time/at_most_every.ts";
import { systemTimer } from "../../core/lib/time/deadlines.ts";
import { atMost, sleep } from "../../core/lib/time/sleep.ts";
import type { ChangeNotices } from "../../kv/store/change_notices.ts";
import { prepareStore } from "../../kv/store/schema_version.ts";
import { openStore } from "../../kv/store/store.ts";
import type { AdminDeps } from "../operator/cli/admin_deps.ts";
import { createAdminApp } from "../operator/cli/app.ts";
import { adminSocketPath, serveAdminSocket } from "../operator/cli/socket.ts";
import { storeReadings } from "../operator/cli/store_readings.ts";
import { createApp } from "../app.ts";
import { whyNoMail } from "../mail/mailer.ts";
import type { BackgroundWorker } from "../api/background_worker.ts";
import type { Gateway } from "../api/gateway.ts";
import { startVideoWorker } from "../api/videos/video_worker.ts";
import { assemble, type Surroundings } from "./assemble.ts";
import type { Cron } from "./cron.ts";
import { ensureDemoAccount, retireDemoAccount } from "./demo_account.ts";
import { FreezeWatch } from "./freeze_watch.ts";
import { startJobs } from "./jobs.ts";
import { type Answer, answerWith, listen, type ListeningAddress } from "./listen.ts";
import { loadMasterKeys } from "./master_keys.ts";
import { type CustomerApp, openCustomerApp } from "./customer_app.ts";

/** Milliseconds that the end of the process waits for what was asked to end: the last answers, the admin socket. */
const lastEndsMs = 1_000;

/** Milliseconds between two looks at the outbox that notices of other instances cause: each of their polls sends one. */
const noticePauseMs = 1_000;

/** `write` gets whole lines: the banner and the log. */
export interface ServeOptions extends Surroundings {
  /** Aborted when the process should stop. */
  readonly signal: AbortSignal;
  /** Aborted at the second signal: running calls are then ended at once. */
  readonly hurry?: AbortSignal | undefined;
  /** The platform's cron, whose runs do what is due; without it only timers do. */
  readonly cron?: Cron;
}

interface Listening {
  readonly address: string;
  /** An address at which programs on this machine reach the gateway. */
  readonly nearby: string;
}

function listeningOn(config: Config, { hostname, port }: ListeningAddress): Listening {
  const address = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  return { address, nearby: localAddress(config.host, port) ?? address };
}

/** Composes the lines that the start prints. `secret` is a key of the demo account. */
function banner(mode: Config["mode"], { address, nearby }: Listening, secret?: string): string[] {
  const lines = [`Gateway listening on ${address} (${mode} mode)`];
  if (secret === undefined) return lines;
  return [
    ...lines,
    "",
    "No provider is configured: the built-in sandbox answers, and money is play money.",
    `Demo key with 100,000 VND of sandbox money: ${secret}`,
    "",
    "Try it:",
    `  curl ${nearby}/v1/chat/completions \\`,
    `    -H "authorization: Bearer ${secret}" -H "content-type: application/json" \\`,
    `    -d '{"model":"premium-1","messages":[{"role":"user","content":"Hello!"}],"max_tokens":100}'`,
    "",
  ];
}

type Admin =
  | { readonly ok: true; stop(): Promise<void> }
  | { readonly ok: false; readonly problem: string };

/** Serves the administrator's commands on a socket beside a local store. */
async function openAdmin(
  gateway: Gateway,
  { masterKeys, snapshot }: Pick<AdminDeps, "masterKeys" | "snapshot">,
  stopping: AbortSignal,
): Promise<Admin> {
  if (gateway.config.store.kind !== "file") return { ok: true, stop: async () => {} };
  const path = adminSocketPath(gateway.config);
  try {
    const { receivingAccounts } = gateway.config.topup;
    const app = createAdminApp({
      ...gateway,
      masterKeys,
      ...defined({ snapshot }),
      receivingAccounts,
      beginReading: storeReadings({ ...gateway, stopping }),
    });
    const socket = await serveAdminSocket(path, app.fetch);
    return { ok: true, stop: socket.stop };
  } catch (error) {
    return { ok: false, problem: `Cannot serve ${path}: ${errorLine(error)}` };
  }
}

/** Returns a key of the demo account in sandbox mode; in production it retires the account. */
async function demoKeyOf(gateway: Gateway, masterKeys: MasterKeys): Promise<string | undefined> {
  const { config: { mode }, kv, clock } = gateway;
  if (mode === "sandbox") return (await ensureDemoAccount(kv, masterKeys, clock.nowMs())).secret;
  await retireDemoAccount(kv, clock.nowMs());
  return undefined;
}

/** Starts jobs and workers. What they do runs by timers, by cron, and at a request after a freeze. */
function startWork(
  gateway: Gateway,
  customerApp: CustomerApp,
  { freeze, cron, notices }: {
    readonly freeze: FreezeWatch;
    readonly cron: Cron | undefined;
    readonly notices: ChangeNotices | undefined;
  },
): { stop(): Promise<void> } {
  const noMail = whyNoMail(gateway.config);
  if (noMail !== undefined) gateway.log.event("warn", "mail is off", { reason: noMail });
  const workers = [customerApp.startWorkers(), startVideoWorker(gateway)];
  const jobs = startJobs(gateway, {
    jobs: [...customerApp.jobs, ...workers.map(({ sweep }) => sweep)],
    ticked: () => freeze.ticked(),
  });
  freeze.onThaw(() => {
    jobs.runOverdue();
    for (const { nudge } of workers) nudge();
  });
  cron?.begin(({ everyMs }) => jobs.runOfPeriod(everyMs));
  const heard = hearNotices(gateway, workers, notices);
  return {
    async stop() {
      await Promise.all([
        heard.stop(),
        cron?.end(),
        jobs.stop(),
        ...workers.map((worker) => worker.stop()),
      ]);
    },
  };
}

/** Follows the notices of other instances: reads what changed, and wakes the workers. */
function hearNotices(
  { control }: Gateway,
  workers: readonly BackgroundWorker[],
  notices: ChangeNotices | undefined,
): { stop(): Promise<void> } {
  const wake = atMostEvery(noticePauseMs, () => {
    for (const worker of workers) worker.nudge();
  }, systemTimer);
  const end = notices?.listen(async (kind) => {
    if (kind === "control") return await control.refresh();
    wake();
    // A message of a queue may have started this process, which may end when the message is handled.
    if (notices.announce !== undefined) await Promise.all(workers.map(({ sweep }) => sweep.run()));
  });
  return {
    async stop() {
      wake.stop();
      await end?.();
    },
  };
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true })
  );
}

/** Waits until load balancers have seen that `/readyz` answers 503. Calls are still accepted. */
async function awaitBalancers(stopDelayMs: number, hurry?: AbortSignal): Promise<void> {
  if (stopDelayMs === 0 || hurry?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, stopDelayMs);
  hurry?.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}

/**
 * Serves until `signal` is aborted; then waits for load balancers, stops accepting, waits for streams up to the
 * deadline, settles and flushes. If it cannot start, it writes the reason as one line.
 *
 * @returns the exit code of the process
 */
export async function serve(config: Config, options: ServeOptions): Promise<number> {
  const { write, signal } = options;
  const onQueueTrouble = (error: unknown) =>
    write(`The queue of the store is not used any more: ${errorLine(error)}`);
  const opened = await openStore(config.store, options.clock, {
    onQueueTrouble: config.queue ? onQueueTrouble : undefined,
  });
  if (!opened.ok) {
    write(
      opened.reason === "unusable"
        ? opened.problem
        : "Cannot start: another process has the store open. Stop it, or set GATEWAY_KV to another file",
    );
    return 1;
  }
  using store = opened.store;
  for (const warning of store.warnings) write(warning);
  const prepared = await prepareStore(store.kv, { clock: options.clock, sleep });
  if (!prepared.ok) {
    write(prepared.problem);
    return 1;
  }
  const loaded = await loadMasterKeys(config);
  if (!loaded.ok) {
    write(loaded.problem);
    return 1;
  }
  const { masterKeys } = loaded;
  const assembled = await assemble(config, store.kv, { ...options, notices: store.notices });
  const { gateway } = assembled;
  const secret = await demoKeyOf(gateway, masterKeys);
  const admin = await openAdmin(gateway, { masterKeys, snapshot: store.snapshot }, signal);
  let answer: Answer = () => new Response(null, { status: 503 });
  const freeze = new FreezeWatch(gateway.clock);
  const listening = admin.ok
    ? listen(gateway, (request, info) => {
      freeze.request();
      return answer(request, info);
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
  for (const line of banner(config.mode, on, secret)) write(line);
  const work = startWork(gateway, customerApp, {
    freeze,
    cron: options.cron,
    notices: store.notices,
  });

  await untilAborted(signal);
  gateway.log.event("info", "stopping", { calls_in_flight: gateway.calls.count });
  await awaitBalancers(config.stopDelayMs, options.hurry);
  // shutdown() stops accepting at once and resolves when all responses are out; assembled.close() makes them end.
  const stopped = listening.shutdown();
  await work.stop();
  await assembled.close(options.hurry);
  await atMost(lastEndsMs, stopped);
  await atMost(lastEndsMs, admin.stop());
  gateway.log.event("info", "stopped");
  return 0;
}
