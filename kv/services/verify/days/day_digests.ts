/**
 * Computes what a checkpoint says about the rows of each day: counts, sums, and digests of the rows as they are
 * stored. Receipts and ledger lines never change, so the digests of a day that is over never change either.
 *
 * A day is one of Vietnam's calendar, as for day sums, and a row belongs to the day of its id. Receipts have a digest
 * per hour: it tells in which hour a row was changed. Hours begin where the buckets of receipt pages do (36 ms), so a
 * page never has receipts of two.
 *
 * - Folder `kv/services/verify/days/`: what a checkpoint seals of a day, and the chain that checkpoints form.
 * - In: rows of a day, and the checkpoints before it.
 * - Out: counts, sums, digests, balances at the end of days, and checkpoints that are signed one after another.
 * - Never: compares; what differs from a checkpoint is found in the folders beside this one.
 */
import { createHash, type Hash } from "node:crypto";
import { idTimeMs, type LedgerId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay, vietnamOffsetMs } from "../../../../core/lib/time/vietnam_time.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import { newestOnReceiptPage } from "../../../engine/schema/keys.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

const hoursPerDay = 24;

/** Contents of the rows of a day. */
export interface DayContent {
  readonly receipts: number;
  readonly chargedMicroVnd: bigint;
  readonly lines: number;
  /** Σ credits − Σ debits. */
  readonly ledgerMicroVnd: bigint;
  /** SHA-256 of the receipt pages of each hour in hexadecimal digits; an empty text for none. */
  readonly receiptHours: readonly string[];
  /** The same of the ledger lines of the day. */
  readonly ledgerDigest: string;
}

interface OpenDay {
  receipts: number;
  chargedMicroVnd: bigint;
  lines: number;
  ledgerMicroVnd: bigint;
  readonly hours: (Hash | undefined)[];
  ledger: Hash | undefined;
}

/** The content of a day without rows. */
const emptyDay: DayContent = {
  receipts: 0,
  chargedMicroVnd: 0n,
  lines: 0,
  ledgerMicroVnd: 0n,
  receiptHours: Array.from({ length: hoursPerDay }, () => ""),
  ledgerDigest: "",
};

/** Collects rows, those of a kind in key order, by day. */
export class DayDigests {
  readonly #days = new Map<string, OpenDay>();

  #day(atMs: number): OpenDay {
    const day = vietnamDay(atMs);
    let open = this.#days.get(day);
    if (open === undefined) {
      open = {
        receipts: 0,
        chargedMicroVnd: 0n,
        lines: 0,
        ledgerMicroVnd: 0n,
        hours: Array.from({ length: hoursPerDay }, () => undefined),
        ledger: undefined,
      };
      this.#days.set(day, open);
    }
    return open;
  }

  /** Adds a page of receipts as it is stored. */
  addPage({ key, value }: Deno.KvEntry<unknown>): void {
    const newest = newestOnReceiptPage(key);
    const atMs = idTimeMs("request", newest);
    if (!Number.isFinite(atMs)) return;
    const hour = Math.floor((atMs + vietnamOffsetMs) / hourMs) % hoursPerDay;
    const { hours } = this.#day(atMs);
    const hash = hours[hour] ??= createHash("sha256");
    hash.update(`${newest}\n${typeof value === "string" ? value : ""}\n`);
  }

  /** Adds a receipt of such a page. */
  addReceipt({ requestId, costMicroVnd }: Receipt): void {
    const day = this.#day(idTimeMs("request", requestId));
    day.receipts++;
    day.chargedMicroVnd += costMicroVnd;
  }

  /** Adds a ledger line. */
  addLine(line: LedgerEntry): void {
    const day = this.#day(idTimeMs("ledger", line.ledgerId));
    day.lines++;
    day.ledgerMicroVnd += line.amountMicroVnd;
    day.ledger ??= createHash("sha256");
    day.ledger.update(`${lineText(line)}\n`);
  }

  /** The first day with rows. */
  get firstDay(): string | undefined {
    return [...this.#days.keys()].sort()[0];
  }

  /** Returns the content of a day. Call it once all rows of the day are added. */
  of(day: string): DayContent {
    const open = this.#days.get(day);
    if (open === undefined) return emptyDay;
    return {
      receipts: open.receipts,
      chargedMicroVnd: open.chargedMicroVnd,
      lines: open.lines,
      ledgerMicroVnd: open.ledgerMicroVnd,
      receiptHours: open.hours.map((hash) => hash?.copy().digest("hex") ?? ""),
      ledgerDigest: open.ledger?.copy().digest("hex") ?? "",
    };
  }
}

/** Every member of a line in a fixed order; what lines of earlier releases lack comes last, if it is there. */
function lineText(line: LedgerEntry): string {
  const { ledgerId, accountId, amountMicroVnd, kind, operationId, reason, atMs, requestId } = line;
  const { grant } = line;
  const amount = amountMicroVnd.toString();
  return JSON.stringify([
    ledgerId,
    accountId,
    amount,
    kind,
    operationId,
    reason,
    atMs,
    requestId ?? null,
    ...(grant === undefined ? [] : [
      grant.campaignId,
      grant.grantId ?? null,
      grant.expiresAtMs ?? null,
      grant.voucherId ?? null,
    ]),
  ]);
}

/** The hours of a day in which two contents have other receipts, as `14:00`. */
function differentHours(one: DayContent, other: DayContent): string[] {
  return one.receiptHours.flatMap((digest, hour) =>
    digest === other.receiptHours[hour] ? [] : [`${String(hour).padStart(2, "0")}:00`]
  );
}

/** Says in one line each how the rows of a day differ from those that were sealed. */
export function contentDifferences(day: string, sealed: DayContent, found: DayContent): string[] {
  const problems: string[] = [];
  const hours = differentHours(sealed, found);
  if (
    hours.length > 0 || sealed.receipts !== found.receipts ||
    sealed.chargedMicroVnd !== found.chargedMicroVnd
  ) {
    problems.push(
      `the receipts of ${day} are not those that were sealed, in the hours ${hours.join(", ")}: ` +
        `${sealed.receipts} with ${sealed.chargedMicroVnd} µVND were, ` +
        `${found.receipts} with ${found.chargedMicroVnd} µVND are there`,
    );
  }
  if (sealed.ledgerDigest !== found.ledgerDigest) {
    problems.push(
      `the ledger lines of ${day} are not those that were sealed: ${sealed.lines} with ` +
        `${sealed.ledgerMicroVnd} µVND were, ${found.lines} with ${found.ledgerMicroVnd} µVND are there`,
    );
  }
  return problems;
}

/** The time of a ledger line by its id. */
export function lineAtMs(ledgerId: LedgerId): number {
  return idTimeMs("ledger", ledgerId);
}
