/** Reads proofs: one chunk of a tree, and the roots of the others. */
import { type AccountId, idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import { decodeHex, encodeHex } from "../../../core/lib/runtime/built_ins.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import type { Inclusion, SignedDay } from "../../../core/trade/proofs/check_proof.ts";
import { leafHash, leavesPerChunk, pathOf, rootOf } from "../../../core/trade/proofs/merkle.ts";
import { balanceLeaf, receiptLeaf } from "../../../core/trade/proofs/signed_day.ts";
import {
  proofBalancesKey,
  proofChunksPrefix,
  proofDayKey,
  proofDaysBefore,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { readAhead } from "../../engine/store/read_ahead.ts";
import {
  hash,
  receiptsInOrder,
  type SignedDayRow,
  type StoredChunk,
  type TreeName,
} from "./signed_days.ts";

/** Why there is no proof. */
export type NoProof =
  /** The day is not signed: it is not over, not verified yet, or was before proofs began. */
  | "not_signed"
  /** The signed tree has no such leaf: it came after the seal, or the account had nothing. */
  | "not_in_tree"
  /** The rows are no longer those that were signed, or were dropped. */
  | "changed";

/** A proof, or why there is none. */
export type FoundProof =
  | { readonly ok: true; readonly proof: Inclusion }
  | { readonly ok: false; readonly why: NoProof };

/** Reads the chunks of a tree: some hundred bytes for a thousand leaves. */
export async function readChunks(
  kv: KeyValueStore,
  day: string,
  tree: TreeName,
): Promise<StoredChunk[]> {
  const chunks: StoredChunk[] = [];
  for await (const { value } of readAhead<string>(kv, { prefix: proofChunksPrefix(day, tree) })) {
    for (const line of value.split("\n")) {
      const [firstId = "", root = ""] = line.split(" ");
      chunks.push({ firstId, root: decodeHex(root) ?? new Uint8Array() });
    }
  }
  return chunks;
}

/** Returns the chunk that has an id, if any has. */
function chunkOf(chunks: readonly StoredChunk[], id: string): number {
  return chunks.findLastIndex(({ firstId }) => firstId <= id);
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return encodeHex(one) === encodeHex(other);
}

/** Builds a proof from the leaves of one chunk and the roots of all. */
function proofFrom(
  { tree, day, chunks, at, leaves, within }: {
    readonly tree: TreeName;
    readonly day: SignedDay;
    readonly chunks: readonly StoredChunk[];
    readonly at: number;
    readonly leaves: readonly string[];
    readonly within: number;
  },
): FoundProof {
  const hashes = leaves.map((leaf) => leafHash(hash, leaf));
  const root = chunks[at]?.root;
  const leaf = leaves[within];
  if (leaf === undefined) return { ok: false, why: "not_in_tree" };
  if (root === undefined || !isSame(rootOf(hash, hashes), root)) {
    return { ok: false, why: "changed" };
  }
  const path = [
    ...pathOf(hash, hashes, within),
    ...pathOf(hash, chunks.map((chunk) => chunk.root), at),
  ];
  const { statement, key, signature } = day;
  return {
    ok: true,
    proof: {
      tree,
      leaf,
      index: at * leavesPerChunk + within,
      path: path.map(encodeHex),
      day: { statement, key, signature },
    },
  };
}

async function readDay(kv: KeyValueStore, day: string): Promise<SignedDayRow | undefined> {
  return (await kv.get<SignedDayRow>(proofDayKey(day))).value ?? undefined;
}

/** Whether the day of a call is signed: its receipt has a proof then. */
export async function isDaySigned(kv: KeyValueStore, requestId: RequestId): Promise<boolean> {
  return await readDay(kv, vietnamDay(idTimeMs("request", requestId))) !== undefined;
}

/** Proves that the receipt of a call is among those of its signed day. */
export async function proveReceipt(kv: KeyValueStore, requestId: RequestId): Promise<FoundProof> {
  const day = vietnamDay(idTimeMs("request", requestId));
  const signed = await readDay(kv, day);
  if (signed === undefined) return { ok: false, why: "not_signed" };
  const chunks = await readChunks(kv, day, "receipts");
  const at = chunkOf(chunks, requestId);
  const first = chunks[at]?.firstId;
  if (first === undefined) return { ok: false, why: "not_in_tree" };
  const next = chunks[at + 1]?.firstId;
  const endOfDayMs = vietnamDayStartMs(day) + dayMs;
  const leaves: string[] = [];
  let within = -1;
  // Pages of the millisecond in which the next chunk begins are of both.
  const toMs = next === undefined ? endOfDayMs : idTimeMs("request", next as RequestId) + 1;
  const fromMs = idTimeMs("request", first as RequestId);
  for await (const receipt of receiptsInOrder(kv, { fromMs, toMs })) {
    if (receipt.requestId < first || (next !== undefined && receipt.requestId >= next)) continue;
    if (receipt.requestId === requestId) within = leaves.length;
    leaves.push(receiptLeaf(receipt));
  }
  return proofFrom({ tree: "receipts", day: signed, chunks, at, leaves, within });
}

/** Proves what an account had at the end of a day. */
export async function proveBalance(
  kv: KeyValueStore,
  accountId: AccountId,
  day: string,
): Promise<FoundProof> {
  const signed = await readDay(kv, day);
  if (signed === undefined) return { ok: false, why: "not_signed" };
  const chunks = await readChunks(kv, day, "balances");
  const at = chunkOf(chunks, accountId);
  if (at < 0) return { ok: false, why: "not_in_tree" };
  const text = (await kv.get<string>(proofBalancesKey(day, at))).value;
  if (text === null) return { ok: false, why: "not_signed" };
  let within = -1;
  const leaves = text.split("\n").map((line, index) => {
    const [id = "", balance = ""] = line.split(" ");
    if (id === accountId) within = index;
    return balanceLeaf(id as AccountId, day, BigInt(balance));
  });
  return proofFrom({ tree: "balances", day: signed, chunks, at, leaves, within });
}

/** Lists signed days, newest first, before a day if one is given. */
export async function listSignedDays(
  kv: KeyValueStore,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<SignedDayRow[]> {
  const days: SignedDayRow[] = [];
  const selector = proofDaysBefore(before ?? "9");
  for await (const { value } of kv.list<SignedDayRow>(selector, { limit, reverse: true })) {
    days.push(value);
  }
  return days;
}
