/** Verifies the grant books of accounts: the pots of which something is left. */
import { totalOf } from "../../../../core/trade/credits/pots.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import {
  type Grant,
  type GrantBook,
  grantBook,
  worthByRows,
} from "../../../money/balances/grant_book.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import { grantExpiryKey, grantKey, ledgerPrefix } from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../../engine/store/whole_kind.ts";
import { readWallet } from "../../../money/balances/wallets.ts";

/** Readings of an account in use before it is left for the next verification. */
const bookAttempts = 5;

interface BookCheck {
  readonly accountId: AccountId;
  /** Compares the book with all that ever moved, too. */
  readonly isWhole: boolean;
}

/** Lists what is wrong with a book, by a reading during which neither it nor its wallet changed. */
export async function grantBookProblems(
  kv: KeyValueStore,
  first: Deno.KvEntryMaybe<unknown>,
  check: BookCheck,
): Promise<string[]> {
  const { accountId } = check;
  let entry = first;
  try {
    for (let attempt = 0; attempt < bookAttempts; attempt++) {
      const wallet = await readWallet(kv, accountId);
      const book = grantBook(entry);
      if (book === undefined) return [];
      const problems = await problemsOf(kv, book, await worthByRows(kv, wallet), check);
      if (problems.length === 0) return [];
      const now = await kv.get(entry.key);
      const isStill = now.versionstamp === entry.versionstamp &&
        (await readWallet(kv, accountId)).versionstamp === wallet.versionstamp;
      if (isStill) return problems;
      entry = now;
    }
    return [];
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [error.message];
  }
}

async function problemsOf(
  kv: KeyValueStore,
  book: GrantBook,
  { worthMicroVnd }: { readonly worthMicroVnd: bigint },
  { accountId, isWhole }: BookCheck,
): Promise<string[]> {
  const problems: string[] = [];
  if (totalOf(book) < worthMicroVnd) problems.push("the book has less than the wallet");
  if (book.grants.length === 0) problems.push("the book has no grant");
  if (book.ownMicroVnd < 0n) problems.push("the book owes, although credit is left");
  if (isWhole && totalOf(book) > await movedMicroVnd(kv, accountId)) {
    problems.push("the book has more than ever moved");
  }
  for (const { campaignId, grantId, amountMicroVnd, expiredMicroVnd, expiresAtMs } of book.grants) {
    const keys = [grantKey(campaignId, grantId)];
    if (expiresAtMs !== undefined) keys.push(grantExpiryKey(expiresAtMs, accountId, grantId));
    const [row, due] = await kv.getMany<(Grant | null)[]>(keys);
    const grant = row?.value ?? undefined;
    const isRight = grant?.accountId === accountId && grant.closedAtMs === undefined &&
      grant.amountMicroVnd === amountMicroVnd && grant.expiredMicroVnd === expiredMicroVnd &&
      grant.expiresAtMs === expiresAtMs;
    if (!isRight) problems.push(`the book and the grant ${grantId} disagree`);
    if (due?.versionstamp === null) problems.push(`the grant ${grantId} would never expire`);
  }
  return problems;
}

async function movedMicroVnd(kv: KeyValueStore, accountId: AccountId): Promise<bigint> {
  let sum = 0n;
  const page = { batchSize: listBatchRows };
  for await (const { value } of kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) }, page)) {
    sum += value.amountMicroVnd;
  }
  return sum;
}

/** Whether a book has a grant. */
export function isInBook(
  entry: Deno.KvEntryMaybe<unknown>,
  { grantId }: Pick<Grant, "grantId">,
): boolean {
  try {
    return grantBook(entry)?.grants.some((one) => one.grantId === grantId) === true;
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    // A damaged book is reported by itself.
    return true;
  }
}
