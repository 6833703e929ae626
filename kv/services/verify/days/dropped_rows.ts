/**
 * Commitments to rows that were dropped by their age: how many of a kind and month there were, how many of each sort,
 * what money they named, and a digest. It is written in the commit that drops them, and sealed with a master key.
 */
import { type MasterKeys, signText } from "../../../../core/people/api_keys/seal.ts";
import {
  droppedContentsKey,
  droppedKey,
  droppedPlaceOf,
  droppedPrefix,
} from "../../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { type DroppedCommits, openSealed, type SealedRow } from "./checkpoint_chain.ts";

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
  const { kind, month } = droppedPlaceOf(key);
  const name = `the sums of dropped ${kind} of ${month}`;
  const row = await openSealed(keys, name, value);
  if (typeof row === "string") return row;
  const dropped = decode(row.text);
  const isInPlace = dropped.kind === kind && dropped.month === month;
  return isInPlace ? dropped : `${name} are those of ${dropped.kind} of ${dropped.month}`;
}

// The contents of a kind name the sums of each month, so that sums that were deleted are missed.

/** Contents that were dropped of a kind. */
interface DroppedContents {
  readonly kind: string;
  /** Commits that dropped rows; it only rises, and checkpoints name it. */
  readonly commits: number;
  /** The digest of the sums by month. */
  readonly months: Readonly<Record<string, string>>;
}

/** Opens contents; `undefined` if there are none: an earlier release dropped, or nobody did. */
async function openedContents(
  keys: MasterKeys,
  { key, value, versionstamp }: Deno.KvEntryMaybe<unknown>,
): Promise<DroppedContents | string | undefined> {
  if (versionstamp === null) return undefined;
  const { kind } = droppedPlaceOf(key);
  const name = `the contents of dropped ${kind}`;
  const row = await openSealed(keys, name, value);
  if (typeof row === "string") return row;
  const contents: DroppedContents = JSON.parse(row.text);
  return contents.kind === kind ? contents : `${name} are those of ${contents.kind}`;
}

/** Makes the contents of a kind, of which an earlier release kept none; a line if sums are wrong. */
async function contentsOf(
  kv: KeyValueStore,
  keys: MasterKeys,
  kind: string,
): Promise<DroppedContents | string> {
  const months: Record<string, string> = {};
  for await (const entry of kv.list({ prefix: droppedContentsKey(kind) })) {
    const sums = await opened(keys, entry);
    if (typeof sums === "string") return sums;
    months[sums.month] = sums.digest;
  }
  return { kind, commits: 0, months };
}

/** Sums as they are in the store, with the entries that a commit checks. */
export interface FoundDropped {
  readonly entry: Deno.KvEntryMaybe<unknown>;
  readonly sums: DroppedRows;
  readonly contentsEntry: Deno.KvEntryMaybe<unknown>;
  readonly contents: DroppedContents;
}

/** Reads the sums of a kind and month and the contents of the kind, both as of one moment; a line if they are wrong. */
async function lookUp(
  kv: KeyValueStore,
  keys: MasterKeys,
  { kind, month }: Pick<DroppedRows, "kind" | "month">,
): Promise<FoundDropped | string> {
  const [entry, contentsEntry] = await kv.getMany<[unknown, unknown]>([
    droppedKey(kind, month),
    droppedContentsKey(kind),
  ]);
  const contents = await openedContents(keys, contentsEntry) ?? await contentsOf(kv, keys, kind);
  if (typeof contents === "string") return contents;
  const sums = entry.versionstamp === null ? noneDropped(kind, month) : await opened(keys, entry);
  if (typeof sums === "string") return sums;
  return disagreement(contents, sums) ?? { entry, sums, contentsEntry, contents };
}

/**
 * Reads the sums of a kind and month.
 *
 * @throws if they are not those that were sealed: nothing may be added to them
 */
export async function readDropped(
  kv: KeyValueStore,
  keys: MasterKeys,
  place: Pick<DroppedRows, "kind" | "month">,
): Promise<FoundDropped> {
  const found = await lookUp(kv, keys, place);
  if (typeof found === "string") throw new Error(found);
  return found;
}

/** Says how the sums of a month are not those that the contents of their kind name. */
function disagreement(
  { months }: DroppedContents,
  { kind, month, digest }: Pick<DroppedRows, "kind" | "month" | "digest">,
): string | undefined {
  const named = months[month] ?? "";
  if (named === digest) return undefined;
  const name = `the sums of dropped ${kind} of ${month}`;
  return digest === "" ? `${name} are missing` : `${name} are not the last ones`;
}

/** Adds sums to a commit, which fails if others have dropped rows of the kind meanwhile. */
export async function setDropped(
  op: AtomicWrite,
  keys: MasterKeys,
  { entry, contentsEntry, contents }: FoundDropped,
  sums: DroppedRows,
): Promise<void> {
  const next: DroppedContents = {
    ...contents,
    commits: contents.commits + 1,
    months: { ...contents.months, [sums.month]: sums.digest },
  };
  op.check(entry).set(entry.key, await sealed(keys, encode(sums)));
  op.check(contentsEntry).set(contentsEntry.key, await sealed(keys, JSON.stringify(next)));
}

async function sealed(keys: MasterKeys, text: string): Promise<SealedRow> {
  return { text, seal: await signText(keys, text) };
}

/** Findings about all that was dropped. */
export interface DroppedList {
  readonly sums: readonly DroppedRows[];
  /** Commitments that the next checkpoint names. */
  readonly commits: DroppedCommits;
  /** A line for each that is not as it was sealed, or is missing. */
  readonly problems: readonly string[];
}

/**
 * Reads all sums in the order of kinds and months.
 *
 * @param sealedCommits what the last checkpoint names: contents that have fewer were deleted, or put back
 */
export async function listDropped(
  kv: KeyValueStore,
  keys: MasterKeys,
  sealedCommits: DroppedCommits = {},
): Promise<DroppedList> {
  const monthsByKind = new Map<string, Set<string>>(
    Object.keys(sealedCommits).map((kind) => [kind, new Set()]),
  );
  for await (const { key } of kv.list({ prefix: droppedPrefix() })) {
    const { kind, month } = droppedPlaceOf(key);
    const months = monthsByKind.get(kind) ?? new Set();
    if (month !== undefined) months.add(month);
    monthsByKind.set(kind, months);
  }
  const sums: DroppedRows[] = [];
  const problems: string[] = [];
  const commits: Record<string, number> = {};
  for (const [kind, stored] of [...monthsByKind].sort()) {
    const contents = await openedContents(keys, await kv.get(droppedContentsKey(kind)));
    if (typeof contents === "string") {
      problems.push(contents);
      continue;
    }
    if (contents !== undefined) commits[kind] = contents.commits;
    if ((contents?.commits ?? 0) < (sealedCommits[kind] ?? 0)) {
      const how = contents === undefined ? "missing" : "old ones";
      problems.push(`the contents of dropped ${kind} are ${how}`);
    }
    for (const month of [...stored.union(new Set(Object.keys(contents?.months ?? {})))].sort()) {
      const found = await lookUp(kv, keys, { kind, month });
      if (typeof found === "string") problems.push(found);
      else sums.push(found.sums);
    }
  }
  return { sums, commits, problems };
}
