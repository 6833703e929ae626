/**
 * Reads the copies of all ledger lines in order of time. An earlier release wrote none; they are added once, when the
 * whole ledger is verified.
 */
import { beforeIdsOf, idTimeMs } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { ledgerByTimeKey, ledgerByTimePrefix, ledgersPrefix } from "../../engine/schema/keys.ts";
import { keysPerRead, type KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/whole_kind.ts";
import type { LedgerEntry } from "./ledger.ts";

/** Reads under way at once while copies are added: each waits for one round trip. */
const readsAtOnce = 16;

/** Whether a row has what identifies a ledger line and its money. */
export function isLedgerLine(value: unknown): value is LedgerEntry {
  return typeof value === "object" && value !== null && "ledgerId" in value &&
    "accountId" in value && "amountMicroVnd" in value && "operationId" in value &&
    typeof value.ledgerId === "string" && typeof value.accountId === "string" &&
    typeof value.amountMicroVnd === "bigint" && typeof value.operationId === "string";
}

/** Lists the copies from a moment on, by the time of their ids; all if there is no moment. */
export async function* linesByTime(
  kv: KeyValueStore,
  fromMs: number | undefined,
  slices: TimeSlices | undefined,
): AsyncGenerator<Deno.KvEntry<unknown>> {
  const prefix = ledgerByTimePrefix();
  const selector = fromMs === undefined
    ? { prefix }
    : { prefix, start: ledgerByTimeKey(beforeIdsOf("ledger", fromMs)) };
  yield* wholeKind(kv, selector, slices);
}

/**
 * Adds the copies that are missing of lines from a moment on: those before are sealed, and must not change.
 */
export async function completeLinesByTime(
  kv: KeyValueStore,
  fromMs: number,
  slices: TimeSlices | undefined,
): Promise<void> {
  let waiting: LedgerEntry[] = [];
  const flush = async () => {
    const groups = Array.from(
      { length: Math.ceil(waiting.length / keysPerRead) },
      (_, at) => waiting.slice(at * keysPerRead, (at + 1) * keysPerRead),
    );
    waiting = [];
    await Promise.all(groups.map((group) => addCopies(kv, group)));
  };
  for await (const { value } of wholeKind(kv, { prefix: ledgersPrefix() }, slices)) {
    if (!isLedgerLine(value) || idTimeMs("ledger", value.ledgerId) < fromMs) continue;
    waiting.push(value);
    if (waiting.length >= keysPerRead * readsAtOnce) await flush();
  }
  await flush();
}

async function addCopies(kv: KeyValueStore, lines: readonly LedgerEntry[]): Promise<void> {
  const keys = lines.map(({ ledgerId }) => ledgerByTimeKey(ledgerId));
  const rows = await kv.getMany<unknown[]>(keys);
  const op = kv.atomic();
  let isWhole = true;
  rows.forEach((row, at) => {
    if (row.versionstamp !== null) return;
    isWhole = false;
    op.check(row).set(row.key, lines[at]);
  });
  // A failed check means that another process has just added them.
  if (!isWhole) await op.commit();
}
