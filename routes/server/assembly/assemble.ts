/**
 * Creates the parts of a running gateway, and closes them in the right order.
 *
 * - Folder `routes/server/assembly/`: wiring: which parts a gateway has, in which order they open and close.
 * - In: the configuration, an open store, the place of the thread.
 * - Out: a `Gateway`, the customer's app, running work, and how to close all of it.
 * - Never: holds a rule of money, of wire styles or of pages.
 */
import { AnswerBudget } from "../../../core/lib/bytes/answer_budget.ts";
import { BodyBudget } from "../../../core/lib/bytes/body_budget.ts";
import { SeenPrompts } from "../../../core/calls/bounds/seen_prompts.ts";
import { KeptResponses } from "../../../core/calls/request/kept_responses.ts";
import { RecentItems } from "../../../core/calls/request/recent_items.ts";
import { OutputExpectations } from "../../../core/calls/bounds/output_limit.ts";
import { type Clock, oncePerMillisecond } from "../../../core/lib/time/clock.ts";
import type { Config, FileText } from "../../../core/config/config.ts";
import {
  defaultWorkers,
  largestBodyBytes,
  memoryBounds,
} from "../../../core/config/memory_bounds.ts";
import { Deadlines, systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import { atMost } from "../../../core/lib/time/sleep.ts";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { Availability, DayHistory } from "../../../core/routing/history/availability.ts";
import { RouteAffinity, type SharedAffinity } from "../../../core/routing/route_affinity.ts";
import { LiveRouter } from "../../../core/routing/live_router.ts";
import { withStoredKeys } from "../../../core/config/catalog_reading.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { LiveCatalog } from "../../../kv/services/catalog/live_catalog.ts";
import { openControl } from "../../../kv/engine/control/control.ts";
import { openKeyDirectory } from "../../../kv/people/api_keys/key_directory.ts";
import { PresetBook } from "../../../kv/people/organisations/presets.ts";
import { type KeyLimitBook, openKeyLimitBook } from "../../../kv/services/limits/limit_book.ts";
import {
  type DebtRules,
  openWalletEngine,
  reapExpiredInstances,
} from "../../../kv/money/wallet/mod.ts";
import { RefusedBodies } from "../../http/body/refused_bodies.ts";
import { createGatewayMetrics, showState } from "../../telemetry/gateway_metrics.ts";
import { showProviderCredit } from "../../telemetry/provider_credit.ts";
import { showStore } from "../../telemetry/store_metrics.ts";
import { type CallObserver, observers } from "../../telemetry/telemetry.ts";
import { AccessWatch, CallsInFlight } from "../../api/gateway/access_watch.ts";
import { createCallLog } from "../../telemetry/call_log.ts";
import { WithheldRefunds } from "../../api/gateway/withheld_refunds.ts";
import { KeyedCalls, type Peers } from "../../api/gateway/keyed_calls.ts";
import type { Gateway, ProcessGateway } from "../../api/gateway/gateway.ts";
import type { PeerInstances } from "../../api/gateway/peer_instances.ts";
import { openMediaServices } from "../../api/gateway/media_services.ts";
import { openLiveCatalog, openVault } from "../../process/catalog_opening.ts";
import { openTransports, type Transports } from "./transports.ts";
import type { ChangeNotices } from "../../../kv/engine/store/change_notices.ts";
import { RateCardBook } from "../../../kv/money/costs/provider_sheet.ts";
import { announceRefusals } from "../../../kv/services/limits/budget_notices.ts";
import { RefusedCallRecorder } from "../../../kv/services/calls/refused_call_recorder.ts";
import { CommitWatch } from "../../../kv/engine/parts/commit_watch.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import {
  type OutageKind,
  StoreUnavailableError,
} from "../../../kv/engine/store/store_unavailable.ts";
import { ProcessRateBook, type RateBook } from "../../../core/limits/rate_book.ts";
import type { RateExchange } from "../../../kv/services/limits/rate_exchange.ts";
import type { Environment } from "../../../core/lib/environment/environment.ts";
import type {
  SharedState,
  TokenAnswer,
  WantedToken,
} from "../../../core/routing/contract/router.ts";

// Opens the book of rate limits of a process, which instances on one store share.

/** Instances to assume until the first exchange: a cold one may use a quarter of a limit before it knows more. */
const assumedInstances = 4;

/** A book, and its end. */
export interface OpenRates {
  readonly book: RateBook;
  close(): Promise<void>;
}

/**
 * Opens the book.
 *
 * @param options.isAlone whether no other instance uses the store
 */
function openRates(kv: KeyValueStore, { clock, timer, isAlone, onFailure }: {
  readonly clock: Clock;
  readonly timer: Timer;
  readonly isAlone: boolean;
  readonly onFailure: (error: unknown) => void;
}): OpenRates {
  if (isAlone) {
    return { book: new ProcessRateBook(() => clock.monotonicMs()), close: async () => {} };
  }
  let exchange: RateExchange | undefined;
  let loading: Promise<void> | undefined;
  let isClosed = false;
  // Loaded with the first call that has a limit: most installations set none.
  const load = async () => {
    const { RateExchange } = await import("../../../kv/services/limits/rate_exchange.ts");
    if (isClosed) return;
    exchange = new RateExchange({
      kv,
      book,
      clock,
      timer,
      assumedInstances,
      onFailure,
    });
    exchange.used();
  };
  const book = new ProcessRateBook(() => clock.monotonicMs(), {
    instances: assumedInstances,
    onUse() {
      if (exchange !== undefined) exchange.used();
      else loading ??= load();
    },
  });
  return {
    book,
    async close() {
      isClosed = true;
      await loading;
      await exchange?.close();
    },
  };
}

// The place of a thread among those of a gateway that serves on several.

/** Source of the configuration, so that each thread reads the same. */
export interface ConfigSource {
  readonly environment: Environment;
  /** The text of `gateway.json`. */
  readonly file: string;
  /** The text of the operator's logo; absent: it is none of a file. */
  readonly logoFile?: FileText;
}

/** The place of a thread. The owner has the store open; workers serve calls. */
export type Thread =
  & {
    /** Threads that serve calls. */
    readonly workers: number;
    /** Tells the other threads what was found out about routes. */
    readonly share: (states: readonly SharedState[]) => void;
  }
  & (
    | { readonly role: "owner" }
    | {
      readonly role: "worker";
      readonly peers: Peers;
      /** The owner's book of the limits of keys. */
      readonly limits: KeyLimitBook;
      /** The owner's book of rate limits. */
      readonly rates: RateBook;
      /** Gets a token of a cloud from the owner, which renews them for all. */
      readonly askToken: (wanted: WantedToken) => Promise<TokenAnswer>;
      /** Tells them which route answered a prompt. */
      readonly shareAffinity: (entry: SharedAffinity) => void;
    }
  );

/** Number of threads that serve calls. Elsewhere than on Linux several sockets cannot share a port, so there is one. */
export function workersOf({ workers, memoryMb }: Config): number {
  if (Deno.build.os !== "linux") return 1;
  return workers ?? defaultWorkers(navigator.hardwareConcurrency, memoryMb);
}

/**
 * Collects garbage before a body is read that might not fit beside it: V8 knows how large its own heap may grow, not how
 * much memory the process may use. Needs `--expose-gc`, as `deno task start` has it; a collection takes some 50 ms.
 */
function collectorFor(memoryMb: number | undefined): (() => void) | undefined {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (memoryMb === undefined || typeof collect !== "function") return undefined;
  const enoughBytes = memoryMb * 1024 * 1024 - largestBodyBytes;
  return () => {
    if (Deno.memoryUsage().rss > enoughBytes) collect();
  };
}

/** Milliseconds that stopped calls get after the drain deadline to send their last event and settle. */
const stopMs = 3_000;

/** An assembled gateway. */
export interface Assembled {
  readonly gateway: ProcessGateway;
  /**
   * Waits for running calls up to the deadline, or until `abort` is aborted, then ends them;
   * flushes the ledger and returns leases.
   */
  close(abort?: AbortSignal): Promise<void>;
}

/** Surroundings of a gateway: time, randomness, master keys, and the output for log lines. */
export interface Surroundings {
  readonly clock: Clock;
  /** Runs time-outs, pauses and periodic work; the machine's by default. */
  readonly timer?: Timer;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Gets the log lines. */
  readonly write: (line: string) => void;
  /** Open the keys of providers that are sealed in the store. */
  readonly masterKeys: MasterKeys;
  /** Notices of other instances, where the store has them. */
  readonly notices?: ChangeNotices | undefined;
  /** The place of this thread, where several serve. */
  readonly thread?: Thread | undefined;
}

/** Waits for running calls up to the deadline, then ends them; resolves when all are settled. */
async function drain(
  calls: CallsInFlight,
  timer: Timer,
  drainMs: number,
  abort?: AbortSignal,
): Promise<void> {
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = timer.start(resolve, abort?.aborted === true ? 0 : drainMs);
    abort?.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([calls.idle(), late]);
  cancel();
  calls.stopAll();
  const timeout = new Promise<void>((resolve) => cancel = timer.start(resolve, stopMs));
  await Promise.race([calls.idle(), timeout]);
  cancel();
}

/** Loaded only if it is configured, so that other calls do not pay for it. */
async function openTelemetryOf(
  { telemetry }: Config,
  live: LiveCatalog,
): Promise<CallObserver[]> {
  if (!telemetry) return [];
  const { openTelemetry } = await import("../../telemetry/open_telemetry.ts");
  return [openTelemetry({ catalog: () => live.current })];
}

/** Loaded only if it is configured, as most gateways are alone. */
async function openInstances(
  parts: Omit<ProcessGateway, "instances">,
): Promise<PeerInstances | undefined> {
  const { peerAddress } = parts.config;
  if (peerAddress === undefined) return undefined;
  const { PeerInstances } = await import("../../api/gateway/peer_instances.ts");
  return new PeerInstances(parts, peerAddress);
}

/** The rules of the catalogue in force. */
function debtRules(live: LiveCatalog): DebtRules {
  return {
    get toppedUpMicroVnd() {
      return fromVnd(live.current.wallet.debtVnd.toppedUp);
    },
    get othersMicroVnd() {
      return fromVnd(live.current.wallet.debtVnd.others);
    },
  };
}

/** Milliseconds between two measurements of the distance of all providers. */
const measureEveryMs = 5 * 60_000;

/**
 * Measures how far providers are, where several regions are configured: a route that is not used would otherwise never
 * show that it is nearer.
 */
function measureDistances(
  { region }: Config,
  live: LiveCatalog,
  transports: Pick<Transports, "measure">,
): { stop(): void } {
  if (region === undefined) return { stop() {} };
  const measure = () => {
    const { models } = live.current;
    const hasRegions = models.some(({ routes }) => routes.some((route) => route.region));
    if (hasRegions) void transports.measure();
  };
  measure();
  const timer = setInterval(measure, measureEveryMs);
  return { stop: () => clearInterval(timer) };
}

function logOutage(log: Gateway["log"], outage: OutageKind | undefined): void {
  if (outage === undefined) return log.event("info", "the store takes commits again");
  log.event("error", "the store takes no commits", {
    kind: outage,
    effect: "calls and pages get 503; /readyz is 503",
    look_at: "the disk or server of GATEWAY_KV",
  });
}

/** Logs that work which is done again later has failed. An outage of the store has its own line. */
function logFailure(log: Gateway["log"], what: string, error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) log.event("warn", what, unforeseen(error));
}

/** Assembles a gateway on an open store. */
export async function assemble(
  config: Config,
  store: KeyValueStore,
  { clock: exactClock, timer = systemTimer, random, write, masterKeys, notices, thread }:
    Surroundings,
): Promise<Assembled> {
  const clock = oncePerMillisecond(exactClock);
  // The cached time of `clock` may be up to a millisecond old; with it a deadline could end early.
  const deadlines = new Deadlines({ clock: exactClock, timer });
  const worker = thread?.role === "worker" ? thread : undefined;
  const { registry: metrics, observer: counting, events } = createGatewayMetrics();
  const commits = new CommitWatch(store, {
    clock: exactClock,
    timer,
    // The owner has the same store open, and one line per outage is enough.
    onChange: (outage) => worker === undefined && logOutage(log, outage),
    onCommit: events.committed,
  });
  const { kv } = commits;
  // The leases of dead instances return to their wallets before the first balance is read.
  // The process that has a local file open is the only one: every other instance in it is dead, whatever its time.
  const isAlone = config.store.kind === "file";
  if (worker === undefined) await reapExpiredInstances(kv, clock.nowMs(), { all: isAlone });
  const isLocal = isAlone || config.store.kind === "memory";
  // The owner opens the same keys, and one line for each that it cannot open is enough.
  const vault = openVault(kv, {
    masterKeys,
    clock,
    write: worker === undefined ? write : () => {},
  });
  const live = openLiveCatalog(config, kv, { clock, timer, write, storedKeys: vault });
  const control = await openControl(kv, clock, {
    timer,
    isTold: notices !== undefined,
    followVault: (epoch) => vault.follow(epoch),
    followCatalog: (head) => live.follow(head),
  });
  const { refused } = live;
  if (refused !== undefined && live.current.version === undefined) {
    control.close();
    live.close();
    throw new Error(refused.problems.join("; "));
  }
  const limits = worker?.limits ??
    openKeyLimitBook({ kv, clock, kindOf: (model) => live.current.find(model)?.kind });
  const wallet = await openWalletEngine(kv, {
    clock,
    timer,
    random,
    debt: debtRules(live),
    storeWaitMs: config.storeWaitMs,
    isShared: !isLocal || thread !== undefined,
    peerAddress: config.peerAddress,
    // A local store takes one commit at a time, whatever is asked of it.
    ...(isLocal ? { lanes: { maxLanes: 0 } } : {}),
  });
  const rates: OpenRates = worker === undefined
    ? openRates(kv, {
      clock,
      timer,
      isAlone: isLocal,
      onFailure: (error) => logFailure(log, "use of rate limits was not exchanged", error),
    })
    : { book: worker.rates, close: async () => {} };
  const transports = await openTransports(live.current, {
    clock,
    timer,
    deadlines,
    driver: config.driver,
  });
  const calls = new CallsInFlight(deadlines);
  const bounds = memoryBounds(config.memoryMb, thread?.workers);
  const bodies = new BodyBudget(deadlines, bounds?.bodies, collectorFor(config.memoryMb));
  const answers = new AnswerBudget(deadlines, bounds?.answers);
  const keptResponses = new KeptResponses(clock, deadlines, bounds?.responses);
  const tracing = await openTelemetryOf(config, live);
  const log = createCallLog(
    write,
    clock.nowMs,
    (receipt, timing) => observer.call(receipt, timing),
  );
  const router = new LiveRouter({
    catalog: live.current,
    providerKeys: live.providerKeys,
    transportOf: (provider) => transports.of(provider),
    clock,
    deadlines,
    random,
    region: config.region,
    connectMsOf: (provider) => transports.connectMsOf(provider),
    switchOf: (routeId) => control.switches.routes[routeId]?.state,
    onEvent: (event) => log.event("warn", "route state", { ...event }),
    onRefusal: events.providerRefused,
    share: thread?.share,
    isJudge: thread?.role === "owner",
    readTextFile: (path) => Deno.readTextFile(path),
    askToken: worker?.askToken,
  });
  live.attach(async (next) => {
    const putTransports = await transports.prepare(next.catalog);
    return () => {
      putTransports();
      router.replaceCatalog({ ...next, providerKeys: withStoredKeys(next, vault) });
    };
  });
  vault.attach(() =>
    router.replaceCatalog({ catalog: live.current, providerKeys: live.providerKeys })
  );
  showState(metrics, { router, calls, wallet, bodies, answers, keptResponses });
  showStore(metrics, { kv, clock });
  showProviderCredit(metrics, { catalog: live, router, deadlines, clock });
  const observer = observers([counting, ...tracing]);
  const parts: Omit<ProcessGateway, "instances"> = {
    config,
    catalog: live,
    vault,
    clock,
    random,
    deadlines,
    kv,
    commits,
    control,
    directory: openKeyDirectory(kv, control, clock),
    wallet,
    router,
    availability: new Availability(clock.nowMs()),
    dayHistory: new DayHistory(clock.nowMs()),
    seenPrompts: new SeenPrompts(),
    expectations: new OutputExpectations(),
    routeAffinity: new RouteAffinity(worker?.shareAffinity),
    recentItems: new RecentItems(clock, bounds?.items),
    keptResponses,
    presets: new PresetBook(kv, vault.masterKeys, control),
    calls,
    limits,
    rates: rates.book,
    bodies,
    refusedBodies: new RefusedBodies(deadlines),
    answers,
    keyedCalls: new KeyedCalls(deadlines, bounds?.replayed),
    withheldRefunds: new WithheldRefunds({ kv, clock, deadlines, log, events }),
    rateCards: new RateCardBook(),
    refusedCalls: new RefusedCallRecorder({
      kv,
      clock,
      timer,
      keptDays: config.retention.refused_calls,
      afterWrite: (calls) => announceRefusals(kv, calls),
      onFailure: (error) => logFailure(log, "refused calls were not kept", error),
    }),
    log,
    metrics,
    events,
    observer,
    media: openMediaServices({
      clock,
      deadlines,
      driver: config.driver,
      isTold: notices !== undefined,
      announce: notices?.announce && (() => notices.announce?.("outbox")),
    }),
    peers: worker?.peers,
  };
  const instances = await openInstances(parts);
  const gateway: ProcessGateway = { ...parts, instances };
  const measuring = measureDistances(config, live, transports);
  const accessWatch = new AccessWatch({
    control,
    directory: gateway.directory,
    calls,
    timer,
    onFailure: (error) => logFailure(log, "keys of running streams were not read", error),
  });
  return {
    gateway,
    async close(abort) {
      await drain(calls, timer, config.drainMs, abort);
      await wallet.close();
      await atMost(stopMs, rates.close());
      await gateway.withheldRefunds.rest(stopMs);
      await atMost(stopMs, gateway.refusedCalls.close());
      commits.close();
      accessWatch.close();
      measuring.stop();
      control.close();
      live.close();
      transports.close();
      gateway.media.close();
      instances?.close();
      deadlines.close();
    },
  };
}
