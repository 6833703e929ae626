/**
 * Verifies what is stored of proofs: that the signed days are a chain without a gap whose signatures hold, that it is the
 * chain that the sealed checkpoints name, and that chunks, receipts and balances lead to the signed roots. Receipts that
 * were dropped are no longer compared; their chunks are. In memory are the chunks of one day, a hundred bytes for a
 * thousand receipts.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";
import { encodeHex } from "../../../core/lib/runtime/built_ins.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { checkDay, type WrongDay } from "../../../core/trade/proofs/check_document.js";
import type { KeySet } from "../../../core/trade/proofs/check_proof.ts";
import { leafHash, leavesPerChunk, rootOf } from "../../../core/trade/proofs/merkle.ts";
import {
  balanceLeaf,
  type DayStatement,
  readStatement,
  type TreeHead,
} from "../../../core/trade/proofs/signed_day.ts";
import {
  dayOfProof,
  proofBalancesPrefix,
  proofDayKey,
  proofDaysPrefix,
  proofHeadKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { readAhead } from "../../engine/store/read_ahead.ts";
import { ProblemList } from "../verify/checks/problems.ts";
import {
  nextDay,
  readChain,
  type SealedCheckpoint,
  type SignedHead,
} from "../verify/days/checkpoint_chain.ts";
import { type KeptBalances, readKeptBalances } from "../verify/days/kept_balances.ts";
import { isDropped } from "../verify/verify_books.ts";
import { foreignKeys, readKeySet } from "./proof_keys.ts";
import { readChunks } from "./read_proofs.ts";
import {
  areBalancesKept,
  hash,
  type Leaf,
  receiptLeaves,
  type StoredChunk,
  type TreeName,
  treeOf,
} from "./signed_days.ts";

/** Result of the verification. */
export interface VerifiedProofs {
  readonly days: number;
  /** Receipts that were compared with signed roots. */
  readonly receipts: number;
  /**
   * Days that were sealed anew after they were signed, and no longer are as they were signed, in one line each: what
   * changed has no proof any more, and whoever sealed them knows why.
   */
  readonly resealed: readonly string[];
  readonly problems: ProblemList;
}

/** Days to verify, and the moment. */
export interface ProofsOptions {
  readonly masterKeys: MasterKeys;
  readonly nowMs: number;
  readonly slices?: TimeSlices | undefined;
}

const wrongDays: Readonly<Record<WrongDay, string>> = {
  form: "is no signed day",
  unknown_key: "is signed with a key that is not stored",
  signature: "has a wrong signature",
  statement: "is of no known form",
};

const headSchema = z.object({ day: z.string(), digest: z.string() });
const rowSchema = z.object({
  statement: z.string(),
  key: z.string(),
  signature: z.string(),
  digest: z.string(),
});

/** Verifies all signed days. */
export async function verifyProofs(
  kv: KeyValueStore,
  options: ProofsOptions,
): Promise<VerifiedProofs> {
  const { masterKeys } = options;
  const { checkpoints } = await readChain(kv, masterKeys);
  const { kept } = await readKeptBalances(kv, masterKeys);
  const keys = await readKeySet(kv);
  const check = new ProofsCheck(kv, { ...options, checkpoints, kept, keys });
  return await check.run();
}

interface CheckedWith extends ProofsOptions {
  readonly checkpoints: readonly SealedCheckpoint[];
  readonly kept: KeptBalances | undefined;
  readonly keys: KeySet;
}

/** A tree of a day that is compared with the rows below it. */
interface ComparedTree {
  readonly day: string;
  readonly name: TreeName;
  readonly head: TreeHead;
  readonly chunks: readonly StoredChunk[];
  /** Absent where the rows are no longer kept. */
  readonly leaves: (() => AsyncIterable<Leaf>) | undefined;
  /** Notes that the rows are not those that were signed. */
  readonly changed: (detail: string) => void;
}

/** One verification. */
class ProofsCheck {
  readonly #kv: KeyValueStore;
  readonly #with: CheckedWith;
  readonly #problems = new ProblemList();
  readonly #resealed: string[] = [];
  readonly #checkpoints: ReadonlyMap<string, SealedCheckpoint>;
  /** The digests that sealed checkpoints name, by day. */
  readonly #sealedDigests: ReadonlyMap<string, string>;
  #days = 0;
  #receipts = 0;
  /** The last signed day by its key. */
  readonly #signedUntil = new Map<string, string>();

  constructor(kv: KeyValueStore, checkedWith: CheckedWith) {
    const { checkpoints } = checkedWith;
    this.#kv = kv;
    this.#with = checkedWith;
    this.#checkpoints = new Map(checkpoints.map((one) => [one.day, one]));
    this.#sealedDigests = new Map(
      checkpoints.flatMap(({ signed }) =>
        signed === undefined ? [] : [[signed.day, signed.digest]]
      ),
    );
  }

  #problem(detail: string): void {
    this.#problems.add({ kind: "proof", detail });
  }

  async run(): Promise<VerifiedProofs> {
    let last: SignedHead | undefined;
    for await (
      const { key, value } of readAhead<unknown>(this.#kv, { prefix: proofDaysPrefix() })
    ) {
      const day = dayOfProof(key);
      if (last !== undefined && day !== nextDay(last.day)) this.#missing(nextDay(last.day));
      const { data: row } = rowSchema.safeParse(value);
      const statement = row && await this.#statement(day, row);
      if (row === undefined) this.#problem(`the signed day ${day} cannot be read`);
      else this.#signedUntil.set(row.key, day);
      if (statement !== undefined) {
        this.#days++;
        this.#link(statement, last);
        await this.#trees(statement);
      }
      // What is no statement of its day says nothing about the next one.
      last = { day, digest: statement === undefined ? "" : row?.digest ?? "" };
    }
    await this.#ends(last);
    await this.#keys();
    return {
      days: this.#days,
      receipts: this.#receipts,
      resealed: this.#resealed,
      problems: this.#problems,
    };
  }

  #missing(day: string): void {
    this.#problem(`the signed day ${day} is missing`);
  }

  /** Checks what a row says by itself. Returns what was signed. */
  async #statement(day: string, row: z.infer<typeof rowSchema>): Promise<DayStatement | undefined> {
    const check = await checkDay(row, this.#with.keys);
    if (!check.ok) this.#problem(`the signed day ${day} ${wrongDays[check.why]}`);
    const statement = readStatement(row.statement);
    if (statement !== undefined && statement.day !== day) {
      this.#problem(`the signed day ${statement.day} is stored as ${day}`);
      return undefined;
    }
    const digest = await sha256Hex(row.statement);
    const sealed = this.#sealedDigests.get(day);
    if (digest !== row.digest || (sealed !== undefined && sealed !== digest)) {
      this.#problem(`the statement of ${day} is not the one that was signed`);
    }
    return statement;
  }

  /** Checks that a day follows the one before it that is stored. */
  #link({ day, previous }: DayStatement, last: SignedHead | undefined): void {
    if (last === undefined) {
      if (previous !== null) this.#problem(`the signed days before ${day} are missing`);
    } else if (last.digest !== "" && day === nextDay(last.day) && previous !== last.digest) {
      this.#problem(`the signed day ${day} does not follow the one of ${last.day} that is stored`);
    }
  }

  /** Checks that the chain goes on to its head, and as far as sealed checkpoints name it. */
  async #ends(last: SignedHead | undefined): Promise<void> {
    // Read last: what is signed meanwhile has moved it, and is there with it.
    const head = headSchema.safeParse((await this.#kv.get(proofHeadKey())).value).data;
    if (head === undefined) {
      if (last !== undefined) this.#problem("the head of the signed days is missing");
    } else if (last !== undefined && head.day < last.day) {
      this.#problem(`the head of the signed days names ${head.day}, and ${last.day} is signed`);
    } else {
      const named = rowSchema.safeParse((await this.#kv.get(proofDayKey(head.day))).value).data;
      if (named === undefined) this.#missing(last === undefined ? head.day : nextDay(last.day));
      else if (named.digest !== head.digest) {
        this.#problem(`the signed day ${head.day} is not the one that the head names`);
      }
    }
    const sealed = [...this.#sealedDigests.keys()].sort().at(-1);
    if (sealed !== undefined && (last === undefined || last.day < sealed)) {
      this.#missing(last === undefined ? sealed : nextDay(last.day));
    }
  }

  /** Checks that whoever made the keys had a master key, as far as sealed checkpoints do not say so. */
  async #keys(): Promise<void> {
    const sealedUntil = [...this.#sealedDigests.keys()].sort().at(-1) ?? "";
    for (const id of await foreignKeys(this.#kv, this.#with.masterKeys)) {
      const until = this.#signedUntil.get(id);
      if (until !== undefined && until <= sealedUntil) continue;
      this.#problem(`the key ${id} of proofs is of no configured master key`);
    }
  }

  // The rows below a signed day.

  async #trees(statement: DayStatement): Promise<void> {
    const { day, receipts, balances } = statement;
    const { kept, slices, nowMs } = this.#with;
    const checkpoint = this.#checkpoints.get(day);
    const isResealed = checkpoint?.signed !== undefined && checkpoint.signed.day >= day;
    let changes = 0;
    const changed = (detail: string) => {
      if (!isResealed) this.#problem(detail);
      else if (changes++ === 0) this.#resealed.push(detail);
    };
    if (!isResealed && checkpoint !== undefined && checkpoint.receipts !== receipts.size) {
      this.#problem(
        `${day} is signed with ${receipts.size} receipts, and sealed with ${checkpoint.receipts}`,
      );
    }
    const kv = this.#kv;
    const areReceiptsThere = !isDropped(day, kept);
    await this.#compare({
      day,
      name: "receipts",
      head: receipts,
      chunks: await readChunks(kv, day, "receipts"),
      leaves: areReceiptsThere ? () => receiptLeaves(kv, day, slices) : undefined,
      changed,
    });
    if (areReceiptsThere) this.#receipts += receipts.size;
    if (balances === null) return;
    const areWhole = areBalancesKept(day, nowMs) || await this.#hasBalances(day, balances);
    await this.#compare({
      day,
      name: "balances",
      head: balances,
      chunks: await readChunks(kv, day, "balances"),
      leaves: areWhole ? () => balanceLeaves(kv, day) : undefined,
      changed: (detail) => this.#problem(detail),
    });
    if (areWhole && !isResealed) await this.#sealedBalances(day, checkpoint);
  }

  /** Whether all balances of a day that may be forgotten are still there. */
  async #hasBalances(day: string, { size }: TreeHead): Promise<boolean> {
    const rows = await Array.fromAsync(
      this.#kv.list({ prefix: proofBalancesPrefix(day) }),
      () => undefined,
    );
    return rows.length === Math.ceil(size / leavesPerChunk);
  }

  /** Compares the balances of a day with those of its checkpoint. */
  async #sealedBalances(day: string, checkpoint: SealedCheckpoint | undefined): Promise<void> {
    if (checkpoint?.balances === undefined || checkpoint.balances === null) return;
    const digest = createHash("sha256");
    for await (
      const { value } of readAhead<unknown>(this.#kv, { prefix: proofBalancesPrefix(day) })
    ) {
      digest.update(`${value}\n`);
    }
    if (digest.digest("hex") !== checkpoint.balances.digest) {
      this.#problem(`the balances of ${day} for proofs are not those that were sealed`);
    }
  }

  async #compare(tree: ComparedTree): Promise<void> {
    const { day, name, head, chunks, leaves, changed } = tree;
    const areChunksRight = chunks.length === Math.ceil(head.size / leavesPerChunk) &&
      encodeHex(rootOf(hash, chunks.map(({ root }) => root))) === head.root;
    const wrongChunks = `the chunks of the ${name} of ${day} do not lead to the signed root`;
    if (leaves === undefined) {
      if (!areChunksRight) this.#problem(wrongChunks);
      return;
    }
    const found = (await treeOf(leaves())).end();
    if (found.size === head.size && found.root === head.root) {
      for (const at of differences(chunks, found.chunks)) {
        this.#problem(`chunk ${at + 1} of the ${name} of ${day} is not the one that was signed`);
      }
      return;
    }
    if (!areChunksRight) this.#problem(wrongChunks);
    const all = `${found.size} are there, ${head.size} were signed`;
    const places = areChunksRight ? await changedChunks(chunks, leaves()) : [];
    const where = places.length === 0 ? "" : `, in ${places.join(", ")}`;
    changed(`the ${name} of ${day} are not those that were signed${where}: ${all}`);
  }
}

/** The balances of a day as leaves; a line that cannot be read is a leaf that was never signed. */
async function* balanceLeaves(kv: KeyValueStore, day: string): AsyncGenerator<Leaf> {
  for await (const { value } of readAhead<unknown>(kv, { prefix: proofBalancesPrefix(day) })) {
    for (const line of String(value).split("\n")) {
      const [id = "", balance = ""] = line.split(" ");
      const isRead = /^-?\d{1,30}$/.test(balance);
      yield { id, text: isRead ? balanceLeaf(id as AccountId, day, BigInt(balance)) : line };
    }
  }
}

/** The places in which two lists of chunks differ. */
function differences(stored: readonly StoredChunk[], found: readonly StoredChunk[]): number[] {
  const text = (chunk: StoredChunk | undefined) =>
    chunk === undefined ? "" : `${chunk.firstId} ${encodeHex(chunk.root)}`;
  const length = Math.max(stored.length, found.length);
  return Array.from({ length }, (_, at) => at).filter((at) => text(stored[at]) !== text(found[at]));
}

/** Chunks that are named at most; more of them are as many times the same. */
const maxChunksNamed = 10;

/** Lists the chunks whose leaves, between the first one that was signed and that of the next chunk, have changed. */
async function changedChunks(
  chunks: readonly StoredChunk[],
  leaves: AsyncIterable<Leaf>,
): Promise<string[]> {
  const places: string[] = [];
  let changed = 0;
  let at = 0;
  let hashes: Uint8Array[] = [];
  const close = () => {
    const chunk = chunks[at];
    if (chunk !== undefined && encodeHex(rootOf(hash, hashes)) !== encodeHex(chunk.root)) {
      changed++;
      if (places.length < maxChunksNamed) places.push(`chunk ${at + 1} from ${chunk.firstId} on`);
    }
    at++;
    hashes = [];
  };
  for await (const { id, text } of leaves) {
    for (let next = chunks[at + 1]; next !== undefined && next.firstId <= id;) {
      close();
      next = chunks[at + 1];
    }
    // One more than were signed changes the root as well as all of them, and takes no more memory.
    if (hashes.length <= leavesPerChunk) hashes.push(leafHash(hash, text));
  }
  while (at < chunks.length) close();
  return changed > places.length ? [...places, `${changed - places.length} more`] : places;
}
