/** Opens the archive of a store, and the store as its readers see it. */
import type { StoreLocation } from "../../../core/config/platform.ts";
import { errorLine } from "../../../core/lib/base/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Store } from "../../engine/opening/store.ts";
import type { CallGuard } from "../../engine/store/store_deadlines.ts";
import { archiveMarkKey } from "../../engine/schema/keys.ts";
import { archivedSnapshot, archivedStore } from "../../money/archive/archived_store.ts";
import type { ReceiptArchive } from "../../money/archive/receipt_archive.ts";
import type { StoreParts } from "../../money/archive/receipt_archive.ts";

/** A store with its archive. */
export interface ArchivedStore extends Store {
  /** Both apart, for what moves rows between them; absent where this kind of store has no archive. */
  readonly parts: StoreParts | undefined;
}

/** The store, or why it cannot be used, in one line. */
export type OpenArchiveResult =
  | { readonly ok: true; readonly store: ArchivedStore }
  | { readonly ok: false; readonly problem: string };

/** The folder of the archive of a store that is a file. */
function archiveFolder(path: string): string {
  return `${path}.archive`;
}

/** Opens an archive; each kind is loaded where it is used. */
async function openArchive(
  location: StoreLocation,
  clock: Clock,
): Promise<ReceiptArchive | undefined> {
  switch (location.kind) {
    case "file": {
      const { openSqliteArchive } = await import("../../money/archive/sqlite_archive.ts");
      return await openSqliteArchive(archiveFolder(location.path));
    }
    case "postgres": {
      const { openPostgresArchive } = await import("../../money/archive/postgres_archive.ts");
      return await openPostgresArchive({ url: location.url, clock });
    }
    case "memory":
    case "remote":
    case "deploy":
      return undefined;
  }
}

/**
 * Gives the reads of requests the deadline of the store, and an archive that is away the name that a store has. What
 * jobs and commands read and write at once may take longer.
 */
function guardedArchive(archive: ReceiptArchive, guard: CallGuard): ReceiptArchive {
  return {
    callsBetween: (range) => guard(archive.callsBetween(range)),
    callsThatFit: (reading) => guard(archive.callsThatFit(reading)),
    callsByDay: (...reading) => guard(archive.callsByDay(...reading)),
    timeOfCall: (...reading) => guard(archive.timeOfCall(...reading)),
    idsOf: (...reading) => guard(archive.idsOf(...reading)),
    idsAmong: (...reading) => guard(archive.idsAmong(...reading)),
    accounts: (list) => guard(archive.accounts(list)),
    accountsOfDay: (...reading) => guard(archive.accountsOfDay(...reading)),
    hoursBetween: (...range) => guard(archive.hoursBetween(...range)),
    sumPages: (reading) => guard(archive.sumPages(reading)),
    writeSums: (sums) => archive.writeSums(sums),
    chargesOf: (...days) => archive.chargesOf(...days),
    months: () => archive.months(),
    writeHour: (hour) => archive.writeHour(hour),
    finishDay: (...day) => archive.finishDay(...day),
    packDay: (day) => archive.packDay(day),
    packMonth: (month) => archive.packMonth(month),
    dropMonth: (month) => archive.dropMonth(month),
    close: () => archive.close(),
  };
}

/** Whether anything was ever archived; of a month that was dropped, its hours are still known. */
async function hasArchived(archive: ReceiptArchive): Promise<boolean> {
  if ((await archive.months()).length > 0) return true;
  return (await archive.hoursBetween(0, Date.UTC(5000, 0))).length > 0;
}

/**
 * Adds its archive to an open store, which is closed with it, or at once if it cannot be used: a store whose receipts
 * have left it must not serve without them.
 */
export async function withArchive(
  store: Store,
  location: StoreLocation,
  clock: Clock,
): Promise<OpenArchiveResult> {
  try {
    const opened = await openArchive(location, clock);
    if (opened === undefined) return { ok: true, store: { ...store, parts: undefined } };
    const archive = guardedArchive(opened, store.guard);
    const hasMoved = (await store.kv.get(archiveMarkKey())).versionstamp !== null;
    if (hasMoved && !await hasArchived(archive)) {
      await archive.close();
      const where = location.kind === "file" ? `: ${archiveFolder(location.path)} is missing` : "";
      throw new Error(`Receipts of the store are in an archive that is not there${where}`);
    }
    const close = store[Symbol.dispose].bind(store);
    return {
      ok: true,
      store: {
        ...store,
        kv: archivedStore(store.kv, archive, clock),
        snapshot: (reading) => archivedSnapshot(store, archive, { clock }, reading),
        parts: { living: store.kv, archive },
        [Symbol.dispose]() {
          void archive.close();
          close();
        },
      },
    };
  } catch (error) {
    store[Symbol.dispose]();
    return { ok: false, problem: `Cannot use the store: ${errorLine(error)}` };
  }
}
