/** The filter of pages with a log of calls: a row of chips. What is chosen applies at once, and is in the address. */
import {
  bucketRange,
  inWholeDays,
  type Period,
  type Preset,
  presets,
  readPeriod,
} from "../../../usage_api/period.ts";
import { SelectField, TextField } from "../../components/mod.ts";
import { formatBucket } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { usageTexts } from "./texts.ts";
import {
  type CallTag,
  parseTag,
  tagFilterText,
  tagText,
} from "../../../../core/billing/usage/call_tags.ts";
import type { Context } from "hono";
import { type AccountId, parseId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import {
  type CallFilter,
  errorFamilies,
  familyFilter,
} from "../../../usage_api/search/call_filter.ts";
import {
  type Metric,
  metricsOf,
  parseStackBy,
  type StackBy,
  stackedTag,
} from "../../../usage_api/series.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { secondMs } from "../../../../core/lib/time/durations.ts";

// Reads the filter of the usage page from the query, and writes it for links.

/** The filter of the usage page, and what its chart shows. */
export interface UsageFilter {
  readonly period: Period;
  /** The grain that was asked for. */
  readonly grain: string | undefined;
  readonly metric: Metric;
  readonly by: StackBy;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  /** Only calls with this tag; then all figures are by day. */
  readonly tag: CallTag | undefined;
  /** Text that was typed for a tag and is none: nothing is shown then. */
  readonly wrongTag: string | undefined;
  /** Ending of the calls: a status, and an error code. */
  readonly status: string | undefined;
  readonly error: string | undefined;
  /** The list shows the calls of one bar of the chart. */
  readonly at: string | undefined;
  /** The list begins with the calls of this second, in the form of the input for it. */
  readonly until: string | undefined;
  readonly before: RequestId | undefined;
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : text.slice(0, 256);
}

/** The time in Vietnam that an `<input type="datetime-local">` names. */
function parseSecond(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  const atMs = Date.parse(`${text}+07:00`);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** The filter of the list of calls of one account. */
export function callFilter(filter: UsageFilter, accountId: AccountId): CallFilter {
  return { accountId, ...callsOfAllFilter(filter) };
}

/** The filter of the list of calls of all accounts. */
export function callsOfAllFilter(filter: UsageFilter): Omit<CallFilter, "accountId"> {
  const { period, keyId, model, tag, status, error, at, until, before } = filter;
  const secondAtMs = parseSecond(until);
  const bar = at === undefined ? undefined : bucketRange(at);
  return {
    fromMs: Math.max(period.fromMs, bar?.fromMs ?? 0),
    untilMs: Math.min(
      period.untilMs,
      bar?.untilMs ?? period.untilMs,
      secondAtMs === undefined ? period.untilMs : secondAtMs + secondMs,
    ),
    keyId,
    model,
    tag,
    status,
    error,
    before,
  };
}

/** Reads the filter from the query. */
export function readUsageFilter(
  c: Context<DashboardEnv>,
  nowMs: number,
  usual: Preset = "30d",
): UsageFilter {
  const query = (name: string) => given(c.req.query(name));
  const at = query("at");
  const ended = { status: query("status"), error: query("error") };
  const tag = parseTag(query("tag") ?? "");
  const by = parseStackBy(query("by")) ?? "model";
  const metrics = metricsOf({ ...ended, tag });
  const period = readPeriod(
    {
      period: query("period"),
      from: query("from"),
      to: query("to"),
      grain: query("grain"),
    },
    nowMs,
    usual,
  );
  return {
    period: tag === undefined && stackedTag(by) === undefined ? period : inWholeDays(period),
    grain: query("grain"),
    metric: metrics.find((metric) => metric === query("metric")) ?? metrics[0],
    by,
    keyId: query("key"),
    model: query("model"),
    tag,
    wrongTag: tag === undefined ? query("tag") : undefined,
    ...ended,
    at: at === undefined || bucketRange(at) === undefined ? undefined : at,
    until: parseSecond(query("until")) === undefined ? undefined : query("until"),
    before: parseId("request", c.req.query("before") ?? ""),
  };
}

/** The parts of a filter as they are in the address; those with their usual value are left out. */
export function usageParameters(filter: UsageFilter): Record<string, string> {
  const { period: { preset, range }, grain, metric, by } = filter;
  const all = {
    ...preset === "custom" ? { from: range.fromDay, to: range.toDay } : { period: preset },
    grain,
    metric: metric === metricsOf(filter)[0] ? undefined : metric,
    by: by === "model" ? undefined : by,
    key: filter.keyId,
    model: filter.model,
    tag: filter.tag && tagFilterText(filter.tag),
    status: filter.status,
    error: filter.error,
    at: filter.at,
    until: filter.until,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Change of a filter by a link; `undefined` takes a part away. */
export type FilterChange = Readonly<Record<string, string | undefined>>;

/** Writes the filter as a query, for links to other pages of the list and to the export. */
export function usageQuery(filter: UsageFilter, change: FilterChange = {}): string {
  const parameters: Record<string, string | undefined> = { ...usageParameters(filter), ...change };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value);
  }
  return query.toString();
}

/** Single statuses that one may look for: those that a caller can do something about. */
const statuses = ["400", "401", "402", "403", "404", "413", "429"];

/** The statuses that one may choose, in words. */
function statusChoices(locale: Locale) {
  const t = usageTexts[locale];
  return [
    { value: "ok", label: t.statusOk },
    { value: "error", label: t.statusError },
    { value: "refused", label: t.refused },
    ...statuses.map((status) => ({ value: status, label: status })),
    { value: "5xx", label: "5xx" },
  ];
}

/** The families of errors, in words; and the code that is asked for, if a link asked for one. */
function errorChoices(asked: string | undefined, locale: Locale) {
  const t = usageTexts[locale];
  const families = errorFamilies.map((family) => ({
    value: familyFilter(family),
    label: t.errorFamilies[family],
  }));
  return asked === undefined || families.some(({ value }) => value === asked)
    ? families
    : [...families, { value: asked, label: asked }];
}

export interface FilterBarProps {
  /** The path of the page. */
  readonly path: string;
  readonly filter: UsageFilter;
  /** Absent: the page has no keys to choose from, or the visitor may not see them. */
  readonly keyNames?: ReadonlyMap<string, string> | undefined;
  /** Whether calls can be chosen by a tag. */
  readonly hasTags?: true;
  readonly models: readonly string[];
  /** Number of calls that fit, where the page has counted them. */
  readonly count?: number;
  /** Parts of the address beside the filter. */
  readonly also?: Readonly<Record<string, string>>;
  readonly locale: Locale;
}

/** The chips. On a phone all but the period are in a sheet, which opens by its address, without script. */
export function FilterBar(props: FilterBarProps) {
  const { path, filter, also = {}, locale } = props;
  const t = usageTexts[locale];
  const { preset } = filter.period;
  const other = { from: undefined, to: undefined, grain: undefined, at: undefined, ...also };
  return (
    <div class="toolbar" role="group" aria-label={t.filters}>
      <nav class="chips" aria-label={t.period}>
        {presets.map((one) => (
          <a
            class="chip"
            href={`${path}?${usageQuery(filter, { ...other, period: one })}`}
            aria-current={one === preset ? "true" : undefined}
          >
            {t.presets[one]}
          </a>
        ))}
        <CustomPeriod {...props} />
        <a class="chip filter-open" href="#filters">{t.filters}</a>
      </nav>
      <ChoiceForm {...props} />
      <SetChips {...props} />
    </div>
  );
}

/** The parts of the address that a form keeps as they are. */
function KeptFields({ filter, also = {}, without }: {
  filter: UsageFilter;
  also?: Readonly<Record<string, string>>;
  without: readonly string[];
}) {
  return (
    <>
      {Object.entries({ ...usageParameters(filter), ...also })
        .filter(([name]) => !without.includes(name))
        .map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
    </>
  );
}

function CustomPeriod({ path, filter, also, locale }: FilterBarProps) {
  const t = usageTexts[locale];
  const { preset, range } = filter.period;
  const written = (day: string) => formatBucket(vietnamDayStartMs(day), "day", locale, "long");
  return (
    <details class="menu chip-menu">
      <summary class="chip" aria-current={preset === "custom" ? "true" : undefined}>
        {preset === "custom" ? `${written(range.fromDay)} – ${written(range.toDay)}` : t.custom}
      </summary>
      <form method="get" action={path} class="chip-panel">
        <KeptFields
          filter={filter}
          also={also ?? {}}
          without={["period", "from", "to", "grain", "at"]}
        />
        <TextField name="from" type="date" label={t.from} value={range.fromDay} />
        <TextField name="to" type="date" label={t.to} value={range.toDay} />
        <button type="submit" class="small">{t.apply}</button>
      </form>
    </details>
  );
}

/** Fields of the form, and what takes all of them away. */
const choices = ["key", "model", "tag", "status", "error", "until"] as const;
const noChoice = Object.fromEntries(choices.map((name) => [name, undefined]));

function ChoiceForm(
  { path, filter, keyNames, hasTags, models, count, also, locale }: FilterBarProps,
) {
  const t = usageTexts[locale];
  const all = { value: "", label: t.all };
  const isKnown = filter.model === undefined || models.includes(filter.model);
  return (
    <form method="get" action={path} class="chip-form" id="filters" data-autosubmit>
      <KeptFields
        filter={filter}
        also={also ?? {}}
        without={choices}
      />
      <p class="filter-head">
        <strong>{t.filters}</strong>
        <a href={`${path}?${usageQuery(filter, { ...also, ...noChoice })}`}>{t.clearAll}</a>
      </p>
      {keyNames !== undefined && (
        <SelectField
          name="key"
          label={t.key}
          value={filter.keyId ?? ""}
          options={[all, ...[...keyNames].map(([value, label]) => ({ value, label }))]}
        />
      )}
      <SelectField
        name="model"
        label={t.model}
        value={filter.model ?? ""}
        options={[
          all,
          ...[...models, ...isKnown ? [] : [filter.model ?? ""]].map((model) => ({
            value: model,
            label: model,
          })),
        ]}
      />
      {hasTags === true && (
        <TextField
          name="tag"
          label={t.tag}
          value={filter.wrongTag ?? (filter.tag && tagText(filter.tag))}
          placeholder="team=search"
          error={filter.wrongTag === undefined ? undefined : t.wrongTag}
        />
      )}
      <SelectField
        name="status"
        label={t.callStatus}
        value={filter.status ?? ""}
        options={[all, ...statusChoices(locale)]}
      />
      <SelectField
        name="error"
        label={t.error}
        value={filter.error ?? ""}
        options={[all, ...errorChoices(filter.error, locale)]}
      />
      <TextField
        name="until"
        type="datetime-local"
        step="1"
        label={t.until}
        value={filter.until}
      />
      <button type="submit" class="outline secondary small only-without-script">{t.apply}</button>
      <a class="button small filter-close" href="#page-title">
        {count === undefined ? t.done : t.showCalls(count)}
      </a>
    </form>
  );
}

/** Chips of what is chosen, each with a link that takes it away. */
function SetChips({ path, filter, keyNames, also, locale }: FilterBarProps) {
  const t = usageTexts[locale];
  const bar = filter.at === undefined ? undefined : bucketRange(filter.at);
  const grain = (filter.at ?? "").length > 10
    ? "hour"
    : (filter.at ?? "").length > 7
    ? "day"
    : "month";
  const statusLabel = statusChoices(locale).find(({ value }) => value === filter.status)?.label ??
    filter.status;
  const errorLabel = errorChoices(filter.error, locale)
    .find(({ value }) => value === filter.error)?.label;
  const set = [
    [
      "key",
      filter.keyId && (keyNames === undefined ? t.key : keyNames.get(filter.keyId) ?? t.unknownKey),
    ],
    ["model", filter.model],
    ["tag", filter.tag && tagText(filter.tag)],
    ["status", filter.status && `${t.callStatus}: ${statusLabel}`],
    ["error", filter.error && `${t.error}: ${errorLabel}`],
    ["until", filter.until && `≤ ${filter.until.replace("T", " ")}`],
    ["at", bar && formatBucket(bar.fromMs, grain, locale, "long")],
  ].filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "");
  if (set.length === 0) return null;
  const none = Object.fromEntries(set.map(([name]) => [name, undefined]));
  return (
    <div class="chips">
      {set.map(([name, text]) => (
        <a
          class="chip chip-set"
          href={`${path}?${usageQuery(filter, { ...also, [name]: undefined })}`}
          aria-label={t.takeAway(text)}
        >
          {text} <span aria-hidden="true">✕</span>
        </a>
      ))}
      <a class="chip-clear" href={`${path}?${usageQuery(filter, { ...also, ...none })}`}>
        {t.clearAll}
      </a>
    </div>
  );
}
