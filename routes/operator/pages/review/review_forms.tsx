/** The forms of a notice: suggested orders, any order or account, and decisions that move no money. */
import { nameOfAccount } from "../base/linked_text.tsx";
import type { Child } from "hono/jsx";
import type { BankNoticeRow } from "../../../../kv/money/payments/bank_notices.ts";
import { mayReturn } from "../../../../kv/money/payments/bank_intake.ts";
import {
  Card,
  DataTable,
  Money,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { bankTexts } from "../base/bank_texts.ts";
import { maxReasonChars } from "../../operations/contract/texts.ts";
import { ReasonField } from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import type { BankNotice } from "../../../../core/trade/bank/bank_notice.ts";
import { nearCodes } from "../../../../core/trade/statements/memo_codes.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { listOpenTopups, type TopupOrder } from "../../../../kv/money/payments/topups.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

// Finds orders that a damaged memo may have meant, as suggestions for operators only.

/** Open orders searched for near misses of a damaged memo. */
const maxNearMissOrders = 2_000;

/** A suggestion with its reason. */
export interface LikelyOrder {
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
export async function findLikelyOrders(
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
export function LikelyCard(
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
export function AssignCard({ visitor, action }: Omit<FormProps, "row">) {
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
export function VerdictCard({ row, visitor, action }: FormProps) {
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
