/**
 * `/operator/campaigns`: credit for customers: campaigns, their terms, figures and codes.
 *
 * - Folder `routes/operator/pages/campaigns/`: campaigns: their list, terms, figures and voucher codes.
 * - In: forms of operators.
 * - Out: HTML, voucher codes as CSV, campaigns with their audit lines.
 * - Never: gives credit itself, or shows a code twice.
 */
import { type AccountNames, CustomerLink, namesOf } from "../base/linked_text.tsx";
import { Hono } from "hono";
import {
  type Campaign,
  campaignKinds,
  type CampaignRefusal,
  campaignRefusal,
  largestGift,
  maxGiven,
} from "../../../../core/trade/credits/campaign.ts";
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
import { type CampaignFigures, readCampaignFigures } from "../../../../kv/money/credits/grants.ts";
import { getCampaign, listCampaigns } from "../../../../kv/money/credits/campaigns.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import {
  agreeToCampaign,
  makeCodes,
  startCampaign,
  turnCampaign,
} from "../../operations/money/campaigns.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  DataTable,
  Empty,
  Fact,
  Money,
  Notice,
  PostForm,
  SelectField,
  Stat,
  Stats,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import {
  formatCount,
  formatMoney,
  formatMoneyShort,
  formatPercentage,
} from "../../../dashboard/text/format.ts";
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
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { actorName } from "../base/account_texts.ts";

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

// Parts of the pages about campaigns: the list, the figures, the terms.

/** Grants that the page of a campaign lists. */
const shownGrants = 50;

const tones: Readonly<Record<CampaignRefusal | "open", BadgeTone>> = {
  open: "good",
  approval: "busy",
  paused: "neutral",
  not_yet: "busy",
  over: "neutral",
  budget: "neutral",
};

/** State of a campaign at the moment. */
function StateBadge({ campaign, nowMs, locale }: {
  campaign: Campaign;
  nowMs: number;
  locale: Locale;
}) {
  const state = campaignRefusal(campaign, largestGift(campaign), nowMs) ?? "open";
  return <Badge tone={tones[state]}>{campaignTexts[locale].states[state]}</Badge>;
}

function giftText({ gift }: Campaign, locale: Locale): string {
  return gift.kind === "amount"
    ? formatMoneyShort(gift.amountMicroVnd, locale)
    : campaignTexts[locale].percentUpTo(
      formatPercentage(gift.percent, locale),
      formatMoneyShort(gift.capMicroVnd, locale),
    );
}

/** All campaigns with what they have given of what they may. */
function CampaignTable({ campaigns, path, nowMs, locale }: {
  campaigns: readonly Campaign[];
  path: string;
  nowMs: number;
  locale: Locale;
}) {
  const t = campaignTexts[locale];
  return (
    <DataTable
      label={t.list}
      rows={campaigns}
      empty={
        <Empty title={t.none}>
          <p>{t.noneHint}</p>
        </Empty>
      }
      columns={[
        { head: t.name, cell: ({ id, name }) => <a href={`${path}/${id}`}>{name}</a> },
        { head: t.fields.kind, cell: ({ kind }) => t.kinds[kind] },
        {
          head: t.state,
          cell: (campaign) => <StateBadge campaign={campaign} nowMs={nowMs} locale={locale} />,
        },
        { head: t.gift, kind: "number", cell: (campaign) => giftText(campaign, locale) },
        {
          head: t.given,
          kind: "number",
          cell: (campaign) =>
            t.ofBudget(
              formatMoneyShort(campaign.givenMicroVnd, locale),
              formatMoneyShort(maxGiven(campaign), locale),
            ),
        },
        { head: t.grants, kind: "number", cell: ({ grants }) => formatCount(grants, locale) },
        {
          head: t.expired,
          kind: "number",
          cell: ({ expiredMicroVnd }) => <Money microVnd={expiredMicroVnd} locale={locale} />,
        },
      ]}
    />
  );
}

/** Figures of where the money of a campaign is. */
function CampaignFiguresView({ campaign, figures, locale }: {
  campaign: Campaign;
  figures: CampaignFigures;
  locale: Locale;
}) {
  const t = campaignTexts[locale];
  const rest = maxGiven(campaign) - campaign.givenMicroVnd;
  const stats = [
    [t.given, campaign.givenMicroVnd],
    [t.spent, figures.spentMicroVnd],
    [t.expired, campaign.expiredMicroVnd],
    [t.left, figures.leftMicroVnd],
    [t.budgetLeft, rest > 0n ? rest : 0n],
  ] as const;
  return (
    <>
      <Stats>
        {stats.map(([label, microVnd]) => (
          <Stat label={label}>
            <Money microVnd={microVnd} locale={locale} />
          </Stat>
        ))}
      </Stats>
      {figures.read < campaign.grants && (
        <p class="muted">{t.ofNewest(formatCount(figures.read, locale))}</p>
      )}
    </>
  );
}

/** The conditions of a campaign. */
function TermsCard({ campaign, locale }: { campaign: Campaign; locale: Locale }) {
  const t = campaignTexts[locale];
  const { kind, budgetMicroVnd, maxGrants, minTopupMicroVnd, expiresAfterDays } = campaign;
  const { startsAtMs, endsAtMs, perAccount, perNetworkPerDay, createdBy, approvedBy } = campaign;
  return (
    <Card title={t.terms}>
      <dl class="facts">
        <Fact name={t.fields.kind}>{t.kinds[kind]}</Fact>
        <Fact name={t.gift}>{giftText(campaign, locale)}</Fact>
        {minTopupMicroVnd !== undefined && (
          <Fact name={t.fields.minTopup}>{formatMoneyShort(minTopupMicroVnd, locale)}</Fact>
        )}
        {budgetMicroVnd !== undefined && (
          <Fact name={t.fields.budget}>{formatMoneyShort(budgetMicroVnd, locale)}</Fact>
        )}
        {maxGrants !== undefined && (
          <Fact name={t.fields.maxGrants}>{formatCount(maxGrants, locale)}</Fact>
        )}
        <Fact name={t.fields.starts}>
          <Time atMs={startsAtMs} locale={locale} />
        </Fact>
        <Fact name={t.fields.ends}>
          {endsAtMs === undefined ? t.never : <Time atMs={endsAtMs} locale={locale} />}
        </Fact>
        <Fact name={t.expiry}>
          {expiresAfterDays === undefined ? t.never : t.days(expiresAfterDays)}
        </Fact>
        <Fact name={t.fields.perAccount}>{formatCount(perAccount, locale)}</Fact>
        {perNetworkPerDay !== undefined && (
          <Fact name={t.fields.perNetworkPerDay}>{formatCount(perNetworkPerDay, locale)}</Fact>
        )}
        <Fact name={t.madeBy}>{actorName(createdBy.email, locale)}</Fact>
        {approvedBy !== undefined && (
          <Fact name={t.approvedBy}>{actorName(approvedBy.email, locale)}</Fact>
        )}
      </dl>
    </Card>
  );
}

/** The newest grants, with what became of each. */
function GrantList({ figures, names, locale }: {
  figures: CampaignFigures;
  names: AccountNames;
  locale: Locale;
}) {
  const t = campaignTexts[locale];
  return (
    <Card title={t.newest}>
      <DataTable
        label={t.newest}
        rows={figures.newest.slice(0, shownGrants)}
        empty={
          <Empty title={t.noGrants}>
            <p>{t.noGrantsHint}</p>
          </Empty>
        }
        columns={[
          {
            head: t.when,
            kind: "one-line",
            cell: ({ grant }) => <Time atMs={grant.givenAtMs} locale={locale} />,
          },
          {
            head: t.account,
            kind: "long",
            cell: ({ grant: { accountId } }) => <CustomerLink id={accountId} names={names} />,
          },
          {
            head: t.given,
            kind: "number",
            cell: ({ grant }) => <Money microVnd={grant.amountMicroVnd} locale={locale} />,
          },
          {
            head: t.expired,
            kind: "number",
            cell: ({ grant }) => <Money microVnd={grant.expiredMicroVnd} locale={locale} />,
          },
          {
            head: t.left,
            kind: "number",
            cell: ({ leftMicroVnd }) => <Money microVnd={leftMicroVnd} locale={locale} />,
          },
        ]}
      />
    </Card>
  );
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
