/**
 * Takes back what is left of credit that has expired. Running calls may still spend what is leased for them:
 * the first line takes what would be left if they spent all of it, a second one takes the rest once nothing
 * of it is leased any more. Each line is a movement of the ledger with its own operation id, in a commit that
 * checks the wallet as it was read; so nothing is taken twice, and never the customer's own money.
 */
import type { Campaign } from "../../../core/trade/credits/campaign.ts";
import { bringForward, reclaimable } from "../../../core/trade/credits/pots.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { LedgerId } from "../../../core/lib/ids/ids.ts";
import { debit } from "../ledger/ledger.ts";
import {
  campaignKey,
  expiringGrantOf,
  grantBookKey,
  grantExpiryBefore,
  walletKey,
} from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { readWallet, type WalletRow } from "../balances/wallets.ts";
import {
  type BookGrant,
  closeSpentGrants,
  grantBook,
  worthByRows,
} from "../balances/grant_book.ts";

/** Most expired grants of one run; the rest waits for the next, a minute later. */
const maxPerRun = 10_000;

/** Attempts of a check-and-set on one grant: running calls and other instances compete. */
const expireAttempts = 16;

/** Fate of the grants that have expired. */
export interface ExpiryRun {
  /** Lines written. */
  readonly lines: number;
  /** Grants of which a part waits for running calls, or whose wallet kept changing. */
  readonly waiting: number;
}

/** Takes back what is left of all grants that expired before a moment. */
export async function expireCredit(kv: KeyValueStore, nowMs: number): Promise<ExpiryRun> {
  const run = { lines: 0, waiting: 0 };
  const page = { limit: maxPerRun, batchSize: listBatchRows };
  for await (const due of kv.list(grantExpiryBefore(nowMs), page)) {
    const outcome = await compareAndSet(() => tryToExpire(kv, due, nowMs), {
      attempts: expireAttempts,
    });
    if (outcome === "conflict" || outcome.done === "waiting") run.waiting++;
    else if (outcome.done === "line") run.lines++;
  }
  return run;
}

type Attempt = { readonly done: "line" | "waiting" | "closed" } | "again";

async function tryToExpire(
  kv: KeyValueStore,
  due: Deno.KvEntry<unknown>,
  nowMs: number,
): Promise<Attempt> {
  const { accountId, grantId } = expiringGrantOf(due.key);
  const wallet = await readWallet(kv, accountId);
  const stored = grantBook(await kv.get(grantBookKey(accountId)));
  const { worthMicroVnd, leasedMicroVnd } = await worthByRows(kv, wallet);
  const book = stored && bringForward(stored, worthMicroVnd);
  const grant = book?.grants.find((one) => one.grantId === grantId);
  if (book === undefined || grant === undefined) {
    // Closed by a movement since the list was read.
    await kv.atomic().check(due).delete(due.key).commit();
    return { done: "closed" };
  }
  if (grant.leftMicroVnd === 0n) {
    return await closeSpentGrants(kv, wallet, book, nowMs) ? { done: "closed" } : "again";
  }
  const amountMicroVnd = reclaimable(book, grantId, leasedMicroVnd);
  const isFirst = grant.expiredMicroVnd === 0n;
  const isWhole = amountMicroVnd === grant.leftMicroVnd;
  if (amountMicroVnd === 0n || (!isFirst && !isWhole)) return { done: "waiting" };
  return await takeBack(kv, { wallet, grant, amountMicroVnd, nowMs });
}

/** Returns the operation id of a line: the first one of a grant, or the one that takes its rest. */
function expiryOperationId(grantId: LedgerId, isFirst: boolean): string {
  return isFirst ? `expiry:${grantId}` : `expiry:${grantId}:rest`;
}

async function takeBack(
  kv: KeyValueStore,
  { wallet, grant, amountMicroVnd, nowMs }: {
    readonly wallet: WalletRow;
    readonly grant: BookGrant;
    readonly amountMicroVnd: bigint;
    readonly nowMs: number;
  },
): Promise<Attempt> {
  const { grantId, campaignId, name, expiredMicroVnd } = grant;
  const campaign = await kv.get<Campaign>(campaignKey(campaignId));
  invariant(campaign.value !== null, `the campaign ${campaignId} of a grant is there`);
  const changed: Campaign = {
    ...campaign.value,
    expiredMicroVnd: campaign.value.expiredMicroVnd + amountMicroVnd,
  };
  const { accountId, versionstamp } = wallet;
  const result = await debit(kv, {
    accountId,
    amountMicroVnd,
    kind: "credit_expiry",
    operationId: expiryOperationId(grantId, expiredMicroVnd === 0n),
    reason: name,
    atMs: nowMs,
    grant: { campaignId, grantId },
    attach: (op) =>
      void op.check(campaign, { key: walletKey(accountId), versionstamp })
        .set(campaign.key, changed),
  });
  switch (result.status) {
    case "applied":
    case "duplicate":
      return { done: "line" };
    case "mismatch":
      // An answer was lost, and another process has taken another amount since.
      return { done: "waiting" };
    case "insufficient":
    case "conflict":
      return "again";
  }
}
