/**
 * `/operator/margins`: what calls earned and cost, by model, route, customer, key or day, beside the period before.
 *
 * - Folder `routes/operator/pages/margins/`: costs and margins for operators.
 * - In: a period, a grouping, a provider.
 * - Out: HTML and CSV files.
 * - Never: shown to a customer, or changes anything.
 */
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { type CsvColumn, csvFile } from "../../../../core/lib/base/csv.ts";
import { vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import {
  marginBasisPoints,
  type MarginGroup,
  marginGroups,
  marginMicroVnd,
  type MarginSum,
  readGivenCredits,
  readMargins,
  unknownCalls,
} from "../../../../kv/money/costs/margins.ts";
import { readClaims } from "../../../../kv/money/ledger/provider_claims.ts";
import type { DayRange } from "../../../../kv/money/receipts/day_sums.ts";
import {
  Card,
  type Column,
  DataTable,
  Empty,
  Money,
  Notice,
  Stat,
  Stats,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import {
  formatCount,
  formatDate,
  formatMoneyShort,
  formatPercentage,
} from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import {
  emailsOf,
  groupOf,
  type MarginRow,
  marginRows,
  type Period,
  periodOf,
  presets,
  routeOfRow,
  type Sorting,
  sortingOf,
} from "./margin_rows.ts";
import { marginsLabel, marginTexts } from "./texts.ts";
import { PriceWarnings, readPriceWarnings } from "./warnings.tsx";
import { frameTexts } from "../base/texts.ts";
import { Hono } from "hono";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { sheetFile, sheetPage } from "./sheet_page.tsx";

/** Rows of a page; the file has all. */
const shownRows = 200;

const path = "/operator/margins";

/** Choices of the query. */
interface Asked {
  readonly period: Period;
  readonly group: MarginGroup;
  readonly sorting: Sorting | undefined;
  readonly isUp: boolean;
}

function askedOf(c: OperatorContext, nowMs: number): Asked {
  const { period, from, to, by, sort, order } = c.req.query();
  return {
    period: periodOf({ period, from, to }, nowMs),
    group: groupOf(by),
    sorting: sortingOf(sort),
    isUp: order === "up",
  };
}

/** Writes the address of the page with parts changed. */
function hrefOf(asked: Asked, change: Readonly<Record<string, string>> = {}, to = path): string {
  const { period: { preset, range }, group, sorting, isUp } = asked;
  const kept: Record<string, string> = preset === undefined
    ? { from: range.fromDay, to: range.toDay }
    : { period: preset };
  if (change["period"] !== undefined) {
    delete kept["from"];
    delete kept["to"];
  }
  const query = new URLSearchParams({
    ...kept,
    by: group,
    ...(sorting !== undefined && { sort: sorting, order: isUp ? "up" : "down" }),
    ...change,
  });
  return `${to}?${query}`;
}

/** Shows the margins. */
async function marginsPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = marginTexts[locale];
  const catalog = deps.catalog.current;
  const nowMs = deps.clock.nowMs();
  const asked = askedOf(c, nowMs);
  const { range, before } = asked.period;
  const [now, earlier, warnings, others] = await Promise.all([
    readMargins(deps.kv, range),
    readMargins(deps.kv, before),
    readPriceWarnings(deps),
    readOthers(deps, range),
  ]);
  const rows = marginRows(now, earlier, asked);
  const shown = rows.slice(0, shownRows);
  const emails = asked.group === "account"
    ? await emailsOf(deps.kv, shown.map(({ name }) => name))
    : new Map<string, string>();
  return await renderOperatorPage(
    c,
    {
      lead: t.lead,
      actions: <a href={hrefOf(asked, {}, `${path}/export.csv`)}>{t.export}</a>,
    },
    <>
      {!catalog.hasCosts && (
        <Notice tone="info" title={t.noCosts}>
          <p>
            {t.noCostsText} <a href="/operator/catalogue">{t.openCatalogue}</a>
          </p>
        </Notice>
      )}
      <PriceWarnings known={warnings} locale={locale} />
      <PeriodChoice
        period={asked.period}
        href={(change) => hrefOf(asked, change)}
        kept={{ by: asked.group, sort: asked.sorting, order: asked.isUp ? "up" : undefined }}
        locale={locale}
      />
      {now.isPartial && <Notice tone="warning">{t.partial}</Notice>}
      <Totals now={now.total} before={earlier.total} locale={locale} />
      <OthersLine others={others} locale={locale} />
      <Card title={<GroupLinks asked={asked} locale={locale} />}>
        <MarginTable asked={asked} rows={shown} emails={emails} locale={locale} />
        {rows.length > shown.length && (
          <p class="muted">{t.more(formatCount(rows.length - shown.length, locale))}</p>
        )}
      </Card>
    </>,
  );
}

interface Others {
  readonly creditsMicroVnd: bigint | undefined;
  readonly claimsMicroVnd: bigint;
}

async function readOthers({ kv }: OperatorDeps, range: DayRange): Promise<Others> {
  const creditsMicroVnd = await readGivenCredits(kv, range);
  const { claims } = await readClaims(kv, range);
  return {
    creditsMicroVnd,
    claimsMicroVnd: claims.reduce((sum, one) => sum + one.claimMicroVnd, 0n),
  };
}

/** A share in hundredths of a percent, as `12.34 %`. */
function shareText(basisPoints: number | undefined, locale: Locale): string {
  if (basisPoints === undefined) return "–";
  return formatPercentage(basisPoints / 100, locale, 1);
}

/** Line of what lowers the result without being a call. */
function OthersLine({ others, locale }: { others: Others; locale: Locale }) {
  const t = marginTexts[locale];
  const { creditsMicroVnd, claimsMicroVnd } = others;
  return (
    <p class="muted">
      {t.credits}:{" "}
      {creditsMicroVnd === undefined ? "–" : <Money microVnd={creditsMicroVnd} locale={locale} />} ·
      {" "}
      <a href="/operator/claims">{t.claims}</a>: <Money microVnd={claimsMicroVnd} locale={locale} />
      {" "}
      ({t.claimsNote})
    </p>
  );
}

function Totals({ now, before, locale }: {
  now: MarginSum;
  before: MarginSum;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const money = (microVnd: bigint) => formatMoneyShort(microVnd, locale);
  const margin = marginMicroVnd(now);
  const marginBefore = marginMicroVnd(before);
  const unknown = now.revenueMicroVnd - now.knownRevenueMicroVnd;
  return (
    <Stats>
      <Stat
        label={t.revenue}
        note={t.before(money(before.revenueMicroVnd - before.refundedMicroVnd))}
      >
        <Money microVnd={now.revenueMicroVnd - now.refundedMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.cost} note={t.before(money(before.costMicroVnd))}>
        <Money microVnd={now.costMicroVnd} locale={locale} />
      </Stat>
      <Stat
        label={t.margin}
        note={t.before(marginBefore === undefined ? "–" : money(marginBefore))}
      >
        {margin === undefined ? "–" : <Money microVnd={margin} locale={locale} />}
      </Stat>
      <Stat label={t.share} note={t.before(shareText(marginBasisPoints(before), locale))}>
        {shareText(marginBasisPoints(now), locale)}
      </Stat>
      <Stat label={t.unknown} note={t.unknownNote(money(unknown))}>
        {formatCount(unknownCalls(now), locale)}
      </Stat>
    </Stats>
  );
}

function GroupLinks({ asked, locale }: { asked: Asked; locale: Locale }) {
  const t = marginTexts[locale];
  const { group, period: { preset, range } } = asked;
  const query = preset === undefined
    ? { from: range.fromDay, to: range.toDay }
    : { period: preset };
  return (
    <nav class="chips" aria-label={t.by}>
      {marginGroups.map((one) => (
        <a
          href={`${path}?${new URLSearchParams({ ...query, by: one })}`}
          aria-current={one === group ? "true" : undefined}
        >
          {t.groups[one]}
        </a>
      ))}
    </nav>
  );
}

function NameCell({ name, group, emails, locale }: {
  name: string;
  group: MarginGroup;
  emails: ReadonlyMap<string, string>;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  switch (group) {
    case "account":
      return <a href={`/operator/accounts/${name}`}>{emails.get(name) ?? name}</a>;
    case "route": {
      const { model, route } = routeOfRow(name);
      return <>{model} · {route === undefined ? t.allRoutes : <code>{route}</code>}</>;
    }
    case "day":
      return <>{formatDate(vietnamDayStartMs(name), locale)}</>;
    case "key":
      return <code>{name}</code>;
    case "model":
      return <>{name}</>;
  }
}

function MarginTable({ asked, rows, emails, locale }: {
  asked: Asked;
  rows: readonly MarginRow[];
  emails: ReadonlyMap<string, string>;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const { group } = asked;
  const head = (sorting: Sorting, label: string) => (
    <SortLink asked={asked} sorting={sorting} label={label} locale={locale} />
  );
  const money = (microVnd: bigint | undefined) =>
    microVnd === undefined ? "–" : <Money microVnd={microVnd} locale={locale} />;
  const columns: Column<MarginRow>[] = [
    {
      head: head("name", t.groups[group]),
      ...((group === "model" || group === "day") && { kind: "one-line" as const }),
      cell: ({ name }) => <NameCell name={name} group={group} emails={emails} locale={locale} />,
    },
    {
      head: head("calls", t.calls),
      kind: "number",
      cell: ({ sum }) => formatCount(sum.calls, locale),
    },
    ...(group === "route" ? [] : [{
      head: t.tokens,
      kind: "number" as const,
      wideOnly: true,
      cell: ({ sum }: MarginRow) => formatCount(sum.inputTokens + sum.outputTokens, locale),
    }, {
      head: t.refunded,
      kind: "number" as const,
      wideOnly: true,
      cell: ({ sum }: MarginRow) => money(sum.refundedMicroVnd),
    }]),
    {
      head: head("revenue", t.revenue),
      kind: "number",
      cell: ({ sum }) => money(sum.revenueMicroVnd),
    },
    {
      head: head("cost", t.cost),
      kind: "number",
      cell: ({ sum }) => money(sum.knownCalls === 0 ? undefined : sum.costMicroVnd),
    },
    {
      head: head("margin", t.margin),
      kind: "number",
      cell: ({ sum }) => money(marginMicroVnd(sum)),
    },
    {
      head: head("share", t.share),
      kind: "number",
      cell: ({ sum }) => shareText(marginBasisPoints(sum), locale),
    },
    ...(group === "day" ? [] : [{
      head: t.beforeHead,
      kind: "number" as const,
      wideOnly: true,
      cell: ({ before }: MarginRow) => money(marginMicroVnd(before)),
    }]),
    {
      head: head("unknown", t.unknownHead),
      kind: "number",
      cell: ({ sum }) => formatCount(unknownCalls(sum), locale),
    },
  ];
  return (
    <DataTable
      label={marginsLabel[locale]}
      rows={rows}
      columns={columns}
      empty={
        <Empty title={t.none}>
          <p>{t.noneText}</p>
        </Empty>
      }
    />
  );
}

function SortLink({ asked, sorting, label, locale }: {
  asked: Asked;
  sorting: Sorting;
  label: string;
  locale: Locale;
}) {
  const isCurrent = asked.sorting === sorting;
  const order = isCurrent && !asked.isUp ? "up" : "down";
  return (
    <a
      class="sort"
      href={hrefOf(asked, { sort: sorting, order })}
      title={marginTexts[locale].sortBy(label)}
    >
      {label}
      {isCurrent && <span aria-hidden="true">{asked.isUp ? " ↑" : " ↓"}</span>}
    </a>
  );
}

const exact = (microVnd: bigint | undefined): string | undefined =>
  microVnd === undefined ? undefined : formatVnd(microVnd);

const sumColumns: readonly CsvColumn<MarginRow>[] = [
  { name: "calls", cell: ({ sum }) => sum.calls },
  { name: "input_tokens", cell: ({ sum }) => sum.inputTokens },
  { name: "output_tokens", cell: ({ sum }) => sum.outputTokens },
  { name: "revenue_vnd", cell: ({ sum }) => exact(sum.revenueMicroVnd) },
  { name: "refunded_vnd", cell: ({ sum }) => exact(sum.refundedMicroVnd) },
  { name: "calls_with_cost", cell: ({ sum }) => sum.knownCalls },
  { name: "revenue_with_cost_vnd", cell: ({ sum }) => exact(sum.knownRevenueMicroVnd) },
  { name: "provider_cost_vnd", cell: ({ sum }) => exact(sum.costMicroVnd) },
  { name: "margin_vnd", cell: ({ sum }) => exact(marginMicroVnd(sum)) },
  { name: "margin_before_vnd", cell: ({ before }) => exact(marginMicroVnd(before)) },
];

/** Sends the rows as a file. */
async function marginsFile(c: OperatorContext, deps: OperatorDeps): Promise<Response> {
  const asked = askedOf(c, deps.clock.nowMs());
  const { group, period: { range, before } } = asked;
  const [now, earlier] = await Promise.all([
    readMargins(deps.kv, range),
    readMargins(deps.kv, before),
  ]);
  const rows = marginRows(now, earlier, asked);
  const columns: CsvColumn<MarginRow>[] = [{ name: group, cell: ({ name }) => name }];
  if (group === "account") {
    const emails = await emailsOf(deps.kv, rows.map(({ name }) => name));
    columns.push({ name: "email", cell: ({ name }) => emails.get(name) });
  }
  return new Response(csvFile([...columns, ...sumColumns], rows), {
    headers: csvDownloadHeaders(`margins-${group}-${range.fromDay}-${range.toDay}.csv`),
  });
}

// The choice of a period on the pages about costs.

/** The choice of a period: presets as links, and a form for other days. */
function PeriodChoice({ period, href, kept, locale }: {
  period: Period;
  /** The address with another period. */
  href: (query: Readonly<Record<string, string>>) => string;
  /** Other parts of the query. */
  kept: Readonly<Record<string, string | undefined>>;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const { range, preset } = period;
  return (
    <div class="toolbar">
      <nav class="chips" aria-label={t.period}>
        {presets.map((one) => (
          <a href={href({ period: one })} aria-current={one === preset ? "true" : undefined}>
            {t.presets[one]}
          </a>
        ))}
      </nav>
      <form method="get" class="inline-form">
        {Object.entries(kept).map(([name, value]) =>
          value === undefined ? null : <input key={name} type="hidden" name={name} value={value} />
        )}
        <TextField name="from" type="date" label={t.from} value={range.fromDay} />
        <TextField name="to" type="date" label={t.to} value={range.toDay} />
        <SubmitButton tone="plain">{frameTexts[locale].show}</SubmitButton>
      </form>
    </div>
  );
}

function createMarginPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/operator/margins", (c) => marginsPage(c, deps))
    .get("/operator/margins/export.csv", (c) => marginsFile(c, deps))
    .get("/operator/margins/sheet", (c) => sheetPage(c, deps))
    .get("/operator/margins/sheet.csv", (c) => sheetFile(c, deps));
}

export const marginPages: OperatorPage = {
  link: { href: "/operator/margins", label: marginsLabel },
  views: [{
    href: "/operator/margins/sheet",
    label: { en: marginTexts.en.sheet, vi: marginTexts.vi.sheet },
  }],
  routes: createMarginPages,
};
