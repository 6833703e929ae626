/** The agreement to a campaign, which a program with the operator's key cannot give. */
import type { Hono } from "hono";
import { approveCampaign } from "../../../../kv/money/credits/campaigns.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { campaignIdOf, campaignRefusal } from "../../operations/money/campaigns.ts";
import type { AdminDeps } from "./admin_deps.ts";

/** Adds `POST /campaigns/{campaign}/approve`. */
export function addApprovalRoute(app: Hono, { kv, clock }: Pick<AdminDeps, "kv" | "clock">): void {
  app.post("/campaigns/:campaign/approve", async (context) => {
    const named = campaignIdOf(context.req.param("campaign"));
    if (!named.ok) throw named.error;
    const { id } = named;
    const act = { operator: commandLine, nowMs: clock.nowMs() };
    const refusal = campaignRefusal(await approveCampaign(kv, id, act));
    if (refusal !== undefined) throw refusal.error;
    return context.json({ id, approve: "done" });
  });
}
