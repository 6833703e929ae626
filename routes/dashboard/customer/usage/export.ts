/** Streams the calls of a range as a file: CSV for spreadsheets, JSON for programs. */
import type { Context } from "hono";
import { may } from "../../../../core/people/organisations/acts.ts";
import { type ExportForm, exportResponse } from "../../../usage_api/usage_export.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { wrongTagPage } from "./usage_page.tsx";
import { readUsageFilter } from "./filter_bar.tsx";

/** Streams the calls that match the filter of the query. */
export async function exportFile(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  form: ExportForm,
): Promise<Response> {
  const { account, role } = c.get("signedIn");
  const filter = readUsageFilter(c, deps.clock.nowMs());
  if (filter.wrongTag !== undefined) return await wrongTagPage(c, deps, filter);
  const { period, keyId, model, tag } = filter;
  const { fromMs, untilMs, range } = period;
  const name = `calls-${range.fromDay}-to-${range.toDay}`;
  return await exportResponse(
    deps.kv,
    { accountId: account.id, fromMs, untilMs, keyId, model, tag },
    form,
    { name, seesKeys: may(role, "view_keys") },
  );
}
