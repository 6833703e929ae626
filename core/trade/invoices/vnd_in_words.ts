/** Writes sums in Vietnamese words, as invoices print them. */
import { invariant } from "../../lib/base/assert.ts";

const digits = ["không", "một", "hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín"] as const;
const scales = ["", "nghìn", "triệu"] as const;

/**
 * Writes one group of three digits. After another group, empty hundreds are named ("không trăm").
 */
function groupInWords(group: number, isFirst: boolean): string {
  const hundreds = Math.floor(group / 100);
  const tens = Math.floor(group / 10) % 10;
  const ones = group % 10;
  const words: string[] = [];
  if (hundreds > 0 || !isFirst) words.push(`${digits[hundreds]!} trăm`);
  if (tens > 1) words.push(`${digits[tens]!} mươi`);
  else if (tens === 1) words.push("mười");
  else if (ones > 0 && words.length > 0) words.push("linh");
  if (ones === 0) return words.join(" ");
  if (tens > 1 && ones === 1) words.push("mốt");
  else if (tens > 0 && ones === 5) words.push("lăm");
  else words.push(digits[ones]!);
  return words.join(" ");
}

/** Writes a number below 10⁹ ("tỷ"). */
function belowBillion(value: number, isFirst: boolean): string {
  const words: string[] = [];
  for (let scale = 2; scale >= 0; scale--) {
    const group = Math.floor(value / 1000 ** scale) % 1000;
    if (group === 0) continue;
    const text = groupInWords(group, isFirst && words.length === 0);
    words.push(scale === 0 ? text : `${text} ${scales[scale]}`);
  }
  return words.join(" ");
}

/**
 * Writes a whole sum in words, with a capital and the unit.
 *
 * @example
 * ```ts
 * import { vndInWords } from "./vnd_in_words.ts";
 * if (vndInWords(200_000n) !== "Hai trăm nghìn đồng") throw new Error(vndInWords(200_000n));
 * if (vndInWords(1_005_021n) !== "Một triệu không trăm linh năm nghìn không trăm hai mươi mốt đồng") {
 *   throw new Error(vndInWords(1_005_021n));
 * }
 * ```
 */
export function vndInWords(amountVnd: bigint): string {
  invariant(amountVnd >= 0n && amountVnd < 10n ** 18n, "a sum in words is below 10^18 đồng");
  if (amountVnd === 0n) return "Không đồng";
  const billions = Number(amountVnd / 1_000_000_000n);
  const rest = Number(amountVnd % 1_000_000_000n);
  const words: string[] = [];
  if (billions > 0) words.push(`${belowBillion(billions, true)} tỷ`);
  if (rest > 0) words.push(belowBillion(rest, billions === 0));
  const text = words.join(" ");
  return `${text[0]!.toUpperCase()}${text.slice(1)} đồng`;
}
