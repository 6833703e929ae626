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
import type { DashboardDeps } from "../../page/deps.ts";
import { formatMoneyShort } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { budgetTexts } from "./budget_texts.ts";

/** A budget with what is spent of it; `use` is absent where the store does not answer. */
export interface ListedBudget {
  readonly budget: Budget;
  readonly use: BudgetUse | undefined;
  readonly resetsAtMs: number | undefined;
}

/** Reads the budgets of an account with their use. */
export async function readBudgets(
  { kv, clock, budgets: book }: Pick<DashboardDeps, "kv" | "clock" | "budgets">,
  accountId: AccountId,
): Promise<ListedBudget[]> {
  const budgets = await listBudgets(kv, accountId);
  if (budgets.length === 0) return [];
  const nowMs = clock.nowMs();
  const uses = await book.budgetUse(accountId, budgets, nowMs);
  return budgets.map((budget, at) => ({
    budget,
    use: uses[at],
    resetsAtMs: budgetEndMs(budgetDays(budget, nowMs)),
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

function BudgetMeter({ budget, use, locale }: {
  readonly budget: Budget;
  readonly use: BudgetUse;
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
      value={Math.min(spent, max)}
    />
  );
}

function Spent({ budget, use, locale }: {
  readonly budget: Budget;
  readonly use: BudgetUse | undefined;
  readonly locale: Locale;
}) {
  const t = budgetTexts[locale];
  const amount = formatMoneyShort(budget.amountMicroVnd, locale);
  if (use === undefined) return <>{amount}</>;
  return (
    <>
      <span class="nowrap">{t.spentOf(formatMoneyShort(use.spentMicroVnd, locale), amount)}</span>
      <BudgetMeter budget={budget} use={use} locale={locale} />
      {use.reservedMicroVnd > 0n && (
        <small class="muted">{t.reserved(formatMoneyShort(use.reservedMicroVnd, locale))}</small>
      )}
    </>
  );
}

/** The table of budgets. */
export function BudgetTable({ budgets, keyNames, locale }: {
  readonly budgets: readonly ListedBudget[];
  readonly keyNames: ReadonlyMap<string, string>;
  readonly locale: Locale;
}) {
  const t = budgetTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={budgets}
      columns={[
        {
          head: t.name,
          cell: ({ budget }) => (
            <>
              <a href={`/budgets/${budget.id}`} aria-label={t.edit(budget.name)}>{budget.name}</a>
              <div>
                <small class="muted">{subjectWords(budget.subject, keyNames, locale)}</small>
              </div>
            </>
          ),
        },
        {
          head: t.spent,
          cell: ({ budget, use }) => <Spent budget={budget} use={use} locale={locale} />,
        },
        { head: t.window, wideOnly: true, cell: ({ budget }) => t.windows[budget.window] },
        {
          head: t.resets,
          kind: "one-line",
          wideOnly: true,
          cell: ({ resetsAtMs }) =>
            resetsAtMs === undefined
              ? <span class="muted">{t.never}</span>
              : <Time atMs={resetsAtMs} locale={locale} />,
        },
        {
          head: t.atLimit,
          wideOnly: true,
          cell: ({ budget: { atLimit } }) => (
            <Badge tone={atLimit === "refuse" ? "busy" : "neutral"}>{t.ends[atLimit]}</Badge>
          ),
        },
      ]}
    />
  );
}

function isNear({ budget, use }: ListedBudget): boolean {
  return use !== undefined && use.spentMicroVnd * 100n >= budget.amountMicroVnd * nearPercent;
}

/** A line about the budget of which the largest share is spent, if one is nearly used up. */
export function NearBudget({ budgets, locale }: {
  readonly budgets: readonly ListedBudget[];
  readonly locale: Locale;
}) {
  const t = budgetTexts[locale];
  const shareOf = ({ budget, use }: ListedBudget) =>
    Number((use?.spentMicroVnd ?? 0n) * 10_000n / budget.amountMicroVnd);
  const [first] = budgets.filter(isNear).sort((one, other) => shareOf(other) - shareOf(one));
  if (first?.use === undefined) return null;
  const { budget: { name, amountMicroVnd }, use: { spentMicroVnd } } = first;
  const say = spentMicroVnd >= amountMicroVnd ? t.over : t.near;
  const amounts = [spentMicroVnd, amountMicroVnd].map((one) => formatMoneyShort(one, locale));
  const [spent = "", amount = ""] = amounts;
  return (
    <Notice tone="warning">
      {say(name, spent, amount)} <a href="/budgets">{t.open}</a>
    </Notice>
  );
}
