/**
 * Signs the sealed days, one after the other: the root over all receipts of the day, the root over what every account
 * has at its end, and the hash of the statement before. Who keeps a statement notices any later change of what is below
 * it, or of a day before it.
 */
import { createHash } from "node:crypto";
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";

import { encodeHex } from "../../../core/lib/runtime/mod.ts";
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
  proofBalancesKey,
  proofChunksKey,
  proofDayKey,
  proofHeadKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { deleteRows } from "../../engine/store/delete_rows.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import {
  decodeReceiptPage,
  endOfPageBucket,
  receiptPagesBetween,
} from "../../money/receipts/receipt_pages.ts";
import { bucketEndMs, bucketStartMs } from "../../money/archive/receipt_rows.ts";
import { nextDay, readChain, type SealedCheckpoint } from "../verify/days/checkpoint_chain.ts";
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

/** The last signed day. */
interface HeadRow {
  readonly day: string;
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
  const sorted = () => some.sort((one, other) => one.requestId < other.requestId ? -1 : 1);
  for await (const page of wholeKind<unknown>(kv, pages, slices)) {
    for (const receipt of decodeReceiptPage(page)) {
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

/** Writes a tree as its leaves come: the first id and the root of each chunk. */
class StoredTree {
  readonly #tree = new ChunkedTree(hash);
  readonly #firstIds: string[] = [];

  add(id: string, leaf: string): void {
    if (this.#tree.add(leaf)) this.#firstIds.push(id);
  }

  /** Writes the chunks; another process that signs the same day writes the same. */
  async write(kv: KeyValueStore, day: string, name: TreeName): Promise<TreeHead> {
    const { size, chunks, root } = this.#tree.end();
    const lines = chunks.map((chunk, at) => `${this.#firstIds[at]} ${encodeHex(chunk)}`);
    for (let page = 0; page * chunksPerPage < lines.length; page++) {
      const some = lines.slice(page * chunksPerPage, (page + 1) * chunksPerPage);
      await kv.set(proofChunksKey(day, name, page), some.join("\n"));
    }
    return { size, root: encodeHex(root) };
  }
}

async function writeReceiptTree(
  kv: KeyValueStore,
  day: string,
  slices: TimeSlices | undefined,
): Promise<TreeHead> {
  const tree = new StoredTree();
  const fromMs = vietnamDayStartMs(day);
  for await (const receipt of receiptsInOrder(kv, { fromMs, toMs: fromMs + dayMs, slices })) {
    tree.add(receipt.requestId, receiptLeaf(receipt));
  }
  return await tree.write(kv, day, "receipts");
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
  return stored.isRight === true ? await tree.write(kv, day, "balances") : null;
}

/** How signing ended. */
export interface SigningReport {
  readonly signedNow: readonly string[];
  /** Why the days after the last one that was signed are not, in one line each. */
  readonly problems: readonly string[];
}

/** What is signed. */
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
  head: HeadRow | null,
  firstWithReceipts: string,
): readonly SealedCheckpoint[] {
  if (head !== null) return checkpoints.filter(({ day }) => day > head.day);
  return checkpoints.filter(({ day }) => day > firstWithReceipts).slice(-firstSignedDays);
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
  const { value } = await kv.get<HeadRow>(proofHeadKey());
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
  const head = await kv.get<HeadRow>(proofHeadKey());
  if (head.value !== null && head.value.day >= day) return undefined;
  const receipts = await writeReceiptTree(kv, day, slices);
  if (receipts.size !== checkpoint.receipts) {
    return `${day} has ${receipts.size} receipts, and was sealed with ${checkpoint.receipts}`;
  }
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
  const next: HeadRow = { day, digest };
  const { ok } = await kv.atomic().check(head).set(proofDayKey(day), row).set(head.key, next)
    .commit();
  if (ok) return undefined;
  // Another process was faster: what it signed is of the same rows.
  const other = (await kv.get<HeadRow>(proofHeadKey())).value;
  return other !== null && other.day >= day ? undefined : `${day} could not be signed`;
}

/** The day before the first of a month is the last of one. */
function isEndOfMonth(day: string): boolean {
  return nextDay(day).endsWith("-01");
}

async function forgetOldBalances(kv: KeyValueStore, nowMs: number): Promise<void> {
  const before = vietnamDay(nowMs - balancesKeptDays * dayMs);
  await deleteRows(
    kv,
    proofBalancesBefore(before),
    ({ key }) => !isEndOfMonth(dayOfProofBalances(key)),
  );
}
