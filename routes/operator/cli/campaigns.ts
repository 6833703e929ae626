/** Commands on campaigns, which give credit to accounts. */
import type { Hono } from "hono";
import { z } from "zod";
import { inVnd } from "../../../core/billing/vnd_json.ts";
import type { Campaign } from "../../../core/credits/campaign.ts";
import {
  campaignFieldNames,
  type CampaignFields,
  noCampaignFields,
  readCampaign,
} from "../../../core/credits/campaign_form.ts";
import { GatewayError } from "../../../core/errors.ts";
import { type CampaignId, parseId } from "../../../core/lib/ids.ts";
import {
  approveCampaign,
  type CampaignActResult,
  listCampaigns,
  makeCampaign,
  pauseCampaign,
} from "../../../kv/credits/campaigns.ts";
import { makeVouchers } from "../../../kv/credits/vouchers.ts";
import { commandLine } from "../../../kv/operators/operator_audit.ts";
import type { AdminDeps } from "./admin_deps.ts";

const fieldsBody = z.partialRecord(z.enum(campaignFieldNames), z.string());
const codesBody = z.strictObject({ count: z.number(), uses: z.number() });

const refusals: Readonly<Record<Exclude<CampaignActResult, "done">, string>> = {
  missing: "there is no such campaign",
  state: "it is in that state already",
  person: "it needs somebody else",
  busy: "it kept changing; try again",
};

function idOf(text: string): CampaignId {
  const id = parseId("campaign", text);
  if (id === undefined) throw new GatewayError("invalid_request", `Not a campaign: ${text}`);
  return id;
}

function shown(campaign: Campaign) {
  const { createdAtMs, startsAtMs, endsAtMs, pausedAtMs, ...rest } = campaign;
  const time = (atMs: number | undefined) =>
    atMs === undefined ? null : new Date(atMs).toISOString();
  return inVnd({
    ...rest,
    createdAt: time(createdAtMs),
    startsAt: time(startsAtMs),
    endsAt: time(endsAtMs),
    paused: pausedAtMs !== undefined,
  });
}

/** Adds `/campaigns`: what `deno task admin campaign …` does. */
export function addCampaignRoutes(app: Hono, { kv, clock }: Pick<AdminDeps, "kv" | "clock">): void {
  const act = () => ({ operator: commandLine, nowMs: clock.nowMs() });

  app.get("/campaigns", async () => Response.json((await listCampaigns(kv)).map(shown)));

  app.post("/campaigns", async (context) => {
    const typed = fieldsBody.parse(await context.req.json());
    const fields: CampaignFields = { ...noCampaignFields, ...typed };
    const read = readCampaign(fields, clock.nowMs());
    if (!read.ok) {
      throw new GatewayError("invalid_request", `Wrong or missing: ${read.field}`);
    }
    // Nobody limits the owner of the store, who may write whatever row.
    return Response.json(
      shown(await makeCampaign(kv, read.terms, { ...act(), limitMicroVnd: 0n })),
    );
  });

  for (const what of ["pause", "resume", "approve"] as const) {
    app.post(`/campaigns/:campaign/${what}`, async (context) => {
      const id = idOf(context.req.param("campaign"));
      const result = what === "approve"
        ? await approveCampaign(kv, id, act())
        : await pauseCampaign(kv, id, what === "pause", act());
      if (result !== "done") {
        throw new GatewayError("invalid_request", `Nothing was changed: ${refusals[result]}`);
      }
      return context.json({ id, [what]: result });
    });
  }

  app.post("/campaigns/:campaign/codes", async (context) => {
    const campaignId = idOf(context.req.param("campaign"));
    const { count, uses: maxUses } = codesBody.parse(await context.req.json());
    const made = await makeVouchers(kv, { campaignId, count, maxUses }, act());
    if (!made.ok) {
      const why = made.why === "missing"
        ? "there is no such campaign of vouchers"
        : "not that many";
      throw new GatewayError("invalid_request", `No code was made: ${why}`);
    }
    return context.json({ campaignId, codes: made.codes });
  });
}
