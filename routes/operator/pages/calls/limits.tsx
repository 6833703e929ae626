/** `/operator/limits`: customers whose calls met a limit in the last day, and the limits that hold for everybody. */
import { Hono } from "hono";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { dayMs, hourMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { rateLimitNames } from "../../../../core/limits/limit_table.ts";
import type { RateLimits } from "../../../../core/limits/rate_limits.ts";
import { readRefusedHours } from "../../../../kv/services/calls/refused_hours.ts";
import { Card, DataTable, Notice } from "../../../dashboard/components/mod.ts";
import { rateTexts } from "../../../dashboard/customer/rate_limits/limit_table.tsx";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import { keptFor } from "../../../usage_api/range.ts";
import { accountTexts } from "../base/account_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { type AccountNames, CustomerLink, namesOf } from "../base/linked_text.tsx";

/** The codes of calls that met a limit, in the order of the columns. */
const limitCodes = ["rate_limit_reached", "spending_limit_reached", "budget_exceeded"] as const;

type LimitCode = typeof limitCodes[number];

/** Rows of refused calls that one reading sums: a second or two. */
const maxRows = 60_000;

/** Customers that the page lists, those who met the most limits. */
const maxShown = 100;

/** Milliseconds for which the sums are kept, which are a scan. */
const keptMs = 60_000;

const texts = defineTexts({
  both: {
    none: ["No call met a limit in 24 hours.", "Không có lượt gọi nào chạm giới hạn trong 24 giờ."],
    calls: ["Refused calls", "Lượt gọi bị từ chối"],
    change: ["Limits of this customer", "Giới hạn của khách hàng này"],
    defaults: ["For every account and key", "Cho mọi tài khoản và khoá API"],
    noDefaults: ["gateway.json sets no limits.", "gateway.json không đặt giới hạn."],
    account: ["Account", "Tài khoản"],
    key: ["API key", "Khoá API"],
    unlimited: ["–", "–"],
  },
  en: {
    lead: "Customers whose calls were refused by a limit in the last 24 hours.",
    codes: {
      rate_limit_reached: "Rate limit",
      spending_limit_reached: "Limit of the key",
      budget_exceeded: "Budget",
    } satisfies Record<LimitCode, string>,
    defaultsText: "From gateway.json. Limits of a customer replace those of the account.",
    partial: "There are more refused calls than this page reads: the numbers are too low.",
  },
  vi: {
    lead: "Khách hàng có lượt gọi bị từ chối vì giới hạn trong 24 giờ qua.",
    codes: {
      rate_limit_reached: "Giới hạn tốc độ",
      spending_limit_reached: "Giới hạn của khoá API",
      budget_exceeded: "Ngân sách",
    },
    defaultsText: "Theo gateway.json. Giới hạn riêng của khách hàng thay cho giới hạn tài khoản.",
    partial: "Có nhiều lượt gọi bị từ chối hơn trang này đọc: các số này quá thấp.",
  },
});

interface LimitedCustomer {
  readonly accountId: AccountId;
  readonly counts: Record<LimitCode, number>;
}

interface Limited {
  readonly customers: readonly LimitedCustomer[];
  readonly isPartial: boolean;
}

const sumOf = ({ counts }: LimitedCustomer) =>
  limitCodes.reduce((sum, code) => sum + counts[code], 0);

async function readLimited({ kv }: OperatorDeps, nowMs: number): Promise<Limited> {
  const by = new Map<AccountId, LimitedCustomer>();
  let rows = 0;
  for (const day of [vietnamDay(nowMs - dayMs), vietnamDay(nowMs)]) {
    for await (const { cell: { accountId }, hours } of readRefusedHours(kv, day)) {
      if (++rows > maxRows) break;
      for (const [hour, errors] of hours) {
        const beginMs = vietnamDayStartMs(day) + hour * hourMs;
        if (beginMs <= nowMs - dayMs - hourMs) continue;
        for (const [kind, count] of errors) {
          const code = limitCodes.find((one) => kind.endsWith(` ${one}`));
          if (code === undefined) continue;
          const customer: LimitedCustomer = by.get(accountId) ??
            { accountId, counts: recordOf(limitCodes, () => 0) };
          by.set(accountId, customer);
          customer.counts[code] += count;
        }
      }
    }
  }
  const customers = [...by.values()].sort((one, other) => sumOf(other) - sumOf(one));
  return { customers: customers.slice(0, maxShown), isPartial: rows > maxRows };
}

function LimitedTable({ customers, names, locale }: {
  customers: readonly LimitedCustomer[];
  names: AccountNames;
  locale: Locale;
}) {
  const t = texts[locale];
  return (
    <DataTable
      label={t.lead}
      rows={customers}
      empty={<p class="muted">{t.none}</p>}
      columns={[
        {
          head: accountTexts[locale].customer,
          kind: "long",
          cell: ({ accountId }) => <CustomerLink id={accountId} names={names} />,
        },
        ...limitCodes.map((code) => ({
          head: t.codes[code],
          kind: "number" as const,
          cell: ({ accountId, counts }: LimitedCustomer) => (
            <a href={`/operator/calls?account=${accountId}&period=24h&error=${code}`}>
              {formatCount(counts[code], locale)}
            </a>
          ),
        })),
        {
          head: t.change,
          hiddenHead: true,
          cell: ({ accountId }) => <a href={`/operator/accounts/${accountId}/limits`}>{t.change}
          </a>,
        },
      ]}
    />
  );
}

function DefaultsCard({ deps, locale }: { deps: OperatorDeps; locale: Locale }) {
  const t = texts[locale];
  const { account, key } = deps.rates?.defaults() ?? {};
  const isSet = (limits: RateLimits | undefined) =>
    rateLimitNames.some((name) => limits?.[name] !== undefined);
  const shown = (limit: number | undefined) =>
    limit === undefined ? t.unlimited : formatCount(limit, locale);
  const rows = rateLimitNames.filter((name) =>
    account?.[name] !== undefined || key?.[name] !== undefined
  );
  return (
    <Card title={t.defaults}>
      {isSet(account) || isSet(key)
        ? (
          <>
            <p class="muted">{t.defaultsText}</p>
            <DataTable
              label={t.defaults}
              rows={rows}
              columns={[
                {
                  head: rateTexts[locale].limit,
                  cell: (name) => rateTexts[locale].names[name],
                },
                { head: t.account, kind: "number", cell: (name) => shown(account?.[name]) },
                { head: t.key, kind: "number", cell: (name) => shown(key?.[name]) },
              ]}
            />
          </>
        )
        : <p class="muted">{t.noDefaults}</p>}
    </Card>
  );
}

async function limitsPage(c: OperatorContext, deps: OperatorDeps, read: () => Promise<Limited>) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const { customers, isPartial } = await read();
  const names = await namesOf(deps.kv, customers.map(({ accountId }) => accountId));
  return await renderOperatorPage(
    c,
    { lead: t.lead },
    <>
      {isPartial && <Notice tone="warning">{t.partial}</Notice>}
      <Card>
        <LimitedTable customers={customers} names={names} locale={locale} />
      </Card>
      <DefaultsCard deps={deps} locale={locale} />
    </>,
  );
}

function createLimitPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const kept = keptFor<Limited>({ clock: deps.clock, keptMs, most: 1 });
  const read = () => kept("limited", () => readLimited(deps, deps.clock.nowMs()));
  return new Hono<DashboardEnv>().get("/operator/limits", (c) => limitsPage(c, deps, read));
}

export const limitPages: OperatorPage = {
  link: { href: "/operator/limits", label: { en: "Limits", vi: "Giới hạn" } },
  routes: createLimitPages,
};
