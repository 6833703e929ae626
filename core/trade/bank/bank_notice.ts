/**
 * One movement on the operator's bank account, from any source.
 *
 * - Folder `core/trade/bank/`: top-ups by bank transfer: order codes, VietQR, notices of banks and their signatures.
 * - In: signed notices, memos, the operator's accounts.
 * - Out: bank notices, order codes, QR texts.
 * - Never: credits a wallet (`kv/money/payments/` does), or corrects a misspelt order code.
 */
import { microVndPerVnd, parseVnd } from "../../billing/money/micro_vnd.ts";
import type { BankTime } from "./bank_time.ts";

/** The source of a notice. The same movement may come from several sources, under unrelated ids. */
export const bankSources = ["sepay", "sepay-poll", "casso", "csv", "manual"] as const;
/** The name of a source of bank notices. */
export type BankSource = typeof bankSources[number];

/**
 * The family of each source. Sources of one family number movements alike, so two different
 * references mean two movements. Between families a difference proves nothing.
 */
export const referenceFamily: Readonly<Record<BankSource, string>> = {
  sepay: "sepay",
  "sepay-poll": "sepay",
  casso: "casso",
  csv: "csv",
  manual: "manual",
};

/** A movement as its source describes it. */
export interface BankNotice {
  readonly source: BankSource;
  /** Unique and stable within its source: retries and replays have the same. */
  readonly id: string;
  /** The receiving account, as the source names it. */
  readonly account: string;
  /** Virtual account or sub-account. */
  readonly subAccount?: string;
  readonly direction: "in" | "out";
  /** Never negative. */
  readonly amountMicroVnd: bigint;
  readonly time: BankTime;
  /** The text of the payer, as the bank forwarded it. */
  readonly memo: string;
  /** The longer statement or SMS text, if the source gives one. */
  readonly fullText?: string;
  /** The text that the source took for a payment code. Never trusted alone. */
  readonly detectedCode?: string;
  /** The bank's reference of the movement. May be absent. */
  readonly reference?: string;
  /** Balance of the bank account afterwards, if the source reports it. */
  readonly balanceAfterMicroVnd?: bigint;
  readonly payer?: { readonly account?: string; readonly name?: string; readonly bank?: string };
  /**
   * The statement file that lists the movement. Its rows are different movements; the same file
   * imported again has the same id.
   */
  readonly importId?: string;
}

/**
 * Builds the id of a movement's credit in the ledger: the same for automatic credits and those of
 * staff.
 */
export function creditOperationId(event: Pick<BankNotice, "source" | "id">): string {
  return `in:${event.source}:${event.id}`;
}

/** Whether a text can be an event id: short, and safe in a store key and a URL. */
export function isEventId(text: string): boolean {
  return /^[A-Za-z0-9._:-]{1,80}$/.test(text);
}

/** Normalises a reference for comparison: letters and digits only. Empty if there is none. */
export function plainReference(reference: string | undefined): string {
  return (reference ?? "").replace(/[^A-Za-z0-9]/g, "").toUpperCase();
}

/**
 * Reads an amount of a JSON notice in µVND; `undefined` for any form that the providers do not
 * document.
 *
 * The forms are a whole number, and text of digits with or without two decimals (`"18067000.00"`).
 * Everything else is left to a person: `"50.000"` may be fifty thousand đồng or fifty, and so may a
 * number with a fraction.
 *
 * @example
 * ```ts
 * import { amountOfJson } from "./bank_notice.ts";
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
