/**
 * The review queue, and the page of one notice with the forms of every decision.
 *
 * - Folder `routes/operator/pages/review/`: what waits for an operator: bank notices to review, approvals; and the
 *   audit log.
 * - In: decisions of operators, with the facts that they have seen.
 * - Out: HTML, decided notices and approvals with their audit lines.
 * - Never: lets an operator decide their own request, or credits a likely order without a decision.
 */
import { Hono } from "hono";
import { defined } from "../../../../core/lib/base/defined.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  type BankSource,
  bankSources,
  isEventId,
} from "../../../../core/trade/bank/bank_notice.ts";
import { foldVietnamese } from "../../../../core/trade/bank/order_code.ts";
import {
  type BankNoticeRef,
  type BankNoticeRow,
  getBankNotice,
  listReviews,
  listUnreadable,
} from "../../../../kv/money/payments/bank_notices.ts";
import { Card, Notice } from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { bankTexts, reviewLabel } from "../base/bank_texts.ts";
import { noticeText } from "../../operations/money/moved_money.ts";
import { assignNotice } from "../../operations/money/movements.ts";
import { resolveNotice, verdicts } from "../../operations/money/notices.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
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

async function assign(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const ref = refOf(c);
  if (ref === undefined) return await notFoundPage(c);
  const form = await readForm(c);
  const [target, reason] = [form.text("target"), form.text("reason")];
  const seen = form.text(seenField);
  const wanted = { notice: noticeText(ref), target, reason, seen };
  const result = await assignNotice.run(deps, wanted, actOf(c, deps));
  if (result.ok) {
    return result.body.status === "asked"
      ? doneAt(c, "/operator/approvals", "asked")
      : doneAt(c, noticePath(ref), "assigned");
  }
  if (result.why !== "changed" || !("act" in result)) {
    return await noticePage(c, deps, t.problems[result.why === "input" ? "reason" : result.why]);
  }
  return await confirmAct(c, deps, result.act, {
    action: `${noticePath(ref)}/assign`,
    fields: { target, reason },
    back: noticePath(ref),
    under: "/operator/review",
    problem: seen === "" ? undefined : t.problems.changed,
    gone: () => noticePage(c, deps, t.problems.target),
  });
}

async function resolve(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const ref = refOf(c);
  if (ref === undefined) return await notFoundPage(c);
  const form = await readForm(c);
  const wanted = {
    notice: noticeText(ref),
    verdict: verdicts.find((verdict) => verdict === form.text("verdict")) ?? "return",
    ...defined({ of: form.text("of") || undefined, note: form.text("note") || undefined }),
  };
  const result = await resolveNotice.run(deps, wanted, actOf(c, deps));
  if (result.ok) return doneAt(c, noticePath(ref), "resolved");
  const isNote = result.why === "input" || result.why === "note";
  return await noticePage(c, deps, t.problems[isNote ? "reason" : result.why]);
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
