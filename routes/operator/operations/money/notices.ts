/** Operations on bank notices: their lists, and decisions that move no money. */
import { z } from "zod";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { bankSources, isEventId } from "../../../../core/trade/bank/bank_notice.ts";
import {
  resolveBankNotice,
  type Verdict,
  type VerdictResult,
} from "../../../../kv/money/payments/bank_intake.ts";
import {
  type BankNoticeRef,
  type BankNoticeRow,
  type BankNoticeState,
  bankNoticeStates,
  journalMark,
  journalMarkText,
  listBankNotices,
  listReviews,
  listUnreadable,
  parseJournalMark,
  setAsideUnreadable,
} from "../../../../kv/money/payments/bank_notices.ts";
import { listCursor, listLimit, listOf, listRead, wrongCursor } from "../contract/lists.ts";
import { operation, type Refused, refused, refusedAs } from "../contract/operation.ts";
import { reasonText } from "../contract/texts.ts";
import { noticeText, timeOf } from "./moved_money.ts";

/** Finds the notice that an operator names, such as `sepay:92704`. */
export function namedNotice(
  text: string,
  field = "notice",
): { readonly ok: true; readonly ref: BankNoticeRef } | Refused<"missing"> {
  const [name, ...rest] = text.split(":");
  const source = bankSources.find((one) => one === name);
  const id = rest.join(":");
  return source !== undefined && isEventId(id)
    ? { ok: true, ref: { source, id } }
    : refused("missing", "invalid_request", `Not a bank notice: ${text}`, field);
}

/** The schema of what became of a notice. */
export const noticeState = z.object({
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

/** Converts the state of a notice to JSON. */
export function stateJson(state: BankNoticeState) {
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
      return wrongCursor("the last_id of a page", "after");
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

/** The decisions about a notice that move no money. */
export const verdicts = ["duplicate", "ignore", "start_refund", "finish_refund", "return"] as const;

const refusals: Readonly<
  Record<Extract<VerdictResult, { readonly ok: false }>["why"], string>
> = {
  missing: "there is no such notice",
  state: "its state does not allow this: somebody has decided, or its money has been moved",
  not_same: "it cannot be the movement of that notice",
  busy: "it has just changed; try again",
};

/** Reads a decision, or the field that it lacks. */
function verdictOf(
  { verdict, of = "", note }: {
    readonly verdict: typeof verdicts[number];
    readonly of?: string | undefined;
    readonly note?: string | undefined;
  },
): { readonly ok: true; readonly verdict: Verdict } | Refused<"not_same" | "note"> {
  if (verdict === "return") return { ok: true, verdict: { kind: verdict } };
  if (verdict === "duplicate") {
    const named = namedNotice(of, "of");
    return named.ok
      ? { ok: true, verdict: { kind: verdict, of: named.ref } }
      : { ...named, why: "not_same" };
  }
  if (note === undefined) return refused("note", "invalid_request", "note: is missing", "note");
  return {
    ok: true,
    verdict: verdict === "finish_refund"
      ? { kind: verdict, bankReference: note }
      : { kind: verdict, note },
  };
}

/** Decides about a notice without moving money. */
export const resolveNotice = operation({
  name: "notices.resolve",
  summary: "Decides about a bank notice without moving money: a duplicate, none of ours, a refund",
  effect: "acts",
  input: z.strictObject({
    notice: z.string(),
    verdict: z.enum(verdicts),
    of: z.string().optional().describe("The notice of the same movement, for `duplicate`."),
    note: reasonText.optional()
      .describe("Why, for `ignore` and `start_refund`; for `finish_refund` the bank's reference."),
  }),
  output: z.object({ notice: z.string(), state: noticeState }),
  async run({ kv, topup }, { notice, ...typed }, { operator, nowMs }) {
    const named = namedNotice(notice);
    if (!named.ok) return named;
    const read = verdictOf(typed);
    if (!read.ok) return read;
    const { receivingAccounts } = topup;
    const result = await resolveBankNotice(kv, named.ref, read.verdict, {
      operator,
      nowMs,
      receivingAccounts,
    });
    if (!result.ok) return refusedAs(result.why, refusals);
    return { ok: true, body: { notice, state: stateJson(result.state) } };
  },
});

/** Sets a notice aside that could not be read. */
export const closeUnreadable = operation({
  name: "notices.set_aside",
  summary: "Sets a bank notice aside that could not be read, with a note",
  effect: "acts",
  input: z.strictObject({ source: z.enum(bankSources), hash: z.string(), note: reasonText }),
  output: z.object({ source: z.enum(bankSources), hash: z.string() }),
  async run({ kv }, { source, hash, note }, { operator, nowMs }) {
    const isClosed = await setAsideUnreadable(
      kv,
      { source, contentHash: hash },
      { operator, nowMs, note },
    );
    if (!isClosed) return refused("missing", "not_found", "There is no such notice to set aside");
    return { ok: true, body: { source, hash } };
  },
});
