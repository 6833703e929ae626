/**
 * Shows a dossier: what would move, from whom, to whom, by which evidence, what was decided before, and what is unusual.
 *
 * - Folder `routes/operator/pages/dossier/`: decisions about money, shown before they are made.
 * - In: a dossier, and a form that decides.
 * - Out: HTML; a form with the mark of the facts that were shown.
 * - Never: offers a decision without the facts, or reads an amount from the form that decides.
 */
import type { Child } from "hono/jsx";
import {
  type Dossier,
  type DossierWarning,
  readDossier,
} from "../../../../kv/services/operations/dossier.ts";
import {
  Badge,
  Card,
  DataTable,
  Money,
  Notice,
  PostForm,
  SubmitButton,
  Time,
} from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoney } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { ledgerReason } from "../../../usage_api/statements/ledger_reason.ts";
import { walletTexts } from "../../../dashboard/customer/wallet/wallet_texts.ts";
import { accountTexts } from "../base/account_texts.ts";
import { MoneyFacts, type ShownMoney } from "./moved_money.tsx";
import { bankTexts } from "../base/bank_texts.ts";
import { noticePath } from "../base/notice_views.tsx";
import { dossierTexts } from "./texts.ts";
import type { PendingAct } from "../../../../kv/services/operations/approvals.ts";
import { balanceIn } from "../../operations/contract/operation.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  renderOperatorPage,
} from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { dayMs, hourMs } from "../../../../core/lib/time/durations.ts";

/** The name of the form field that has the mark of what was shown. */
export const seenField = "seen";

/** Formats the age of an account: hours in its first two days, days later. */
function ageText(ageMs: number, locale: Locale): string {
  const t = dossierTexts[locale];
  return ageMs < 2 * dayMs
    ? t.hours(formatCount(Math.floor(ageMs / hourMs), locale))
    : t.days(formatCount(Math.floor(ageMs / dayMs), locale));
}

/** Warnings that forbid the decision are shown as dangers. */
const forbidden: ReadonlySet<DossierWarning> = new Set<DossierWarning>([
  "own_account",
  "same_operator",
]);

function Warnings({ warnings, locale }: { warnings: readonly DossierWarning[]; locale: Locale }) {
  if (warnings.length === 0) return null;
  const t = dossierTexts[locale];
  const tone = warnings.some((warning) => forbidden.has(warning)) ? "danger" : "warning";
  return (
    <Notice tone={tone} title={t.warnings}>
      <ul>
        {warnings.map((warning) => <li key={warning}>{t.warning[warning]}</li>)}
      </ul>
    </Notice>
  );
}

function shownMoney({ money, account, order, notice }: Dossier): ShownMoney {
  return { ...money, account, order, event: notice?.event, importedBy: notice?.importedBy?.email };
}

/** Facts beyond those of the movement: the account, its earlier top-ups, the notice. */
function moreFacts(
  { account, topups, notice }: Dossier,
  nowMs: number,
  locale: Locale,
): (readonly [string, Child])[] {
  const t = dossierTexts[locale];
  const facts: (readonly [string, Child])[] = [
    [
      t.account,
      <span key="age">
        {t.since(ageText(nowMs - account.createdAtMs, locale))}
        {account.blockedAtMs !== undefined && (
          <>
            {" "}
            <Badge tone="bad">{t.blocked}</Badge>
          </>
        )}
      </span>,
    ],
    [
      t.topups,
      topups.count === 0 ? t.noTopups : t.topupSum(
        formatCount(topups.count, locale),
        formatMoney(topups.sumMicroVnd, locale),
        formatMoney(topups.largestMicroVnd, locale),
      ),
    ],
  ];
  if (topups.lastAtMs !== undefined) {
    facts.push([t.lastTopup, <Time key="last" atMs={topups.lastAtMs} locale={locale} />]);
  }
  if (notice !== undefined) {
    const { event, state } = notice;
    const { atMs, precision } = event.time;
    facts.push([
      t.bankTime,
      <Time key="bank" atMs={atMs} locale={locale} dateOnly={precision === "day"} />,
    ]);
    facts.push([t.receiving, event.account]);
    facts.push([
      t.noticeState,
      <span key="state">
        {bankTexts[locale].states[state.kind]}
        {state.kind === "review" && state.about !== undefined && (
          <>
            {" "}(<a href={noticePath(state.about)}>{t.seeOther}</a>)
          </>
        )}
      </span>,
    ]);
  }
  return facts;
}

/** Everything about an act. */
export function DossierView({ dossier, asked = [], nowMs, locale, children }: {
  dossier: Dossier;
  /** Request for approval: by whom, when and why. */
  asked?: readonly (readonly [string, Child])[];
  nowMs: number;
  locale: Locale;
  /** The form that decides. */
  children?: Child;
}) {
  const t = dossierTexts[locale];
  const { ledger, decisions, requests } = dossier;
  return (
    <>
      <Warnings warnings={dossier.warnings} locale={locale} />
      <Card>
        <MoneyFacts
          money={shownMoney(dossier)}
          locale={locale}
          more={[...moreFacts(dossier, nowMs, locale), ...asked]}
        />
        {children}
      </Card>
      <Card title={t.ledger}>
        <DataTable
          label={t.ledger}
          rows={ledger}
          empty={<p class="muted">{t.none}</p>}
          columns={[
            {
              head: t.when,
              kind: "one-line",
              cell: ({ atMs }) => <Time atMs={atMs} locale={locale} relative />,
            },
            { head: t.kind, cell: ({ kind }) => walletTexts[locale].kinds[kind] },
            {
              head: t.amount,
              kind: "number",
              cell: ({ amountMicroVnd }) => <Money microVnd={amountMicroVnd} locale={locale} />,
            },
            { head: t.reason, kind: "long", cell: (entry) => ledgerReason(entry, locale) },
          ]}
        />
      </Card>
      <Card title={t.decisions}>
        <DataTable
          label={t.decisions}
          rows={decisions}
          empty={<p class="muted">{t.none}</p>}
          columns={[
            {
              head: t.when,
              kind: "one-line",
              cell: ({ atMs }) => <Time atMs={atMs} locale={locale} relative />,
            },
            { head: t.by, kind: "long", cell: ({ operatorEmail }) => operatorEmail },
            { head: t.act, cell: ({ act }) => accountTexts[locale].acts[act] },
            {
              head: t.amount,
              kind: "number",
              cell: ({ money }) =>
                money === undefined
                  ? ""
                  : <Money microVnd={money.amountMicroVnd} locale={locale} />,
            },
            { head: t.reason, kind: "long", cell: ({ detail }) => detail },
          ]}
        />
      </Card>
      {requests.length > 0 && (
        <Card title={t.requests}>
          <DataTable
            label={t.requests}
            rows={requests}
            columns={[
              {
                head: t.when,
                kind: "one-line",
                cell: ({ requestedAtMs }) => <Time atMs={requestedAtMs} locale={locale} relative />,
              },
              { head: t.by, kind: "long", cell: ({ requestedBy }) => requestedBy.email },
              {
                head: t.amount,
                kind: "number",
                cell: ({ act }) => <Money microVnd={act.amountMicroVnd} locale={locale} />,
              },
              { head: t.reason, kind: "long", cell: ({ act }) => act.reason },
              {
                head: t.state,
                cell: ({ id, state }) => (
                  <a href={`/operator/approvals/${id}`}>
                    {accountTexts[locale].approvalStates[state]}
                  </a>
                ),
              },
            ]}
          />
        </Card>
      )}
    </>
  );
}

// The step between a form that moves money and the movement: the dossier, and one button.

/** A movement that waits for its confirmation. */
interface Confirmation {
  /** Address to which the form is sent, again. */
  readonly action: string;
  /** Fields of the form. */
  readonly fields: Readonly<Record<string, string>>;
  /** The page to return to. */
  readonly back: string;
  /** The entry of the navigation. */
  readonly under: string;
  readonly problem?: string | undefined;
  /** The page for an account, order or notice that is not there, or closed. */
  readonly gone: () => Response | Promise<Response>;
}

/** Shows what would move, with the button that moves it. It works without script: it is a page with a form. */
export async function confirmAct(
  c: OperatorContext,
  deps: OperatorDeps,
  act: PendingAct,
  confirmation: Confirmation,
) {
  const dossier = await readDossier(deps.kv, act, {
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
    balanceOf: balanceIn(deps),
  });
  return dossier === undefined
    ? await confirmation.gone()
    : await confirmationPage(c, deps, dossier, confirmation);
}

async function confirmationPage(
  c: OperatorContext,
  { clock, topup }: OperatorDeps,
  dossier: Dossier,
  { action, fields, back, under, problem }: Confirmation,
) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = dossierTexts[locale];
  const { amountMicroVnd } = dossier.money;
  const isDebit = amountMicroVnd < 0n;
  const magnitude = isDebit ? -amountMicroVnd : amountMicroVnd;
  const amount = formatMoney(magnitude, locale);
  const isOwn = dossier.warnings.includes("own_account");
  return await renderOperatorPage(
    c,
    {
      title: t.check,
      lead: t.checkLead,
      under,
      problem: problem ?? (isOwn ? frameTexts[locale].problems.beneficiary : undefined),
    },
    <DossierView
      dossier={dossier}
      asked={[[frameTexts[locale].reason, fields["reason"] ?? ""]]}
      nowMs={clock.nowMs()}
      locale={locale}
    >
      {magnitude > topup.approvalAboveMicroVnd && (
        <p class="muted">{t.needsSecond(formatMoney(topup.approvalAboveMicroVnd, locale))}</p>
      )}
      <div class="actions">
        {!isOwn && (
          <PostForm visitor={visitor} action={action}>
            {Object.entries(fields).map(([name, value]) => (
              <input key={name} type="hidden" name={name} value={value} />
            ))}
            <input type="hidden" name={seenField} value={dossier.mark} />
            <SubmitButton tone={isDebit ? "danger" : "primary"}>
              {isDebit ? t.debit(amount) : t.credit(amount)}
            </SubmitButton>
          </PostForm>
        )}
        <a href={back}>{t.back}</a>
      </div>
    </DossierView>,
  );
}
