/** Computes what became of the credit of a campaign, for operators. */
import type { Campaign } from "../../../core/trade/credits/campaign.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { grantsOfCampaignPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../engine/store/whole_kind.ts";
import type { Grant } from "../balances/grant_book.ts";
import { readPots } from "../balances/pots_now.ts";

/** The newest grants that are looked at: those of which something may be left cost a few reads each. */
const readGrants = 300;

/** Accounts whose pots are read at once. */
const accountsAtOnce = 16;

/** What became of the newest grants. */
export interface CampaignFigures {
  /** Grants that the sums below are about. */
  readonly read: number;
  readonly givenMicroVnd: bigint;
  readonly spentMicroVnd: bigint;
  readonly expiredMicroVnd: bigint;
  readonly leftMicroVnd: bigint;
  /** The newest first. */
  readonly newest: readonly GrantFigures[];
}

/** What became of one grant. */
export interface GrantFigures {
  readonly grant: Grant;
  readonly leftMicroVnd: bigint;
}

/** Reads the newest grants of a campaign, with what is left of each. */
export async function readCampaignFigures(
  kv: KeyValueStore,
  { id }: Pick<Campaign, "id">,
  totalOf: (accountId: AccountId) => Promise<bigint>,
): Promise<CampaignFigures> {
  const page = { limit: readGrants, batchSize: listBatchRows, reverse: true };
  const rows = kv.list<Grant>({ prefix: grantsOfCampaignPrefix(id) }, page);
  const grants = await Array.fromAsync(rows, ({ value }) => value);
  const open = new Set(
    grants.filter(({ closedAtMs }) => closedAtMs === undefined).map(({ accountId }) => accountId),
  );
  const left = new Map<string, bigint>();
  const accounts = [...open];
  for (let at = 0; at < accounts.length; at += accountsAtOnce) {
    const some = accounts.slice(at, at + accountsAtOnce);
    const pots = await Promise.all(some.map((accountId) => readPots(kv, accountId, totalOf)));
    for (const each of pots.flatMap((one) => one.grants)) left.set(each.grantId, each.leftMicroVnd);
  }
  const newest = grants.map((grant) => ({ grant, leftMicroVnd: left.get(grant.grantId) ?? 0n }));
  const sum = (amountOf: (one: GrantFigures) => bigint) =>
    newest.reduce((total, one) => total + amountOf(one), 0n);
  const givenMicroVnd = sum(({ grant }) => grant.amountMicroVnd);
  const expiredMicroVnd = sum(({ grant }) => grant.expiredMicroVnd);
  const leftMicroVnd = sum((one) => one.leftMicroVnd);
  const spentMicroVnd = givenMicroVnd - expiredMicroVnd - leftMicroVnd;
  return {
    read: grants.length,
    givenMicroVnd,
    spentMicroVnd,
    expiredMicroVnd,
    leftMicroVnd,
    newest,
  };
}
