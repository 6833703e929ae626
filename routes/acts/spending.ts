/**
 * Spending by acts, and its bounds: changes wake all instances and make rows, mails reach
 * somebody's mailbox, deliveries are requests to somebody's server. An act that is not in the table does not compile.
 */
import { addressBlock } from "../../core/net/addresses/ip_address.ts";
import { dayMs, hourMs } from "../../core/lib/time/durations.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { countTry, type RateRule, type RateVerdict } from "../../kv/people/accounts/rate_limits.ts";
import type { Doer } from "../../kv/people/audit/account_activity.ts";
import { rateRules } from "../auth/sign_in_budgets.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";

/** Units that an act spends, at most one of each. */
export type Spending =
  /** Writes rows that all instances read. */
  | "change"
  /**
   * The same, where it takes access away. It counts apart for pages and for each management key: a program that was
   * leaked, or that loops, keeps nobody from ending it.
   */
  | "ending"
  /** Orders a top-up: cheap, but a flood of orders would hide the real ones from staff. */
  | "order"
  /** Mails an address that somebody typed. */
  | "mail"
  /** Sends a request to an address that somebody typed: a webhook, a look at a provider; or a try of a provider key. */
  | "delivery";

/**
 * By whom spending is counted; `target` is the address that gets a mail, `doer` the person on pages or the management
 * key, `side` the pages of an organisation or its programs.
 */
type Dimension = "target" | "person" | "doer" | "account" | "side" | "network" | "installation";

/**
 * The bounds of each kind of spending. A person has the same bounds on pages and with management keys, but for endings.
 * An organisation has more, since its members share it; the bounds of the installation are above what all customers need
 * together and below what a mail service blocks a sender for.
 */
const bounds: Readonly<Record<Spending, Partial<Readonly<Record<Dimension, RateRule>>>>> = {
  change: {
    person: rateRules.changesByAccount,
    account: { name: "changes_organisation", count: 960, windowMs: hourMs },
  },
  ending: {
    doer: { name: "endings_doer", count: 240, windowMs: hourMs },
    side: { name: "endings_side", count: 960, windowMs: hourMs },
  },
  order: { account: { name: "topup_order", count: 30, windowMs: hourMs } },
  mail: {
    target: rateRules.mailToNewAddress,
    person: { name: "mails_person", count: 30, windowMs: hourMs },
    account: { name: "mails_organisation", count: 100, windowMs: dayMs },
    network: { name: "mails_network", count: 60, windowMs: hourMs },
    installation: { name: "mails_all", count: 2_000, windowMs: hourMs },
  },
  delivery: {
    person: { name: "webhook_sends_account", count: 60, windowMs: hourMs },
    account: { name: "webhook_sends_organisation", count: 240, windowMs: hourMs },
    installation: { name: "webhook_sends_all", count: 10_000, windowMs: hourMs },
  },
};

/** The acts of customers, with what each spends. */
export const actSpendings = {
  renameOrganisation: ["change"],
  // Most roles that are changed in haste are lowered.
  changeMember: ["ending"],
  removeMember: ["ending"],
  readmitMember: ["change"],
  createInvitation: ["change", "mail"],
  withdrawInvitation: ["ending"],
  createTeam: ["change"],
  deleteTeam: ["change"],
  handOver: ["change"],
  createKey: ["change"],
  authorizeApp: ["change"],
  changeKey: ["change"],
  rotateKey: ["ending"],
  revokeKey: ["ending"],
  changeKeyRules: ["change"],
  createManagementKey: ["change"],
  revokeManagementKey: ["ending"],
  createBudget: ["change"],
  changeBudget: ["change"],
  deleteBudget: ["change"],
  changeRequiredTags: ["change"],
  changeCallSettings: ["change"],
  setProviderKey: ["change", "delivery"],
  removeProviderKey: ["ending"],
  savePreset: ["change"],
  deletePreset: ["ending"],
  connectCompanySignIn: ["change", "delivery"],
  changeCompanySignIn: ["change"],
  disconnectCompanySignIn: ["ending"],
  requireCompanySignIn: ["change"],
  requireSecondFactor: ["change"],
  addDomain: ["change"],
  verifyDomain: ["change"],
  removeDomain: ["ending"],
  createTopup: ["order"],
  cancelTopup: ["change"],
  // Wrong codes have bounds of their own in `kv/money/credits/vouchers.ts`.
  redeemVoucher: ["change"],
  changeLowBalanceWarning: ["change"],
  changeBillingDetails: ["change"],
  requestInvoice: ["change"],
  createWebhook: ["change"],
  changeWebhook: ["change"],
  rotateWebhookSecret: ["ending"],
  deleteWebhook: ["ending"],
  testWebhook: ["delivery"],
  resendWebhookDelivery: ["delivery"],
} as const satisfies Readonly<Record<string, readonly Spending[]>>;

/** The name of an act of customers: the `operationId` of its operation of the management API, if it has one. */
export type ActName = keyof typeof actSpendings;

/** Person who spends. */
export interface Spender {
  readonly personId: AccountId;
  readonly accountId: AccountId;
  readonly by: Doer;
  /** The network address of the request. */
  readonly address: string;
  readonly nowMs: number;
}

/**
 * Counts what an act spends; the first bound that is reached refuses it.
 *
 * @param target the address that gets a mail
 */
export async function countSpending(
  kv: KeyValueStore,
  act: ActName,
  { personId, accountId, by, address, nowMs }: Spender,
  target: string | undefined,
): Promise<RateVerdict> {
  const keyId = by.kind === "management_key" ? by.keyId : undefined;
  const subjects: Readonly<Record<Dimension, string | undefined>> = {
    target,
    person: personId,
    doer: keyId ?? personId,
    account: accountId,
    side: keyId === undefined ? accountId : `programs ${accountId}`,
    network: addressBlock(address),
    installation: "all",
  };
  for (const spending of actSpendings[act]) {
    for (const [dimension, rule] of Object.entries(bounds[spending])) {
      const subject = subjects[dimension as Dimension];
      if (subject === undefined) continue;
      const verdict = await countTry(kv, rule, subject, nowMs);
      if (!verdict.allowed) return verdict;
    }
  }
  return { allowed: true };
}
