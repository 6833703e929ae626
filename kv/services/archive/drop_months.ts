/**
 * Drops the receipts of whole months from the archive. Their sums by day, the seals of their days and every ledger line
 * stay, and so do the balances with which the first month that stays begins: verification starts from these.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { newestOnReceiptPage } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import type { ArchivedMonth, ReceiptArchive } from "../../money/archive/receipt_archive.ts";
import { addAuditLine, commandLine } from "../../people/audit/operator_audit.ts";
import { isLedgerLine, linesBetween } from "../../money/ledger/ledger.ts";
import { receiptPagesBetween } from "../../money/receipts/receipt_pages.ts";
import { nextDay, readChain, type SealedCheckpoint } from "../verify/days/checkpoint_chain.ts";
import { DayBalancePages } from "../verify/days/day_balances.ts";
import {
  type KeptBalances,
  openKeptBalances,
  readKeptBalances,
  writeKeptBalances,
} from "../verify/days/kept_balances.ts";
import type { StoreParts } from "../../money/archive/receipt_archive.ts";

/** Months to drop. */
export interface DropOptions {
  readonly masterKeys: MasterKeys;
  /** The first month whose receipts stay, such as `2026-09`. */
  readonly keptFrom: string;
  readonly nowMs: number;
  readonly slices?: TimeSlices | undefined;
}

/** Rows that would go, or why none can. */
export type DropPlan =
  | { readonly ok: true; readonly months: readonly ArchivedMonth[] }
  | { readonly ok: false; readonly problem: string };

/** The day whose closing balances are kept: the first one with receipts, since a call may end in the day after its own. */
const keptDayOf = (keptFrom: string): string => `${keptFrom}-01`;

/** Says which months would go. They can once every day of them, and the first that stays, is sealed and archived. */
export async function planDrop(
  { living, archive }: StoreParts,
  { masterKeys, keptFrom }: DropOptions,
): Promise<DropPlan> {
  const refused = (problem: string): DropPlan => ({ ok: false, problem });
  const { checkpoints, problems } = await readChain(living, masterKeys);
  if (problems[0] !== undefined) return refused(problems[0]);
  const months = (await archive.months())
    .filter(({ month, receipts }) => month < keptFrom && receipts > 0);
  if (months.length === 0) return { ok: true, months };
  const keptDay = keptDayOf(keptFrom);
  if (!checkpoints.some(({ day }) => day === keptDay)) {
    return refused(`${keptDay}, the first day that stays, is not sealed`);
  }
  const pages = receiptPagesBetween(0, vietnamDayStartMs(nextDay(keptDay)));
  for await (const { key } of living.list(pages, { limit: 1 })) {
    return refused(`receipts up to ${keptDay} are still in the store: ${newestOnReceiptPage(key)}`);
  }
  return { ok: true, months };
}

/**
 * Drops them: first it keeps the balances, then it drops one month after the other. What is interrupted goes on with the
 * next call.
 */
export async function dropMonths(parts: StoreParts, options: DropOptions): Promise<DropPlan> {
  const plan = await planDrop(parts, options);
  if (!plan.ok || plan.months.length === 0) return plan;
  const problem = await keepBalances(parts, options, plan.months);
  if (problem !== undefined) return { ok: false, problem };
  for (const { month } of plan.months) await parts.archive.dropMonth(month);
  return plan;
}

/** Keeps the balances at the end of the first day that stays. Returns why they cannot be believed. */
async function keepBalances(
  { living, archive }: StoreParts,
  { masterKeys, keptFrom, nowMs, slices }: DropOptions,
  months: readonly ArchivedMonth[],
): Promise<string | undefined> {
  const keptDay = keptDayOf(keptFrom);
  const { kept, problem } = await readKeptBalances(living, masterKeys);
  if (problem !== undefined) return problem;
  if (kept !== undefined && kept.day >= keptDay) return undefined;
  const { checkpoints } = await readChain(living, masterKeys);
  const days = checkpoints.filter(({ day }) =>
    day <= keptDay && (kept === undefined || day > kept.day)
  );
  const movements = await movementsOf({ living, archive }, { days, kept, slices });
  const wrong = movements.problem ?? await notSealed(living, kept, movements.balances);
  if (wrong !== undefined) return wrong;
  const pages = new DayBalancePages();
  const accounts = [...movements.balances].sort(([one], [other]) => ascending(one, other));
  for (const [accountId, balanceMicroVnd] of accounts) pages.add({ accountId, balanceMicroVnd });
  await writeKeptBalances(living, masterKeys, {
    day: keptDay,
    former: kept?.day,
    pages,
    attach: (op) =>
      addAuditLine(op, commandLine, {
        act: "receipts_dropped",
        subject: keptFrom,
        detail: months.map(({ month, receipts }) => `${month}: ${receipts} receipts`).join(", "),
        atMs: nowMs,
      }),
  });
  return undefined;
}

/** Adds the balances that were kept before, which have to be those that were sealed. */
async function notSealed(
  living: KeyValueStore,
  kept: KeptBalances | undefined,
  balances: Map<AccountId, bigint>,
): Promise<string | undefined> {
  if (kept === undefined) return undefined;
  const opening = openKeptBalances(living, kept);
  for await (const { accountId, balanceMicroVnd } of opening.read()) {
    balances.set(accountId, (balances.get(accountId) ?? 0n) + balanceMicroVnd);
  }
  return opening.isRight === true
    ? undefined
    : `the kept balances of ${kept.day} are not those that were sealed`;
}

interface Movements {
  readonly balances: Map<AccountId, bigint>;
  readonly problem: string | undefined;
}

/** Sums ledger lines and charges of days by account, and compares both with what the days were sealed with. */
async function movementsOf(
  { living, archive }: { readonly living: KeyValueStore; readonly archive: ReceiptArchive },
  { days, kept, slices }: {
    readonly days: readonly SealedCheckpoint[];
    readonly kept: KeptBalances | undefined;
    readonly slices: TimeSlices | undefined;
  },
): Promise<Movements> {
  const balances = new Map<AccountId, bigint>();
  const add = (accountId: AccountId, microVnd: bigint) =>
    balances.set(accountId, (balances.get(accountId) ?? 0n) + microVnd);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return { balances, problem: "no day is sealed" };
  let ledgerMicroVnd = 0n;
  const fromMs = kept === undefined ? 0 : vietnamDayStartMs(first.day);
  const lines = linesBetween(fromMs, vietnamDayStartMs(last.day) + dayMs);
  for await (const { value } of wholeKind<unknown>(living, lines, slices)) {
    if (!isLedgerLine(value)) return { balances, problem: "a line of the ledger cannot be read" };
    ledgerMicroVnd += value.amountMicroVnd;
    add(value.accountId, value.amountMicroVnd);
  }
  let chargedMicroVnd = 0n;
  for (const charges of await archive.chargesOf(first.day, last.day)) {
    chargedMicroVnd += charges.chargedMicroVnd;
    add(charges.accountId, -charges.chargedMicroVnd);
  }
  const sealed = (amount: (checkpoint: SealedCheckpoint) => bigint) =>
    days.reduce((sum, checkpoint) => sum + amount(checkpoint), 0n);
  const differs = (what: string, found: bigint, wanted: bigint) =>
    found === wanted ? undefined : `${what} from ${first.day} to ${last.day} are ` +
      `${formatVnd(found)} VND, sealed were ${formatVnd(wanted)} VND`;
  const problem =
    differs("the ledger lines", ledgerMicroVnd, sealed((day) => day.ledgerMicroVnd)) ??
      differs("the charges", chargedMicroVnd, sealed((day) => day.chargedMicroVnd));
  return { balances, problem };
}
