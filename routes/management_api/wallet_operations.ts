/** Operations on the wallet of an organisation: its balance, vouchers, the warning of a low one, the statement. */
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
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
import { type BookGrant, readPots } from "../../kv/money/balances/grant_book.ts";
import type { RedemptionResult } from "../../kv/money/credits/vouchers.ts";
import type { Account } from "../../kv/people/accounts/accounts.ts";
import { readMatchingStatement } from "../../kv/money/ledger/statement.ts";
import { lowBalanceChange, voucherRedemption } from "../acts/money.ts";
import { requireRange } from "../usage_api/range.ts";
import { periodFields } from "../usage_api/statements/statement_json.ts";
import {
  actOperation,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
} from "./operation.ts";

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

const balanceShape = shape<ShownBalance>("OrganisationBalance", "A balance.", [
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
]);

const balanceOperation = reading({
  id: "getOrganisationBalance",
  path: `${organisationPath}/balance`,
  summary: "Balance of the organisation",
  description:
    "The balance of the wallet, exact, in VND, with the credit in it and what running calls reserve.",
  act: "view_money",
  answer: balanceShape,
  async read({ deps: { kv, wallet }, account }) {
    const totalOf = async (id: AccountId) => (await wallet.balance(id)).totalMicroVnd;
    const [balance, pots] = await Promise.all([
      wallet.balance(account.id),
      readPots(kv, account.id, totalOf),
    ]);
    return { ...balance, pots };
  },
});

type Redeemed = Extract<RedemptionResult, { ok: true }>;

const creditShape = shape<Redeemed>("RedeemedCredit", "Credit of a voucher.", [
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
]);

const voucherOperation = actOperation({
  operation: voucherRedemption,
  method: "post",
  path: "/v1/organisation/vouchers",
  summary: "Redeem a voucher",
  description: "Credits the wallet, once for each code.",
  answer: creditShape,
  example: { code: "ABCD-EFGH-JKLM-NPQR" },
});

const markShape = shape<Account>(
  "LowBalanceWarning",
  "The balance below which a mail and webhooks warn.",
  [
    constant("object", "low_balance_warning"),
    // `null`: no warning.
    always(
      "amount_vnd",
      { type: ["string", "null"] },
      ({ lowBalanceMicroVnd: mark }) => mark === undefined ? null : formatVnd(mark),
    ),
  ],
);

const warningPath = `${organisationPath}/low-balance`;

const warningOperations: readonly ManagementOperation[] = [
  reading({
    id: "getLowBalanceWarning",
    path: warningPath,
    summary: "Warning of a low balance",
    description: "The balance below which a mail and webhooks warn.",
    act: "view_money",
    answer: markShape,
    read: ({ account }) => account,
  }),
  actOperation({
    operation: lowBalanceChange,
    method: "patch",
    path: warningPath,
    summary: "Change the warning of a low balance",
    description: "In whole VND; `null` ends the warnings.",
    answer: markShape,
    example: { amount_vnd: 500_000 },
  }),
];

const daySchema: JsonObject = { type: "string", format: "date" };

const statementOperation = reading({
  id: "getPeriodStatement",
  path: `${organisationPath}/statement`,
  summary: "Statement of a period",
  description:
    "Every movement and the calls by day, with the balance after each; `/v1/statements/{month}` has whole months, also as files.",
  act: "view_money",
  parameters: [
    { name: "from", schema: daySchema, description: "First day, in Vietnam time." },
    { name: "to", schema: daySchema, description: "Last day; today if it is left out." },
  ],
  answer: shape("PeriodStatement", "What happened to the balance in a period.", periodFields),
  async read({ deps: { kv, wallet }, account, nowMs, query }) {
    const today = vietnamDay(nowMs);
    const range = requireRange(query, today);
    const balance = (id: AccountId) => wallet.balance(id);
    return (await readMatchingStatement(kv, account.id, range, { today, balance })).statement;
  },
});

/** The operations. */
export const walletOperations: readonly ManagementOperation[] = [
  balanceOperation,
  voucherOperation,
  ...warningOperations,
  statementOperation,
];
