/**
 * Decides whether a notice reports a movement that another notice has reported already.
 *
 * Sources use unrelated ids (even SePay's webhook and its own list), so the movement itself is
 * compared: account, direction, amount, time and bank reference. Only an equal reference from a
 * different source, at a matching time and with no other order code, is proof enough to act
 * automatically. Everything that is merely likely goes to staff: never a silent credit, never a
 * silent drop.
 */
import {
  type BankSource,
  type BankTime,
  plainReference,
  referenceFamily,
  sameBankTime,
  vietnamDaysApart,
} from "../bank/bank_notice.ts";
import type { OrderCode } from "../bank/order_code.ts";
import { dayMs } from "../../lib/time/durations.ts";

// Compares bank references of statements that a spreadsheet may have damaged.
//
// A damaged reference must not be taken for another one: two references of one numbering mean two
// movements, and a movement is credited.

/** Spreadsheets keep this many digits of a number; the rest becomes zeros. */
const keptDigits = 15;

/**
 * Normalises a reference for comparison: letters and digits only. Empty if there is none, or if a
 * spreadsheet has made it a rounded number, which many references share.
 *
 * @example
 * ```ts
 * import { comparedReference } from "./same_movement.ts";
 * if (comparedReference("FT-26324.1") !== "FT263241") throw new Error("wrong");
 * if (comparedReference("5.12346E+15") !== "") throw new Error("not noticed");
 * ```
 */
export function comparedReference(reference: string | undefined): string {
  const isRounded = /^\s*\d+(?:[.,]\d+)?E\+\d+\s*$/i.test(reference ?? "");
  return isRounded ? "" : plainReference(reference);
}

/** Returns the digits that a spreadsheet leaves of a number: no leading zeros, few digits. */
function afterSpreadsheet(reference: string): string {
  const digits = reference.replace(/^0+(?=\d)/, "");
  return digits.slice(0, keptDigits).padEnd(digits.length, "0");
}

/**
 * Whether two references of one numbering certainly name two movements.
 *
 * Nothing is certain about a missing one, about a number that may be rounded, and about digits that
 * a spreadsheet would have made equal.
 *
 * @param left letters and digits only, as `right`
 */
function referencesDiffer(left: string, right: string): boolean {
  const known = [left, right].every((one) => one !== "" && !/^\d+E\d{2,3}$/.test(one));
  if (!known || left === right) return false;
  const isNumber = (text: string) => /^\d+$/.test(text);
  if (!isNumber(left) || !isNumber(right)) return true;
  const wasSaved = [left, right].some((one) => one === afterSpreadsheet(one));
  return !wasSaved || afterSpreadsheet(left) !== afterSpreadsheet(right);
}

/**
 * The compared properties. Account, direction and amount are equal for all movements that are
 * compared with each other.
 */
export interface MovementTraits {
  readonly source: BankSource;
  readonly id: string;
  readonly time: BankTime;
  /** Letters and digits only; empty if the source gave none. */
  readonly reference: string;
  readonly codes: readonly OrderCode[];
  /** The memo, letters and digits only. */
  readonly memo: string;
  /** The statement file that has it as a row. */
  readonly importId?: string;
}

/** A known movement, with the notices of other sources that were joined to it. */
export interface KnownMovement extends MovementTraits {
  /** Sources that have reported this movement, its own included: each can do so once. */
  readonly toldBy: readonly BankSource[];
  /** The statement files that list it. Absent on movements that are older than this field. */
  readonly imports?: readonly string[];
}

/** The verdict on a new notice. `id` and `source` name the movement that it was compared with. */
export type MovementVerdict<Known extends KnownMovement = KnownMovement> =
  | { readonly kind: "new" }
  | { readonly kind: "same"; readonly known: Known }
  | { readonly kind: "doubtful"; readonly known: Known };

/** Days after which a movement may be booked, if a source states only days. */
const bookedLateDays = 1;
/**
 * The same if both notices share an order code: a weekend may lie between, and the reference cannot
 * be one that the bank used again.
 */
const bookedLateDaysWithCode = 3;
/**
 * Clocks and booking times of two sources differ by less than this, unless one of them states only
 * days.
 */
const clockSkewMs = 10 * 60_000;
/**
 * Same code and amount from two sources within this time are suspicious whatever their clocks
 * state.
 */
const sameCodeMs = 1.5 * dayMs;

/** The time before and after a movement in which to look for movements to compare with. */
export const movementWindowMs = 1.5 * dayMs;

/**
 * The letters and digits, at least, with which both memos begin if two exports cut one memo at
 * different lengths.
 */
const cutMemoChars = 10;

/** Whether two memos are the same, possibly cut by an export. */
function sameMemo(left: string, right: string): boolean {
  const [shorter, longer] = left.length <= right.length ? [left, right] : [right, left];
  return left === right || (shorter.length >= cutMemoChars && longer.startsWith(shorter));
}

function shareCode(left: MovementTraits, right: MovementTraits): boolean {
  return left.codes.some((code) => right.codes.includes(code));
}

/** Whether both contain order codes, and none in common. */
function codesDiffer(left: MovementTraits, right: MovementTraits): boolean {
  return left.codes.length > 0 && right.codes.length > 0 && !shareCode(left, right);
}

/**
 * Whether two notices of one source look like one movement under two ids, as the rows of a
 * statement do that was saved again by a spreadsheet (without seconds) or exported with other
 * columns.
 */
function sameSourceTwin(left: MovementTraits, right: MovementTraits): boolean {
  return sameBankTime(left.time, right.time) && !codesDiffer(left, right) &&
    (shareCode(left, right) || sameMemo(left.memo, right.memo));
}

/**
 * Whether an equal reference at these times can be one movement: banks reuse short references on
 * other days.
 */
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
  // A statement lists a movement once: its rows are different movements, however similar.
  const { importId } = newcomer;
  if (importId !== undefined && (known.imports ?? []).includes(importId)) return false;
  if (known.source === newcomer.source) return sameSourceTwin(newcomer, known);
  // That source has reported this movement under another id, so this one must be a further
  // movement. Only statements report one under as many ids as files are made of it; those that were
  // joined had the reference of the movement.
  const toldAgain = newcomer.source === "csv" && !differ;
  if (known.toldBy.includes(newcomer.source) && !toldAgain) return false;
  const apartMs = Math.abs(newcomer.time.atMs - known.time.atMs);
  if (sameBankTime(newcomer.time, known.time) || apartMs <= clockSkewMs) return true;
  return apartMs <= sameCodeMs && shareCode(newcomer, known);
}

/**
 * Compares a new notice with the movements on the same account, in the same direction, of the same
 * amount.
 *
 * Rows of statements (CSV) that state only days are compared by the day, so two customers who pay
 * the same sum on one day go to staff if the statement numbers references differently from the
 * webhook.
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
