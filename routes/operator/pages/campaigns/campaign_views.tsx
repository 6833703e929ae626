/** Parts of the pages about campaigns: the list, the figures, the terms. */
import { type AccountNames, CustomerLink } from "../base/linked_text.tsx";
import {
  type Campaign,
  type CampaignRefusal,
  campaignRefusal,
  largestGift,
  maxGiven,
} from "../../../../core/trade/credits/campaign.ts";
import type { CampaignFigures } from "../../../../kv/money/credits/grants.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  DataTable,
  Empty,
  Fact,
  Money,
  Stat,
  Stats,
  Time,
} from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoneyShort, formatPercentage } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { actorName } from "../base/account_texts.ts";
import { campaignTexts } from "./campaign_texts.ts";

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
export function StateBadge({ campaign, nowMs, locale }: {
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
export function CampaignTable({ campaigns, path, nowMs, locale }: {
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
export function CampaignFiguresView({ campaign, figures, locale }: {
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
export function TermsCard({ campaign, locale }: { campaign: Campaign; locale: Locale }) {
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
export function GrantList({ figures, names, locale }: {
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
