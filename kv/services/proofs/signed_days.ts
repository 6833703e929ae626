/**
 * Signs the sealed days, one after the other: the root over all receipts of the day, the root over what every account
 * has at its end, and the hash of the statement before. Who keeps a statement notices any later change of what is below
 * it, or of a day before it.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { createHash } from "node:crypto";
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";

import { encodeHex } from "../../../core/lib/runtime/built_ins.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { SignedDay } from "../../../core/trade/proofs/check_proof.ts";
import { ChunkedTree, type Hash, leavesPerChunk } from "../../../core/trade/proofs/merkle.ts";
import {
  balanceLeaf,
  receiptLeaf,
  type TreeHead,
  writeStatement,
} from "../../../core/trade/proofs/signed_day.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import {
  dayOfProofBalances,
  proofBalancesBefore,
  proofBalancesFrom,
  proofBalancesKey,
  proofChunksFrom,
  proofChunksKey,
  proofDayKey,
  proofHeadKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { deleteRows } from "../../engine/store/delete_rows.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import {
  decodeReceiptPage,
  endOfPageBucket,
  receiptPagesBetween,
} from "../../money/receipts/receipt_pages.ts";
import { bucketEndMs, bucketStartMs } from "../../money/archive/receipt_rows.ts";
import {
  nextDay,
  readChain,
  type SealedCheckpoint,
  type SignedHead,
} from "../verify/days/checkpoint_chain.ts";
import { readable } from "../verify/checks/readable_rows.ts";
import { StoredDayBalances } from "../verify/days/day_balances.ts";
import { readKeptBalances } from "../verify/days/kept_balances.ts";
import { openSigningKey, type SigningKey } from "./proof_keys.ts";

/** A tree of a day. */
export type TreeName = "receipts" | "balances";

/** The days before the newest that are signed when a store signs for the first time; earlier ones stay unsigned. */
const firstSignedDays = 31;

/** Days whose balances can be proved, besides the last day of each month, which stay. */
const balancesKeptDays = 40;

/** Chunks whose roots are in one row: 400 lines of some 95 characters are below the 64 KiB of a value. */
const chunksPerPage = 400;

/** SHA-256 of this process. */
export const hash: Hash = (bytes) => createHash("sha256").update(bytes).digest();

/** A day as it is stored. */
export interface SignedDayRow extends SignedDay {
  readonly day: string;
  /** SHA-256 of the statement: the next one names it. */
  readonly digest: string;
}

/**
 * Reads the receipts of the calls that arrived between two moments, in the order of their ids. Pages share a bucket of
 * time with others, so those of a bucket are sorted together.
 */
export async function* receiptsInOrder(
  kv: KeyValueStore,
  { fromMs, toMs, slices }: {
    readonly fromMs: number;
    readonly toMs: number;
    readonly slices?: TimeSlices | undefined;
  },
): AsyncGenerator<Receipt> {
  let bucket = "";
  let some: Receipt[] = [];
  // Pages have the key of their newest call, so a bucket is read as a whole.
  const pages = receiptPagesBetween(bucketStartMs(fromMs), bucketEndMs(toMs - 1));
  const sorted = () => some.sort((one, other) => ascending(one.requestId, other.requestId));
  for await (const page of wholeKind<unknown>(kv, pages, slices)) {
    for (const receipt of readable(() => decodeReceiptPage(page))) {
      const end = endOfPageBucket(receipt.requestId);
      if (end !== bucket) {
        yield* sorted();
        some = [];
        bucket = end;
      }
      some.push(receipt);
    }
  }
  yield* sorted();
}

/** A chunk of a stored tree. */
export interface StoredChunk {
  readonly firstId: string;
  readonly root: Uint8Array;
}

/** Makes a tree as its leaves come: the first id and the root of each chunk. */
class StoredTree {
  readonly #tree = new ChunkedTree(hash);
  readonly #firstIds: string[] = [];

  add(id: string, leaf: string): void {
    if (this.#tree.add(leaf)) this.#firstIds.push(id);
  }

  /** Leaves so far. */
  get size(): number {
    return this.#tree.size;
  }

  /** Writes the chunks; another process that signs the same day writes the same. */
  async write(kv: KeyValueStore, day: string, name: TreeName): Promise<TreeHead> {
    const { chunks, ...head } = this.end();
    const lines = chunks.map(({ firstId, root }) => `${firstId} ${encodeHex(root)}`);
    const pages = groupsOf(lines, chunksPerPage);
    for (const [page, some] of pages.entries()) {
      await kv.set(proofChunksKey(day, name, page), some.join("\n"));
    }
    // Of a run that was interrupted before the day was sealed anew with fewer rows.
    await deleteRows(kv, proofChunksFrom(day, name, pages.length));
    return head;
  }

  /** Closes the tree. */
  end(): TreeHead & { readonly chunks: readonly StoredChunk[] } {
    const { size, chunks, root } = this.#tree.end();
    const written = chunks.map((chunk, at) => ({ firstId: this.#firstIds[at] ?? "", root: chunk }));
    return { size, root: encodeHex(root), chunks: written };
  }
}

/** A leaf with what sorts it. */
export interface Leaf {
  readonly id: string;
  readonly text: string;
}

/** Reads the leaves of the receipts of a day. */
export async function* receiptLeaves(
  kv: KeyValueStore,
  day: string,
  slices: TimeSlices | undefined,
): AsyncGenerator<Leaf> {
  const fromMs = vietnamDayStartMs(day);
  for await (const receipt of receiptsInOrder(kv, { fromMs, toMs: fromMs + dayMs, slices })) {
    yield { id: receipt.requestId, text: receiptLeaf(receipt) };
  }
}

/** Makes a tree of leaves. */
export async function treeOf(leaves: AsyncIterable<Leaf>): Promise<StoredTree> {
  const tree = new StoredTree();
  for await (const { id, text } of leaves) tree.add(id, text);
  return tree;
}

/** Writes the balances at the end of a day; `null` if the sealed ones are gone, or not those that were sealed. */
async function writeBalanceTree(
  kv: KeyValueStore,
  { day, balances }: SealedCheckpoint,
): Promise<TreeHead | null> {
  if (balances === null) return null;
  const tree = new StoredTree();
  const stored = new StoredDayBalances(kv, day, balances);
  let chunk = 0;
  let lines: string[] = [];
  const flush = async () => {
    if (lines.length > 0) await kv.set(proofBalancesKey(day, chunk++), lines.join("\n"));
    lines = [];
  };
  for await (const { accountId, balanceMicroVnd } of stored.read()) {
    if (lines.length === leavesPerChunk) await flush();
    tree.add(accountId, balanceLeaf(accountId, day, balanceMicroVnd));
    lines.push(`${accountId} ${balanceMicroVnd}`);
  }
  await flush();
  await deleteRows(kv, proofBalancesFrom(day, chunk));
  return stored.isRight === true ? await tree.write(kv, day, "balances") : null;
}

/** Report of a signing. */
export interface SigningReport {
  readonly signedNow: readonly string[];
  /** Why the days after the last one that was signed are not, in one line each. */
  readonly problems: readonly string[];
}

/** Days to sign. */
export interface SigningOptions {
  readonly masterKeys: MasterKeys;
  /** The public address of the service. */
  readonly origin: string;
  readonly nowMs: number;
  readonly slices?: TimeSlices | undefined;
}

/** The sealed days that wait for a signature, in order. */
function waitingDays(
  checkpoints: readonly SealedCheckpoint[],
  head: SignedHead | null,
  firstWithReceipts: string,
): readonly SealedCheckpoint[] {
  if (head !== null) return checkpoints.filter(({ day }) => day > head.day);
  return checkpoints.filter(({ day }) => day > firstWithReceipts).slice(-firstSignedDays);
}

/** Says that the last signed day is not, or before, the one that a checkpoint names: a second chain would begin there. */
function lostDays(head: SignedHead | null, sealed: SignedHead | undefined): string | undefined {
  const isLost = sealed !== undefined &&
    (head === null || head.day < sealed.day ||
      (head.day === sealed.day && head.digest !== sealed.digest));
  return isLost ? `${sealed.day} was signed, and is no longer: no day is signed` : undefined;
}

/** Signs the sealed days that are not signed yet. */
export async function signSealedDays(
  kv: KeyValueStore,
  options: SigningOptions,
): Promise<SigningReport> {
  const { masterKeys, nowMs } = options;
  const chain = await readChain(kv, masterKeys);
  const { kept } = await readKeptBalances(kv, masterKeys);
  const signedNow: string[] = [];
  if (chain.problems.length > 0) return { signedNow, problems: chain.problems };
  const { value } = await kv.get<SignedHead>(proofHeadKey());
  const lost = lostDays(value, chain.checkpoints.findLast(({ signed }) => signed)?.signed);
  if (lost !== undefined) return { signedNow, problems: [lost] };
  const waiting = waitingDays(chain.checkpoints, value, kept?.day ?? "");
  if (waiting.length === 0) return { signedNow, problems: [] };
  const key = await openSigningKey(kv, masterKeys, nowMs);
  for (const checkpoint of waiting) {
    const problem = await signDay(kv, key, checkpoint, options);
    if (problem !== undefined) return { signedNow, problems: [problem] };
    signedNow.push(checkpoint.day);
  }
  await forgetOldBalances(kv, nowMs);
  return { signedNow, problems: [] };
}

/** Signs a day; returns why it cannot be, in one line. */
async function signDay(
  kv: KeyValueStore,
  key: SigningKey,
  checkpoint: SealedCheckpoint,
  { origin, slices }: SigningOptions,
): Promise<string | undefined> {
  const { day } = checkpoint;
  const head = await kv.get<SignedHead>(proofHeadKey());
  if (head.value !== null && head.value.day >= day) return undefined;
  const tree = await treeOf(receiptLeaves(kv, day, slices));
  if (tree.size !== checkpoint.receipts) {
    return `${day} has ${tree.size} receipts, and was sealed with ${checkpoint.receipts}`;
  }
  const receipts = await tree.write(kv, day, "receipts");
  const balances = await writeBalanceTree(kv, checkpoint);
  const previous = head.value?.digest ?? null;
  const statement = writeStatement({ origin, day, receipts, balances, previous });
  const digest = await sha256Hex(statement);
  const row: SignedDayRow = {
    day,
    digest,
    statement,
    key: key.id,
    signature: await key.sign(statement),
  };
  const next: SignedHead = { day, digest };
  const { ok } = await kv.atomic().check(head).set(proofDayKey(day), row).set(head.key, next)
    .commit();
  if (ok) return undefined;
  // Another process was faster: what it signed is of the same rows.
  const other = (await kv.get<SignedHead>(proofHeadKey())).value;
  return other !== null && other.day >= day ? undefined : `${day} could not be signed`;
}

/** Whether the balances of a day can be proved now, and not only until they are forgotten. */
export function areBalancesKept(day: string, nowMs: number): boolean {
  // The day before the first of a month is the last of one.
  const isEndOfMonth = nextDay(day).endsWith("-01");
  return isEndOfMonth || day >= vietnamDay(nowMs - balancesKeptDays * dayMs);
}

async function forgetOldBalances(kv: KeyValueStore, nowMs: number): Promise<void> {
  await deleteRows(
    kv,
    proofBalancesBefore(vietnamDay(nowMs - balancesKeptDays * dayMs)),
    ({ key }) => !areBalancesKept(dayOfProofBalances(key), nowMs),
  );
}
