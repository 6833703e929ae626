/** Operations on the wallet of an organisation: its balance, vouchers, the warning of a low one, the statement. */
import { z } from "zod";
import { formatVnd, fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  isoTime,
  listField,
  optional,
  text,
  vnd,
} from "../../core/lib/json/schemas.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import type { Pots } from "../../core/trade/credits/pots.ts";
import { voucherCodeChars } from "../../core/trade/credits/campaign.ts";
import { type BookGrant, readPots } from "../../kv/money/balances/grant_book.ts";
import {
  redeemVoucher,
  type RedemptionRefusal,
  type RedemptionResult,
} from "../../kv/money/credits/vouchers.ts";
import { readMatchingStatement } from "../../kv/money/ledger/statement.ts";
import { maxLowBalanceVnd, setLowBalanceMark } from "../../kv/people/accounts/low_balance_mark.ts";
import { wrongParameter } from "../http/query.ts";
import { requireRange } from "../usage_api/range.ts";
import { periodFields } from "../usage_api/statements/statement_json.ts";
import { type ManagementOperation, withBody } from "./operation.ts";

/** The wallet, as its page shows it. */
interface ShownBalance {
  readonly totalMicroVnd: bigint;
  readonly reservedMicroVnd: bigint;
  readonly pots: Pots<BookGrant>;
}

const grantFields: readonly DescribedField<BookGrant>[] = [
  always("name", text, ({ name }) => name),
  always("left_vnd", vnd, ({ leftMicroVnd }) => formatVnd(leftMicroVnd)),
  always("given_vnd", vnd, ({ amountMicroVnd }) => formatVnd(amountMicroVnd)),
  always("given_at", dateTime, ({ givenAtMs }) => isoTime(givenAtMs)),
  optional("expires_at", dateTime, ({ expiresAtMs }) => expiresAtMs && isoTime(expiresAtMs)),
];

const balanceFields: readonly DescribedField<ShownBalance>[] = [
  constant("object", "balance"),
  constant("currency", "VND"),
  always("balance_vnd", vnd, ({ totalMicroVnd }) => formatVnd(totalMicroVnd)),
  // Reserved by running calls; included in the balance.
  always("reserved_vnd", vnd, ({ reservedMicroVnd }) => formatVnd(reservedMicroVnd)),
  // What was not given; negative if the organisation owes money.
  always("own_vnd", vnd, ({ pots }) => formatVnd(pots.ownMicroVnd)),
  listField(
    "credits",
    "Credit of which something is left; what expires first is spent first.",
    grantFields,
    ({ pots }: ShownBalance) => pots.grants,
  ),
];

const balanceOperation: ManagementOperation = {
  id: "getOrganisationBalance",
  method: "get",
  path: "/v1/organisation/balance",
  summary: "Balance of the organisation",
  description:
    "The balance of the wallet, exact, in VND, with the credit in it and what running calls reserve.",
  act: "view_money",
  answer: { name: "OrganisationBalance", description: "A balance.", fields: balanceFields },
  errors: [],
  async run({ deps: { kv, wallet }, account }) {
    const totalOf = async (id: AccountId) => (await wallet.balance(id)).totalMicroVnd;
    const [balance, pots] = await Promise.all([
      wallet.balance(account.id),
      readPots(kv, account.id, totalOf),
    ]);
    return fieldsJson(balanceFields, { ...balance, pots });
  },
};

const voucherBody = z.strictObject({ code: z.string().min(1).max(2 * voucherCodeChars) });

type Redeemed = Extract<RedemptionResult, { ok: true }>;

const creditFields: readonly DescribedField<Redeemed>[] = [
  constant("object", "credit"),
  always("ledger_id", text, ({ entry }) => entry.ledgerId),
  always("amount_vnd", vnd, ({ entry }) => formatVnd(entry.amountMicroVnd)),
  always("redeemed_at", dateTime, ({ entry }) => isoTime(entry.atMs)),
  optional(
    "expires_at",
    dateTime,
    ({ entry: { grant } }) => grant?.expiresAtMs && isoTime(grant.expiresAtMs),
  ),
  // The code had been redeemed before, and nothing moved now.
  always("is_repeated", { type: "boolean" }, ({ isRepeated }) => isRepeated),
];

/** What is said of refused codes; the campaign is the operator's, so no refusal says more of it than pages do. */
const voucherRefusals: Readonly<Record<RedemptionRefusal, string>> = {
  typo: "is no voucher code",
  unknown: "there is no such voucher code",
  used: "was used already",
  not_yet: "is not valid yet",
  over: "has expired",
  budget: "the credit of the offer is used up",
  paused: "the offer is paused",
  approval: "the offer has not begun yet",
  limit: "the organisation has had its share of the offer",
  too_many: "the organisation has too much unspent credit",
  too_fast: "too many wrong codes in an hour",
  author: "whoever makes an offer cannot use it",
  account: "the organisation cannot be given credit",
  amount: "gives nothing",
  mailbox: "the offer is for new accounts",
  network: "the offer is for new accounts",
  busy: "many use the offer right now; try again",
};

function voucherError(why: RedemptionRefusal): GatewayError {
  const message = `code: ${voucherRefusals[why]}`;
  if (why === "too_fast") return new GatewayError("rate_limit_reached", message);
  if (why === "busy") return new GatewayError("overloaded", message);
  return wrongParameter("code", voucherRefusals[why]);
}

const voucherOperation = withBody({
  id: "redeemVoucher",
  method: "post",
  path: "/v1/organisation/vouchers",
  summary: "Redeem a voucher",
  description: "Credits the wallet, once for each code.",
  act: "top_up",
  answer: { name: "RedeemedCredit", description: "Credit of a voucher.", fields: creditFields },
  errors: ["invalid_request", "overloaded"],
  body: { schema: voucherBody, example: { code: "ABCD-EFGH-JKLM-NPQR" } },
  async run({ deps, account, by, nowMs, body: { code } }) {
    const { kv, spendGranted } = deps;
    const what = {
      accountId: account.id,
      code,
      clientAddress: by.address,
      nowMs,
      spendGranted,
      by,
    };
    const result = await redeemVoucher(kv, what);
    if (!result.ok) throw voucherError(result.why);
    deps.hintMail();
    return fieldsJson(creditFields, result);
  },
});

const markBody = z.strictObject({ amount_vnd: z.int().min(1).max(maxLowBalanceVnd).nullable() });

const markFields: readonly DescribedField<bigint | undefined>[] = [
  constant("object", "low_balance_warning"),
  // `null`: no warning.
  always(
    "amount_vnd",
    { type: ["string", "null"] },
    (microVnd) => microVnd === undefined ? null : formatVnd(microVnd),
  ),
];

const warning = {
  path: "/v1/organisation/low-balance",
  answer: {
    name: "LowBalanceWarning",
    description: "The balance below which a mail and webhooks warn.",
    fields: markFields,
  },
} as const;

const warningOperations: readonly ManagementOperation[] = [
  {
    ...warning,
    id: "getLowBalanceWarning",
    method: "get",
    summary: "Warning of a low balance",
    description: "The balance below which a mail and webhooks warn.",
    act: "view_money",
    errors: [],
    run: ({ account }) => Promise.resolve(fieldsJson(markFields, account.lowBalanceMicroVnd)),
  },
  withBody({
    ...warning,
    id: "changeLowBalanceWarning",
    method: "patch",
    summary: "Change the warning of a low balance",
    description: "In whole VND; `null` ends the warnings.",
    act: "top_up",
    errors: ["invalid_request", "overloaded"],
    body: { schema: markBody, example: { amount_vnd: 500_000 } },
    async run({ deps, account, by, nowMs, body }) {
      const mark = fromVnd(body.amount_vnd ?? 0);
      const changed = await setLowBalanceMark(deps.kv, account.id, mark, { by, nowMs });
      return fieldsJson(markFields, changed?.lowBalanceMicroVnd);
    },
  }),
];

const daySchema: JsonObject = { type: "string", format: "date" };

const statementOperation: ManagementOperation = {
  id: "getPeriodStatement",
  method: "get",
  path: "/v1/organisation/statement",
  summary: "Statement of a period",
  description:
    "Every movement and the calls by day, with the balance after each; `/v1/statements/{month}` has whole months, also as files.",
  act: "view_money",
  parameters: [
    { name: "from", schema: daySchema, description: "First day, in Vietnam time." },
    { name: "to", schema: daySchema, description: "Last day; today if it is left out." },
  ],
  answer: {
    name: "PeriodStatement",
    description: "What happened to the balance in a period.",
    fields: periodFields,
  },
  errors: ["invalid_request"],
  async run({ deps: { kv, wallet }, account, nowMs, query }) {
    const today = vietnamDay(nowMs);
    const range = requireRange(query, today);
    const balance = (id: AccountId) => wallet.balance(id);
    const read = await readMatchingStatement(kv, account.id, range, { today, balance });
    return fieldsJson(periodFields, read.statement);
  },
};

/** The operations. */
export const walletOperations: readonly ManagementOperation[] = [
  balanceOperation,
  voucherOperation,
  ...warningOperations,
  statementOperation,
];
