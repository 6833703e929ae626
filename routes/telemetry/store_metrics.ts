/**
 * Metrics of what the store has: the outbox, the last verification, the last seal, the last days that were archived. Read
 * only when somebody scrapes.
 */
import { incidentQueue } from "../../kv/people/operators/announcements.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { mailQueue, type OutboxBacklog, readBacklog } from "../../kv/engine/outbox/outbox.ts";
import { type EndedBackup, readLastBackup } from "../../kv/services/backup/last_backup.ts";
import { type EndedMove, readLastMove } from "../../kv/services/archive/last_move.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import {
  type BooksState,
  type EndedVerification,
  readBooksState,
  verificationScopes,
} from "../../kv/services/verify/last_verification.ts";
import { pendingCleanupQueue } from "../../kv/people/deletion/pending_cleanup.ts";
import { webhookDeliveries, webhookTurns } from "../../kv/people/webhooks/endpoint_queues.ts";
import { webhookEvents } from "../../kv/people/webhooks/events.ts";
import { videoPolls } from "../../kv/services/videos/mod.ts";
import type { GaugeSample, Registry } from "./registry.ts";
import { atMost } from "../../core/lib/time/sleep.ts";

/** Milliseconds that a scrape waits for a reading, and then shows the one before: scrapers wait for 10 s. */
const waitMs = 1_000;

/** A reading that a scrape shows without asking each time: taken when somebody scrapes, and kept for a while. */
export class KeptReading<Value> {
  readonly #read: () => Promise<Value>;
  readonly #clock: Clock;
  readonly #everyMs: number;
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;
  /** The latest reading; `undefined` until a scrape has asked this thread. */
  last: Value | undefined;

  /** @param read may throw: what was read before stays then */
  constructor(read: () => Promise<Value>, clock: Clock, everyMs: number) {
    this.#read = read;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Resolves when {@linkcode last} is as fresh as it may be, or keeps the scrape waiting. */
  async refresh(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#reading === undefined && nowMs - this.#readAtMs >= this.#everyMs) {
      this.#readAtMs = nowMs;
      this.#reading = this.#keep().finally(() => this.#reading = undefined);
    }
    await atMost(waitMs, this.#reading);
  }

  async #keep(): Promise<void> {
    try {
      this.last = await this.#read();
    } catch {
      // Other metrics and the log say that a store or a provider fails.
    }
  }
}

/** Milliseconds between two readings, of a dozen calls of the store each: what they show counts in minutes and hours. */
const readEveryMs = 60_000;

/** The state of the jobs and queues of a store. */
export interface StoreState {
  readonly books: BooksState;
  readonly lastMove: EndedMove | undefined;
  readonly lastBackup: EndedBackup | undefined;
  readonly backlogs: readonly (readonly [queue: string, backlog: OutboxBacklog])[];
}

/** The queues that are shown. */
const watchedQueues = [
  mailQueue.name,
  incidentQueue.name,
  videoPolls.name,
  webhookEvents.name,
  webhookDeliveries.name,
  webhookTurns.quick.name,
  webhookTurns.slow.name,
  pendingCleanupQueue.name,
] as const;

/** Reads what jobs and queues have left in the store: some two dozen rows. */
export async function readStoreState(
  { kv, clock }: { readonly kv: KeyValueStore; readonly clock: Clock },
): Promise<StoreState> {
  const nowMs = clock.nowMs();
  const [books, lastMove, lastBackup, ...backlogs] = await Promise.all([
    readBooksState(kv),
    readLastMove(kv),
    readLastBackup(kv),
    ...watchedQueues.map(async (queue) => [queue, await readBacklog(kv, queue, nowMs)] as const),
  ]);
  return { books, lastMove, lastBackup, backlogs };
}

/** Adds the metrics. All threads have one store, so one of them shows it. */
export function showStore(
  registry: Registry,
  { kv, clock }: { readonly kv: KeyValueStore; readonly clock: Clock },
): void {
  const reader = new KeptReading(() => readStoreState({ kv, clock }), clock, readEveryMs);
  registry.readBefore(() => reader.refresh());
  showOutbox(registry, reader);
  showBooks(registry, reader);
  showArchive(registry, reader);
  showBackup(registry, reader);
}

type Reader = Pick<KeptReading<StoreState>, "last">;

function showOutbox(registry: Registry, reader: Reader): void {
  const ofQueues = (read: (backlog: OutboxBacklog) => number) =>
    function* (): Iterable<GaugeSample> {
      for (const [queue, backlog] of reader.last?.backlogs ?? []) {
        yield { labels: [queue], value: read(backlog) };
      }
    };
  registry.gauge(
    "gateway_outbox_rows",
    "Mails, webhooks and polls of videos that wait for their time or for the next attempt; 500 and more count as 500.",
    ["queue"],
    ofQueues(({ rows }) => rows),
    "max",
  );
  registry.gauge(
    "gateway_outbox_overdue_seconds",
    "For how long the oldest of them has been due.",
    ["queue"],
    ofQueues(({ overdueMs }) => overdueMs / 1000),
    "max",
  );
  registry.gauge(
    "gateway_outbox_dead_letters",
    "Those that were given up; 500 and more count as 500.",
    ["queue"],
    ofQueues(({ deadLetters }) => deadLetters),
    "max",
  );
}

function showBooks(registry: Registry, reader: Reader): void {
  const ofVerifications = (read: (ended: EndedVerification | undefined) => number) =>
    function* (): Iterable<GaugeSample> {
      if (reader.last === undefined) return;
      const { verified } = reader.last.books;
      for (const scope of verificationScopes) {
        yield { labels: [scope], value: read(verified[scope]) };
      }
    };
  registry.gauge(
    "gateway_verified_timestamp_seconds",
    "When a verification of the books ended last; 0: never.",
    ["scope"],
    ofVerifications((ended) => (ended?.atMs ?? 0) / 1000),
    "max",
  );
  registry.gauge(
    "gateway_verification_problems",
    "The problems that it found.",
    ["scope"],
    ofVerifications((ended) => ended?.problems ?? 0),
    "max",
  );
  registry.gauge(
    "gateway_sealed_until_timestamp_seconds",
    "The end of the last day that is sealed; 0: none is.",
    [],
    function* (): Iterable<GaugeSample> {
      if (reader.last === undefined) return;
      yield { labels: [], value: (reader.last.books.sealedUntilMs ?? 0) / 1000 };
    },
    "max",
  );
}

function showBackup(registry: Registry, reader: Reader): void {
  registry.gauge(
    "gateway_backup_timestamp_seconds",
    "When `admin backup` ended last with a whole file; 0: never.",
    [],
    function* (): Iterable<GaugeSample> {
      if (reader.last !== undefined) {
        yield { labels: [], value: (reader.last.lastBackup?.atMs ?? 0) / 1000 };
      }
    },
    "max",
  );
}

function showArchive(registry: Registry, reader: Reader): void {
  const ofMove = (read: (ended: EndedMove | undefined) => number) =>
    function* (): Iterable<GaugeSample> {
      if (reader.last !== undefined) yield { labels: [], value: read(reader.last.lastMove) };
    };
  registry.gauge(
    "gateway_archived_timestamp_seconds",
    "When a run of `admin archive` ended last; 0: never.",
    [],
    ofMove((ended) => (ended?.atMs ?? 0) / 1000),
    "max",
  );
  registry.gauge(
    "gateway_archive_problems",
    "The days that it could not move, the kinds of rows that it could not drop, and wrong seals.",
    [],
    ofMove((ended) => ended?.problems ?? 0),
    "max",
  );
}
