/** Commits finished calls: all that wait go into one commit, whatever wallets they belong to. */
import { serialize } from "node:v8";
import { invariant } from "../../../../core/lib/base/assert.ts";
import type { AccountId, InstanceId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { type BatchPart, encodeBatch } from "../../../engine/store/batches.ts";
import { batchKey, indexerKey } from "../../../engine/schema/keys.ts";
import { writeClaims } from "../../ledger/provider_claims.ts";
import { boundReceipt } from "../../receipts/receipt_codec.ts";
import { ReceiptPageLayout } from "../../receipts/receipt_pages.ts";
import type { InstanceLease } from "../lease/instance_lease.ts";
import type { Lease, LeaseBook } from "../lease/lease_book.ts";
import type { AtomicWrite } from "../../../engine/store/key_value_store.ts";
import type { Attachment, ReceiptDraft, WithheldAnswer } from "../lease/types.ts";

/** Receipts in one commit: 4 ms on a local disk. With more the first would wait for the last. */
const receiptsPerCommit = 250;

/** Rows of one commit; the store takes 1,000. */
const rowsPerCommit = 900;

/** Bytes of one commit as estimated here; the store's bound is 800 KiB. */
const moneyCommitBytes = 600 * 1024;

/** Rows of other kinds (a video task, its outbox row) in one settlement. */
export const maxAttachedRows = 8;

/**
 * Bytes of one attached row: the store's bound for a value is 64 KiB, and a failing write would fail the
 * whole commit.
 */
export const maxAttachedRowBytes = 32 * 1024;

/** Bytes of the largest receipt in the store: 16 attempts with two texts each, every character two bytes. */
const maxReceiptBytes = 32 * 1024;

/** One row of another module, ready to be written. */
interface AttachedRow {
  readonly key: Deno.KvKey;
  /** `undefined` deletes. */
  readonly value: unknown;
  readonly expireIn: number | undefined;
}

/**
 * A finished call. `lease` and `chargeMicroVnd` are set when the money is found, and again after
 * the instance lease was lost.
 */
export interface Finished {
  readonly accountId: AccountId;
  /** Reservation of the call when it ended, for its receipt. */
  readonly heldMicroVnd: bigint;
  draft: ReceiptDraft;
  rows: readonly AttachedRow[];
  /** Asked whenever the call goes into a commit: what to settle instead, if the client got no answer. */
  withheld: (() => WithheldAnswer | undefined) | undefined;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
  lease: Lease;
  chargeMicroVnd: bigint;
}

/** A finished call with the receipt to write. */
interface Written {
  readonly finished: Finished;
  readonly receipt: Receipt;
}

/** The calls of a commit whose effect is not known yet. */
export interface SettlementUnderWay {
  readonly batch: readonly Written[];
  /** 0 until it is sent. */
  commit: number;
}

/** A settlement that took effect. */
export interface LandedSettlement {
  readonly commit: number;
  readonly receipts: readonly Receipt[];
  /** The lease of each receipt. */
  readonly leases: readonly Lease[];
}

/**
 * Collects the rows of an attachment and checks their bounds: one row that the store refuses would
 * fail the commit of all calls.
 *
 * @throws {InvariantError} if there are too many rows, or one is too large
 */
export function attachedRows(attach: Attachment | undefined): AttachedRow[] {
  if (!attach) return [];
  const rows: AttachedRow[] = [];
  attach.apply({
    set(key, value, options) {
      invariant(
        serialize(value).byteLength <= maxAttachedRowBytes,
        "an attached row is too large",
      );
      rows.push({ key, value, expireIn: options?.expireIn });
    },
    delete(key) {
      rows.push({ key, value: undefined, expireIn: undefined });
    },
  });
  invariant(
    rows.length <= attach.mutations && rows.length <= maxAttachedRows,
    "an attachment wrote more rows than it announced",
  );
  return rows;
}

/** Makes a call free if its client was refused the answer meanwhile. */
function forgoWithheld(finished: Finished, book: LeaseBook): void {
  const withheld = finished.withheld?.();
  if (withheld === undefined) return;
  invariant(
    withheld.draft.requestId === finished.draft.requestId && withheld.draft.priceMicroVnd === 0n,
    "a withheld answer is free",
  );
  book.forgo(finished.lease, finished.chargeMicroVnd);
  finished.chargeMicroVnd = 0n;
  finished.draft = withheld.draft;
  finished.rows = attachedRows(withheld.attach);
  finished.withheld = undefined;
}

function receiptOf({ accountId, heldMicroVnd, draft, chargeMicroVnd }: Finished): Receipt {
  const { priceMicroVnd, ...rest } = draft;
  const shortfallMicroVnd = priceMicroVnd - chargeMicroVnd;
  invariant(chargeMicroVnd >= 0n && shortfallMicroVnd >= 0n, "a charge is between 0 and the price");
  return boundReceipt({
    ...rest,
    accountId,
    costMicroVnd: chargeMicroVnd,
    shortfallMicroVnd,
    // Receipts keep it with the first attempt.
    ...(rest.attempts.length > 0 && { heldMicroVnd }),
  });
}

/** Latin-1 text takes one byte per character, everything else two. */
const bytesPerCharacter = 2;
const rowOverheadBytes = 128;

/** The finished calls that wait for their commit. */
export class Settlements {
  #queue: Finished[] = [];

  /** Number of calls that wait for their commit. */
  get waiting(): number {
    return this.#queue.length;
  }

  add(finished: Finished): void {
    this.#queue.push(finished);
  }

  /** Empties the queue, for a new lease book or at the end. */
  takeAll(): Finished[] {
    const all = this.#queue;
    this.#queue = [];
    return all;
  }

  /**
   * Commits as many waiting calls as fit.
   *
   * @param writer the row through which the commit goes: the instance lease itself, or a lane of it
   */
  async round(writer: InstanceLease, owner: InstanceLease, book: LeaseBook): Promise<
    | LandedSettlement & { readonly outcome: "applied" }
    | { readonly outcome: "refused" }
    | { readonly outcome: "lost"; readonly underWay: SettlementUnderWay }
  > {
    const { batch, pages } = this.#take(book);
    const underWay: SettlementUnderWay = { batch, commit: 0 };
    const outcome = await writer.commit((op, commit) => {
      underWay.commit = commit;
      if (writer !== owner) {
        // While the instance lease itself settles, it writes no lease row.
        for (const { finished: { lease } } of batch) book.sent(lease, commit);
        // The process that takes the instance lease deletes this row in the same commit.
        const key = indexerKey(owner.instanceId);
        op.check({ key, versionstamp: owner.indexerVersionstamp });
      }
      writeSettlement(op, { instanceId: owner.instanceId, commit }, batch, pages);
    }).catch((error: unknown) => {
      this.putBack(underWay, book);
      throw error;
    });
    if (outcome === "lost") return { outcome, underWay };
    if (outcome === "refused") {
      this.putBack(underWay, book);
      return { outcome };
    }
    return { outcome: "applied", ...this.landed(underWay, book) };
  }

  /** Queues the calls of a commit that did not and will not take effect again, before all others. */
  putBack({ batch, commit }: SettlementUnderWay, book: LeaseBook): void {
    for (const { finished: { lease } } of batch) book.decided(lease, commit);
    this.#queue = batch.map(({ finished }) => finished).concat(this.#queue);
  }

  /** Notes a commit that took effect. */
  landed({ batch, commit }: SettlementUnderWay, book: LeaseBook): LandedSettlement {
    for (const { finished: { lease } } of batch) book.decided(lease, commit);
    for (const { finished, receipt } of batch) {
      book.settled(finished.lease, finished.chargeMicroVnd, commit);
      book.leave(finished.lease);
      finished.resolve(receipt);
    }
    return {
      commit,
      receipts: batch.map(({ receipt }) => receipt),
      leases: batch.map(({ finished }) => finished.lease),
    };
  }

  /** Takes the longest waiting calls that fit one commit, and lays their receipts onto pages. */
  #take(book: LeaseBook): { batch: Written[]; pages: ReceiptPageLayout } {
    const batch: Written[] = [];
    const pages = new ReceiptPageLayout();
    let bytes = 0;
    let rows = 0;
    for (const finished of this.#queue) {
      forgoWithheld(finished, book);
      // Counts each as the largest receipt on a page of its own: a receipt on a page cannot be
      // removed again.
      const claimRows = finished.draft.claimMicroVnd === undefined ? 0 : 1;
      const rowsOfThis = 1 + claimRows + finished.rows.length;
      const bytesAtMost = maxReceiptBytes + finished.rows.length * maxAttachedRowBytes;
      const full = batch.length >= receiptsPerCommit ||
        rows + rowsOfThis > rowsPerCommit ||
        bytes + bytesAtMost > moneyCommitBytes;
      if (full && batch.length > 0) break;
      const receipt = receiptOf(finished);
      batch.push({ finished, receipt });
      bytes += pages.add(receipt) * bytesPerCharacter + (1 + claimRows) * rowOverheadBytes +
        finished.rows.length * maxAttachedRowBytes;
      rows += rowsOfThis;
    }
    this.#queue = this.#queue.slice(batch.length);
    return { batch, pages };
  }
}

function writeSettlement(
  op: AtomicWrite,
  id: { readonly instanceId: InstanceId; readonly commit: number },
  batch: readonly Written[],
  pages: ReceiptPageLayout,
): void {
  pages.write(op);
  for (const { finished: { rows } } of batch) {
    for (const { key, value, expireIn } of rows) {
      if (value === undefined) op.delete(key);
      else op.set(key, value, expireIn === undefined ? {} : { expireIn });
    }
  }
  writeClaims(op, id, batch.map(({ receipt }) => receipt));
  op.set(batchKey(id.instanceId, id.commit), encodeBatch(parts(batch)));
}

function parts(batch: readonly Written[]): Iterable<BatchPart> {
  const byAccount = new Map<
    AccountId,
    { accountId: AccountId; chargedMicroVnd: bigint; requestIds: RequestId[] }
  >();
  for (const { finished: { accountId, chargeMicroVnd }, receipt } of batch) {
    const part = byAccount.get(accountId);
    if (part) {
      part.chargedMicroVnd += chargeMicroVnd;
      part.requestIds.push(receipt.requestId);
    } else {
      byAccount.set(accountId, {
        accountId,
        chargedMicroVnd: chargeMicroVnd,
        requestIds: [receipt.requestId],
      });
    }
  }
  return byAccount.values();
}
