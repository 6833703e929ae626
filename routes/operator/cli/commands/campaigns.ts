/** Commands on campaigns, which give credit to accounts. */
import type { Hono } from "hono";
import { z } from "zod";
import { inVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { Campaign } from "../../../../core/trade/credits/campaign.ts";
import {
  campaignFieldNames,
  type CampaignFields,
  maxCampaignNameChars,
  noCampaignFields,
  readCampaign,
} from "../../../../core/trade/credits/campaign_form.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { type CampaignId, parseId } from "../../../../core/lib/ids/ids.ts";
import {
  approveCampaign,
  type CampaignActResult,
  listCampaigns,
  makeCampaign,
  pauseCampaign,
} from "../../../../kv/money/credits/campaigns.ts";
import {
  makeVouchers,
  maxCodesAtOnce,
  maxUsesOfCode,
} from "../../../../kv/money/credits/vouchers.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import type { AdminDeps } from "./admin_deps.ts";

const fieldsBody = z.partialRecord(z.enum(campaignFieldNames), z.string());
const codesBody = z.strictObject({ count: z.number(), uses: z.number() });

const refusals: Readonly<Record<Exclude<CampaignActResult, "done">, string>> = {
  missing: "there is no such campaign",
  state: "it is in that state already",
  person: "it needs somebody else",
  busy: "it kept changing; try again",
};

/** How the command names a field, and what it takes. */
const fieldForms: Readonly<
  Record<keyof CampaignFields, { readonly option: string; readonly form: string }>
> = {
  kind: { option: "KIND", form: "signup, voucher or bonus" },
  name: { option: "NAME", form: `1 to ${maxCampaignNameChars} characters` },
  amount: {
    option: "--amount",
    form: "whole VND above 0 and at most 10,000,000, unless --percent is set",
  },
  percent: { option: "--percent", form: "1 to 200, for a bonus without --amount" },
  cap: { option: "--cap", form: "whole VND, and is needed with --percent and only there" },
  minTopup: { option: "--min-topup", form: "whole VND, for a bonus" },
  budget: { option: "--budget", form: "whole VND; a campaign needs it or --max-grants" },
  maxGrants: { option: "--max-grants", form: "1 to 1,000,000" },
  starts: { option: "--starts", form: "a day such as 2026-12-01, with or without 08:00" },
  ends: { option: "--ends", form: "a day such as 2026-12-31, after --starts" },
  expiresAfterDays: { option: "--expires-after-days", form: "1 to 3,650" },
  perAccount: { option: "--per-account", form: "1 to 100, and 1 for signup" },
  perNetworkPerDay: { option: "--per-network-per-day", form: "1 to 10,000, for signup" },
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
      const { option, form } = fieldForms[read.field];
      throw new GatewayError("invalid_request", `${option} must be ${form}`);
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
        : `COUNT must be 1 to ${maxCodesAtOnce}, and --uses 1 to ${maxUsesOfCode}`;
      throw new GatewayError("invalid_request", `No code was made: ${why}`);
    }
    return context.json({ campaignId, codes: made.codes });
  });
}
