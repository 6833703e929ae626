/**
 * What is left of rows that were dropped by their age: how many of a kind and month there were, how many of each sort,
 * what money they named, and a digest. It is written in the commit that drops them, and sealed with a master key.
 */
import { type MasterKeys, signText } from "../../../../core/people/api_keys/seal.ts";
import { droppedKey, droppedPrefix } from "../../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { openSealed, type SealedRow } from "./checkpoint_chain.ts";

/** The sums of the rows of a kind and month that were dropped. */
export interface DroppedRows {
  readonly kind: string;
  /** A month of Vietnam, such as `2026-11`. */
  readonly month: string;
  readonly rows: number;
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Rows of each sort, such as the code of an error. */
  readonly counts: Readonly<Record<string, number>>;
  readonly amountMicroVnd: bigint;
  /** SHA-256 over the digest before and the lines of the rows as `admin export` writes them; hexadecimal digits. */
  readonly digest: string;
}

/** The sums of no rows. */
function noneDropped(kind: string, month: string): DroppedRows {
  return {
    kind,
    month,
    rows: 0,
    oldestMs: Infinity,
    newestMs: -Infinity,
    counts: {},
    amountMicroVnd: 0n,
    digest: "",
  };
}

function encode({ amountMicroVnd, ...dropped }: DroppedRows): string {
  return JSON.stringify({ version: 1, ...dropped, amountMicroVnd: amountMicroVnd.toString() });
}

/** Decodes a text whose seal was found valid, so its form is known. */
function decode(text: string): DroppedRows {
  const { version: _, ...stored } = JSON.parse(text);
  return { ...stored, amountMicroVnd: BigInt(stored.amountMicroVnd) };
}

async function opened(
  keys: MasterKeys,
  { key, value }: Deno.KvEntryMaybe<unknown>,
): Promise<DroppedRows | string> {
  const [, kind, month] = key.map(String);
  const name = `the sums of dropped ${kind} of ${month}`;
  const row = await openSealed(keys, name, value);
  if (typeof row === "string") return row;
  const dropped = decode(row.text);
  const isInPlace = dropped.kind === kind && dropped.month === month;
  return isInPlace ? dropped : `${name} are those of ${dropped.kind} of ${dropped.month}`;
}

/** Sums as they are in the store, with the entry that a commit checks. */
export interface FoundDropped {
  readonly entry: Deno.KvEntryMaybe<unknown>;
  readonly sums: DroppedRows;
}

/**
 * Reads the sums of a kind and month.
 *
 * @throws if they are not those that were sealed: nothing may be added to them
 */
export async function readDropped(
  kv: KeyValueStore,
  keys: MasterKeys,
  { kind, month }: Pick<DroppedRows, "kind" | "month">,
): Promise<FoundDropped> {
  const entry = await kv.get(droppedKey(kind, month));
  if (entry.versionstamp === null) return { entry, sums: noneDropped(kind, month) };
  const sums = await opened(keys, entry);
  if (typeof sums === "string") throw new Error(sums);
  return { entry, sums };
}

/** Adds sums to a commit, which fails if others have dropped rows of the kind and month meanwhile. */
export async function setDropped(
  op: AtomicWrite,
  keys: MasterKeys,
  entry: Deno.KvEntryMaybe<unknown>,
  sums: DroppedRows,
): Promise<void> {
  const text = encode(sums);
  const row: SealedRow = { text, seal: await signText(keys, text) };
  op.check(entry).set(entry.key, row);
}

/** Reads all sums in the order of kinds and months; a line for each that is not as it was sealed. */
export async function listDropped(
  kv: KeyValueStore,
  keys: MasterKeys,
): Promise<{ readonly sums: readonly DroppedRows[]; readonly problems: readonly string[] }> {
  const sums: DroppedRows[] = [];
  const problems: string[] = [];
  for await (const entry of kv.list({ prefix: droppedPrefix() })) {
    const found = await opened(keys, entry);
    if (typeof found === "string") problems.push(found);
    else sums.push(found);
  }
  return { sums, problems };
}
