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
import type { Grant } from "../../../money/balances/grant_book.ts";
import type { Voucher } from "../../../money/credits/vouchers.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import { isLedgerLine, linesByTime } from "../../../money/ledger/lines_by_time.ts";
import {
  accountOfKey,
  campaignKey,
  campaignsPrefix,
  grantBookKey,
  grantBooksPrefix,
  grantCountsOfPrefix,
  grantKey,
  grantsOfCampaignPrefix,
  ledgerKey,
  vouchersPrefix,
} from "../../../engine/schema/keys.ts";
import { keysPerRead, type KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { wholeKind } from "../../../engine/store/whole_kind.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import type { Problem } from "./verify_account.ts";
import { grantBookProblems, isInBook } from "./verify_grant_books.ts";

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
    for (const some of groupsOf(recent, keysPerRead)) {
      const keys = some.map(({ accountId, grantId }) => ledgerKey(accountId, grantId));
      const lines = await this.#kv.getMany<(LedgerEntry | null)[]>(keys);
      some.forEach((grant, at) => {
        if (!isLineOf(lines[at]?.value ?? undefined, grant)) {
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
    for (const some of groupsOf(open, keysPerRead)) {
      const keys = some.map(({ accountId }) => grantBookKey(accountId));
      const books = await this.#kv.getMany<unknown[]>(keys);
      for (const [at, grant] of some.entries()) {
        const entry = books[at];
        if (entry === undefined || isInBook(entry, grant)) continue;
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
      const grants = await this.#kv.getMany<(Grant | null)[]>(keys);
      lines.forEach((line, at) => {
        const grant = grants[at]?.value ?? undefined;
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
      if (lines.length >= keysPerRead) await check();
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
