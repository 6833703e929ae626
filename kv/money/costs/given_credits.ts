/** Sums what customers got without a payment: credits of operators and gifts, less what was taken back. */
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import type { LedgerKind } from "../ledger/ledger.ts";
import { isLedgerLine, linesByTime } from "../ledger/lines_by_time.ts";
import type { DayRange } from "../receipts/day_sums.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Most lines of the ledger that are read: a second of reading. */
const maxLinesRead = 100_000;

const dayMs = 86_400_000;

/** Movements that are no gifts: payments, and refunds, which margins contain. */
const notGiven: ReadonlySet<LedgerKind> = new Set<LedgerKind>(["topup", "refund"]);

/** Reads the sum of some days; `undefined` if there are too many lines to say. */
export async function readGivenCredits(
  kv: KeyValueStore,
  { fromDay, toDay }: DayRange,
): Promise<bigint | undefined> {
  const untilMs = vietnamDayStartMs(toDay) + dayMs;
  let lines = 0;
  let sum = 0n;
  for await (const { value } of linesByTime(kv, vietnamDayStartMs(fromDay), undefined)) {
    if (!isLedgerLine(value)) continue;
    if (value.atMs >= untilMs) break;
    if (++lines > maxLinesRead) return undefined;
    if (!notGiven.has(value.kind)) sum += value.amountMicroVnd;
  }
  return sum;
}
