/**
 * `/operator/service`: maintenance and routes. The same switches as the operator API; changes reach every instance.
 *
 * - Folder `routes/operator/pages/service/`: the operator's page about maintenance and routes.
 * - In: switches that an operator turns.
 * - Out: HTML, changed switches.
 * - Never: turns a switch without an audit line.
 */
import { Hono } from "hono";
import { maxSwitchReasonChars, type Switches } from "../../../../kv/engine/control/control.ts";
import {
  routeActions,
  setMaintenance,
  switchRoute,
} from "../../../../kv/people/operators/switches.ts";
import { Card, PostForm, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatDateTime } from "../../../dashboard/text/format.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import type { OperatorDeps } from "../base/deps.ts";
import { doneAt, type OperatorContext, operatorOf, renderOperatorPage } from "../base/frame.tsx";
import { changedRowPath, readRouteFilter, rowOf } from "./route_filter.ts";
import { RouteList } from "./route_list.tsx";
import { serviceTexts } from "./service_texts.ts";
import { frameTexts } from "../base/texts.ts";
import type { OperatorPage } from "../base/page.ts";

async function servicePage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  return await renderOperatorPage(
    c,
    { problem },
    <>
      <MaintenanceCard switches={deps.control.switches} visitor={visitor} />
      <RouteList
        reports={deps.routes()}
        filter={readRouteFilter((name) => c.req.query(name))}
        visitor={visitor}
      />
    </>,
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
        <TextField name="message" label={t.message} required maxlength={maxSwitchReasonChars} />
        <SubmitButton tone="danger">{t.turnOn}</SubmitButton>
      </PostForm>
    </Card>
  );
}

async function changeMaintenance(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const on = form.text("on") === "yes";
  const message = form.text("message").slice(0, maxSwitchReasonChars);
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
  const reason = form.text("reason").slice(0, maxSwitchReasonChars);
  const isKnown = deps.routes().some(({ route }) => route.id === routeId);
  if (action === undefined || !isKnown) return await notFoundPage(c);
  if (reason === "") return await refusedPage(c, deps, t.problems.reason);
  const nowMs = deps.clock.nowMs();
  await switchRoute(deps.control, { routeId, action, reason }, { operator: operatorOf(c), nowMs });
  const filter = readRouteFilter(form.text);
  const isListed = deps.routes().some((report) => rowOf(report) === filter.row);
  if (!isListed) return doneAt(c, "/operator/service", "switched");
  return c.redirect(changedRowPath(filter), 303);
}

/** Registers the page of maintenance and routes. */
function createServicePages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/service", (c) => servicePage(c, deps));
  app.post("/operator/service/maintenance", (c) => changeMaintenance(c, deps));
  app.post("/operator/service/route", (c) => changeRoute(c, deps));
  return app;
}

export const servicePages: OperatorPage = {
  link: { href: "/operator/service", label: { en: "Service", vi: "Dịch vụ" } },
  routes: createServicePages,
};
