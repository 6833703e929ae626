/** Errors of the runtime's own store which mean that its file or its service is away. */
import type { OutageKind } from "../store/store_unavailable.ts";

/**
 * The texts of SQLite's result codes (https://www.sqlite.org/c3ref/errcode.html, by `sqlite3_errstr`). The runtime throws
 * a `TypeError` for them as for a mistake of the caller, so that only the whole text tells them apart.
 */
const sqliteKinds: ReadonlyMap<string, OutageKind> = new Map([
  ["disk I/O error", "engine_failed"],
  ["database or disk is full", "no_room"],
  ["out of memory", "no_room"],
  ["attempt to write a readonly database", "takes_no_writes"],
  ["access permission denied", "takes_no_writes"],
  ["authorization denied", "takes_no_writes"],
  ["database is locked", "overloaded"],
  ["database table is locked", "overloaded"],
  ["locking protocol", "overloaded"],
  ["interrupted", "overloaded"],
  ["unable to open database file", "engine_failed"],
  ["database disk image is malformed", "damaged"],
  ["file is not a database", "damaged"],
  ["large file support is disabled", "no_room"],
]);

/** Returns the kind of an outage; `undefined` for an error of the caller. */
export function embeddedOutage(error: unknown): OutageKind | undefined {
  if (!(error instanceof Error)) return undefined;
  const isPlain = Object.getPrototypeOf(error) === Error.prototype;
  return sqliteKinds.get(error.message) ?? (isPlain ? "engine_failed" : undefined);
}
