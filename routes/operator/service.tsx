/** `/operator/service`: maintenance and routes. The same switches as the operator API; changes reach every instance. */
import { Hono } from "hono";
import { limits } from "../../core/limits.ts";
import type { RouteReport } from "../../core/routing/router.ts";
import type { Switches } from "../../kv/control.ts";
import { routeActions, setMaintenance, switchRoute } from "../../kv/switches.ts";
import {
  Badge,
  Card,
  DataTable,
  PostForm,
  SubmitButton,
  TextField,
} from "../dashboard/components/mod.ts";
import { notFoundPage } from "../dashboard/error_pages.tsx";
import { readForm } from "../dashboard/form_data.ts";
import { formatCount, formatDateTime, formatDuration } from "../dashboard/format.ts";
import type { Locale } from "../dashboard/i18n.ts";
import type { DashboardEnv, Visitor } from "../dashboard/visitor.ts";
import type { OperatorDeps } from "./deps.ts";
import { doneAt, type OperatorContext, operatorOf, renderOperatorPage } from "./frame.tsx";
import { serviceTexts } from "./service_texts.ts";
import { frameTexts } from "./texts.ts";

async function servicePage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = serviceTexts[visitor.locale];
  return await renderOperatorPage(
    c,
    { section: "service", problem },
    <>
      <MaintenanceCard switches={deps.control.switches} visitor={visitor} />
      <Card title={t.routes}>
        <RouteTable reports={deps.routes()} visitor={visitor} />
      </Card>
    </>,
  );
}

function MaintenanceCard({ switches, visitor }: { switches: Switches; visitor: Visitor }) {
  const { locale } = visitor;
  const t = serviceTexts[locale];
  const { maintenance } = switches;
  if (maintenance !== undefined) {
    return (
      <Card title={t.maintenance}>
        <p>{t.maintenanceOn(formatDateTime(maintenance.sinceMs, locale))}</p>
        <p class="muted">{maintenance.message}</p>
        <PostForm visitor={visitor} action="/operator/service/maintenance">
          <input type="hidden" name="on" value="no" />
          <SubmitButton>{t.turnOff}</SubmitButton>
        </PostForm>
      </Card>
    );
  }
  return (
    <Card title={t.maintenance}>
      <p>{t.maintenanceOff}</p>
      <PostForm
        visitor={visitor}
        action="/operator/service/maintenance"
        confirm={t.turnOnConfirm}
        class="inline-form"
      >
        <input type="hidden" name="on" value="yes" />
        <TextField name="message" label={t.message} required maxlength={limits.switchReasonChars} />
        <SubmitButton tone="danger">{t.turnOn}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function RouteTable({ reports, visitor }: {
  reports: readonly RouteReport[];
  visitor: Visitor;
}) {
  const t = serviceTexts[visitor.locale];
  return (
    <DataTable
      label={t.routes}
      rows={reports}
      columns={[
        { head: t.model, cell: ({ model }) => model },
        { head: t.route, cell: ({ route }) => <code>{route.id}</code> },
        {
          head: t.state,
          cell: (report) => <SwitchBadge report={report} locale={visitor.locale} />,
        },
        {
          head: t.health,
          cell: (report) => <Health report={report} locale={visitor.locale} />,
        },
        {
          head: t.actions,
          cell: (report) => <RouteActions report={report} visitor={visitor} />,
        },
      ]}
    />
  );
}

function SwitchBadge({ report, locale }: { report: RouteReport; locale: Locale }) {
  const state = report.switched ?? "enabled";
  const tone = state === "enabled" ? "good" : state === "draining" ? "busy" : "bad";
  return <Badge tone={tone}>{serviceTexts[locale].states[state]}</Badge>;
}

/** One line per kind of call that the route has seen. */
function Health({ report, locale }: { report: RouteReport; locale: Locale }) {
  const t = serviceTexts[locale];
  return (
    <>
      {Object.entries(report.operations).map(([operation, view]) => (
        <div>
          {operation}: {t.breaker[view.state] ?? view.state}, {t.failures(
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
    </>
  );
}

function RouteActions({ report, visitor }: { report: RouteReport; visitor: Visitor }) {
  const t = serviceTexts[visitor.locale];
  const actions = report.switched === undefined
    ? (["drain", "disable"] as const)
    : (["enable"] as const);
  return (
    <PostForm visitor={visitor} action="/operator/service/route" class="actions">
      <input type="hidden" name="route" value={report.route.id} />
      <input
        type="text"
        name="reason"
        aria-label={`${frameTexts[visitor.locale].reason}: ${report.route.id}`}
        placeholder={frameTexts[visitor.locale].reason}
        required
        maxlength={limits.switchReasonChars}
      />
      {actions.map((action) => (
        <SubmitButton small tone="plain" name="action" value={action}>{t[action]}</SubmitButton>
      ))}
    </PostForm>
  );
}

async function changeMaintenance(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const on = form.text("on") === "yes";
  const message = form.text("message").slice(0, limits.switchReasonChars);
  if (on && message === "") return await servicePage(c, deps, t.problems.reason);
  const nowMs = deps.clock.nowMs();
  await setMaintenance(deps.control, on ? message : undefined, { operator: operatorOf(c), nowMs });
  return doneAt(c, "/operator/service", "switched");
}

async function changeRoute(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const routeId = form.text("route");
  const action = routeActions.find((one) => one === form.text("action"));
  const reason = form.text("reason").slice(0, limits.switchReasonChars);
  const isKnown = deps.routes().some(({ route }) => route.id === routeId);
  if (action === undefined || !isKnown) return await notFoundPage(c);
  if (reason === "") return await servicePage(c, deps, t.problems.reason);
  const nowMs = deps.clock.nowMs();
  await switchRoute(deps.control, { routeId, action, reason }, { operator: operatorOf(c), nowMs });
  return doneAt(c, "/operator/service", "switched");
}

/** Maintenance and routes. */
export function createServicePages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/service", (c) => servicePage(c, deps));
  app.post("/operator/service/maintenance", (c) => changeMaintenance(c, deps));
  app.post("/operator/service/route", (c) => changeRoute(c, deps));
  return app;
}
