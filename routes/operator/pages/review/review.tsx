/**
 * The review queue, and the page of one notice with the forms of every decision.
 *
 * - Folder `routes/operator/pages/review/`: what waits for an operator: bank notices to review, approvals; and the
 *   audit log.
 * - In: decisions of operators, with the facts that they have seen.
 * - Out: HTML, decided notices and approvals with their audit lines.
 * - Never: lets an operator decide their own request, or credits a likely order without a decision.
 */
import { findApprovers } from "../../../../kv/people/operators/approval_mails.ts";
import { Hono } from "hono";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  type BankSource,
  bankSources,
  isEventId,
} from "../../../../core/trade/bank/bank_notice.ts";
import { foldVietnamese, parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import { findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import { requestApproval } from "../../../../kv/services/operations/approvals.ts";
import {
  assignBankNotice,
  type AssignTarget,
} from "../../../../kv/money/payments/bank_assignment.ts";
import {
  type BankNoticeRef,
  type BankNoticeRow,
  getBankNotice,
  listReviews,
  listUnreadable,
} from "../../../../kv/money/payments/bank_notices.ts";
import { resolveBankNotice, type Verdict } from "../../../../kv/money/payments/bank_intake.ts";
import { followCredited } from "../../../../kv/money/credits/credited_transfers.ts";
import { Card, Notice } from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { type PostedForm, readForm } from "../../../dashboard/page/form_data.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { bankTexts, reviewLabel } from "../base/bank_texts.ts";
import { balanceIn } from "../../operations/contract/operation.ts";
import {
  aloneIn,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  type OperatorPage,
  reasonOf,
  renderOperatorPage,
  SearchForm,
} from "../base/frame.tsx";
import { bankPath } from "../payments/bank.tsx";
import { AssignCard, findLikelyOrders, LikelyCard, VerdictCard } from "./review_forms.tsx";
import { NoticeFacts, noticePath, NoticeTable } from "../base/notice_views.tsx";
import { confirmAct, seenField } from "../dossier/dossier_view.tsx";
import { frameTexts } from "../base/texts.ts";
import { createUnreadablePages, unreadablePath } from "../payments/unreadable.tsx";

const shownReviews = 200;

/** Whether a notice matches what was typed: digits of the amount, the reference, or the memo without accents. */
function matches({ event }: BankNoticeRow, query: string): boolean {
  const wanted = foldVietnamese(query).replace(/[^A-Z0-9]/g, "");
  if (wanted === "") return true;
  const texts = [formatVnd(event.amountMicroVnd), event.reference ?? "", event.memo, event.id];
  return texts.some((text) => foldVietnamese(text).replace(/[^A-Z0-9]/g, "").includes(wanted));
}

async function queuePage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = bankTexts[locale];
  const query = c.req.query("q") ?? "";
  const [reviews, unreadable] = await Promise.all([
    listReviews(deps.kv, shownReviews),
    listUnreadable(deps.kv),
  ]);
  return await renderOperatorPage(
    c,
    { lead: t.reviewLead },
    <>
      <Card>
        <SearchForm query={query} hint={t.searchHint} locale={locale} />
      </Card>
      <Card>
        <NoticeTable
          rows={reviews.filter((row) => matches(row, query))}
          label={reviewLabel[locale]}
          locale={locale}
        />
      </Card>
      {unreadable.length > 0 && (
        <Notice tone="warning">
          <a href={unreadablePath}>{t.unreadableCount(formatCount(unreadable.length, locale))}</a>
        </Notice>
      )}
    </>,
  );
}

function parseSource(text: string | undefined): BankSource | undefined {
  return bankSources.find((source) => source === text);
}

/** Parses the notice that the path names. */
function refOf(c: OperatorContext): BankNoticeRef | undefined {
  const source = parseSource(c.req.param("source"));
  const id = c.req.param("id") ?? "";
  return source !== undefined && isEventId(id) ? { source, id } : undefined;
}

async function noticePage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const ref = refOf(c);
  const row = ref === undefined ? null : (await getBankNotice(deps.kv, ref)).value;
  if (row === null) return await notFoundPage(c);
  const visitor = c.get("visitor");
  const t = bankTexts[visitor.locale];
  const isReview = row.state.kind === "review";
  const likely = isReview ? await findLikelyOrders(deps.kv, row.event) : [];
  const forms = { row, visitor, action: noticePath(row.event) };
  return await renderOperatorPage(
    c,
    { title: t.notice, problem, ...(!isReview && { under: bankPath }) },
    <>
      <NoticeFacts
        row={row}
        title={`${row.event.source}:${row.event.id}`}
        locale={visitor.locale}
      />
      {isReview && <LikelyCard {...forms} likely={likely} />}
      {isReview && <AssignCard {...forms} />}
      <VerdictCard {...forms} />
    </>,
  );
}

/** Parses the owner of the money as typed: an order code, an account id or an e-mail address. */
async function targetOf(deps: OperatorDeps, typed: string): Promise<AssignTarget | undefined> {
  const code = parseOrderCode(typed.toUpperCase());
  if (code !== undefined) return { kind: "order", code };
  const id = parseId("account", typed);
  if (id !== undefined) return { kind: "account", accountId: id };
  const email = normaliseEmail(typed);
  const account = email === undefined ? undefined : await findAccountByEmail(deps.kv, email);
  return account === undefined ? undefined : { kind: "account", accountId: account.id };
}

async function assign(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const ref = refOf(c);
  const row = ref === undefined ? null : (await getBankNotice(deps.kv, ref)).value;
  if (ref === undefined || row === null) return await notFoundPage(c);
  const form = await readForm(c);
  const target = await targetOf(deps, form.text("target"));
  const reason = reasonOf(form);
  if (target === undefined) return await noticePage(c, deps, t.problems.target);
  if (reason === undefined) return await noticePage(c, deps, t.problems.reason);
  const assignment = { ref, target, reason };
  const { amountMicroVnd } = row.event;
  const act = { kind: "assign", amountMicroVnd, ...assignment } as const;
  const seen = form.text(seenField);
  const confirm = async (problem?: string) =>
    await confirmAct(c, deps, act, {
      action: `${noticePath(ref)}/assign`,
      fields: { target: form.text("target"), reason },
      back: noticePath(ref),
      under: "/operator/review",
      problem,
      gone: () => noticePage(c, deps, t.problems.target),
    });
  if (seen === "") return await confirm();
  const context = {
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
    balanceOf: balanceIn(deps),
    seen,
  };
  const result = await assignBankNotice(deps.kv, assignment, {
    ...context,
    authority: aloneIn(deps),
    onCredited: followCredited,
  });
  if (result.ok) {
    deps.hintMail();
    return doneAt(c, noticePath(ref), "assigned");
  }
  if (result.why === "changed") return await confirm(t.problems.changed);
  if (result.why !== "limit") return await noticePage(c, deps, t.problems[result.why]);
  const approvers = await findApprovers(deps.kv, deps.operators);
  const asked = await requestApproval(deps.kv, act, { ...context, approvers });
  if (!asked.ok) return await noticePage(c, deps, t.problems[asked.why]);
  deps.hintMail();
  return doneAt(c, "/operator/approvals", "asked");
}

/** Reads a decision from the form, or the name of the missing field. */
function verdictOf(form: PostedForm): Verdict | "reason" | "not_same" {
  const note = reasonOf(form, "note");
  switch (form.text("verdict")) {
    case "duplicate": {
      const [source, ...rest] = form.text("of").split(":");
      const id = rest.join(":");
      const parsed = parseSource(source);
      return parsed === undefined || !isEventId(id)
        ? "not_same"
        : { kind: "duplicate", of: { source: parsed, id } };
    }
    case "ignore":
      return note === undefined ? "reason" : { kind: "ignore", note };
    case "start_refund":
      return note === undefined ? "reason" : { kind: "start_refund", note };
    case "finish_refund":
      return note === undefined ? "reason" : { kind: "finish_refund", bankReference: note };
    default:
      return { kind: "return" };
  }
}

async function resolve(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const ref = refOf(c);
  if (ref === undefined) return await notFoundPage(c);
  const verdict = verdictOf(await readForm(c));
  if (typeof verdict === "string") return await noticePage(c, deps, t.problems[verdict]);
  const result = await resolveBankNotice(deps.kv, ref, verdict, {
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
    receivingAccounts: deps.topup.receivingAccounts,
  });
  if (!result.ok) return await noticePage(c, deps, t.problems[result.why]);
  return doneAt(c, noticePath(ref), "resolved");
}

/** Registers `/operator/review` and the pages of single notices. */
function createReviewPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = createUnreadablePages(deps);
  const path = "/operator/notices/:source/:id";
  app.get("/operator/review", (c) => queuePage(c, deps));
  app.get(path, (c) => noticePage(c, deps));
  app.post(`${path}/assign`, (c) => assign(c, deps));
  app.post(`${path}/resolve`, (c) => resolve(c, deps));
  return app;
}

export const reviewPages: OperatorPage = {
  link: { href: "/operator/review", label: reviewLabel },
  routes: createReviewPages,
};
