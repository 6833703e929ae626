/** Checks accounts again that looked wrong, or were in use, during the scan. */
import { InvariantError } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type AccountCheckOptions, type Problem, verifyAccount } from "./checks/verify_account.ts";
import {
  type AccountPrints,
  isIndexed,
  rereadRecent,
  type ScanOptions,
} from "./checks/verify_index.ts";
import { Scan } from "./verify_scan.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Milliseconds of the pauses before further readings of accounts in use, which may be idle by then.
 */
const verifyRestPausesMs = [200, 1_000, 3_000] as const;

/** Accounts with the hash sums of their receipts and index. */
export type Suspects = ReadonlyMap<AccountId, AccountPrints>;

export type SecondLookOptions = AccountCheckOptions & ScanOptions;

interface SecondLook {
  readonly problems: Problem[];
  /** Accounts that kept changing. */
  readonly moving: Suspects;
}

/**
 * Checks accounts one by one; a reading counts only if nothing changed during it. Receipts that
 * neither the index nor a batch names are found only by reading the receipts of all accounts, so
 * accounts that may have some share one such reading.
 */
async function checkSuspects(
  kv: KeyValueStore,
  suspects: Suspects,
  check: SecondLookOptions,
): Promise<SecondLook> {
  const problems: Problem[] = [];
  const moving = new Map<AccountId, AccountPrints>();
  const doubtful = new Map<AccountId, AccountPrints>();
  for (const [accountId, seen] of suspects) {
    const found = await exactProblems(kv, accountId, check);
    await check.slices?.rest();
    if (found === "moving") {
      moving.set(accountId, seen);
      continue;
    }
    problems.push(...found);
    if (!isIndexed(seen)) doubtful.set(accountId, seen);
  }
  if (doubtful.size === 0) return { problems, moving };
  const prints = await readPrintsAgain(kv, doubtful, check);
  for (const [accountId, seen] of doubtful) {
    const now = prints.of(accountId);
    if (isIndexed(now)) continue;
    const isMoving = now.recent.receipts !== seen.recent.receipts ||
      now.old.receipts !== seen.old.receipts;
    if (isMoving) moving.set(accountId, now);
    else problems.push({ accountId, kind: "index", detail: "receipts and index differ" });
  }
  return { problems, moving };
}

/** Reads the hash sums again, also for older calls if those disagree, which takes a full scan. */
async function readPrintsAgain(kv: KeyValueStore, doubtful: Suspects, check: SecondLookOptions) {
  if ([...doubtful.values()].every(({ old }) => old.receipts === old.index)) {
    return await rereadRecent(kv, doubtful, check);
  }
  const scan = new Scan(kv, (accountId) => doubtful.has(accountId), check);
  await scan.run();
  return scan.prints;
}

async function exactProblems(
  kv: KeyValueStore,
  accountId: AccountId,
  check: AccountCheckOptions,
): Promise<Problem[] | "moving"> {
  try {
    return await verifyAccount(kv, accountId, check);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [{ accountId, kind: "row", detail: error.message }];
  }
}

/** Checks accounts, and repeats the check of those in use a few times, with pauses. */
export async function checkUntilRest(
  kv: KeyValueStore,
  suspects: Suspects,
  { pause, ...check }: SecondLookOptions & {
    readonly pause: (durationMs: number) => Promise<void>;
  },
): Promise<SecondLook> {
  let { problems, moving } = await checkSuspects(kv, suspects, check);
  for (const durationMs of verifyRestPausesMs) {
    if (moving.size === 0) break;
    await pause(durationMs);
    const again = await checkSuspects(kv, moving, check);
    problems = [...problems, ...again.problems];
    moving = again.moving;
  }
  return { problems, moving };
}
