/**
 * One movement on the operator's bank account, from any source.
 *
 * - Folder `core/trade/bank/`: top-ups by bank transfer: order codes, VietQR, notices of banks and their signatures.
 * - In: signed notices, memos, the operator's accounts.
 * - Out: bank notices, order codes, QR texts.
 * - Never: credits a wallet (`kv/money/payments/` does), or corrects a misspelt order code.
 */
import { microVndPerVnd, parseVnd } from "../../billing/money/micro_vnd.ts";
import { vietnamDayNumber, vietnamOffsetMs } from "../../lib/time/vietnam_time.ts";
import { decodeHex } from "../../lib/runtime/built_ins.ts";
import { dayMs } from "../../lib/time/durations.ts";

// Parses times as banks write them: Vietnam's local time, often without a zone or seconds.

/** The precision of a source's times. Two sources are compared at the coarser of theirs. */
export type BankTimePrecision = "second" | "minute" | "day";

/** A moment as a bank states it. */
export interface BankTime {
  /** Start of the second, minute or day, in ms since 1970. */
  readonly atMs: number;
  readonly precision: BankTimePrecision;
}

const stepMs: Record<BankTimePrecision, number> = {
  second: 1_000,
  minute: 60_000,
  day: dayMs,
};

function fromParts(
  year: number,
  month: number,
  day: number,
  clock: readonly (string | undefined)[],
): BankTime | undefined {
  const [hour, minute, second] = clock;
  const values = [Number(hour ?? 0), Number(minute ?? 0), Number(second ?? 0)] as const;
  if (values[0] > 23 || values[1] > 59 || values[2] > 59 || year < 2000 || year > 2199) {
    return undefined;
  }
  const midnight = Date.UTC(year, month - 1, day);
  const date = new Date(midnight);
  // Date.UTC turns 31 April into 1 May, so a date that comes back different is refused.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const ofDayMs = (values[0] * 3_600 + values[1] * 60 + values[2]) * 1_000;
  const precision = hour === undefined ? "day" : second === undefined ? "minute" : "second";
  return { atMs: midnight + ofDayMs - vietnamOffsetMs, precision };
}

/**
 * Reads `2026-11-20 14:02:37`, `2026-11-20T14:02:37+07:00`, `20/11/2026 14:02` or `20-11-2026`.
 *
 * Day comes before month when the year is last, as everywhere in Vietnam. The zone of a time is
 * respected if it has one.
 *
 * @example
 * ```ts
 * import { parseBankTime } from "./bank_notice.ts";
 * const time = parseBankTime("2026-11-20 14:02:37");
 * if (time?.atMs !== Date.parse("2026-11-20T07:02:37Z")) throw new Error("wrong zone");
 * ```
 */
export function parseBankTime(text: string): BankTime | undefined {
  const trimmed = text.trim();
  if (/^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:?\d{2})$/.test(trimmed)) {
    const atMs = Date.parse(trimmed);
    return Number.isFinite(atMs)
      ? { atMs: Math.floor(atMs / 1_000) * 1_000, precision: "second" }
      : undefined;
  }
  const clock = String.raw`(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?`;
  const yearFirst = new RegExp(String.raw`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})${clock}$`)
    .exec(trimmed);
  if (yearFirst !== null) {
    const [, year, month, day, ...rest] = yearFirst;
    return fromParts(Number(year), Number(month), Number(day), rest);
  }
  const dayFirst = new RegExp(String.raw`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})${clock}$`)
    .exec(trimmed);
  if (dayFirst === null) return undefined;
  const [, day, month, year, ...rest] = dayFirst;
  return fromParts(Number(year), Number(month), Number(day), rest);
}

/** Whether two times may be the same moment, at the coarser precision of the two. */
export function sameBankTime(left: BankTime, right: BankTime): boolean {
  const step = Math.max(stepMs[left.precision], stepMs[right.precision]);
  const slot = (time: BankTime) => Math.floor((time.atMs + vietnamOffsetMs) / step);
  return slot(left) === slot(right);
}

/** Counts the days of Vietnam's calendar between two times: 0 on the same day. */
export function vietnamDaysApart(left: BankTime, right: BankTime): number {
  return Math.abs(vietnamDayNumber(left.atMs) - vietnamDayNumber(right.atMs));
}

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

// The interface of a provider of bank notices: check one request, then read it.

/** One request of a provider, with the body as bytes. */
export interface BankHookRequest {
  readonly headers: { get(name: string): string | null };
  readonly body: Uint8Array<ArrayBuffer>;
  readonly nowMs: number;
}

/**
 * The result of the check. `stale`: the signature is right but too old or too new; the answer is
 * the same, the log line differs.
 */
export type BankHookCheck = "genuine" | "forged" | "stale";

/**
 * A notice, or the reason why it could not be read. Unreadable notices are kept for staff, never
 * dropped.
 */
export type ReadBankNotices =
  | { readonly ok: true; readonly events: readonly BankNotice[] }
  | { readonly ok: false; readonly reason: string };

/** One configured provider. It exists only if a secret is set. */
export interface BankHook {
  readonly source: BankSource;
  verify(request: BankHookRequest): Promise<BankHookCheck>;
  read(body: Uint8Array<ArrayBuffer>): ReadBankNotices;
}

/** Parses the JSON of a body; `undefined` if it is not JSON. */
export function jsonOfBytes(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

// Checks signatures in constant time, over the bytes as received.

/**
 * Milliseconds by which the time of a signed notice may differ from this clock in either direction:
 * SePay's own rule. Later repeats come through the dashboard or the poll.
 */
export const bankNoticeSkewMs = 5 * 60_000;

/**
 * Checks an HMAC given in hexadecimal. Web Crypto compares in constant time.
 *
 * @param secret must not be empty: a provider without a secret has no endpoint at all
 */
export async function verifyHmacHex(
  hash: "SHA-256" | "SHA-512",
  secret: string,
  signed: Uint8Array<ArrayBuffer>,
  signatureHex: string,
): Promise<boolean> {
  const signature = bytesOfHex(signatureHex);
  if (secret === "" || signature === undefined) return false;
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(secret),
    { name: "HMAC", hash },
    false,
    ["verify"],
  );
  return await crypto.subtle.verify("HMAC", key, signature, signed);
}

function bytesOfHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  return /^(?:[0-9a-fA-F]{2}){16,64}$/.test(text) ? decodeHex(text) : undefined;
}

/** Prepends text to bytes, for signatures over `timestamp.body`. */
export function prefixed(text: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(text);
  const joined = new Uint8Array(head.length + body.length);
  joined.set(head, 0);
  joined.set(body, head.length);
  return joined;
}
