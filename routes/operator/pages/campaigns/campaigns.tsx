/**
 * `/operator/campaigns`: credit for customers.
 *
 * - Folder `routes/operator/pages/campaigns/`: campaigns: their list, terms, figures and voucher codes.
 * - In: forms of operators.
 * - Out: HTML, voucher codes as CSV, campaigns with their audit lines.
 * - Never: gives credit itself, or shows a code twice.
 */
import { namesOf } from "../base/linked_text.tsx";
import { Hono } from "hono";
import { type Campaign, campaignKinds, maxGiven } from "../../../../core/trade/credits/campaign.ts";
import {
  type CampaignField,
  type CampaignFieldName,
  campaignFieldNames,
  type CampaignFields,
  campaignFields,
  maxCampaignNameChars,
  noCampaignFields,
} from "../../../../core/trade/credits/campaign_form.ts";
import { parseTypedCount } from "../../../../core/billing/money/read_amount.ts";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import { csvFile } from "../../../../core/lib/base/csv.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { readCampaignFigures } from "../../../../kv/money/credits/grants.ts";
import { getCampaign, listCampaigns } from "../../../../kv/money/credits/campaigns.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  agreeToCampaign,
  makeCodes,
  startCampaign,
  turnCampaign,
} from "../../operations/money/campaigns.ts";
import {
  Card,
  Notice,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { balanceIn } from "../../operations/contract/operation.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { campaignTexts } from "./campaign_texts.ts";
import {
  CampaignFiguresView,
  CampaignTable,
  GrantList,
  StateBadge,
  TermsCard,
} from "./campaign_views.tsx";

// The form for a new campaign. What was typed stays in it when a field is wrong.

/** Characters of an amount or a number. */
const maxNumberChars = 20;

export interface CampaignFormProps {
  readonly visitor: Visitor;
  readonly typed: CampaignFields;
  readonly wrong: CampaignFieldName | undefined;
  readonly action: string;
}

function CampaignForm({ visitor, typed, wrong, action }: CampaignFormProps) {
  const t = campaignTexts[visitor.locale];
  const hints: Readonly<Partial<Record<CampaignFieldName, string>>> = t.hints;
  const input = (name: CampaignFieldName) => {
    const field: CampaignField = campaignFields[name];
    const props = {
      name,
      label: t.fields[name],
      value: typed[name],
      hint: hints[name],
      error: wrong === name ? t.wrong(t.fields[name]) : undefined,
    };
    switch (field.input) {
      case "kind": {
        const options = campaignKinds.map((value) => ({ value, label: t.kinds[value] }));
        return (
          <SelectField
            name={name}
            label={props.label}
            value={props.value}
            options={options}
          />
        );
      }
      case "name":
        return <TextField {...props} required maxlength={maxCampaignNameChars} />;
      case "moment":
        return <TextField {...props} type="datetime-local" />;
      case "vnd":
      case "count": {
        const { example = "" } = field;
        return <TextField {...props} maxlength={maxNumberChars} placeholder={example} />;
      }
    }
  };
  const fieldsOf = (kind: CampaignField["only"]) => {
    const names = campaignFieldNames.filter((name) => onlyOf(name) === kind);
    return <div class="fields">{names.map(input)}</div>;
  };
  const isTyped = (kind: CampaignField["only"]) =>
    campaignFieldNames.some((name) => onlyOf(name) === kind && typed[name] !== "");
  return (
    <Card title={t.make}>
      <PostForm visitor={visitor} action={action} confirm={t.createConfirm}>
        {fieldsOf(undefined)}
        <details open={isTyped("bonus")}>
          <summary>{t.ofBonus}</summary>
          <p class="muted">{t.bonusHint}</p>
          {fieldsOf("bonus")}
        </details>
        <details open={isTyped("signup")}>
          <summary>{t.ofSignup}</summary>
          <p class="muted">{t.networkHint}</p>
          {fieldsOf("signup")}
        </details>
        <SubmitButton>{t.create}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function onlyOf(name: CampaignFieldName): CampaignField["only"] {
  const field: CampaignField = campaignFields[name];
  return field.only;
}

const path = "/operator/campaigns";

const label = { en: "Credit", vi: "Tiền tặng" };

const emptyForm: CampaignFields = { ...noCampaignFields, kind: "voucher" };

async function campaignsPage(
  c: OperatorContext,
  deps: OperatorDeps,
  form: { readonly typed: CampaignFields; readonly wrong?: CampaignFieldName } = {
    typed: emptyForm,
  },
) {
  const visitor = c.get("visitor");
  const t = campaignTexts[visitor.locale];
  const { typed, wrong } = form;
  const campaigns = await listCampaigns(deps.kv);
  const problem = wrong === undefined ? undefined : t.wrong(t.fields[wrong]);
  return await renderOperatorPage(
    c,
    { lead: t.lead, problem },
    <>
      <Card title={t.list}>
        <CampaignTable
          campaigns={campaigns}
          path={path}
          nowMs={deps.clock.nowMs()}
          locale={visitor.locale}
        />
      </Card>
      <CampaignForm visitor={visitor} typed={typed} wrong={wrong} action={path} />
    </>,
  );
}

async function create(c: OperatorContext, deps: OperatorDeps) {
  const form = await readForm(c);
  const typed: CampaignFields = recordOf(campaignFieldNames, (name) => form.text(name));
  const made = await startCampaign.run(deps, typed, actOf(c, deps));
  if (made.ok) return doneAt(c, `${path}/${made.body.id}`, "resolved");
  const wrong = campaignFieldNames.find((name) => name === made.why);
  return await campaignsPage(c, deps, { typed, ...defined({ wrong }) });
}

async function campaignOf(c: OperatorContext, deps: OperatorDeps): Promise<Campaign | undefined> {
  const id = parseId("campaign", c.req.param("id") ?? "");
  return id === undefined ? undefined : await getCampaign(deps.kv, id);
}

function waitsForApproval({ needsApproval, approvedBy }: Campaign): boolean {
  return needsApproval === true && approvedBy === undefined;
}

function Acts({ campaign, visitor }: { campaign: Campaign; visitor: Visitor }) {
  const t = campaignTexts[visitor.locale];
  const of = `${path}/${campaign.id}`;
  const isWaiting = waitsForApproval(campaign);
  const isPaused = campaign.pausedAtMs !== undefined;
  const amount = formatMoney(maxGiven(campaign), visitor.locale);
  return (
    <div class="table-actions">
      {isWaiting && (
        <PostForm visitor={visitor} action={`${of}/approve`} confirm={t.approveConfirm(amount)}>
          <SubmitButton small>{t.approve}</SubmitButton>
        </PostForm>
      )}
      <PostForm visitor={visitor} action={`${of}/${isPaused ? "resume" : "pause"}`}>
        <SubmitButton small tone="plain">{isPaused ? t.resume : t.pause}</SubmitButton>
      </PostForm>
    </div>
  );
}

function CodesCard({ campaign, visitor, isWrong }: {
  campaign: Campaign;
  visitor: Visitor;
  isWrong: boolean;
}) {
  const t = campaignTexts[visitor.locale];
  return (
    <Card title={t.codes} id="codes">
      <p>{t.codesText}</p>
      <PostForm visitor={visitor} action={`${path}/${campaign.id}/codes.csv`} class="inline-form">
        <TextField
          name="count"
          label={t.count}
          type="number"
          min="1"
          value="100"
          required
          error={isWrong ? t.badCount : undefined}
        />
        <TextField name="uses" label={t.uses} type="number" min="1" value="1" required />
        <SubmitButton tone="plain">{t.download}</SubmitButton>
      </PostForm>
    </Card>
  );
}

async function campaignPage(
  c: OperatorContext,
  deps: OperatorDeps,
  options: { readonly problem?: string; readonly isWrongCount?: boolean } = {},
) {
  const campaign = await campaignOf(c, deps);
  if (campaign === undefined) return await notFoundPage(c);
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const figures = await readCampaignFigures(deps.kv, campaign, balanceIn(deps));
  const names = await namesOf(deps.kv, figures.newest.map(({ grant }) => grant.accountId));
  const { problem, isWrongCount = false } = options;
  const nowMs = deps.clock.nowMs();
  return await renderOperatorPage(
    c,
    {
      title: campaign.name,
      under: path,
      actions: (
        <>
          <span>
            <StateBadge campaign={campaign} nowMs={nowMs} locale={locale} />
          </span>
          <Acts campaign={campaign} visitor={visitor} />
        </>
      ),
      problem,
      ...(isWrongCount && { status: 400 }),
    },
    <>
      {waitsForApproval(campaign) && (
        <Notice tone="warning">{campaignTexts[locale].approvalText}</Notice>
      )}
      <CampaignFiguresView campaign={campaign} figures={figures} locale={locale} />
      {campaign.kind === "voucher" && (
        <CodesCard campaign={campaign} visitor={visitor} isWrong={isWrongCount} />
      )}
      <TermsCard campaign={campaign} locale={locale} />
      <GrantList figures={figures} names={names} locale={locale} />
    </>,
  );
}

async function act(c: OperatorContext, deps: OperatorDeps, what: "pause" | "resume" | "approve") {
  const campaign = await campaignOf(c, deps);
  if (campaign === undefined) return await notFoundPage(c);
  const { id } = campaign;
  const by = actOf(c, deps);
  const done = what === "approve"
    ? await agreeToCampaign.run(deps, { campaign: id }, by)
    : await turnCampaign.run(deps, { campaign: id, paused: what === "pause" }, by);
  if (done.ok) return doneAt(c, `${path}/${id}`, "resolved");
  const { refusals } = campaignTexts[c.get("visitor").locale];
  const problem = refusals[done.why === "input" ? "missing" : done.why];
  return await campaignPage(c, deps, { problem });
}

/** The largest number that is read here; how many codes and uses there may be, the operation says. */
const maxTypedNumber = 9_999_999;

/** Makes codes and sends them, the only time that they are shown. */
async function downloadCodes(c: OperatorContext, deps: OperatorDeps) {
  const campaign = await campaignOf(c, deps);
  if (campaign === undefined) return await notFoundPage(c);
  const form = await readForm(c);
  const wanted = {
    campaign: campaign.id,
    count: parseTypedCount(form.text("count"), maxTypedNumber) ?? 0,
    uses: parseTypedCount(form.text("uses"), maxTypedNumber) ?? 0,
  };
  const made = await makeCodes.run(deps, wanted, actOf(c, deps));
  if (!made.ok) return await campaignPage(c, deps, { isWrongCount: true });
  const text = csvFile([{ name: "code", cell: (code: string) => code }], made.body.codes);
  return c.body(text, 200, csvDownloadHeaders(`vouchers-${campaign.id}.csv`));
}

function createCampaignPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(path, (c) => campaignsPage(c, deps))
    .post(path, (c) => create(c, deps))
    .get(`${path}/:id`, (c) => campaignPage(c, deps))
    .post(`${path}/:id/pause`, (c) => act(c, deps, "pause"))
    .post(`${path}/:id/resume`, (c) => act(c, deps, "resume"))
    .post(`${path}/:id/approve`, (c) => act(c, deps, "approve"))
    .post(`${path}/:id/codes.csv`, (c) => downloadCodes(c, deps));
}

export const campaignPages: OperatorPage = {
  link: { href: path, label },
  routes: createCampaignPages,
};
