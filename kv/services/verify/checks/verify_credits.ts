/**
 * Verifies credit that operators gave:
 *
 * - a campaign has given the sum and the number of its grants, and taken back what they say, within its
 *   bounds and those of each account;
 * - each grant is the one that its line of the ledger made, and each such line has its grant;
 * - a grant of which something is left is in the book of its account, any other is closed;
 * - a book has no less than its wallet and leases, and no more than ever moved into the account;
 * - a voucher code was used as often as grants name it, and no more often than it may be.
 *
 * Beside a live service: a campaign changes in the commits of its grants, so what is read between two
 * readings of its row lies between what the two say. What looks wrong otherwise is read again in the order
 * in which it could have changed.
 */
import type { Campaign } from "../../../../core/trade/credits/campaign.ts";
import { type AccountId, beforeIdsOf, type VoucherId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import {
  type Grant,
  type GrantBook,
  grantBook,
  worthByRows,
} from "../../../money/balances/grant_book.ts";
import type { Voucher } from "../../../money/credits/vouchers.ts";
import { isLedgerLine, type LedgerEntry, linesByTime } from "../../../money/ledger/ledger.ts";
import {
  accountOfKey,
  campaignKey,
  campaignsPrefix,
  grantBookKey,
  grantBooksPrefix,
  grantCountsOfPrefix,
  grantExpiryKey,
  grantKey,
  grantsOfCampaignPrefix,
  ledgerKey,
  ledgerPrefix,
  vouchersPrefix,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import {
  keysAtOnce,
  listBatchRows,
  rowsOfKeys,
  valuesOfKeys,
  wholeKind,
} from "../../../engine/store/read_ahead.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import type { Problem } from "./problems.ts";
import { totalOf } from "../../../../core/trade/credits/pots.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { readWallet } from "../../../money/balances/wallets.ts";

// Verifies the grant books of accounts: the pots of which something is left.

/** Readings of an account in use before it is left for the next verification. */
const bookAttempts = 5;

interface BookCheck {
  readonly accountId: AccountId;
  /** Compares the book with all that ever moved, too. */
  readonly isWhole: boolean;
}

/** Lists what is wrong with a book, by a reading during which neither it nor its wallet changed. */
async function grantBookProblems(
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
function isInBook(
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

/** Grants that are compared with their lines and books at a time. */
const grantsAtOnce = 500;

export interface CreditOptions {
  /** Lines and grants from this moment on are compared with each other; all of them if absent. */
  readonly fromMs: number | undefined;
  readonly slices: TimeSlices | undefined;
}

/** Lists what is wrong with credit. Costs the rows of all grants; nothing where no credit was given. */
export async function creditProblems(
  kv: KeyValueStore,
  options: CreditOptions,
): Promise<Problem[]> {
  const check = new CreditCheck(kv, options);
  await check.run();
  return check.problems;
}

class CreditCheck {
  readonly problems: Problem[] = [];
  readonly #kv: KeyValueStore;
  readonly #options: CreditOptions;
  /** Grants that name a code. As many as codes were used. */
  readonly #uses = new Map<VoucherId, number>();

  constructor(kv: KeyValueStore, options: CreditOptions) {
    this.#kv = kv;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { fromMs, slices } = this.#options;
    let campaigns = 0;
    for await (
      const { value } of wholeKind<Campaign>(this.#kv, { prefix: campaignsPrefix() }, slices)
    ) {
      campaigns++;
      await this.#checkCampaign(value);
    }
    if (campaigns > 0 || fromMs === undefined) await this.#checkLines();
    for await (
      const entry of wholeKind<unknown>(this.#kv, { prefix: grantBooksPrefix() }, slices)
    ) {
      const accountId = accountOfKey(entry.key);
      const isWhole = fromMs === undefined;
      for (const detail of await grantBookProblems(this.#kv, entry, { accountId, isWhole })) {
        this.#found(detail, accountId);
      }
    }
    if (campaigns > 0) await this.#checkVouchers();
  }

  #found(detail: string, accountId?: AccountId): void {
    this.problems.push({ ...(accountId !== undefined && { accountId }), kind: "credit", detail });
  }

  async #checkCampaign(first: Campaign): Promise<void> {
    const { id, budgetMicroVnd, maxGrants = Infinity, perAccount } = first;
    const { slices } = this.#options;
    const sum = { givenMicroVnd: 0n, grants: 0, expiredMicroVnd: 0n, counted: 0 };
    let group: Grant[] = [];
    const selector = { prefix: grantsOfCampaignPrefix(id) };
    for await (const { value } of wholeKind<Grant>(this.#kv, selector, slices)) {
      sum.givenMicroVnd += value.amountMicroVnd;
      sum.expiredMicroVnd += value.expiredMicroVnd;
      sum.grants++;
      if (value.voucherId !== undefined) {
        this.#uses.set(value.voucherId, (this.#uses.get(value.voucherId) ?? 0) + 1);
      }
      group.push(value);
      if (group.length < grantsAtOnce) continue;
      await this.#checkGrants(group);
      group = [];
    }
    await this.#checkGrants(group);
    const counts = { prefix: grantCountsOfPrefix(id) };
    for await (const { value } of wholeKind<number>(this.#kv, counts, slices)) {
      sum.counted += value;
      if (value > perAccount) this.#found(`${id} has given ${value} times to one account`);
    }
    const last = (await this.#kv.get<Campaign>(campaignKey(id))).value ?? first;
    for (const what of ["givenMicroVnd", "grants", "expiredMicroVnd"] as const) {
      if (sum[what] < first[what] || sum[what] > last[what]) {
        this.#found(`${id}: its grants and its ${what} disagree`);
      }
    }
    if (sum.counted < first.grants || sum.counted > last.grants) {
      this.#found(`${id}: its grants and their numbers per account disagree`);
    }
    if (last.grants > maxGrants || last.givenMicroVnd > (budgetMicroVnd ?? last.givenMicroVnd)) {
      this.#found(`${id} has given more than its budget`);
    }
    if (last.expiredMicroVnd > last.givenMicroVnd) {
      this.#found(`${id} has taken back more than it gave`);
    }
  }

  /** Compares grants with their lines, and open ones with the books of their accounts. */
  async #checkGrants(grants: readonly Grant[]): Promise<void> {
    const { fromMs } = this.#options;
    const startId = fromMs === undefined ? "" : beforeIdsOf("ledger", fromMs);
    const recent = grants.filter(({ grantId }) => grantId >= startId);
    for (const some of groupsOf(recent, keysAtOnce)) {
      const keys = some.map(({ accountId, grantId }) => ledgerKey(accountId, grantId));
      const lines = await valuesOfKeys<LedgerEntry>(this.#kv, keys);
      some.forEach((grant, at) => {
        if (!isLineOf(lines[at], grant)) {
          this.#found(`the grant ${grant.grantId} is not what its line says`, grant.accountId);
        }
      });
    }
    for (const grant of grants) {
      if (grant.expiredMicroVnd < 0n || grant.expiredMicroVnd > grant.amountMicroVnd) {
        this.#found(`more of the grant ${grant.grantId} expired than was given`, grant.accountId);
      }
    }
    const open = grants.filter(({ closedAtMs }) => closedAtMs === undefined);
    for (const some of groupsOf(open, keysAtOnce)) {
      const keys = some.map(({ accountId }) => grantBookKey(accountId));
      const books = await rowsOfKeys(this.#kv, keys);
      for (const [at, grant] of some.entries()) {
        const entry = books[at];
        if (entry !== undefined && isInBook(entry, grant)) continue;
        // Closed since it was read: its row and the book change in one commit.
        const { value } = await this.#kv.get<Grant>(grantKey(grant.campaignId, grant.grantId));
        if (value?.closedAtMs !== undefined || isInBook(await this.#bookOf(grant), grant)) continue;
        this.#found(`the open grant ${grant.grantId} is not in the book`, grant.accountId);
      }
    }
  }

  async #bookOf({ accountId }: Grant): Promise<Deno.KvEntryMaybe<unknown>> {
    return await this.#kv.get(grantBookKey(accountId));
  }

  /** Compares lines that gave credit with their grants. */
  async #checkLines(): Promise<void> {
    const { fromMs, slices } = this.#options;
    let lines: LedgerEntry[] = [];
    const check = async () => {
      const keys = lines.map(({ ledgerId, grant }) =>
        grantKey(grant!.campaignId, grant!.grantId ?? ledgerId)
      );
      const grants = await valuesOfKeys<Grant>(this.#kv, keys);
      lines.forEach((line, at) => {
        const grant = grants[at];
        const isRight = grant !== undefined && grant.accountId === line.accountId &&
          (line.grant?.grantId === undefined
            ? isLineOf(line, grant)
            : line.amountMicroVnd < 0n && -line.amountMicroVnd <= grant.expiredMicroVnd);
        if (!isRight) {
          this.#found(`the line ${line.ledgerId} is not what its grant says`, line.accountId);
        }
      });
      lines = [];
    };
    for await (const { value } of linesByTime(this.#kv, fromMs, slices)) {
      if (!isLedgerLine(value) || value.grant === undefined) continue;
      lines.push(value);
      if (lines.length >= keysAtOnce) await check();
    }
    if (lines.length > 0) await check();
  }

  async #checkVouchers(): Promise<void> {
    const { slices } = this.#options;
    for await (
      const { value } of wholeKind<Voucher>(this.#kv, { prefix: vouchersPrefix() }, slices)
    ) {
      const { voucherId, uses, maxUses } = value;
      const seen = this.#uses.get(voucherId) ?? 0;
      this.#uses.delete(voucherId);
      if (uses > maxUses) this.#found(`${voucherId} was used more often than it may be`);
      const isRight = seen === uses || (seen < uses && await this.#countUses(value) >= uses);
      if (!isRight) this.#found(`the uses of ${voucherId} and its grants disagree`);
    }
    for (const voucherId of this.#uses.keys()) {
      this.#found(`grants name the code ${voucherId}, which does not exist`);
    }
  }

  /** Counts again: a code may have been used after the grants were read. */
  async #countUses({ voucherId, campaignId }: Voucher): Promise<number> {
    let uses = 0;
    const selector = { prefix: grantsOfCampaignPrefix(campaignId) };
    for await (const { value } of wholeKind<Grant>(this.#kv, selector, this.#options.slices)) {
      if (value.voucherId === voucherId) uses++;
    }
    return uses;
  }
}

function isLineOf(line: LedgerEntry | undefined, grant: Grant): boolean {
  return line !== undefined && line.ledgerId === grant.grantId &&
    line.accountId === grant.accountId && line.amountMicroVnd === grant.amountMicroVnd &&
    line.grant?.campaignId === grant.campaignId && line.grant.grantId === undefined &&
    line.grant.voucherId === grant.voucherId && line.grant.expiresAtMs === grant.expiresAtMs;
}
