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
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { parseDay } from "../../../usage_api/range.ts";
import { accountTexts, actorName } from "../base/account_texts.ts";
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
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { englishCount, formatCount, formatMoneyShort } from "../../../dashboard/text/format.ts";

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

// Says the details that the gateway itself writes into the audit log in the reader's language; reasons stay as typed.

const texts = defineTexts({
  both: {
    campaigns: {
      signup: ["Credit for a sign-up", "Tặng khi đăng ký"],
      voucher: ["Voucher codes", "Mã quà tặng"],
      bonus: ["Bonus on a top-up", "Thưởng nạp tiền"],
    },
    awaiting: ["; waits for a second operator", "; chờ người vận hành thứ hai"],
    announcements: { incident: ["Incident", "Sự cố"], maintenance: ["Maintenance", "Bảo trì"] },
    ended: ["Ended", "Đã kết thúc"],
    byHand: [" (had been credited by hand)", " (đã được ghi có thủ công trước đó)"],
    switches: { on: ["On", "Bật"], off: ["Off", "Tắt"] },
  },
  en: {
    upTo: (kind: string, name: string, most: string) => `${kind} “${name}”, up to ${most}`,
    vouchers: (count: string, uses: string, name: string) =>
      `${englishCount(count, "code", "codes")}, ${
        englishCount(uses, "use", "uses")
      } each: “${name}”`,
    routes: { enable: "Put back", drain: "Draining", disable: "Taken out" },
    imported: (rows: string, fresh: string, problems: string) =>
      `${englishCount(rows, "row", "rows")}, ${fresh} new, ${
        englishCount(problems, "problem", "problems")
      }`,
    polled: (seen: string, fresh: string) =>
      `${englishCount(seen, "movement", "movements")}, ${fresh} new`,
    dropped: (rows: string, oldest: string, newest: string) =>
      `${englishCount(rows, "row", "rows")} from ${oldest} to ${newest}`,
    months: (month: string, receipts: string) =>
      `${month}: ${englishCount(receipts, "receipt", "receipts")}`,
  },
  vi: {
    upTo: (kind, name, most) => `${kind} “${name}”, tối đa ${most}`,
    vouchers: (count, uses, name) => `${count} mã, mỗi mã dùng ${uses} lần: “${name}”`,
    routes: { enable: "Đưa vào lại", drain: "Đang rút dần", disable: "Đã ngắt" },
    imported: (rows, fresh, problems) => `${rows} dòng, ${fresh} dòng mới, ${problems} lỗi`,
    polled: (seen, fresh) => `${seen} giao dịch, ${fresh} mới`,
    dropped: (rows, oldest, newest) => `${rows} dòng từ ${oldest} đến ${newest}`,
    months: (month, receipts) => `${month}: ${receipts} biên lai`,
  },
});

type Words = (detail: string, t: typeof texts["en"], locale: Locale) => string | undefined;

/** Finds the word for a part of a detail; the part itself where there is none. */
function wordOf(words: Readonly<Record<string, string>>, part: string): string {
  return Object.entries(words).find(([name]) => name === part)?.[1] ?? part;
}

/** A word of ours before a colon, and what follows. */
function prefixed(detail: string, words: Readonly<Record<string, string>>): string | undefined {
  const [, word = "", rest = ""] = /^(\w+): (.*)$/s.exec(detail) ?? [];
  return word === "" ? undefined : `${wordOf(words, word)}: ${rest}`;
}

const count = (text: string | undefined, locale: Locale) => formatCount(Number(text), locale);

/** Words that acts write by themselves, by act. */
const wordsOf: Partial<Readonly<Record<OperatorAct, Words>>> = {
  campaign_made(detail, t, locale) {
    const [, kind = "", name = "", most = "", awaits] =
      /^(\w+) "(.*)", at most ([\d.]+) VND(, waits for a second operator)?$/s.exec(detail) ?? [];
    const sum = most === "" ? undefined : parseVnd(most);
    if (sum === undefined) return undefined;
    const words = t.upTo(wordOf(t.campaigns, kind), name, formatMoneyShort(sum, locale));
    return awaits === undefined ? words : `${words}${t.awaiting}`;
  },
  vouchers_made(detail, t, locale) {
    const [, codes, uses, name = ""] = /^(\d+) codes, (\d+) uses each: (.*)$/s.exec(detail) ?? [];
    return codes && t.vouchers(count(codes, locale), count(uses, locale), name);
  },
  announcement_published: (detail, t) => prefixed(detail, t.announcements),
  announcement_updated: (detail, t) =>
    detail.startsWith("ended: ") ? `${t.ended}: ${detail.slice("ended: ".length)}` : undefined,
  route_changed: (detail, t) => prefixed(detail, t.routes),
  statement_imported(detail, t, locale) {
    const [, rows, fresh, problems] = /^(\d+) rows, (\d+) new, (\d+) problems$/.exec(detail) ?? [];
    return rows && t.imported(count(rows, locale), count(fresh, locale), count(problems, locale));
  },
  notices_polled(detail, t, locale) {
    const [, seen, fresh] = /^(\d+) seen, (\d+) new$/.exec(detail) ?? [];
    return seen && t.polled(count(seen, locale), count(fresh, locale));
  },
  notice_assigned: (detail, t) => detail.replace(" (had been credited by hand)", t.byHand),
  rows_dropped(detail, t, locale) {
    const [, rows, oldest = "", newest = ""] = /^(\d+) rows from (\S+) to (\S+)$/.exec(detail) ??
      [];
    return rows && t.dropped(count(rows, locale), oldest, newest);
  },
  receipts_dropped: (detail, t, locale) =>
    detail.replaceAll(
      /(\d{4}-\d\d): (\d+) receipts/g,
      (_, month: string, receipts: string) => t.months(month, count(receipts, locale)),
    ),
};

/** Says a detail in the reader's language. */
function auditDetail({ act, detail }: Pick<AuditLine, "act" | "detail">, locale: Locale) {
  return wordsOf[act]?.(detail, texts[locale], locale) ?? detail;
}

/** Says what was acted on, where it is a word and no name. */
function auditSubject({ act, subject }: Pick<AuditLine, "act" | "subject">, locale: Locale) {
  return act === "maintenance_changed" ? wordOf(texts[locale].switches, subject) : subject;
}

/** Registers the page of the audit log. */
function createAuditPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().get("/operator/audit", (c) => auditPage(c, deps));
}

export const auditPages: OperatorPage = {
  link: { href: "/operator/audit", label: auditLabel },
  routes: createAuditPages,
};
