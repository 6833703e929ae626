/** Parts that operations on money share: how it is shown to programs, and what a decision has seen. */
import { z } from "zod";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { BankNoticeRef } from "../../../../kv/money/payments/bank_notices.ts";
import {
  type Decider,
  isPerson,
  type MovedMoney,
} from "../../../../kv/people/audit/operator_audit.ts";

/** The schema of {@linkcode movedMoneyJson}. */
export const movedMoney = z.object({
  accountId: z.string(),
  amountVnd: z.string().describe("Above 0: credited; below: debited."),
  balanceBeforeVnd: z.string(),
  balanceAfterVnd: z.string(),
  orderCode: z.string().optional(),
  notice: z.string().optional().describe("The bank notice that is the evidence."),
  requestedBy: z.string().optional(),
});

/** Names a bank notice, such as `sepay:92704`. */
export function noticeText({ source, id }: BankNoticeRef): string {
  return `${source}:${id}`;
}

/** Converts the money of an act to JSON. */
export function movedMoneyJson(
  { accountId, amountMicroVnd, balanceBeforeMicroVnd, balanceAfterMicroVnd, ...rest }: MovedMoney,
) {
  const { orderCode, notice, requestedBy } = rest;
  return {
    accountId,
    amountVnd: formatVnd(amountMicroVnd),
    balanceBeforeVnd: formatVnd(balanceBeforeMicroVnd),
    balanceAfterVnd: formatVnd(balanceAfterMicroVnd),
    ...defined({ orderCode, notice: notice && noticeText(notice), requestedBy }),
  };
}

/** Writes a time as programs read it. */
export function timeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** The schema of the mark of what an operator has seen. */
export const seenMark = z.string().optional()
  .describe(
    "The mark of the facts that were shown. Persons name it: nothing moves if a fact has changed.",
  );

/** Binding of a decision: persons see the dossier first, the owner of the machine may decide without. */
export function seenBy(operator: Decider, seen: string | undefined): string | undefined {
  return isPerson(operator) ? seen ?? "" : seen;
}
