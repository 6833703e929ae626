/** The operation on top-up orders. */
import { z } from "zod";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import {
  getTopupOrder,
  listOpenTopups,
  listTopupOrders,
  orderStatus,
  type TopupOrder,
} from "../../../../kv/money/payments/topups.ts";
import { listCursor, listLimit, listOf, listRead, wrongCursor } from "../contract/lists.ts";
import { namedAccount } from "../contract/named_account.ts";
import { operation } from "../contract/operation.ts";
import { timeOf } from "./moved_money.ts";

const topupRow = z.object({
  code: z.string(),
  accountId: z.string(),
  status: z.enum(["pending", "paid", "cancelled", "expired"]),
  askedVnd: z.string(),
  receivedVnd: z.string(),
  memo: z.string(),
  receivingAccount: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().describe("The end of its page; money is accepted later, too."),
  paidAt: z.iso.datetime().optional(),
  cancelledAt: z.iso.datetime().optional(),
});

function topupJson(order: TopupOrder, nowMs: number) {
  const { code, accountId, askedMicroVnd, receivedMicroVnd, memo, to } = order;
  const { createdAtMs, expiresAtMs, paidAtMs, cancelledAtMs } = order;
  return {
    code,
    accountId,
    status: orderStatus(order, nowMs),
    askedVnd: formatVnd(askedMicroVnd),
    receivedVnd: formatVnd(receivedMicroVnd),
    memo,
    receivingAccount: to.account,
    createdAt: timeOf(createdAtMs),
    expiresAt: timeOf(expiresAtMs),
    ...(paidAtMs !== undefined && { paidAt: timeOf(paidAtMs) }),
    ...(cancelledAtMs !== undefined && { cancelledAt: timeOf(cancelledAtMs) }),
  };
}

/** Lists top-up orders. */
export const listTopups = operation({
  name: "topups.list",
  summary: "Top-up orders of an account, or of all accounts those without payment; newest first",
  effect: "reads",
  input: z.strictObject({
    account: z.string().optional().describe("Its id or e-mail address."),
    before: listCursor,
    limit: listLimit,
  }),
  output: listOf(topupRow),
  async run({ kv }, { account, before: cursor, limit }, { nowMs }) {
    const named = account === undefined ? undefined : await namedAccount(kv, account);
    if (named?.ok === false) return named;
    const code = cursor === undefined ? undefined : parseOrderCode(cursor);
    const before = code && ((await getTopupOrder(kv, code)).value ?? undefined);
    if (cursor !== undefined && before === undefined) return wrongCursor("the code of an order");
    const page = { count: limit + 1, before };
    const orders = named === undefined
      ? await listOpenTopups(kv, page)
      : await listTopupOrders(kv, named.account.id, page);
    const row = (order: TopupOrder) => topupJson(order, nowMs);
    return { ok: true, body: listRead(orders, { limit, row, id: ({ code }) => code }) };
  },
});
