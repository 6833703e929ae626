/** Operations on money that comes in: top-up orders, bank notices, and what waits for a second operator. They only read. */
import { z } from "zod";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { bankSources } from "../../../../core/trade/bank/bank_notice.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import {
  type BankNoticeRow,
  type BankNoticeState,
  bankNoticeStates,
  journalMark,
  journalMarkText,
  listBankNotices,
  listReviews,
  listUnreadable,
  parseJournalMark,
} from "../../../../kv/money/payments/bank_notices.ts";
import {
  getTopupOrder,
  listOpenTopups,
  listTopupOrders,
  orderStatus,
  type TopupOrder,
} from "../../../../kv/money/payments/topups.ts";
import {
  type Approval,
  listApprovals,
  moneyOfApproval,
} from "../../../../kv/services/operations/approvals.ts";
import type { MovedMoney } from "../../../../kv/people/audit/operator_audit.ts";
import { listCursor, listLimit, listOf, listRead } from "../contract/lists.ts";
import { namedAccount } from "../contract/named_account.ts";
import { balanceIn, operation, refused } from "../contract/operation.ts";
import { movedMoney, movedMoneyJson, noticeText } from "./moved_money.ts";

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

function wrongCursor(what: string) {
  return refused("before", "invalid_request", `before: must be ${what}`, "before");
}

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

const noticeState = z.object({
  kind: z.enum(bankNoticeStates),
  at: z.iso.datetime().optional(),
  by: z.string().optional().describe("The address of the operator, or `auto`."),
  accountId: z.string().optional(),
  orderCode: z.string().optional(),
  reason: z.string().optional(),
  note: z.string().optional(),
  about: z.string().optional().describe("Another notice that has to do with it."),
  of: z.string().optional().describe("The notice of the same movement."),
  bankReference: z.string().optional(),
}).describe("What became of it, by whom, and why.");

const noticeRow = z.object({
  notice: z.string(),
  direction: z.enum(["in", "out"]),
  amountVnd: z.string(),
  transferredAt: z.iso.datetime().describe("As exact as the bank states it: `timePrecision`."),
  timePrecision: z.enum(["second", "minute", "day"]),
  receivedAt: z.iso.datetime(),
  account: z.string(),
  memo: z.string(),
  reference: z.string().optional(),
  state: noticeState,
});

function stateJson(state: BankNoticeState) {
  if (state.kind === "received") return { kind: state.kind };
  const { atMs, ...rest } = state;
  const at = timeOf(atMs);
  if (rest.kind === "duplicate") return { ...rest, at, of: noticeText(rest.of) };
  if (rest.kind !== "review") return { ...rest, at };
  const { about, ...review } = rest;
  return { ...review, at, ...defined({ about: about && noticeText(about) }) };
}

function noticeJson({ event, receivedAtMs, state }: BankNoticeRow) {
  const { direction, amountMicroVnd, time, account, memo, reference } = event;
  return {
    notice: noticeText(event),
    direction,
    amountVnd: formatVnd(amountMicroVnd),
    transferredAt: timeOf(time.atMs),
    timePrecision: time.precision,
    receivedAt: timeOf(receivedAtMs),
    account,
    memo,
    ...defined({ reference }),
    state: stateJson(state),
  };
}

const noticePage = {
  row: noticeJson,
  id: (row: BankNoticeRow) => journalMarkText(journalMark(row)),
};

/** Lists bank notices. */
export const listNotices = operation({
  name: "notices.list",
  summary: "The journal of bank notices, newest first",
  effect: "reads",
  input: z.strictObject({ before: listCursor, limit: listLimit }),
  output: listOf(noticeRow),
  async run({ kv }, { before: cursor, limit }) {
    const before = cursor === undefined ? undefined : parseJournalMark(cursor);
    if (cursor !== undefined && before === undefined) return wrongCursor("the last_id of a page");
    const rows = await listBankNotices(kv, { count: limit + 1, ...defined({ before }) });
    return { ok: true, body: listRead(rows, { limit, ...noticePage }) };
  },
});

/** Lists bank notices that wait for a person. */
export const listWaitingNotices = operation({
  name: "notices.waiting",
  summary: "Bank notices that wait for a person, oldest first",
  effect: "reads",
  input: z.strictObject({ after: listCursor, limit: listLimit }),
  output: listOf(noticeRow),
  async run({ kv }, { after: cursor, limit }) {
    const after = cursor === undefined ? undefined : parseJournalMark(cursor);
    if (cursor !== undefined && after === undefined) {
      return refused("after", "invalid_request", "after: must be the last_id of a page", "after");
    }
    const rows = await listReviews(kv, limit + 1, after);
    return { ok: true, body: listRead(rows, { limit, ...noticePage }) };
  },
});

/** Lists bank notices that could not be read. */
export const listUnreadableNotices = operation({
  name: "notices.unreadable",
  summary:
    "Bank notices that could not be read and may stand for money, oldest first; at most 1,000",
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({
    object: z.literal("list"),
    data: z.array(z.object({
      source: z.enum(bankSources),
      reason: z.string(),
      receivedAt: z.iso.datetime(),
      hash: z.string().describe("Of its content, which the page shows."),
    })),
  }),
  async run({ kv }) {
    const data = (await listUnreadable(kv)).map((
      { source, reason, receivedAtMs, contentHash },
    ) => ({
      source,
      reason,
      receivedAt: timeOf(receivedAtMs),
      hash: contentHash,
    }));
    return { ok: true, body: { object: "list" as const, data } };
  },
});

const person = z.object({ accountId: z.string(), email: z.string() });

const approvalRow = z.object({
  id: z.string(),
  state: z.enum(["pending", "approved", "refused"]),
  kind: z.enum(["adjust", "assign"]),
  amountVnd: z.string(),
  reason: z.string(),
  requestedBy: person,
  requestedAt: z.iso.datetime(),
  decidedBy: person.optional(),
  decidedAt: z.iso.datetime().optional(),
  money: movedMoney.optional()
    .describe("While it waits with the balance of now, decided with that of the movement."),
});

function approvalJson(approval: Approval, money: MovedMoney | undefined) {
  const { id, state, act, requestedBy, requestedAtMs, decidedBy, decidedAtMs } = approval;
  return {
    id,
    state,
    kind: act.kind,
    amountVnd: formatVnd(act.amountMicroVnd),
    reason: act.reason,
    requestedBy,
    requestedAt: timeOf(requestedAtMs),
    ...defined({ decidedBy }),
    ...(decidedAtMs !== undefined && { decidedAt: timeOf(decidedAtMs) }),
    ...(money !== undefined && { money: movedMoneyJson(money) }),
  };
}

/** Lists requests for the approval of a second operator. */
export const listApprovalRequests = operation({
  name: "approvals.list",
  summary: "What waits for a second operator and what was decided, newest first; persons decide",
  effect: "reads",
  input: z.strictObject({ before: listCursor, limit: listLimit }),
  output: listOf(approvalRow),
  async run({ kv, wallet }, { before: cursor, limit }) {
    const before = cursor === undefined ? undefined : parseId("approval", cursor);
    if (cursor !== undefined && before === undefined) return wrongCursor("the id of a request");
    const approvals = await listApprovals(kv, limit + 1, before);
    const balanceOf = balanceIn({ wallet });
    const shown = await Promise.all(approvals.map(async (approval) => ({
      id: approval.id,
      row: approvalJson(approval, await moneyOfApproval(kv, approval, balanceOf)),
    })));
    return {
      ok: true,
      body: listRead(shown, { limit, row: ({ row }) => row, id: ({ id }) => id }),
    };
  },
});
