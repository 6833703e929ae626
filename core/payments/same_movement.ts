/**
 * Tells whether a notice speaks of a movement that another notice has told of already.
 *
 * Sources use unrelated ids (SePay's webhook and its own list differ too), so the movement itself is compared:
 * account, direction, amount, time and bank reference. Only an equal reference from a different source, at a time that
 * fits and with no other order code, is proof enough to act alone. Everything that is merely likely goes to people:
 * never a silent credit, never a silent drop.
 */
import { type BankSource, referenceFamily } from "./bank_event.ts";
import { type BankTime, sameBankTime, vietnamDaysApart } from "./bank_time.ts";
import type { OrderCode } from "./order_code.ts";
import { referencesDiffer } from "./statement_reference.ts";

/** What is compared. Account, direction and amount are equal for all that are compared with each other. */
export interface MovementTraits {
  readonly source: BankSource;
  readonly id: string;
  readonly time: BankTime;
  /** Letters and digits only; empty when the source gave none. */
  readonly reference: string;
  readonly codes: readonly OrderCode[];
  /** The memo, letters and digits only. */
  readonly memo: string;
  /** The statement file that it is a row of. */
  readonly importId?: string;
}

/** A movement that stands on its own, with the notices of other sources that were joined to it. */
export interface KnownMovement extends MovementTraits {
  /** Sources that have told of this movement, its own included: each can do so once. */
  readonly toldBy: readonly BankSource[];
  /** The statement files that list it. Absent on movements of before they were noted. */
  readonly imports?: readonly string[];
}

/** What a newcomer is. `id` and `source` name the movement that it was compared with. */
export type MovementVerdict<Known extends KnownMovement = KnownMovement> =
  | { readonly kind: "new" }
  | { readonly kind: "same"; readonly known: Known }
  | { readonly kind: "doubtful"; readonly known: Known };

const dayMs = 86_400_000;
/** Where days only are told, a movement is booked on the day after it happened … */
const bookedLateDays = 1;
/** … or after a weekend; with a common order code too, that is no reference used again. */
const bookedLateDaysWithCode = 3;
/** Clocks and booking times of two sources differ by less than this, unless one of them tells days only. */
const clockSkewMs = 10 * 60_000;
/** Same code and amount from two sources within this time are suspicious whatever their clocks say. */
const sameCodeMs = 1.5 * dayMs;

/** How far back and ahead to look for movements to compare with. */
export const movementWindowMs = 1.5 * dayMs;

/** A memo that two exports cut at different lengths begins alike for at least this many letters and digits. */
const cutMemoChars = 10;

/** Whether two memos are one, which an export may have cut. */
function sameMemo(left: string, right: string): boolean {
  const [shorter, longer] = left.length <= right.length ? [left, right] : [right, left];
  return left === right || (shorter.length >= cutMemoChars && longer.startsWith(shorter));
}

function shareCode(left: MovementTraits, right: MovementTraits): boolean {
  return left.codes.some((code) => right.codes.includes(code));
}

/** Whether both name orders, and none of them in common. */
function codesDiffer(left: MovementTraits, right: MovementTraits): boolean {
  return left.codes.length > 0 && right.codes.length > 0 && !shareCode(left, right);
}

/**
 * Whether two notices of one source look like one movement told under two ids, as rows of a statement do that was saved
 * again by a spreadsheet (seconds gone) or exported with other columns.
 */
function sameSourceTwin(left: MovementTraits, right: MovementTraits): boolean {
  return sameBankTime(left.time, right.time) && !codesDiffer(left, right) &&
    (shareCode(left, right) || sameMemo(left.memo, right.memo));
}

/** Whether an equal reference at these times can be one movement: banks use short references again, on other days. */
function timesFit(left: MovementTraits, right: MovementTraits): boolean {
  if (left.time.precision !== "day" && right.time.precision !== "day") {
    return Math.abs(left.time.atMs - right.time.atMs) <= clockSkewMs;
  }
  const allowedDays = shareCode(left, right) ? bookedLateDaysWithCode : bookedLateDays;
  return vietnamDaysApart(left.time, right.time) <= allowedDays;
}

function likelySame(newcomer: MovementTraits, known: KnownMovement): boolean {
  const differ = referencesDiffer(newcomer.reference, known.reference);
  // Two different references of one numbering are two movements.
  if (differ && referenceFamily[newcomer.source] === referenceFamily[known.source]) return false;
  // A statement lists a movement once: its rows are movements of their own, however alike.
  const { importId } = newcomer;
  if (importId !== undefined && (known.imports ?? []).includes(importId)) return false;
  if (known.source === newcomer.source) return sameSourceTwin(newcomer, known);
  // That source has told of this movement under another id: this one must be a further movement. Only statements tell
  // of one under as many ids as files are made of it; those that were joined had the reference of the movement.
  const toldAgain = newcomer.source === "csv" && !differ;
  if (known.toldBy.includes(newcomer.source) && !toldAgain) return false;
  const apartMs = Math.abs(newcomer.time.atMs - known.time.atMs);
  if (sameBankTime(newcomer.time, known.time) || apartMs <= clockSkewMs) return true;
  return apartMs <= sameCodeMs && shareCode(newcomer, known);
}

/**
 * Compares a newcomer with the movements on the same account, in the same direction, of the same amount.
 *
 * Notices of statements (CSV) told by days alone are compared by the day, so two customers paying the same sum on one
 * day go to people when the statement numbers references differently from the webhook.
 */
export function compareMovement<Known extends KnownMovement>(
  newcomer: MovementTraits,
  known: readonly Known[],
): MovementVerdict<Known> {
  const others = known.filter((one) => one.source !== newcomer.source || one.id !== newcomer.id);
  const equalReference = others.filter((one) =>
    newcomer.reference !== "" && one.reference === newcomer.reference
  );
  const proven = equalReference.find((one) =>
    !one.toldBy.includes(newcomer.source) && !codesDiffer(newcomer, one) &&
    timesFit(newcomer, one)
  );
  if (proven !== undefined) return { kind: "same", known: proven };
  const doubtful = equalReference[0] ?? others.find((one) => likelySame(newcomer, one));
  return doubtful === undefined ? { kind: "new" } : { kind: "doubtful", known: doubtful };
}
