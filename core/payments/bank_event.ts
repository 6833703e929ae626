/**
 * One movement on the operator's bank account, whoever told us of it.
 *
 * - Folder `core/payments/`: top-ups by bank transfer: order codes, VietQR, notices of banks,
 *   statements.
 * - In: signed notices, statement files, memos, the operator's settings.
 * - Out: bank events, order codes found in memos, verdicts on repeated notices.
 * - Never: credits a wallet (`kv/payments/` does), or corrects a misspelt order code.
 */
import { microVndPerVnd, parseVnd } from "../billing/micro_vnd.ts";
import type { BankTime } from "./bank_time.ts";

/** Where a notice came from. The same movement may come from several of them, under unrelated ids. */
export const bankSources = ["sepay", "sepay-poll", "casso", "csv", "manual"] as const;
export type BankSource = typeof bankSources[number];

/**
 * Sources of one family number the references of movements alike: two different references mean two movements.
 * Between families a difference proves nothing.
 */
export const referenceFamily: Readonly<Record<BankSource, string>> = {
  sepay: "sepay",
  "sepay-poll": "sepay",
  casso: "casso",
  csv: "csv",
  manual: "manual",
};

/** A movement as its source describes it. */
export interface BankEvent {
  readonly source: BankSource;
  /** Unique and stable within its source: retries and replays carry the same. */
  readonly id: string;
  /** The receiving account, as the source names it. */
  readonly account: string;
  /** Virtual account or sub-account. */
  readonly subAccount?: string;
  readonly direction: "in" | "out";
  /** Never negative. */
  readonly amountMicroVnd: bigint;
  readonly time: BankTime;
  /** What the payer typed, as the bank passed it on. */
  readonly memo: string;
  /** The longer statement or SMS text, where the source gives one. */
  readonly fullText?: string;
  /** What the source itself took for a payment code. Never trusted alone. */
  readonly detectedCode?: string;
  /** The bank's reference of the movement. May be absent. */
  readonly reference?: string;
  /** Balance of the bank account afterwards, where told. */
  readonly balanceAfterMicroVnd?: bigint;
  readonly payer?: { readonly account?: string; readonly name?: string; readonly bank?: string };
  /** Rows of one statement file share it, the same file imported again has the same: its rows are different movements. */
  readonly importId?: string;
}

/** The id under which the credit of a movement stands in the ledger: the same for machine and staff. */
export function creditOperationId(event: Pick<BankEvent, "source" | "id">): string {
  return `in:${event.source}:${event.id}`;
}

/** Whether a text can be an event id: short, and safe in a key and a URL. */
export function isEventId(text: string): boolean {
  return /^[A-Za-z0-9._:-]{1,80}$/.test(text);
}

/** A reference as it is compared: letters and digits only. Empty when there is none. */
export function plainReference(reference: string | undefined): string {
  return (reference ?? "").replace(/[^A-Za-z0-9]/g, "").toUpperCase();
}

/**
 * An amount of a JSON notice in µVND, in the forms that the providers document: a whole number, or text of digits with
 * or without two decimals (`"18067000.00"`). `undefined` for everything else, so that a person looks at it: `"50.000"`
 * may be fifty thousand đồng or fifty, and so may a number with a fraction.
 *
 * @example
 * ```ts
 * import { amountOfJson } from "./bank_event.ts";
 * if (amountOfJson("18067000.00") !== 18_067_000_000_000n) throw new Error("wrong");
 * if (amountOfJson("50.000") !== undefined || amountOfJson(50.5) !== undefined) throw new Error("guessed");
 * ```
 */
export function amountOfJson(value: number | string): bigint | undefined {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? BigInt(value) * microVndPerVnd : undefined;
  }
  const text = value.trim();
  return /^-?\d+(?:\.\d{2})?$/.test(text) ? parseVnd(text) : undefined;
}
