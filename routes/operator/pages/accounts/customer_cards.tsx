/** The parts of a customer's page. */
import { isMailKind, mailKinds } from "../../../../core/people/mail/mail_kinds.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { maxNoteChars } from "../../../../kv/people/accounts/account_notes.ts";
import {
  marginBasisPoints,
  marginMicroVnd,
  marginOfUsage,
} from "../../../../kv/money/costs/margins.ts";
import { netCostMicroVnd, type Usage } from "../../../../kv/money/ledger/usage.ts";
import {
  Badge,
  Card,
  CopyRow,
  DataTable,
  Fact,
  Money,
  PostForm,
  SeriesChart,
  Stat,
  Stats,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { KeyState } from "../../../dashboard/customer/keys/key_list.tsx";
import { keyTexts } from "../../../dashboard/customer/keys/texts.ts";
import {
  LimitBars,
  LimitTable,
  otherLimits,
  rateTexts,
  SpendBar,
} from "../../../dashboard/customer/rate_limits/limit_table.tsx";
import { ErrorStat } from "../../../dashboard/customer/usage/error_stat.tsx";
import { StatementTable } from "../../../dashboard/customer/wallet/wallet_statement.tsx";
import { FailureLine, sharedOf } from "../../../dashboard/customer/usage/call_table.tsx";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import {
  formatCount,
  formatMoney,
  formatMoneyShort,
  formatPercent,
} from "../../../dashboard/text/format.ts";
import { type Locale, localeNames } from "../../../dashboard/text/i18n.ts";
import { type Call, errorOf } from "../../../usage_api/search/call_scan.ts";
import { bucketRange } from "../../../usage_api/period.ts";
import { daysBetween, shiftDay } from "../../../usage_api/range.ts";
import { accountTexts } from "../base/account_texts.ts";
import type { OperatorDeps } from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { type CustomerKey, type CustomerView, usageDays } from "./customer_reading.ts";
import { customerTexts } from "./customer_texts.ts";

/** Parts of the cards. */
export interface CardProps {
  readonly account: Account;
  readonly view: CustomerView;
  readonly locale: Locale;
}

/** Errors of the page; the log has all. */
const errorsShown = 5;

/** The margin of what a customer was charged; nothing where no provider's cost is known. */
function marginNote(rows: CustomerView["rows"], locale: Locale): string | undefined {
  const sum = marginOfUsage(rows);
  const margin = marginMicroVnd(sum);
  const share = marginBasisPoints(sum);
  if (margin === undefined || share === undefined) return undefined;
  return customerTexts[locale].marginNote(
    formatMoneyShort(margin, locale),
    formatPercent(share / 10_000, locale),
  );
}

/** Figures that support asks for first. */
export function CustomerFigures({ account, view, locale }: CardProps) {
  const t = customerTexts[locale];
  const { balance, health, rows, runwayDays } = view;
  const charged = rows.reduce((sum, { usage }) => sum + netCostMicroVnd(usage), 0n);
  const calls = health.calls.calls + health.refused;
  return (
    <Stats>
      <Stat
        label={accountTexts[locale].balance}
        note={runwayDays === undefined ? undefined : t.lasts(formatCount(runwayDays, locale))}
      >
        <Money microVnd={balance.totalMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.held}>
        <Money microVnd={balance.reservedMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.charged} note={marginNote(rows, locale)}>
        <Money microVnd={charged} locale={locale} />
      </Stat>
      <Stat label={t.calls} note={calls === 0 ? t.noCall : undefined}>
        {formatCount(calls, locale)}
      </Stat>
      <ErrorStat
        health={health}
        href={`/operator/calls?account=${account.id}&period=24h&status=error`}
        locale={locale}
      />
    </Stats>
  );
}

/** Answered and failed calls by day. */
export function CallsCard({ account, view, locale }: CardProps) {
  const t = customerTexts[locale];
  const toDay = vietnamDay(view.nowMs);
  const days = daysBetween(shiftDay(toDay, 1 - usageDays), toDay);
  const sums = new Map(days.map((day) => [day, { answered: 0, failed: 0 }]));
  for (const { day, usage } of view.rows) {
    const sum = sums.get(day);
    if (sum === undefined) continue;
    sum.answered += answeredCalls(usage);
    sum.failed += usage.failedCalls;
  }
  const values = (of: "answered" | "failed") => days.map((day) => sums.get(day)?.[of] ?? 0);
  const stacks = [
    { name: t.answered, values: values("answered") },
    { name: t.failed, values: values("failed") },
  ];
  return (
    <Card
      title={t.chart}
      actions={<a href={`/operator/calls?account=${account.id}`}>{t.allCalls}</a>}
    >
      {view.rows.length === 0 && <p class="muted">{t.noCalls}</p>}
      {view.rows.length > 0 && (
        <SeriesChart
          series={{
            metric: "calls",
            buckets: days.flatMap((day) => bucketRange(day) ?? []),
            stacks,
          }}
          colours={[undefined, "failed"]}
          grain="day"
          label={t.chart}
          locale={locale}
        />
      )}
    </Card>
  );
}

function answeredCalls({ calls, failedCalls }: Usage): number {
  return Math.max(0, calls - failedCalls);
}

function ErrorLink({ call }: { call: Call }) {
  return (
    <a href={`/operator/calls/${call.requestId}`}>
      <code>{errorOf(call) ?? String(sharedOf(call).status)}</code>
    </a>
  );
}

/** The keys with what is used of their limits. */
export function KeysCard({ view: { keys }, locale }: CardProps) {
  const t = customerTexts[locale];
  return (
    <Card
      title={t.keys}
      actions={<span class="muted">{t.keyCount(formatCount(keys.active, locale))}</span>}
    >
      <DataTable
        label={t.keys}
        rows={keys.shown}
        empty={<p class="muted">{t.noKeys}</p>}
        columns={[
          {
            head: t.keys,
            cell: ({ record }: CustomerKey) => (
              <>
                <strong>{record.name}</strong>{" "}
                <small class="muted">
                  <code>{record.masked}</code>
                </small>
              </>
            ),
          },
          {
            head: accountTexts[locale].state,
            cell: ({ record, active }) => (
              <KeyState record={record} active={active} locale={locale} />
            ),
          },
          {
            head: keyTexts[locale].spendToday,
            cell: ({ spend, limits }) => (
              <SpendBar spend={spend} window="day" limits={limits} locale={locale} />
            ),
          },
          {
            head: keyTexts[locale].spendThisMonth,
            cell: ({ spend, limits }) => (
              <SpendBar spend={spend} window="month" limits={limits} locale={locale} />
            ),
          },
          ...keys.shown.every(({ limits }) =>
              otherLimits(limits).length === 0
            )
            ? []
            : [{
              head: rateTexts[locale].title,
              cell: ({ limits }: CustomerKey) =>
                otherLimits(limits).length === 0
                  ? <span class="muted">{t.noLimits}</span>
                  : <LimitBars limits={otherLimits(limits)} locale={locale} />,
            }],
          {
            head: t.error,
            cell: ({ lastError }) =>
              lastError === undefined
                ? <span class="muted">–</span>
                : <ErrorLink call={lastError} />,
          },
        ]}
      />
      {keys.notShown > 0 && <p class="muted">{t.moreKeys(formatCount(keys.notShown, locale))}</p>}
    </Card>
  );
}

/** The last calls that failed, in words. */
export function ErrorsCard({ account, view: { errors }, locale }: CardProps) {
  const t = customerTexts[locale];
  return (
    <Card
      title={t.lastErrors}
      actions={<a href={`/operator/calls?account=${account.id}&status=error`}>{t.allErrors}</a>}
    >
      <DataTable
        label={t.lastErrors}
        rows={errors.slice(0, errorsShown)}
        empty={<p class="muted">{t.noErrors}</p>}
        columns={[
          {
            head: frameTexts[locale].when,
            kind: "one-line",
            cell: (call) => <Time atMs={sharedOf(call).atMs} locale={locale} relative />,
          },
          { head: t.error, cell: (call) => <ErrorLink call={call} /> },
          {
            head: t.what,
            kind: "long",
            cell: (call) => (
              <>
                <FailureLine call={call} locale={locale} />{" "}
                <small class="muted">{sharedOf(call).model}</small>
              </>
            ),
          },
        ]}
      />
    </Card>
  );
}

/** The limits that bind the account, with what is used of them now. */
export function RatesCard({ view: { limits }, locale }: CardProps) {
  const t = rateTexts[locale];
  return (
    <Card title={t.title}>
      {limits.length === 0 ? <p class="muted">{t.none}</p> : (
        <>
          <p class="muted">{t.now}</p>
          <LimitTable limits={limits} locale={locale} />
        </>
      )}
    </Card>
  );
}

/** Facts of the person, and of the organisation. */
export function FactsCard({ account, locale }: CardProps) {
  const t = customerTexts[locale];
  const { organisation } = account;
  const issuers = (account.identities ?? []).map(({ issuer }) => issuer.replace("https://", ""));
  return (
    <Card title={t.facts}>
      <dl class="facts">
        <Fact name={t.since}>
          <Time atMs={account.createdAtMs} locale={locale} dateOnly />
        </Fact>
        {account.email !== undefined && <Fact name={t.address}>{account.email}</Fact>}
        {account.email !== undefined && (
          <Fact name={t.signsIn}>{[t.byMail, ...issuers].join(", ")}</Fact>
        )}
        {organisation !== undefined && organisation.closedAtMs === undefined && (
          <>
            <Fact name={t.owner}>
              <a href={`/operator/accounts/${organisation.ownerId}`}>
                {organisation.mailTo ?? organisation.ownerId}
              </a>
            </Fact>
            <Fact name={t.members}>{organisation.memberCount}</Fact>
          </>
        )}
        {account.locale !== undefined && (
          <Fact name={t.language}>{localeNames[account.locale]}</Fact>
        )}
        {account.lowBalanceMicroVnd !== undefined && (
          <Fact name={t.lowBalance}>
            <Money microVnd={account.lowBalanceMicroVnd} locale={locale} />
          </Fact>
        )}
      </dl>
      <CopyRow label={t.id} value={account.id} locale={locale} />
    </Card>
  );
}

/** Notes of operators, and the form for another. */
export function NotesCard({ account, view: { notes }, typed, visitor }: {
  account: Account;
  view: CustomerView;
  /** Text as typed, if it was refused. */
  typed: string | undefined;
  visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = customerTexts[locale];
  return (
    <Card title={t.notes}>
      {account.deletedAtMs === undefined && (
        <PostForm visitor={visitor} action={`/operator/accounts/${account.id}/note`}>
          <TextField
            name="text"
            label={t.note}
            hint={t.notesText}
            rows={2}
            value={typed}
            error={typed === undefined ? undefined : t.noteWrong}
            required
            maxlength={maxNoteChars}
          />
          <SubmitButton tone="plain" small>{t.addNote}</SubmitButton>
        </PostForm>
      )}
      {notes.length === 0 ? <p class="muted">{t.noNotes}</p> : (
        <ul class="notes">
          {notes.map(({ atMs, by, text }) => (
            <li>
              <p>{text}</p>
              <small class="muted">
                {by}, <Time atMs={atMs} locale={locale} relative />
              </small>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** The kinds of mails that were sent. */
export function MailsCard({ view: { mails }, locale }: CardProps) {
  const t = customerTexts[locale];
  return (
    <Card title={t.mails}>
      {mails.length === 0 ? <p class="muted">{t.noMails}</p> : (
        <ul class="lines">
          {mails.map(({ kind, atMs, failed }) => (
            <li>
              <span class={`dot ${failed === true ? "bad" : "good"}`}>
                {isMailKind(kind) ? mailKinds[kind].name[locale] : kind}{" "}
                {failed === true && <Badge tone="bad">{t.mailFailed}</Badge>}
              </span>
              <Time atMs={atMs} locale={locale} relative />
            </li>
          ))}
        </ul>
      )}
      <p class="muted">{t.mailsText}</p>
    </Card>
  );
}

/** Lines of the ledger on the first view; its own tab has all of 90 days. */
const ledgerShown = 6;

/** The last movements of money, with the way to all. */
export function MoneyCard({ account, view: { statement }, locale }: CardProps) {
  const t = customerTexts[locale];
  const lines = statement.lines.slice(-ledgerShown);
  const before = statement.lines.at(-ledgerShown - 1);
  // The balance before the first line that is shown is the one after the line before it.
  const latest = before === undefined
    ? statement
    : { ...statement, lines, opensAt: "line" as const, openingMicroVnd: before.balanceMicroVnd };
  return (
    <Card
      title={t.money}
      actions={<a href={`/operator/accounts/${account.id}?tab=ledger`}>{t.allMoney}</a>}
    >
      <StatementTable statement={latest} locale={locale} />
    </Card>
  );
}

/** An act that operators have for an account. */
interface CustomerAct {
  readonly path: string;
  readonly what: string;
  readonly open: string;
  readonly isBad?: true;
}

/** The acts by their names; each leads to a page that says what it does. */
function actsOf({ blockedAtMs }: Account, locale: Locale): CustomerAct[] {
  const t = customerTexts[locale];
  return [
    { path: "adjust", what: t.adjust, open: t.adjustOpen },
    { path: "limits", what: t.limits, open: t.limitsOpen },
    { path: "sign-out", what: t.signOut, open: t.signOutOpen },
    blockedAtMs === undefined
      ? { path: "block", what: t.block, open: t.blockOpen, isBad: true }
      : { path: "block", what: t.unblock, open: t.unblockOpen },
  ];
}

/** The buttons in the head: a mail, a note, and the menu of all acts. */
export function CustomerActions({ account, locale }: { account: Account; locale: Locale }) {
  const t = customerTexts[locale];
  const address = account.email ?? account.organisation?.mailTo;
  const path = `/operator/accounts/${account.id}`;
  return (
    <>
      {address !== undefined && (
        <a href={`mailto:${address}`} class="button outline secondary small">{t.write}</a>
      )}
      <a href={`${path}#text`} class="button outline secondary small">{t.addNote}</a>
      <details class="menu row-menu acts-menu">
        <summary class="button outline secondary small">{t.acts}</summary>
        <nav aria-label={t.acts}>
          {actsOf(account, locale).map(({ path: act, what, isBad }) => (
            <a href={`${path}/${act}`} class={isBad === true ? "menu-danger" : undefined}>{what}</a>
          ))}
        </nav>
      </details>
    </>
  );
}

/** Acts of operators on the account, with the consequence of each. */
export function ActsCard({ account, view, deps, locale }: CardProps & { deps: OperatorDeps }) {
  const t = customerTexts[locale];
  const limit = formatMoneyShort(deps.topup.approvalAboveMicroVnd, locale);
  const consequences: Readonly<Record<string, string>> = {
    adjust: t.adjustText(limit),
    limits: t.limitsText,
    "sign-out": t.signOutText(formatCount(view.browsers, locale)),
    block: account.blockedAtMs === undefined ? t.blockText : t.unblockText,
  };
  return (
    <Card title={t.acts}>
      <p class="muted">{t.actsText}</p>
      <ul class="lines acts">
        {actsOf(account, locale).map(({ path, what, open, isBad }) => (
          <li>
            <strong>{what}</strong>
            <span class="muted">{consequences[path]}</span>
            <a
              href={`/operator/accounts/${account.id}/${path}`}
              class={`button outline secondary small${isBad === true ? " bad" : ""}`}
            >
              {open}
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Consequences of blocking the account, and of no longer blocking it. */
export function BlockConsequences({ account, view, locale }: CardProps) {
  const t = customerTexts[locale];
  const { keys, balance, health } = view;
  const active = formatCount(keys.active, locale);
  const isBlocked = account.blockedAtMs !== undefined;
  return (
    <ul>
      <li>{isBlocked ? t.starts(active) : t.stops(active)}</li>
      {!isBlocked && <li>{t.signedOut}</li>}
      <li>{t.moneyStays(formatMoney(balance.totalMicroVnd, locale))}</li>
      <li>{t.lastDay(formatCount(health.calls.calls + health.refused, locale))}</li>
    </ul>
  );
}

/** Consequences of ending all sessions of the account. */
export function SignOutConsequences({ view: { browsers, keys }, locale }: CardProps) {
  const t = customerTexts[locale];
  return (
    <ul>
      <li>{t.signOutEnds(formatCount(browsers, locale))}</li>
      <li>{t.keysStay(formatCount(keys.active, locale))}</li>
    </ul>
  );
}
