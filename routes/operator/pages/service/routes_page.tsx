/** `/operator/provider-routes`: every route with its health, found by words, and taken out or put back by an operator. */
import { Hono } from "hono";
import { maxSwitchReasonChars } from "../../../../kv/engine/control/control.ts";
import { routeActions } from "../../../../kv/people/operators/switches.ts";
import { turnRoute } from "../../operations/service.ts";
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
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatCount, formatDuration } from "../../../dashboard/text/format.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { serviceTexts } from "./service_texts.ts";
import { frameTexts } from "../base/texts.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";

const path = "/operator/provider-routes";

// The filter: search words, all routes or only those in trouble, and the route that was changed
// last.

/** The filter of the route list. */
export interface RouteFilter {
  readonly search: string;
  readonly onlyTrouble: boolean;
  /** The row that was changed, by {@linkcode rowOf}: it is listed whatever the search. */
  readonly row: string | undefined;
}

/** Characters of a search; the rest is cut. */
const searchChars = 100;

/** Builds the id of a row. A route may serve several models under one id, so the model is part of it. */
function rowOf({ model, route }: RouteReport): string {
  return `${model}:${route.id}`;
}

/** Reads the filter from the fields of an address or of a form. */
function readRouteFilter(field: (name: string) => string | undefined): RouteFilter {
  return {
    search: (field("q") ?? "").trim().slice(0, searchChars),
    onlyTrouble: field("state") === "trouble",
    row: field("row") || undefined,
  };
}

/** Returns the address of the list, at the changed row. */
function changedRowPath({ search, onlyTrouble, row = "" }: RouteFilter): string {
  const query = new URLSearchParams({
    ...(search !== "" && { q: search }),
    ...(onlyTrouble && { state: "trouble" }),
    row,
  });
  return `${path}?${query}#${encodeURIComponent(row)}`;
}

/** Whether a route does not get its calls as usual: switched, resting, on trial, stuck, or without a usable key. */
function isInTrouble({ switched, operations, credentials }: RouteReport): boolean {
  return switched !== undefined ||
    Object.values(operations).some(({ state, stuck }) => state !== "closed" || stuck) ||
    (credentials.count > 0 && credentials.resting === credentials.count) ||
    (credentials.count === 0 && credentials.reasons.length > 0);
}

/** The routes of one model. */
export interface RouteGroup {
  readonly model: string;
  readonly reports: readonly RouteReport[];
  readonly inTrouble: number;
}

/** Groups the matching routes by model, in the order of the catalogue. */
function routeGroups(
  reports: readonly RouteReport[],
  { search, onlyTrouble, row }: RouteFilter,
): RouteGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const fits = (report: RouteReport) => {
    if (rowOf(report) === row) return true;
    if (onlyTrouble && !isInTrouble(report)) return false;
    const text = `${report.model} ${report.route.id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return [...Map.groupBy(reports.filter(fits), ({ model }) => model)]
    .map(([model, some]) => ({
      model,
      reports: some,
      inTrouble: some.filter(isInTrouble).length,
    }));
}

// The routes: a search, and a group per model that opens if something is wrong.

/** Models up to which a search shows their routes open. */
const openedModels = 5;

interface ListProps {
  readonly filter: RouteFilter;
  /** The reason why the act on `filter.row` was refused. */
  readonly problem?: string | undefined;
  readonly visitor: Visitor;
}

/** The filtered list of routes, grouped by model. */
function RouteList({ reports, ...list }: ListProps & {
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
      action={path}
      class="card inline-form"
      hx-get={path}
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

/** State that an operator has set for a route; of one that is on, whether it gets its calls as usual. */
function SwitchBadge({ report, locale }: { report: RouteReport; locale: Locale }) {
  const { states } = serviceTexts[locale];
  const { switched } = report;
  if (switched !== undefined) {
    return <Badge tone={switched === "draining" ? "busy" : "bad"}>{states[switched]}</Badge>;
  }
  return isInTrouble(report)
    ? <Badge tone="busy">{states.failing}</Badge>
    : <Badge tone="good">{states.enabled}</Badge>;
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
    <PostForm visitor={visitor} action="/operator/provider-routes/switch" class="actions">
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

async function routesPage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  return await renderOperatorPage(
    c,
    {},
    <RouteList
      reports={deps.routes()}
      filter={readRouteFilter((name) => c.req.query(name))}
      visitor={visitor}
    />,
  );
}

/** Shows the page after a refused act, with the reason beside the route. */
async function refusedPage(c: OperatorContext, deps: OperatorDeps, problem: string) {
  const visitor = c.get("visitor");
  const form = await readForm(c);
  return await renderOperatorPage(
    c,
    { status: 400 },
    <RouteList
      reports={deps.routes()}
      filter={readRouteFilter(form.text)}
      problem={problem}
      visitor={visitor}
    />,
  );
}

async function changeRoute(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const id = form.text("route");
  const action = routeActions.find((one) => one === form.text("action"));
  const reason = form.text("reason");
  if (action === undefined) return await notFoundPage(c);
  const turned = await turnRoute.run(deps, { id, action, reason }, actOf(c, deps));
  if (!turned.ok) {
    return turned.why === "missing"
      ? await notFoundPage(c)
      : await refusedPage(c, deps, t.problems.reason);
  }
  const filter = readRouteFilter(form.text);
  const isListed = deps.routes().some((report) => rowOf(report) === filter.row);
  if (!isListed) return doneAt(c, path, "switched");
  return c.redirect(changedRowPath(filter), 303);
}

/** Registers the page of routes. */
function createRoutePages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/provider-routes", (c) => routesPage(c, deps));
  app.post("/operator/provider-routes/switch", (c) => changeRoute(c, deps));
  return app;
}

export const routePages: OperatorPage = {
  link: { href: path, label: { en: "Routes", vi: "Tuyến" } },
  routes: createRoutePages,
};
