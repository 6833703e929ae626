/** Shows budgets with what is spent of them, and a line about those that are nearly used up. */
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { tagText } from "../../../../core/billing/usage/call_tags.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import {
  type Budget,
  budgetDays,
  budgetEndMs,
  type BudgetSubject,
} from "../../../../core/limits/budgets.ts";
import { listBudgets } from "../../../../kv/people/accounts/budgets.ts";
import type { BudgetUse } from "../../../../kv/services/limits/limit_book.ts";
import { Badge, DataTable, Notice, Time } from "../../components/mod.ts";
import { exhaustedBudgets } from "../../../../kv/services/limits/budget_notices.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { Visitor } from "../../page/visitor.ts";
import { formatDateTime, formatMoneyShort } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { budgetTexts } from "./budget_texts.ts";

/** A budget with what is spent of it; `use` is absent where the store does not answer. */
export interface ListedBudget {
  readonly budget: Budget;
  readonly use: BudgetUse | undefined;
  readonly resetsAtMs: number | undefined;
  /** Nothing is left, or too little for a call: one that it may refuse was refused. */
  readonly isUsedUp: boolean;
}

/** Reads the budgets of an account with their use. */
export async function readBudgets(
  { kv, clock, budgets: book }: Pick<DashboardDeps, "kv" | "clock" | "budgets">,
  accountId: AccountId,
): Promise<ListedBudget[]> {
  const budgets = await listBudgets(kv, accountId);
  if (budgets.length === 0) return [];
  const nowMs = clock.nowMs();
  const [uses, exhausted] = await Promise.all([
    book.budgetUse(accountId, budgets, nowMs),
    exhaustedBudgets(kv, accountId, budgets, nowMs),
  ]);
  return budgets.map((budget, at) => ({
    budget,
    use: uses[at],
    resetsAtMs: budgetEndMs(budgetDays(budget, nowMs)),
    isUsedUp: exhausted.has(budget.id) ||
      (uses[at]?.spentMicroVnd ?? 0n) >= budget.amountMicroVnd,
  }));
}

/** Says in words what a budget is of. */
export function subjectWords(
  subject: BudgetSubject,
  names: ReadonlyMap<string, string>,
  locale: Locale,
): string {
  const t = budgetTexts[locale];
  const named = (name: string) => `${t.subjects[subject.kind]}: ${name}`;
  switch (subject.kind) {
    case "account":
      return t.subjects.account;
    case "key":
      return named(names.get(subject.keyId) ?? t.goneKey);
    case "model":
      return named(subject.model);
    case "tag":
      return named(tagText(subject.tag));
    case "member":
      return named(names.get(subject.memberId) ?? subject.memberId);
    case "team":
      return named(names.get(subject.teamId) ?? subject.teamId);
  }
}

/** Share of a budget from which its bar and its line warn. */
const nearPercent = 80n;

function BudgetMeter({ budget, use, isUsedUp, locale }: {
  readonly budget: Budget;
  readonly use: BudgetUse;
  readonly isUsedUp: boolean;
  readonly locale: Locale;
}) {
  const whole = (microVnd: bigint) => Number(microVnd / microVndPerVnd);
  const max = whole(budget.amountMicroVnd);
  const spent = whole(use.spentMicroVnd);
  const low = max * Number(nearPercent) / 100;
  return (
    <meter
      class="limit-meter"
      aria-label={`${budgetTexts[locale].spent}: ${budget.name}`}
      min={0}
      max={max}
      low={low}
      // Red when nothing is left.
      high={Math.max(low, max - 0.5)}
      optimum={0}
      value={isUsedUp ? max : Math.min(spent, max)}
    />
  );
}

function Spent({ listed: { budget, use, isUsedUp }, locale }: {
  readonly listed: ListedBudget;
  readonly locale: Locale;
}) {
  const t = budgetTexts[locale];
  const amount = formatMoneyShort(budget.amountMicroVnd, locale);
  if (use === undefined) return <>{amount}</>;
  return (
    <>
      <span class="nowrap">{t.spentOf(formatMoneyShort(use.spentMicroVnd, locale), amount)}</span>
      <BudgetMeter budget={budget} use={use} isUsedUp={isUsedUp} locale={locale} />
      {use.reservedMicroVnd > 0n && (
        <small class="muted">{t.reserved(formatMoneyShort(use.reservedMicroVnd, locale))}</small>
      )}
    </>
  );
}

/** The table of budgets. */
export function BudgetTable({ budgets, keyNames, visitor: { locale, signedIn } }: {
  readonly budgets: readonly ListedBudget[];
  readonly keyNames: ReadonlyMap<string, string>;
  readonly visitor: Visitor;
}) {
  const t = budgetTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={budgets}
      columns={[
        {
          head: t.name,
          phone: "first",
          cell: ({ budget }) => (
            <>
              {mayVisit(signedIn, `/budgets/${budget.id}`)
                ? (
                  <a href={`/budgets/${budget.id}`} aria-label={t.edit(budget.name)}>
                    {budget.name}
                  </a>
                )
                : budget.name}
              <div>
                <small class="muted">{subjectWords(budget.subject, keyNames, locale)}</small>
              </div>
            </>
          ),
        },
        {
          head: t.spent,
          phone: "below",
          cell: (listed) => <Spent listed={listed} locale={locale} />,
        },
        { head: t.window, phone: "second", cell: ({ budget }) => t.windows[budget.window] },
        {
          head: t.resets,
          kind: "one-line",
          phone: "second-end",
          cell: ({ resetsAtMs }) =>
            resetsAtMs === undefined
              ? <span class="muted">{t.never}</span>
              : <Time atMs={resetsAtMs} locale={locale} />,
        },
        {
          head: t.atLimit,
          phone: "first-end",
          cell: ({ budget: { atLimit }, isUsedUp }) =>
            isUsedUp
              ? <Badge tone="bad">{t.usedUp[atLimit]}</Badge>
              : <Badge tone={atLimit === "refuse" ? "busy" : "neutral"}>{t.ends[atLimit]}</Badge>,
        },
      ]}
    />
  );
}

function isNear({ budget, use, isUsedUp }: ListedBudget): boolean {
  return isUsedUp ||
    use !== undefined && use.spentMicroVnd * 100n >= budget.amountMicroVnd * nearPercent;
}

/**
 * A line about the budget that matters most, if one is nearly used up: above all one that refuses calls now, with what
 * ends that.
 */
export function NearBudget({ budgets, visitor: { locale, signedIn } }: {
  readonly budgets: readonly ListedBudget[];
  readonly visitor: Visitor;
}) {
  const t = budgetTexts[locale];
  const refuses = ({ budget, isUsedUp }: ListedBudget) => isUsedUp && budget.atLimit === "refuse";
  const shareOf = (listed: ListedBudget) =>
    Number((listed.use?.spentMicroVnd ?? 0n) * 10_000n / listed.budget.amountMicroVnd) +
    (refuses(listed) ? Number.MAX_SAFE_INTEGER / 2 : 0);
  const [first] = budgets.filter(isNear).sort((one, other) => shareOf(other) - shareOf(one));
  if (first?.use === undefined) return null;
  const { budget: { id, name, amountMicroVnd }, use: { spentMicroVnd }, resetsAtMs } = first;
  const amounts = [spentMicroVnd, amountMicroVnd].map((one) => formatMoneyShort(one, locale));
  const [spent = "", amount = ""] = amounts;
  if (!refuses(first)) {
    const say = first.isUsedUp ? t.over : t.near;
    return (
      <Notice tone="warning">
        {say(name, spent, amount)} <a href="/budgets">{t.open}</a>
      </Notice>
    );
  }
  return (
    <Notice tone="danger" title={t.refusing(name)}>
      <p>
        {t.spentOf(spent, amount)}.{" "}
        {resetsAtMs === undefined ? t.neverResets : t.resetsAt(formatDateTime(resetsAtMs, locale))}
        {" "}
        {mayVisit(signedIn, `/budgets/${id}`)
          ? <a href={`/budgets/${id}`}>{t.raise}</a>
          : t.askToRaise}
      </p>
    </Notice>
  );
}
