/** Parts of the bank page: its forms, and the result of the last act. */
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { TopupCheck } from "../../../../kv/money/payments/topup_checks.ts";
import {
  Card,
  FileField,
  Money,
  Notice,
  PostForm,
  SelectField,
  Stat,
  Stats,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { SepayPollResult } from "../../../payments/sepay_poll.ts";
import type { ImportResult } from "../../../payments/statement_import.ts";
import { bankTexts } from "../base/bank_texts.ts";
import type { OperatorDeps } from "../base/deps.ts";
import { unreadablePath } from "./unreadable.tsx";

/** The result of the last act. */
export interface BankResults {
  readonly imported?: ImportResult;
  readonly polled?: SepayPollResult;
  readonly checked?: TopupCheck;
  /** Notices that are in none of the sums that were compared. */
  readonly unreadable?: number;
  readonly problem?: string;
}

/** The result of the last act as a message. */
export function Outcome({ results, locale }: { results: BankResults; locale: Locale }) {
  const t = bankTexts[locale];
  const { imported, polled, checked, unreadable = 0 } = results;
  return (
    <>
      {imported !== undefined && (
        <Notice tone={imported.problems.length === 0 ? "success" : "warning"}>
          <p>{t.imported(imported.rows, imported.fresh)}</p>
          {imported.problems.slice(0, 20).map(({ line, what }) => (
            <p key={line}>{t.line(line, what)}</p>
          ))}
        </Notice>
      )}
      {polled?.ok === true && <Notice tone="success">{t.polled(polled.seen, polled.fresh)}</Notice>}
      {polled?.ok === false && (
        <Notice tone="warning">
          {t.pollFailed([polled.why, polled.status].filter(Boolean).join(" "))}
        </Notice>
      )}
      {checked !== undefined && <CheckResult checked={checked} locale={locale} />}
      {unreadable > 0 && (
        <Notice tone="warning">
          <a href={unreadablePath}>{t.stillUnreadable(formatCount(unreadable, locale))}</a>
        </Notice>
      )}
    </>
  );
}

function CheckResult({ checked, locale }: { checked: TopupCheck; locale: Locale }) {
  const t = bankTexts[locale];
  const { totals, problems } = checked;
  return (
    <>
      {problems.length === 0
        ? <Notice tone="success">{t.checked}</Notice>
        : (
          <Notice tone="danger" title={t.found(problems.length)}>
            {problems.slice(0, 50).map((problem) => <p key={problem}>{problem}</p>)}
          </Notice>
        )}
      <Stats>
        {([
          ["received", totals.receivedMicroVnd],
          ["credited", totals.creditedMicroVnd],
          ["suspense", totals.suspenseMicroVnd],
          ["refunded", totals.refundedMicroVnd],
          ["other", totals.otherMicroVnd],
        ] as const).map(([name, microVnd]) => (
          <Stat label={t.totals[name]}>
            <Money microVnd={microVnd} locale={locale} />
          </Stat>
        ))}
      </Stats>
    </>
  );
}

/** The forms of the bank page. */
export function BankActs({ deps, visitor }: { deps: OperatorDeps; visitor: Visitor }) {
  const t = bankTexts[visitor.locale];
  return (
    <div class="columns">
      <ImportCard deps={deps} visitor={visitor} />
      {deps.poll !== undefined && (
        <Card title={t.poll}>
          <p>{t.pollText}</p>
          <PostForm visitor={visitor} action="/operator/bank/poll">
            <SubmitButton tone="plain">{t.pollButton}</SubmitButton>
          </PostForm>
        </Card>
      )}
      <Card title={t.check}>
        <p>{t.checkText}</p>
        <PostForm visitor={visitor} action="/operator/bank/check">
          <SubmitButton tone="plain">{t.checkButton}</SubmitButton>
        </PostForm>
      </Card>
      <ExportCard nowMs={deps.clock.nowMs()} locale={visitor.locale} />
    </div>
  );
}

function ImportCard({ deps, visitor }: { deps: OperatorDeps; visitor: Visitor }) {
  const t = bankTexts[visitor.locale];
  return (
    <Card title={t.import}>
      <p>{t.importText}</p>
      <PostForm visitor={visitor} action="/operator/bank/import" multipart>
        <SelectField
          name="account"
          label={t.receivingAccount}
          options={deps.topup.receivingAccounts.map(({ account, bankName }) => ({
            value: account,
            label: `${bankName} ${account}`,
          }))}
        />
        <FileField name="statement" label={t.file} accept=".csv,text/csv" />
        <SubmitButton tone="plain">{t.importButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function ExportCard({ nowMs, locale }: { nowMs: number; locale: Locale }) {
  const t = bankTexts[locale];
  const today = vietnamDay(nowMs);
  return (
    <Card title={t.exportTopups}>
      <p>{t.exportText}</p>
      <form method="get" action="/operator/bank/topups.csv" class="inline-form">
        <TextField name="from" label={t.from} type="date" value={`${today.slice(0, 7)}-01`} />
        <TextField name="to" label={t.to} type="date" value={today} />
        <SubmitButton tone="plain">{t.download}</SubmitButton>
      </form>
    </Card>
  );
}
