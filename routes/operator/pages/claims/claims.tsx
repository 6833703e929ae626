/**
 * `/operator/claims`: the usage that providers reported beyond what customers paid, per day, provider and route.
 *
 * - Folder `routes/operator/pages/claims/`: the operator's page about claims on providers.
 * - In: a range of days.
 * - Out: HTML with the sums of a day and a route.
 * - Never: changes a claim, or charges a customer for one.
 */
import { Hono } from "hono";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import {
  type DayClaims,
  providerOfRoute,
  readClaims,
} from "../../../../kv/money/ledger/provider_claims.ts";
import type { DayRange } from "../../../../kv/money/receipts/day_sums.ts";
import {
  Card,
  DataTable,
  Empty,
  Money,
  Notice,
  Stat,
  Stats,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { englishCount, formatCount, formatDate } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { boundedRange, dayRange } from "../../../usage_api/range.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";

// Texts of the page about claims on providers.

const claimsTexts = defineTexts({
  both: {
    from: ["From", "Từ ngày"],
    to: ["To", "Đến ngày"],
    total: ["Claims in these days", "Khoản khiếu nại trong các ngày này"],
    byDay: ["By day and route", "Theo ngày và tuyến"],
    day: ["Day", "Ngày"],
    provider: ["Provider", "Nhà cung cấp"],
    route: ["Route", "Tuyến"],
    callCount: ["Calls", "Lượt gọi"],
    amount: ["Claim", "Số tiền khiếu nại"],
    none: ["No claims", "Không có khoản đòi nào"],
  },
  en: {
    lead:
      "What providers reported beyond what their customers paid: tokens that cannot have been sent, or output beyond what was asked for. At the prices of your customers.",
    calls: (count: string) => `in ${englishCount(count, "call", "calls")}`,
    noneText: "In these days all providers reported plausible usage.",
    partial: "There are more claims than this page reads: the earliest of these days are left out.",
    cut: "Only the last days of this range are shown.",
  },
  vi: {
    lead:
      "Phần nhà cung cấp báo cáo vượt quá số khách hàng đã trả: token không thể đã được gửi, hoặc đầu ra vượt quá mức yêu cầu. Tính theo giá bán cho khách hàng.",
    calls: (count) => `trong ${count} lượt gọi`,
    noneText: "Trong các ngày này mọi nhà cung cấp đều báo cáo hợp lý.",
    partial: "Có nhiều khoản đòi hơn trang này đọc được: các ngày đầu của khoảng bị bỏ qua.",
    cut: "Chỉ hiển thị những ngày cuối của khoảng này.",
  },
});

async function claimsPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = claimsTexts[locale];
  const asked = { from: c.req.query("from"), to: c.req.query("to") };
  const today = vietnamDay(deps.clock.nowMs());
  const { range, cut } = boundedRange(dayRange(asked, today));
  const { claims, isPartial } = await readClaims(deps.kv, range);
  return await renderOperatorPage(
    c,
    { lead: t.lead },
    <>
      <RangeForm range={range} locale={locale} />
      {cut && <Notice tone="info">{t.cut}</Notice>}
      {isPartial && <Notice tone="warning">{t.partial}</Notice>}
      <Total claims={claims} locale={locale} />
      <Card title={t.byDay}>
        <ClaimTable claims={claims} locale={locale} />
      </Card>
    </>,
  );
}

function RangeForm({ range, locale }: { range: DayRange; locale: Locale }) {
  const t = claimsTexts[locale];
  return (
    <form method="get" class="inline-form">
      <TextField name="from" type="date" label={t.from} value={range.fromDay} />
      <TextField name="to" type="date" label={t.to} value={range.toDay} />
      <SubmitButton tone="plain">{frameTexts[locale].show}</SubmitButton>
    </form>
  );
}

function Total({ claims, locale }: { claims: readonly DayClaims[]; locale: Locale }) {
  const t = claimsTexts[locale];
  const calls = claims.reduce((sum, claim) => sum + claim.calls, 0);
  const microVnd = claims.reduce((sum, claim) => sum + claim.claimMicroVnd, 0n);
  return (
    <Stats>
      <Stat label={t.total} note={t.calls(formatCount(calls, locale))}>
        <Money microVnd={microVnd} locale={locale} />
      </Stat>
    </Stats>
  );
}

function ClaimTable({ claims, locale }: { claims: readonly DayClaims[]; locale: Locale }) {
  const t = claimsTexts[locale];
  return (
    <DataTable
      label={t.byDay}
      rows={claims}
      empty={
        <Empty title={t.none}>
          <p>{t.noneText}</p>
        </Empty>
      }
      columns={[
        {
          head: t.day,
          kind: "one-line",
          cell: ({ day }) => formatDate(vietnamDayStartMs(day), locale),
        },
        { head: t.provider, cell: ({ route }) => providerOfRoute(route) },
        { head: t.route, cell: ({ route }) => <code>{route}</code> },
        {
          head: t.callCount,
          kind: "number",
          cell: ({ calls }) => formatCount(calls, locale),
        },
        {
          head: t.amount,
          kind: "number",
          cell: ({ claimMicroVnd }) => <Money microVnd={claimMicroVnd} locale={locale} />,
        },
      ]}
    />
  );
}

/** Registers the page of claims. */
function createClaimsPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/claims", (c) => claimsPage(c, deps));
  return app;
}

export const claimsPages: OperatorPage = {
  link: { href: "/operator/claims", label: { en: "Claims", vi: "Khiếu nại nhà cung cấp" } },
  routes: createClaimsPages,
};
