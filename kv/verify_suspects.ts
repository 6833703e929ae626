/** The second look at accounts that looked wrong, or were in use, while the store was scanned. */
import { InvariantError } from "../core/assert.ts";
import type { AccountId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import { type AccountCheckOptions, type Problem, verifyAccount } from "./verify_account.ts";
import { Scan, type Tally } from "./verify_scan.ts";

/** Accounts by what the last scan saw of them. */
export type Suspects = ReadonlyMap<AccountId, Tally>;

interface SecondLook {
  readonly problems: Problem[];
  /** Accounts that were in use all the time. */
  readonly moving: Suspects;
}

/**
 * Checks accounts one by one, where a reading counts only if nothing moved. Receipts that no index row and no batch
 * names are seen by a scan alone: those accounts share one more.
 */
async function checkSuspects(
  kv: Deno.Kv,
  suspects: Suspects,
  check: AccountCheckOptions,
): Promise<SecondLook> {
  const problems: Problem[] = [];
  const moving = new Map<AccountId, Tally>();
  const doubtful = new Map<AccountId, Tally>();
  for (const [accountId, seen] of suspects) {
    const found = await exactProblems(kv, accountId, check);
    await check.slices?.rest();
    if (found === "moving") {
      moving.set(accountId, seen);
      continue;
    }
    problems.push(...found);
    if (seen.receiptsPrint !== seen.indexPrint) doubtful.set(accountId, seen);
  }
  if (doubtful.size === 0) return { problems, moving };
  const scan = new Scan(kv, (accountId) => doubtful.has(accountId), check.slices);
  await scan.run();
  for (const [accountId, seen] of doubtful) {
    const now = scan.tally(accountId);
    if (now.receiptsPrint === now.indexPrint) continue;
    if (now.receiptsPrint !== seen.receiptsPrint) moving.set(accountId, now);
    else problems.push({ accountId, kind: "index", detail: "receipts and index differ" });
  }
  return { problems, moving };
}

async function exactProblems(
  kv: Deno.Kv,
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

/** Checks them, and those in use a few times more, with pauses. */
export async function checkUntilRest(
  kv: Deno.Kv,
  suspects: Suspects,
  { pause, ...check }: AccountCheckOptions & {
    readonly pause: (durationMs: number) => Promise<void>;
  },
): Promise<SecondLook> {
  let { problems, moving } = await checkSuspects(kv, suspects, check);
  for (const durationMs of limits.verifyRestPausesMs) {
    if (moving.size === 0) break;
    await pause(durationMs);
    const again = await checkSuspects(kv, moving, check);
    problems = [...problems, ...again.problems];
    moving = again.moving;
  }
  return { problems, moving };
}
