/** Parses amounts as people type them on a phone: `500k`, `1tr`, `1,5tr`, `1tr5`. */
import { fromVnd } from "../../billing/money/micro_vnd.ts";
import { parseWrittenAmount } from "../../billing/money/read_amount.ts";

/** A short amount. With three digits after a mark, the mark might group thousands: such an amount is refused. */
const shortForm =
  /^(\d{1,6})(?:[.,](\d{1,2}))?\s*(k|nghìn|ngàn|nghin|ngan|tr|triệu|trieu|m)(?:\s*(\d|\d{3}))?$/u;

const thousand = 1_000;
const million = 1_000_000;

/**
 * Parses an amount. What follows a million is a tenth of it (one digit) or thousands (three digits).
 *
 * @returns µVND; `undefined` for anything unreadable
 *
 * @example
 * ```ts
 * import { parseTypedAmount } from "./typed_amount.ts";
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
