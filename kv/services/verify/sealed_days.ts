/** Compares the rows of sealed days with their checkpoints. */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { isLedgerLine, linesBetween } from "../../money/ledger/ledger.ts";
import { decodeReceiptPage, receiptPagesBetween } from "../../money/receipts/receipt_pages.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import { nextDay, type SealedCheckpoint } from "./days/checkpoint_chain.ts";
import { contentDifferences, DayDigests } from "./days/day_digests.ts";
import type { Problem } from "./checks/problems.ts";
import { readable } from "./checks/readable_rows.ts";

/** Lists how the rows of sealed days differ from what their checkpoints say. */
export function sealedDifferences(
  checkpoints: readonly SealedCheckpoint[],
  digests: DayDigests,
): Problem[] {
  const problems: Problem[] = [];
  const found = (detail: string) => problems.push({ kind: "seal", detail });
  for (const checkpoint of checkpoints) {
    const { day } = checkpoint;
    for (const detail of contentDifferences(day, checkpoint, digests.of(day))) found(detail);
  }
  const [first] = checkpoints;
  const { firstDay } = digests;
  if (first !== undefined && firstDay !== undefined && firstDay < first.day) {
    found(`there are rows of ${firstDay}, before the first sealed day ${first.day}`);
  }
  return problems;
}

/** Lists how the ledger lines of some sealed days in a row differ, whose receipts were dropped. */
export async function compareSealedLines(
  kv: KeyValueStore,
  checkpoints: readonly SealedCheckpoint[],
  slices: TimeSlices | undefined,
): Promise<Problem[]> {
  const last = checkpoints.at(-1);
  if (last === undefined) return [];
  const digests = new DayDigests();
  const lines = linesBetween(0, vietnamDayStartMs(nextDay(last.day)));
  for await (const { value } of wholeKind<unknown>(kv, lines, slices)) {
    if (isLedgerLine(value)) digests.addLine(value);
  }
  return checkpoints.flatMap((checkpoint) => {
    const { lines, ledgerMicroVnd, ledgerDigest } = digests.of(checkpoint.day);
    const found = { ...checkpoint, lines, ledgerMicroVnd, ledgerDigest };
    return contentDifferences(checkpoint.day, checkpoint, found)
      .map((detail): Problem => ({ kind: "seal", detail }));
  });
}

/** Reads the rows of some sealed days in a row, and lists how they differ. */
export async function compareSealedDays(
  kv: KeyValueStore,
  checkpoints: readonly SealedCheckpoint[],
  slices: TimeSlices | undefined,
): Promise<Problem[]> {
  const [first, last] = [checkpoints[0], checkpoints.at(-1)];
  if (first === undefined || last === undefined) return [];
  const fromMs = vietnamDayStartMs(first.day);
  const toMs = vietnamDayStartMs(nextDay(last.day));
  const digests = new DayDigests();
  const pages = wholeKind<unknown>(kv, receiptPagesBetween(fromMs, toMs), slices);
  for await (const page of pages) {
    digests.addPage(page);
    for (const receipt of readable(() => decodeReceiptPage(page))) digests.addReceipt(receipt);
  }
  for await (const { value } of wholeKind<unknown>(kv, linesBetween(fromMs, toMs), slices)) {
    if (isLedgerLine(value)) digests.addLine(value);
  }
  return sealedDifferences(checkpoints, digests);
}
