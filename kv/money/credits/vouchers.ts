/**
 * Makes and redeems voucher codes. A code is stored only as a hash; it is shown once, when it is made. The
 * number of its uses changes in the commit that gives the credit.
 */
import {
  type Campaign,
  newVoucherCode,
  parseVoucherCode,
  printedVoucherCode,
  type VoucherCode,
} from "../../../core/trade/credits/campaign.ts";
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import { hashSecret } from "../../../core/people/accounts/secret_token.ts";
import { networkOf } from "../../../core/net/addresses/ip_address.ts";
import {
  type AccountId,
  type CampaignId,
  newId,
  type VoucherId,
} from "../../../core/lib/ids/ids.ts";
import { countTry, countWith, type RateRule } from "../../people/accounts/rate_limits.ts";
import { addAct, type Doer } from "../../people/audit/account_activity.ts";
import { addAuditLine } from "../../people/audit/operator_audit.ts";
import { campaignKey, voucherKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { CampaignAct } from "./campaigns.ts";
import { giveCredit, type GiveRefusal, type GiveResult } from "./grants.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/** Codes of one request: some 8 MB of rows, and a file that a mail can carry. */
export const maxCodesAtOnce = 10_000;

/** Uses of one code. */
export const maxUsesOfCode = 1_000_000;

/** Rows of one commit; the store takes 1,000. */
const codesPerCommit = 500;

/** Well-formed codes that do not exist, by account: a code that was copied wrong is not well-formed. */
const triesByAccount: RateRule = { name: "voucher_account", count: 20, windowMs: hourMs };

/** The same of one network, in which many accounts may be. */
const triesByNetwork: RateRule = { name: "voucher_network", count: 100, windowMs: hourMs };

/** The row of a code, under its hash. */
export interface Voucher {
  readonly voucherId: VoucherId;
  readonly campaignId: CampaignId;
  readonly madeAtMs: number;
  readonly uses: number;
  readonly maxUses: number;
}

function codeHash(code: VoucherCode): Promise<string> {
  return hashSecret("voucher", code);
}

/** The result of making codes. `missing`: there is no such campaign of vouchers. */
export type MadeVouchers = { readonly ok: true; readonly codes: readonly string[] } | {
  readonly ok: false;
  readonly why: "missing" | "count";
};

/**
 * Makes codes of a campaign, each for `maxUses` accounts. They are returned as they are printed, and cannot
 * be read again.
 */
export async function makeVouchers(
  kv: KeyValueStore,
  { campaignId, count, maxUses }: {
    readonly campaignId: CampaignId;
    readonly count: number;
    readonly maxUses: number;
  },
  { operator, nowMs }: CampaignAct,
): Promise<MadeVouchers> {
  const isNumber = (value: number, most: number) =>
    Number.isInteger(value) && value >= 1 && value <= most;
  if (!isNumber(count, maxCodesAtOnce) || !isNumber(maxUses, maxUsesOfCode)) {
    return { ok: false, why: "count" };
  }
  const { value: campaign } = await kv.get<Campaign>(campaignKey(campaignId));
  if (campaign?.kind !== "voucher") return { ok: false, why: "missing" };
  const codes: string[] = [];
  while (codes.length < count) {
    const op = kv.atomic();
    const before = codes.length;
    while (codes.length < count && codes.length - before < codesPerCommit) {
      const code = newVoucherCode((into) => crypto.getRandomValues(into));
      const voucherId = newId("voucher", nowMs);
      const voucher: Voucher = { voucherId, campaignId, madeAtMs: nowMs, uses: 0, maxUses };
      op.set(voucherKey(await codeHash(code)), voucher);
      codes.push(printedVoucherCode(code));
    }
    if (before === 0) {
      addAuditLine(op, operator, {
        act: "vouchers_made",
        subject: campaignId,
        detail: `${count} codes, ${maxUses} uses each: ${campaign.name}`,
        atMs: nowMs,
      });
    }
    await op.commit();
  }
  return { ok: true, codes };
}

/** Person who redeems a code, and from where. */
export interface Redemption {
  readonly accountId: AccountId;
  /** As it was typed. */
  readonly code: string;
  readonly clientAddress: string;
  readonly nowMs: number;
  readonly spendGranted: SpendGranted;
  /** Person who redeems, for the activity log. */
  readonly by?: Doer;
}

/**
 * Why a code was not redeemed, beside what {@linkcode GiveRefusal} says. `typo`: it is no code at all.
 * `too_fast`: too many tries.
 */
export type RedemptionRefusal = GiveRefusal | "typo" | "too_fast";

/** The result of a redemption. */
export type RedemptionResult =
  | Extract<GiveResult, { ok: true }>
  | { readonly ok: false; readonly why: RedemptionRefusal; readonly startsAtMs?: number };

/**
 * Redeems a code for an account, once. Sent again, it reports what it gave before.
 *
 * @throws if the store does not answer; calling again is safe
 */
export async function redeemVoucher(
  kv: KeyValueStore,
  { accountId, code: typed, clientAddress, nowMs, spendGranted, by }: Redemption,
): Promise<RedemptionResult> {
  const code = parseVoucherCode(typed);
  if (code === undefined) return { ok: false, why: "typo" };
  const tries = [[triesByAccount, accountId], [triesByNetwork, networkOf(clientAddress)]] as const;
  for (const [rule, subject] of tries) {
    if (await countWith(kv, rule, subject, nowMs) === undefined) {
      return { ok: false, why: "too_fast" };
    }
  }
  const key = voucherKey(await codeHash(code));
  const { value: voucher } = await kv.get<Voucher>(key);
  if (voucher === null) {
    // Only these are guesses; codes that exist are redeemed without a counter in between.
    for (const [rule, subject] of tries) await countTry(kv, rule, subject, nowMs);
    return { ok: false, why: "unknown" };
  }
  const { campaignId, voucherId } = voucher;
  const result = await giveCredit(kv, {
    campaignId,
    accountId,
    kind: "voucher",
    operationId: `voucher:${voucherId}:${accountId}`,
    nowMs,
    spendGranted,
    voucherId,
    amountOf: ({ gift }) => gift.kind === "amount" ? gift.amountMicroVnd : 0n,
    async prepare() {
      const use = await useOnce(kv, key);
      if (typeof use === "string") return use;
      return (op: AtomicWrite) => {
        use(op);
        addAct(op, accountId, "voucher_redeemed", { by, nowMs }, {
          subject: voucherId,
          after: { campaign: campaignId },
        });
      };
    },
  });
  if (result.ok || result.why !== "not_yet") return result;
  const { value: campaign } = await kv.get<Campaign>(campaignKey(campaignId));
  return { ...result, ...(campaign !== null && { startsAtMs: campaign.startsAtMs }) };
}

/** Counts a use of a code, if one is left. */
async function useOnce(kv: KeyValueStore, key: Deno.KvKey) {
  const entry = await kv.get<Voucher>(key);
  if (entry.value === null) return "unknown";
  const { uses, maxUses } = entry.value;
  if (uses >= maxUses) return "used";
  const used: Voucher = { ...entry.value, uses: uses + 1 };
  return (op: AtomicWrite) => void op.check(entry).set(entry.key, used);
}
