/**
 * Finds the sealed days whose receipts and ledger lines can have a file of their own, which is written once, and reads
 * these rows. What is left of the store grows with its accounts and with the days that are not sealed yet, instead of
 * with all calls.
 *
 * Such rows never change. Only a call that is settled after its day was sealed adds one: verification finds that, and
 * `admin reseal` accepts it. The day then has another content, and gets another file. A file therefore fits to a rest of
 * any later schema version: no migration may change what is sealed.
 */
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { type SnapshotRow, snapshotRowOf } from "../../engine/parts/snapshot.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import { linesBetween } from "../../money/ledger/ledger.ts";
import { receiptPagesBetween } from "../../money/receipts/receipt_pages.ts";
import {
  readChain,
  readCheckpoint,
  type SealedCheckpoint,
} from "../verify/days/checkpoint_chain.ts";
import { readKeptBalances } from "../verify/days/kept_balances.ts";
import type { DayContent } from "../verify/days/day_digests.ts";
import { compareSealedDays } from "../verify/sealed_days.ts";
import { type BackedUpDay, maxBackupDays } from "./backup_records.ts";

/**
 * Milliseconds after the end of a day before it gets a file. It is sealed two hours after its end; whatever is settled
 * even later is found by a verification in between, and in no file yet.
 */
const fileDelayMs = dayMs;

/** Hexadecimal digits that tell two contents of one day apart: they differ by accident, and files are authentic. */
const contentDigits = 16;

async function contentOf(sealed: DayContent): Promise<string> {
  const { receipts, chargedMicroVnd, lines, ledgerMicroVnd, receiptHours, ledgerDigest } = sealed;
  const sums = [chargedMicroVnd.toString(), ledgerMicroVnd.toString()];
  const text = JSON.stringify([receipts, lines, sums, receiptHours, ledgerDigest]);
  return (await sha256Hex(text)).slice(0, contentDigits);
}

/** Days that are sealed. */
export interface SealedDays {
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  readonly nowMs: number;
}

/** The days that can have files. */
export interface ListedDays {
  /** In a row from the first day of the store whose receipts were not dropped. */
  readonly days: readonly BackedUpDay[];
  /** Why later sealed days are not among them; a line, if the chain of seals is broken. */
  readonly problem: string | undefined;
}

function mayHaveFile({ day }: SealedCheckpoint, nowMs: number): boolean {
  return vietnamDayStartMs(day) + dayMs + fileDelayMs <= nowMs;
}

async function backedUpDay(sealed: SealedCheckpoint): Promise<BackedUpDay> {
  return { day: sealed.day, content: await contentOf(sealed) };
}

/** Lists the days that can have files. */
export async function daysWithFiles(
  { kv, masterKeys, nowMs }: SealedDays,
): Promise<ListedDays> {
  const { checkpoints, problems } = await readChain(kv, masterKeys);
  const { kept } = await readKeptBalances(kv, masterKeys);
  const sealed = checkpoints.filter(({ day }) => kept === undefined || day >= kept.day)
    .slice(0, maxBackupDays).filter((one) => mayHaveFile(one, nowMs));
  return { days: await Promise.all(sealed.map(backedUpDay)), problem: problems[0] };
}

/** Selects everything but the rows of some days in a row. */
export function restSelectors(days: readonly BackedUpDay[]): readonly Deno.KvListSelector[] {
  const [first, last] = [days[0], days.at(-1)];
  const prefix: Deno.KvKey = [];
  if (first === undefined || last === undefined) return [{ prefix }];
  const fromMs = vietnamDayStartMs(first.day);
  const toMs = vietnamDayStartMs(last.day) + dayMs;
  const lines = linesBetween(fromMs, toMs);
  const receipts = receiptPagesBetween(fromMs, toMs);
  return [
    { prefix, end: lines.start },
    { start: lines.end, end: receipts.start },
    { prefix, start: receipts.end },
  ];
}

/** The rows of a day, once they were found to be those that were sealed. */
export interface SealedDayRows {
  readonly day: BackedUpDay;
  readonly rows: AsyncIterable<SnapshotRow>;
}

/**
 * Reads the rows of a day.
 *
 * @throws if it has no file, or its rows are not those that were sealed
 */
export async function sealedDayRows(
  { kv, masterKeys, nowMs }: SealedDays,
  day: string,
  slices: TimeSlices | undefined,
): Promise<SealedDayRows> {
  // The chain was proved when the days were listed; proving it again for each file takes longer each day.
  const sealed = await readCheckpoint(kv, masterKeys, day);
  if (typeof sealed === "string") throw new GatewayError("invalid_request", sealed);
  if (!mayHaveFile(sealed, nowMs)) {
    throw new GatewayError("invalid_request", `${day} ended a short time ago`);
  }
  const [problem] = await compareSealedDays(kv, [sealed], slices);
  if (problem !== undefined) throw new GatewayError("invalid_request", problem.detail);
  return { day: await backedUpDay(sealed), rows: rowsOfDay(kv, day, slices) };
}

async function* rowsOfDay(
  kv: KeyValueStore,
  day: string,
  slices: TimeSlices | undefined,
): AsyncGenerator<SnapshotRow> {
  const fromMs = vietnamDayStartMs(day);
  for (const selector of [linesBetween, receiptPagesBetween]) {
    const rows = wholeKind<unknown>(kv, selector(fromMs, fromMs + dayMs), slices);
    for await (const row of rows) yield snapshotRowOf(row);
  }
}
