/**
 * Reads amounts of money as people write them in Vietnamese and in English, where the point and the comma swap their
 * meanings. Every form, file and command reads amounts here.
 */
import { fromVnd, microVndPerVnd, parseVnd } from "./micro_vnd.ts";

/** Reading of a written amount. */
export type ReadAmount =
  | { readonly ok: true; readonly microVnd: bigint }
  | { readonly ok: false; readonly why: "unreadable" }
  /** The text means one amount in each language; `readings` are both, in VND without marks. */
  | { readonly ok: false; readonly why: "ambiguous"; readonly readings: readonly [string, string] };

const unreadable: ReadAmount = { ok: false, why: "unreadable" };

/** Digits in groups of three, or in a row; then a fraction. */
const written = /^(-?)(?:(\d{1,3}(?:([.,])\d{3})(?:\3\d{3})*)|(\d+))(?:([.,])(\d{1,6}))?$/;

/** One mark before exactly three digits, which either groups thousands or begins a fraction. */
const eitherWay = /^-?([1-9]\d{0,2})[.,](\d{3})$/;

/** Most digits after the mark of a payment: đồng have hundredths in the exports of banks. */
const maxPaymentDecimals = 2;

function withoutMarks(text: string): string {
  return text.replace(/VN[DĐ]|₫|đ/gi, "").replace(/[\s\u00a0']/g, "").replace(/^\+/, "");
}

/**
 * Reads an amount of VND.
 *
 * @param form `payment`: money that moves or a limit, of which there are no thousandths, so that a single mark before
 * three digits groups them; `price`: a price, which may have thousandths, so that `40.000` is ambiguous
 *
 * @example
 * ```ts
 * import { readAmount } from "./read_amount.ts";
 * const payment = readAmount("40.000", "payment");
 * if (!payment.ok || payment.microVnd !== 40_000_000_000n) throw new Error("not forty thousand");
 * const price = readAmount("40.000", "price");
 * if (price.ok || price.why !== "ambiguous" || price.readings.join() !== "40000,40") throw new Error("guessed");
 * ```
 */
export function readAmount(text: string, form: "payment" | "price"): ReadAmount {
  const plain = withoutMarks(text);
  if (form === "price") {
    const [, whole = "", fraction = ""] = eitherWay.exec(plain) ?? [];
    if (whole !== "") {
      const decimal = `${whole}.${fraction}`.replace(/\.?0+$/, "");
      return { ok: false, why: "ambiguous", readings: [`${whole}${fraction}`, decimal] };
    }
    // `0.075` has no thousands to group.
    const small = /^0[.,](\d{1,6})$/.exec(plain);
    if (small !== null) return amountOf(`0.${small[1]}`);
  }
  const match = written.exec(plain);
  if (match === null) return unreadable;
  const [, sign = "", grouped, mark, digits = "", decimalMark, fraction = ""] = match;
  // `1.000.00` would use one mark for both purposes.
  if (mark !== undefined && mark === decimalMark) return unreadable;
  if (form === "payment" && fraction.length > maxPaymentDecimals) return unreadable;
  const whole = grouped?.replace(/[.,]/g, "") ?? digits;
  return amountOf(`${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`);
}

function amountOf(plain: string): ReadAmount {
  const microVnd = parseVnd(plain);
  return microVnd === undefined ? unreadable : { ok: true, microVnd };
}

/**
 * Parses the amount of a payment: `1,000,000`, `1.000.000`, `1.000.000,00`, `+1 000 000 VND`.
 *
 * @returns µVND, 0 for an empty text or a dash, `undefined` for anything unreadable
 */
export function parseWrittenAmount(text: string): bigint | undefined {
  const plain = withoutMarks(text);
  if (plain === "" || plain === "-") return 0n;
  const read = readAmount(plain, "payment");
  return read.ok ? read.microVnd : undefined;
}

/** A short amount. With three digits after a mark, the mark might group thousands: such an amount is refused. */
const shortForm =
  /^(\d{1,6})(?:[.,](\d{1,2}))?\s*(k|nghìn|ngàn|nghin|ngan|tr|triệu|trieu|m)(?:\s*(\d|\d{3}))?$/u;

const thousand = 1_000;
const million = 1_000_000;

/**
 * Parses an amount as people type it into forms and commands, also as they do on a phone: `500k`, `1tr`, `1,5tr`,
 * `1tr5`. What follows a million is a tenth of it (one digit) or thousands (three digits).
 *
 * @returns µVND; `undefined` for anything unreadable
 *
 * @example
 * ```ts
 * import { parseTypedAmount } from "./read_amount.ts";
 * const vnd = (text: string) => (parseTypedAmount(text) ?? -1_000_000n) / 1_000_000n;
 * const read = ["500k", "1tr", "1,5 triệu", "1tr5", "1tr250", "200.000", "1tr25"].map(vnd).join();
 * if (read !== "500000,1000000,1500000,1500000,1250000,200000,-1") throw new Error(read);
 * ```
 */
export function parseTypedAmount(text: string): bigint | undefined {
  const match = shortForm.exec(
    text.trim().toLowerCase().normalize("NFC").replace(/\s*(?:đ|₫|vnd)$/u, ""),
  );
  if (match === null) return parseWrittenAmount(text);
  const [, whole = "", fraction, unit = "", rest] = match;
  const isThousand = unit === "k" || unit.startsWith("ng");
  const step = isThousand ? thousand : million;
  if (rest !== undefined && (isThousand || fraction !== undefined)) return undefined;
  let vnd = Number(whole) * step;
  // A step has at least three zeros, so each digit of the fraction is a whole number of VND.
  if (fraction !== undefined) vnd += Number(fraction) * (step / 10 ** fraction.length);
  if (rest !== undefined) vnd += Number(rest) * (rest.length === 1 ? million / 10 : thousand);
  return fromVnd(vnd);
}

/**
 * Parses an amount in whole VND as a person types it into a form or a command: `50.000` and `50k` are fifty thousand, a
 * minus debits. `undefined` for an empty text, 0, fractions and anything ambiguous.
 *
 * @example
 * ```ts
 * import { parseTypedVnd } from "./read_amount.ts";
 * if (parseTypedVnd("50.000") !== 50_000_000_000n) throw new Error("not fifty thousand");
 * if (parseTypedVnd("-50k") !== -50_000_000_000n) throw new Error("not a debit");
 * for (const unclear of ["50.0000", "50.5", "0", ""]) {
 *   if (parseTypedVnd(unclear) !== undefined) throw new Error(unclear);
 * }
 * ```
 */
export function parseTypedVnd(text: string): bigint | undefined {
  const [, minus, unsigned = ""] = /^(-?)([^-].*)$/s.exec(text.trim()) ?? [];
  const magnitude = parseTypedAmount(unsigned);
  const amountMicroVnd = magnitude !== undefined && minus === "-" ? -magnitude : magnitude;
  const isWhole = amountMicroVnd !== undefined && amountMicroVnd !== 0n &&
    amountMicroVnd % microVndPerVnd === 0n;
  return isWhole ? amountMicroVnd : undefined;
}

/** A whole number, perhaps with marks between thousands. */
const count = /^\d+$|^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/;

/**
 * Parses a number of things: `5.000`, `5,000` and `5 000` are five thousand.
 *
 * @returns `undefined` for 0, for more than `max`, and for anything that is no whole number
 *
 * @example
 * ```ts
 * import { parseTypedCount } from "./read_amount.ts";
 * const read = ["5.000", "5,000", "5 000", "5000"].map((text) => parseTypedCount(text, 9_000));
 * if (read.some((number) => number !== 5_000)) throw new Error(read.join());
 * if (["5.00", "0", "9.001", "-1", ""].some((text) => parseTypedCount(text, 9_000) !== undefined)) throw new Error();
 * ```
 */
export function parseTypedCount(text: string, max: number): number | undefined {
  const written = text.replace(/[\s\u00a0]/g, "");
  const value = count.test(written) ? Number(written.replace(/[.,]/g, "")) : 0;
  return value > 0 && value <= max ? value : undefined;
}

/** Describes why a price cannot be read, for the operator who wrote it; `undefined` if it can. */
export function priceProblem(text: string): string | undefined {
  const read = readAmount(text, "price");
  if (read.ok || read.why === "unreadable") return undefined;
  const [thousands, decimal] = read.readings;
  return `"${text}" is ambiguous: write ${thousands} or ${decimal}`;
}

/** Numbers of a JSON text outside of its strings, with a mark, three decimals, and a zero at the end. */
const typedNumber = /"(?:[^"\\]|\\.)*"|(?<![\d.])[1-9]\d{0,2}\.\d{2}0(?![\d.eE])/g;

/**
 * Finds numbers in JSON that a person typed with a point for thousands. No program writes a decimal with a zero at its
 * end, so `40.000` in a catalogue is a slip more often than it is 40.
 *
 * @returns one problem for each such number, with both readings
 *
 * @example
 * ```ts
 * import { ambiguousNumbers } from "./read_amount.ts";
 * if (ambiguousNumbers('{"vnd":40.000,"name":"1.000"}').length !== 1) throw new Error("overlooked");
 * if (ambiguousNumbers('{"vnd":40.125,"rate":0.500}').length !== 0) throw new Error("unfounded");
 * ```
 */
export function ambiguousNumbers(json: string): string[] {
  return [...json.matchAll(typedNumber)].flatMap(([text]) =>
    text.startsWith('"') ? [] : priceProblem(text) ?? []
  );
}
