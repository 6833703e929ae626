/** `/operator/audit`: all acts of operators, newest first, with a search. */
import { Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { shiftDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { foldVietnamese } from "../../../../core/trade/bank/order_code.ts";
import { findAccountsByEmailStart } from "../../../../kv/people/accounts/accounts.ts";
import {
  type AuditLine,
  commandLine,
  findAuditLines,
  type OperatorAct,
  operatorActs,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import {
  Card,
  DataTable,
  Empty,
  Pager,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { parseDay } from "../../../usage_api/range.ts";
import { accountTexts, actorName } from "../base/account_texts.ts";
import { auditDetail, auditSubject } from "../base/audit_words.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { lookUpMoney, MoneyFacts } from "../dossier/moved_money.tsx";
import { accountsIn, AuditDetail, LinkedText, namesOf, Person } from "../base/linked_text.tsx";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

const auditRows = 100;

/** Characters of a search: an address, an id, or some words. */
const maxQueryChars = 120;

/** Accounts whose address begins with what is searched for: their ids are searched for, too. */
const maxNamed = 20;

const auditLabel = { en: "Audit log", vi: "Nhật ký" };

/** Query of a search, as it was asked. */
interface AuditQuery {
  readonly q: string;
  readonly act: OperatorAct | undefined;
  readonly who: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

function queryOf(c: OperatorContext): AuditQuery {
  const asked = c.req.query("act");
  return {
    q: (c.req.query("q") ?? "").trim().slice(0, maxQueryChars),
    act: operatorActs.find((act) => act === asked),
    who: (c.req.query("who") ?? "").slice(0, maxQueryChars),
    from: parseDay(c.req.query("from")),
    to: parseDay(c.req.query("to")),
  };
}

/** Makes the test of a line for words: in whoever acted, the act, what was acted on, the detail, or a customer's address. */
async function fitsWords(
  { kv }: OperatorDeps,
  q: string,
  locale: Locale,
): Promise<((line: AuditLine) => boolean) | undefined> {
  if (q === "") return undefined;
  const wanted = foldVietnamese(q);
  const accounts = await findAccountsByEmailStart(kv, q.toLowerCase(), maxNamed);
  const ids = accounts.map(({ accountId }) => String(accountId));
  const { acts } = accountTexts[locale];
  return (line) => {
    const { act, operatorEmail, subject, detail, money } = line;
    const texts = [operatorEmail, acts[act], subject, auditDetail(line, locale), detail];
    const whole = texts.join("\n");
    return foldVietnamese(whole).includes(wanted) ||
      ids.some((id) => whole.includes(id) || money?.accountId === id);
  };
}

/** The search in one row. */
function AuditSearchForm({ asked, operators, locale }: {
  asked: AuditQuery;
  operators: readonly string[];
  locale: Locale;
}) {
  const t = accountTexts[locale];
  const frame = frameTexts[locale];
  const people = [...operators, commandLine.email, operatorProgram.email];
  const acts = operatorActs.map((value) => ({ value, label: t.acts[value] }))
    .sort((one, other) => one.label.localeCompare(other.label, locale));
  return (
    <form method="get" class="inline-form audit-search">
      <TextField
        name="q"
        label={frame.search}
        type="search"
        placeholder={t.auditSearchHint}
        value={asked.q}
        maxlength={maxQueryChars}
      />
      <SelectField
        name="act"
        label={t.act}
        value={asked.act ?? ""}
        options={[{ value: "", label: t.anyAct }, ...acts]}
      />
      <SelectField
        name="who"
        label={frame.who}
        value={asked.who}
        options={[
          { value: "", label: t.anybody },
          ...people.map((value) => ({ value, label: actorName(value, locale) })),
        ]}
      />
      <TextField name="from" type="date" label={t.from} value={asked.from ?? ""} />
      <TextField name="to" type="date" label={t.to} value={asked.to ?? ""} />
      <SubmitButton tone="plain">{frame.show}</SubmitButton>
    </form>
  );
}

async function readLines(c: OperatorContext, deps: OperatorDeps, asked: AuditQuery) {
  const before = parseId("audit", c.req.query("before") ?? "");
  const { act, who, from, to } = asked;
  const fits = await fitsWords(deps, asked.q, c.get("visitor").locale);
  const { lines, next } = await findAuditLines(deps.kv, {
    count: auditRows,
    ...defined({
      before,
      act,
      fits,
      operatorEmail: who === "" ? undefined : who,
      fromMs: from === undefined ? undefined : vietnamDayStartMs(from),
      untilMs: to === undefined ? undefined : vietnamDayStartMs(shiftDay(to, 1)),
    }),
  });
  const rows = await Promise.all(
    lines.map(async (line) => ({
      ...line,
      shown: line.money && await lookUpMoney(deps.kv, line.money),
    })),
  );
  const names = await namesOf(
    deps.kv,
    accountsIn(lines.flatMap(({ subject, detail }) => [subject, detail])),
  );
  return { rows, names, next };
}

function AuditTable({ page: { rows, names }, locale }: {
  page: Pick<Awaited<ReturnType<typeof readLines>>, "rows" | "names">;
  locale: Locale;
}) {
  const t = accountTexts[locale];
  const frame = frameTexts[locale];
  return (
    <DataTable
      label={auditLabel[locale]}
      rows={rows}
      empty={<Empty title={t.noLines} />}
      columns={[
        {
          head: frame.when,
          kind: "one-line",
          cell: ({ atMs }) => <Time atMs={atMs} locale={locale} relative />,
        },
        {
          head: frame.who,
          kind: "long",
          cell: ({ operatorEmail }) => <Person address={actorName(operatorEmail, locale)} />,
        },
        { head: t.act, cell: ({ act }) => t.acts[act] },
        {
          head: t.subject,
          kind: "long",
          cell: (line) => (
            <LinkedText text={auditSubject(line, locale)} names={names} locale={locale} />
          ),
        },
        {
          head: t.detail,
          kind: "long",
          cell: (line) => (
            <>
              <AuditDetail text={auditDetail(line, locale)} names={names} locale={locale} />
              {line.shown !== undefined && <MoneyFacts money={line.shown} locale={locale} />}
            </>
          ),
        },
      ]}
    />
  );
}

async function auditPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const asked = queryOf(c);
  const { next, ...page } = await readLines(c, deps, asked);
  const older = new URLSearchParams(
    Object.entries({ ...asked, before: next }).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, value]]
    ),
  );
  return await renderOperatorPage(
    c,
    { lead: accountTexts[locale].auditLead },
    <Card>
      <AuditSearchForm asked={asked} operators={deps.operators} locale={locale} />
      <AuditTable page={page} locale={locale} />
      <Pager next={next === undefined ? undefined : `/operator/audit?${older}`} locale={locale} />
    </Card>,
  );
}

/** Registers the page of the audit log. */
function createAuditPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().get("/operator/audit", (c) => auditPage(c, deps));
}

export const auditPages: OperatorPage = {
  link: { href: "/operator/audit", label: auditLabel },
  routes: createAuditPages,
};
