/**
 * `/operator/service`: maintenance. The same switch as the operator API; a change reaches every instance.
 *
 * - Folder `routes/operator/pages/service/`: the operator's pages about maintenance, routes and announcements.
 * - In: switches that an operator turns.
 * - Out: HTML, changed switches.
 * - Never: turns a switch without an audit line.
 */
import { Hono } from "hono";
import { maxSwitchReasonChars, type Switches } from "../../../../kv/engine/control/control.ts";
import { turnMaintenance } from "../../operations/service.ts";
import { Card, PostForm, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatDateTime } from "../../../dashboard/text/format.ts";
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

async function servicePage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  return await renderOperatorPage(
    c,
    { problem },
    <MaintenanceCard switches={deps.control.switches} visitor={visitor} />,
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
  const on = form.yesOrNo("on");
  if (on === null) return await notFoundPage(c);
  const message = form.text("message");
  const turned = await turnMaintenance.run(deps, on ? { on, message } : { on }, actOf(c, deps));
  if (!turned.ok) return await servicePage(c, deps, t.problems.reason);
  return doneAt(c, "/operator/service", "switched");
}

/** Registers the page of maintenance. */
function createServicePages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/service", (c) => servicePage(c, deps));
  app.post("/operator/service/maintenance", (c) => changeMaintenance(c, deps));
  return app;
}

export const servicePages: OperatorPage = {
  link: { href: "/operator/service", label: { en: "Maintenance", vi: "Bảo trì" } },
  routes: createServicePages,
};
