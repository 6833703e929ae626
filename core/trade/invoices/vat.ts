/**
 * Splits value added tax off a sum that includes it.
 *
 * The rate is never in the code: it is a dated setting of the operator, since the law changes it by
 * date (8 % instead of 10 % until 2026-12-31, Resolution 204/2025/QH15) and the operator's
 * accountant decides which class applies.
 */
import { invariant } from "../../lib/base/assert.ts";
import { vietnamDay } from "../../lib/time/vietnam_time.ts";

/** A percentage, or one of the two classes without tax: `KCT` not subject to it, `KKKNT` not declared. */
export type VatRate = { readonly percent: number } | { readonly untaxed: "KCT" | "KKKNT" };

/** One line of the setting: the rate that applies from a day on. */
export interface DatedVatRate {
  /** First day in Vietnam, `2026-01-01`. */
  readonly from: string;
  readonly rate: VatRate;
}

/** Parses `8`, `10`, `KCT` or `KKKNT`. */
export function parseVatRate(text: string): VatRate | undefined {
  if (text === "KCT" || text === "KKKNT") return { untaxed: text };
  const match = /^(\d{1,2})%?$/.exec(text);
  return match === null ? undefined : { percent: Number(match[1]) };
}

/** Writes a rate as invoices print it: `8%`, `KCT`, `KKKNT`. */
export function formatVatRate(rate: VatRate): string {
  return "percent" in rate ? `${rate.percent}%` : rate.untaxed;
}

/**
 * Parses the whole setting, such as `2025-07-01=8,2027-01-01=10`. `undefined` if any part is
 * malformed or out of order.
 *
 * @example
 * ```ts
 * import { parseVatSchedule, vatRateAt } from "./vat.ts";
 * const schedule = parseVatSchedule("2025-07-01=8,2027-01-01=10")!;
 * const rate = vatRateAt(schedule, Date.parse("2026-12-31T17:00:00Z"));
 * if (rate === undefined || !("percent" in rate) || rate.percent !== 10) throw new Error("not the new year's rate");
 * ```
 */
export function parseVatSchedule(text: string): DatedVatRate[] | undefined {
  const lines: DatedVatRate[] = [];
  for (const part of text.split(",")) {
    const [from = "", rateText = "", ...rest] = part.trim().split("=");
    const rate = parseVatRate(rateText.trim());
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(from) && Number.isFinite(Date.parse(from));
    const previous = lines.at(-1)?.from ?? "";
    if (!isDay || rate === undefined || rest.length > 0 || from <= previous) return undefined;
    lines.push({ from, rate });
  }
  return lines;
}

/** Returns the rate that applies at a moment; `undefined` before the first line. */
export function vatRateAt(schedule: readonly DatedVatRate[], atMs: number): VatRate | undefined {
  const day = vietnamDay(atMs);
  return schedule.filter((line) => line.from <= day).at(-1)?.rate;
}

/** A sum split into net and tax; `netVnd + vatVnd = grossVnd`, always. */
export interface VatSplit {
  readonly grossVnd: bigint;
  readonly netVnd: bigint;
  readonly vatVnd: bigint;
}

/**
 * Splits a sum that includes the tax: net = gross × 100 / (100 + r), rounded half up to whole đồng; the tax is the rest.
 *
 * @example
 * ```ts
 * import { splitVat } from "./vat.ts";
 * const split = splitVat(20_000n, { percent: 8 });
 * if (split.netVnd !== 18_519n || split.vatVnd !== 1_481n) throw new Error("wrong");
 * ```
 */
export function splitVat(grossVnd: bigint, rate: VatRate): VatSplit {
  invariant(grossVnd >= 0n, "a taxed sum is not negative");
  if (!("percent" in rate)) return { grossVnd, netVnd: grossVnd, vatVnd: 0n };
  invariant(
    Number.isInteger(rate.percent) && rate.percent >= 0 && rate.percent < 100,
    `a tax rate is a whole percentage below 100: ${rate.percent}`,
  );
  const divisor = 100n + BigInt(rate.percent);
  const netVnd = (2n * grossVnd * 100n + divisor) / (2n * divisor);
  return { grossVnd, netVnd, vatVnd: grossVnd - netVnd };
}
