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
  type BankNotice,
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
import {
  Card,
  DataTable,
  Money,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
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
  ReasonField,
  renderOperatorPage,
  SearchForm,
} from "../base/frame.tsx";
import { bankPath } from "../payments/bank.tsx";
import { NoticeFacts, noticePath, NoticeTable } from "../base/notice_views.tsx";
import { confirmAct, seenField } from "../dossier/dossier_view.tsx";
import { frameTexts } from "../base/texts.ts";
import { createUnreadablePages, unreadablePath } from "../payments/unreadable.tsx";
import { nameOfAccount } from "../base/linked_text.tsx";
import type { Child } from "hono/jsx";
import { mayReturn } from "../../../../kv/money/payments/bank_intake.ts";
import { maxReasonChars } from "../../operations/contract/texts.ts";
import { nearCodes } from "../../../../core/trade/statements/memo_codes.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { listOpenTopups, type TopupOrder } from "../../../../kv/money/payments/topups.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

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

// The forms of a notice: suggested orders, any order or account, and decisions that move no money.

// Finds orders that a damaged memo may have meant, as suggestions for operators only.

/** Open orders searched for near misses of a damaged memo. */
const maxNearMissOrders = 2_000;

/** A suggestion with its reason. */
interface LikelyOrder {
  readonly order: TopupOrder;
  readonly account: Account | undefined;
  readonly nearCode: boolean;
  readonly sameAmount: boolean;
}

/** Time before the transfer within which an order of the same amount is a suggestion. */
const sameAmountMs = 2 * dayMs;
const shown = 10;

/**
 * Returns the best suggestions: codes with one typing error first, then open orders of the same amount, the latest
 * first.
 */
async function findLikelyOrders(
  kv: KeyValueStore,
  event: BankNotice,
): Promise<LikelyOrder[]> {
  const orders = await listOpenTopups(kv, { count: maxNearMissOrders });
  const codes = orders.map(({ code }) => code);
  const near = new Set(nearCodes(`${event.memo} ${event.fullText ?? ""}`, codes));
  const guesses = orders.flatMap((order) => {
    const agoMs = event.time.atMs - order.createdAtMs;
    // A statement without times dates money at the start of its day.
    const inTime = agoMs > -dayMs && agoMs < sameAmountMs;
    const sameAmount = order.askedMicroVnd === event.amountMicroVnd && inTime;
    const nearCode = near.has(order.code);
    return nearCode || sameAmount ? [{ order, nearCode, sameAmount }] : [];
  });
  const weight = (guess: { nearCode: boolean; sameAmount: boolean }) =>
    (guess.nearCode ? 2 : 0) + (guess.sameAmount ? 1 : 0);
  guesses.sort((left, right) =>
    weight(right) - weight(left) || right.order.createdAtMs - left.order.createdAtMs
  );
  return await Promise.all(
    guesses.slice(0, shown).map(async (guess) => ({
      ...guess,
      account: await getAccount(kv, guess.order.accountId),
    })),
  );
}

interface FormProps {
  readonly row: BankNoticeRow;
  readonly visitor: Visitor;
  /** The path of the notice. */
  readonly action: string;
}

/** The suggested orders, each with its button. */
function LikelyCard(
  { visitor, action, likely }: Omit<FormProps, "row"> & { readonly likely: readonly LikelyOrder[] },
) {
  const { locale } = visitor;
  const t = bankTexts[locale];
  if (likely.length === 0) {
    return (
      <Card title={t.near}>
        <p class="muted">{t.noNear}</p>
      </Card>
    );
  }
  return (
    <Card title={t.near}>
      <p>{t.nearText}</p>
      <DataTable
        label={t.near}
        rows={likely}
        columns={[
          { head: t.code, cell: ({ order }) => <code>{order.code}</code> },
          {
            head: frameTexts[locale].when,
            kind: "one-line",
            cell: ({ order }) => <Time atMs={order.createdAtMs} locale={locale} relative />,
          },
          {
            head: t.asked,
            kind: "number",
            cell: ({ order }) => <Money microVnd={order.askedMicroVnd} locale={locale} />,
          },
          {
            head: t.customer,
            cell: ({ order, account }) => (
              <a href={`/operator/accounts/${order.accountId}`}>
                {nameOfAccount(account, order.accountId)}
              </a>
            ),
          },
          {
            head: t.why,
            cell: ({ nearCode, sameAmount }) =>
              [nearCode && t.slip, sameAmount && t.sameAmount].filter(Boolean).join(", "),
          },
          {
            head: t.credit,
            hiddenHead: true,
            cell: ({ order, nearCode }) => (
              <PostForm
                visitor={visitor}
                action={`${action}/assign`}
              >
                <input type="hidden" name="target" value={order.code} />
                <input type="hidden" name="reason" value={nearCode ? t.slip : t.sameAmount} />
                <SubmitButton small>{t.assignTo(order.code)}</SubmitButton>
              </PostForm>
            ),
          },
        ]}
      />
    </Card>
  );
}

/** The form that credits any order or account, with a reason. */
function AssignCard({ visitor, action }: Omit<FormProps, "row">) {
  const t = bankTexts[visitor.locale];
  return (
    <Card title={t.assign}>
      <PostForm
        visitor={visitor}
        action={`${action}/assign`}
        class="inline-form"
      >
        <TextField name="target" label={t.target} required maxlength={254} />
        <ReasonField locale={visitor.locale} />
        <SubmitButton>{t.credit}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function VerdictForm({ visitor, action, verdict, children, button }: {
  visitor: Visitor;
  action: string;
  verdict: string;
  children?: Child;
  button: string;
}) {
  return (
    <PostForm visitor={visitor} action={`${action}/resolve`}>
      <input type="hidden" name="verdict" value={verdict} />
      {children}
      <SubmitButton tone="plain" small>{button}</SubmitButton>
    </PostForm>
  );
}

/** A field of a decision. Its id is unique because several decisions are on the page. */
function NoteField(field: { id: string; name: string; label: string; value?: string }) {
  return <TextField {...field} required maxlength={maxReasonChars} />;
}

/** The other decisions that the state of the notice allows. */
function VerdictCard({ row, visitor, action }: FormProps) {
  const t = bankTexts[visitor.locale];
  const { state } = row;
  const form = { visitor, action };
  if (state.kind === "review") {
    const about = state.about === undefined ? "" : `${state.about.source}:${state.about.id}`;
    return (
      <Card title={t.other}>
        <div class="verdicts">
          <VerdictForm {...form} verdict="duplicate" button={t.markDuplicate}>
            <NoteField
              id="of"
              name="of"
              label={`${t.duplicate} (${t.duplicateRef})`}
              value={about}
            />
          </VerdictForm>
          <VerdictForm {...form} verdict="ignore" button={t.markIgnored}>
            <NoteField id="ignore-note" name="note" label={t.ignore} />
          </VerdictForm>
          <VerdictForm {...form} verdict="start_refund" button={t.markRefund}>
            <NoteField id="refund-note" name="note" label={t.startRefund} />
          </VerdictForm>
        </div>
      </Card>
    );
  }
  if (state.kind === "refund_pending") {
    return (
      <Card title={t.other}>
        <div class="verdicts">
          <VerdictForm {...form} verdict="finish_refund" button={t.markRefunded}>
            <NoteField
              id="refund-reference"
              name="note"
              label={`${t.finishRefund}: ${t.bankReference}`}
            />
          </VerdictForm>
          <VerdictForm {...form} verdict="return" button={t.markBack}>
            <p>{t.back}</p>
          </VerdictForm>
        </div>
      </Card>
    );
  }
  return mayReturn(state)
    ? (
      <Card title={t.other}>
        <VerdictForm {...form} verdict="return" button={t.markBack}>
          <p>{t.back}</p>
        </VerdictForm>
      </Card>
    )
    : null;
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
