/** The routes of `/operator/service`: a search, and a group per model that opens if something is wrong. */
import { maxSwitchReasonChars } from "../../../../kv/engine/control/control.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import {
  Badge,
  Card,
  Empty,
  Notice,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { formatCount, formatDuration } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { type RouteFilter, type RouteGroup, routeGroups, rowOf } from "./route_filter.ts";
import { serviceTexts } from "./service_texts.ts";
import { frameTexts } from "../base/texts.ts";

/** Models up to which a search shows their routes open. */
const openedModels = 5;

interface ListProps {
  readonly filter: RouteFilter;
  /** The reason why the act on `filter.row` was refused. */
  readonly problem?: string | undefined;
  readonly visitor: Visitor;
}

/** The filtered list of routes, grouped by model. */
export function RouteList({ reports, ...list }: ListProps & {
  readonly reports: readonly RouteReport[];
}) {
  const { filter, visitor: { locale } } = list;
  const t = serviceTexts[locale];
  const groups = routeGroups(reports, filter);
  const shown = groups.reduce((sum, group) => sum + group.reports.length, 0);
  const isSearched = filter.search !== "" && groups.length <= openedModels;
  return (
    <>
      <RouteSearch filter={filter} locale={locale} />
      <div id="routes">
        <Card
          title={t.routesShown(formatCount(shown, locale), formatCount(reports.length, locale))}
        >
          {groups.length === 0 && (
            <Empty title={t.noRoute}>
              <p>{t.noRouteHint}</p>
            </Empty>
          )}
          {groups.map((group) => Group({ group, isSearched, ...list }))}
        </Card>
      </div>
    </>
  );
}

/** Applies while typing; without script by its button. */
function RouteSearch({ filter, locale }: { filter: RouteFilter; locale: Locale }) {
  const t = serviceTexts[locale];
  return (
    <form
      method="get"
      action="/operator/service"
      class="card inline-form"
      hx-get="/operator/service"
      hx-trigger="input delay:200ms, submit"
      hx-target="#routes"
      hx-select="#routes"
      hx-swap="outerHTML"
    >
      <TextField
        name="q"
        type="search"
        label={frameTexts[locale].search}
        value={filter.search}
        placeholder={t.searchHint}
      />
      <SelectField
        name="state"
        label={t.state}
        value={filter.onlyTrouble ? "trouble" : ""}
        options={[
          { value: "", label: t.allRoutes },
          { value: "trouble", label: t.troubleOnly },
        ]}
      />
      <SubmitButton tone="plain">{frameTexts[locale].show}</SubmitButton>
    </form>
  );
}

function Group({ group, isSearched, ...list }: ListProps & {
  readonly group: RouteGroup;
  readonly isSearched: boolean;
}) {
  const { locale } = list.visitor;
  const t = serviceTexts[locale];
  const isOpen = isSearched || group.inTrouble > 0 ||
    group.reports.some((report) => rowOf(report) === list.filter.row);
  return (
    <details class="route-group" open={isOpen}>
      <summary>
        <span class="route-model">{group.model}</span>{" "}
        <span class="muted">{t.routeCount(formatCount(group.reports.length, locale))}</span>
        {group.inTrouble > 0 && (
          <>
            {" "}
            <Badge tone="bad">{t.inTrouble(formatCount(group.inTrouble, locale))}</Badge>
          </>
        )}
      </summary>
      <ul>
        {group.reports.map((report) => Row({ report, ...list }))}
      </ul>
    </details>
  );
}

function Row({ report, filter, problem, visitor }: ListProps & { readonly report: RouteReport }) {
  const { locale } = visitor;
  const isTarget = rowOf(report) === filter.row;
  return (
    <li id={rowOf(report)} class="route-row">
      <div>
        <code>{report.route.id}</code> <SwitchBadge report={report} locale={locale} />
        <Health report={report} locale={locale} />
      </div>
      <RouteActions
        report={report}
        filter={filter}
        isRefused={isTarget && problem !== undefined}
        visitor={visitor}
      />
      {isTarget && (problem === undefined
        ? <Notice tone="success">{frameTexts[locale].done.switched}</Notice>
        : <Notice tone="danger">{problem}</Notice>)}
    </li>
  );
}

function SwitchBadge({ report, locale }: { report: RouteReport; locale: Locale }) {
  const state = report.switched ?? "enabled";
  const tone = state === "enabled" ? "good" : state === "draining" ? "busy" : "bad";
  return <Badge tone={tone}>{serviceTexts[locale].states[state]}</Badge>;
}

/** One line per kind of call that the route has served, and one if keys of its provider rest. */
function Health({ report, locale }: { report: RouteReport; locale: Locale }) {
  const t = serviceTexts[locale];
  const { count, resting, reasons } = report.credentials;
  return (
    <small class="route-health">
      {Object.entries(report.operations).map(([operation, view]) => (
        <div>
          {operation}: {view.stuck ? t.stuck : t.breaker[view.state] ?? view.state}, {t.failures(
            formatCount(view.windowFailures, locale),
            formatCount(view.windowCalls, locale),
          )}
          {view.firstOutputMs !== undefined &&
            `, ${t.firstOutput.toLowerCase()} ${formatDuration(view.firstOutputMs, locale)}`}
          {view.state !== "closed" && view.reason !== undefined && (
            <>
              , <code>{view.reason}</code>
            </>
          )}
        </div>
      ))}
      {resting > 0 && (
        <div>{t.keysResting(formatCount(resting, locale), formatCount(count, locale))}</div>
      )}
      {[...new Set(reasons)].map((reason) => (
        <div>
          <code>{reason}</code>
        </div>
      ))}
    </small>
  );
}

function RouteActions({ report, filter, isRefused, visitor }: {
  report: RouteReport;
  filter: RouteFilter;
  isRefused: boolean;
  visitor: Visitor;
}) {
  const t = serviceTexts[visitor.locale];
  const { reason } = frameTexts[visitor.locale];
  const actions = report.switched === undefined
    ? (["drain", "disable"] as const)
    : (["enable"] as const);
  return (
    <PostForm visitor={visitor} action="/operator/service/route" class="actions">
      <input type="hidden" name="route" value={report.route.id} />
      <input type="hidden" name="row" value={rowOf(report)} />
      <input type="hidden" name="q" value={filter.search} />
      <input type="hidden" name="state" value={filter.onlyTrouble ? "trouble" : ""} />
      <input
        type="text"
        name="reason"
        aria-label={`${reason}: ${report.route.id}`}
        aria-invalid={isRefused ? "true" : undefined}
        autofocus={isRefused}
        placeholder={reason}
        required
        maxlength={maxSwitchReasonChars}
      />
      {actions.map((action) => (
        <SubmitButton small tone="plain" name="action" value={action}>{t[action]}</SubmitButton>
      ))}
    </PostForm>
  );
}
