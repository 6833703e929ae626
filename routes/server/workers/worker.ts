/** One serving thread: assembles a gateway on the owner's store, and listens at the port that all workers share. */
import { readConfig } from "../../../core/config/config.ts";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { type LinkPort, MessageLink } from "../../../core/lib/threads/message_link.ts";
import type { SharedAffinity } from "../../../core/routing/route_affinity.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { atMost } from "../../../core/lib/time/sleep.ts";
import type { ChangeNotices, NoticeKind } from "../../../kv/engine/store/change_notices.ts";
import { MessageStore, storeErrorOf } from "../../../kv/engine/messages/message_store.ts";
import { StoreUnavailableError } from "../../../kv/engine/store/store_unavailable.ts";
import { createApp } from "../listen/app.ts";
import type { ProcessGateway } from "../../api/gateway/gateway.ts";
import { assemble, type Assembled } from "../assembly/assemble.ts";
import { loadMasterKeys, openOwnersCatalog } from "../../process/catalog_opening.ts";
import { openCustomerApp } from "../assembly/customer_app.ts";
import { type Jobs, startJobs } from "../jobs/jobs.ts";
import { type Answer, answerWith, listen } from "../listen/listen.ts";
import { lastEndsMs } from "../../process/keep_serving.ts";
import { ownersLimits, ownersRates } from "./seat.ts";
import type { OwnerServices, WorkerServices } from "./services.ts";
import type { WorkerStart } from "./worker_thread.ts";

// Gathers what may arrive a moment later, to pass it to the owner in one message: one for each would cost as much as its call.

/** Milliseconds for which items are gathered. */
const gatherMs = 25;

/** Items that are passed on without waiting longer: some 100 KB of log lines. */
const maxItems = 200;

/** Items on their way to the owner. */
class Gathered<Item> {
  readonly #pass: (items: Item[]) => void;
  #items: Item[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param pass gets at least one item */
  constructor(pass: (items: Item[]) => void) {
    this.#pass = pass;
  }

  readonly add = (item: Item): void => {
    if (this.#items.push(item) >= maxItems) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs);
  };

  /** Passes on what has been gathered. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const items = this.#items;
    if (items.length === 0) return;
    this.#items = [];
    this.#pass(items);
  }
}

type OwnerLink = MessageLink<OwnerServices>;

/** A worker that listens. */
interface Serving {
  readonly assembled: Assembled;
  readonly jobs: Jobs;
  shutdown(): Promise<void>;
}

/** The notices of other threads and processes, which arrive over the link. */
class OwnersNotices implements ChangeNotices {
  readonly #listeners = new Set<(kind: NoticeKind) => void | Promise<void>>();

  publish(kind: NoticeKind): void {
    for (const listener of this.#listeners) void listener(kind);
  }

  listen(onNotice: (kind: NoticeKind) => void | Promise<void>): () => Promise<void> {
    this.#listeners.add(onNotice);
    return () => {
      this.#listeners.delete(onNotice);
      return Promise.resolve();
    };
  }
}

/** A worker from its start to its end. */
class WorkerProgram {
  readonly #start: WorkerStart;
  readonly #link: OwnerLink;
  readonly #lines: Gathered<string>;
  readonly #affinities: Gathered<SharedAffinity>;
  readonly #notices = new OwnersNotices();
  readonly #abort = new AbortController();
  #gateway: ProcessGateway | undefined;
  #serving: Promise<Serving | undefined> = Promise.resolve(undefined);
  #isStopping = false;

  constructor(start: WorkerStart, channel: LinkPort) {
    this.#start = start;
    this.#link = new MessageLink(channel, this.#services(), { errorOf: storeErrorOf });
    this.#lines = new Gathered((lines) => this.#link.note("lines", lines.join("\n")));
    this.#affinities = new Gathered((entries) => this.#link.note("shareAffinities", entries));
  }

  async run(): Promise<void> {
    this.#serving = this.#serve();
    const serving = await this.#serving;
    if (serving !== undefined) this.#link.note("ready", null);
  }

  #services(): WorkerServices {
    return {
      notice: (kind) => this.#notices.publish(kind),
      merge: (states) => this.#gateway?.router.merge(states),
      mergeAffinities: (entries) => {
        const nowMs = systemClock.monotonicMs();
        for (const entry of entries) this.#gateway?.routeAffinity.merge(entry, nowMs);
      },
      snapshot: () => ({
        metrics: this.#gateway?.metrics.snapshot() ?? new Map(),
        calls: this.#gateway?.calls.count ?? 0,
      }),
      replayed: async (id) => {
        const calls = this.#gateway?.keyedCalls;
        await calls?.finished(id);
        return calls?.replayed.find(id);
      },
      finished: (id) => this.#gateway?.keyedCalls.finished(id) ?? Promise.resolve(false),
      items: ({ account, ids }) => this.#gateway?.recentItems.kept(account, ids) ?? [],
      response: ({ account, id }) => this.#gateway?.keptResponses.find(account, id),
      removeResponse: ({ account, id }) =>
        this.#gateway?.keptResponses.remove(account, id) ?? false,
      stopping: () => void (this.#isStopping = true),
      abort: () => this.#abort.abort(),
      close: () => this.#close(),
    };
  }

  /** Assembles and listens; `undefined` if that fails, of which the owner is told. */
  async #serve(): Promise<Serving | undefined> {
    const { source, port, workers, baseUrl, storeReads } = this.#start;
    const read = readConfig(source.environment, source.file, source.logoFile);
    const loaded = read.ok ? await loadMasterKeys(read.config) : undefined;
    if (!read.ok || loaded?.ok !== true) {
      this.#link.note("failed", read.ok ? "the master keys changed" : read.problems.join("; "));
      return undefined;
    }
    const link = this.#link;
    const write = this.#lines.add;
    const kv = new MessageStore(link, storeReads);
    const opened = await openOwnersCatalog(kv, read.config, systemClock.nowMs());
    if (!opened.ok) {
      link.note("failed", opened.problem);
      return undefined;
    }
    const assembled = await assemble(opened.config, kv, {
      clock: systemClock,
      random: Math.random,
      write,
      masterKeys: loaded.masterKeys,
      notices: this.#notices,
      thread: {
        role: "worker",
        workers,
        limits: ownersLimits(link),
        rates: ownersRates(link),
        share: (states) => link.note("share", states),
        askToken: (wanted) => link.call("tokenFor", wanted),
        shareAffinity: this.#affinities.add,
        peers: {
          metrics: () => link.call("metrics", null),
          replayed: (id) => link.call("replayed", id),
          finished: (id) => link.call("finished", id),
          items: (account, ids) => link.call("items", { account, ids }),
          response: (of) => link.call("response", of),
          removeResponse: (of) => link.call("removeResponse", of),
        },
      },
    });
    const { gateway } = assembled;
    this.#gateway = gateway;
    // What the others find out while this is on its way is merged, too.
    gateway.router.merge(await link.call("shared", null));
    this.#notices.listen((kind) => this.#receive(gateway, kind));
    const customerApp = openCustomerApp(gateway, { masterKeys: loaded.masterKeys, baseUrl, write });
    const app = createApp(gateway, { stopping: () => this.#isStopping, customerApp });
    const answer: Answer = answerWith(gateway, app);
    const listening = listen(gateway, answer, { port });
    if (!listening.ok) {
      link.note("failed", listening.problem);
      await assembled.close();
      return undefined;
    }
    const jobs = startJobs(gateway, { leavesReaping: true });
    return { assembled, jobs, shutdown: listening.shutdown };
  }

  async #receive({ control, log }: ProcessGateway, kind: NoticeKind): Promise<void> {
    // Workers of the outbox run at the owner.
    if (kind !== "control") return;
    try {
      await control.refresh();
    } catch (error) {
      // The next poll reads it, and an outage has a log line of its own.
      if (error instanceof StoreUnavailableError) return;
      log.event("warn", "switches were not read", unforeseen(error));
    }
  }

  async #close(): Promise<void> {
    this.#isStopping = true;
    const serving = await this.#serving;
    if (serving === undefined) return;
    const stopped = serving.shutdown();
    await serving.jobs.stop();
    await serving.assembled.close(this.#abort.signal);
    await atMost(lastEndsMs, stopped);
    this.#lines.flush();
  }
}

/** Runs a worker; resolves when it serves. */
export async function runWorker(start: WorkerStart, channel: LinkPort): Promise<void> {
  await new WorkerProgram(start, channel).run();
}
