/** `/wallet/statement`: the statement as a page and as CSV, and the files of whole months. */
import type { Context } from "hono";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { may } from "../../../../core/people/organisations/acts.ts";
import {
  firstDayOfMonth,
  monthOfDay,
  vietnamDay,
  vietnamDayStartMs,
  vietnamIsoTime,
} from "../../../../core/lib/time/vietnam_time.ts";
import {
  changeOf,
  openingDay,
  readMatchingStatement,
  type Statement,
  type StatementLine,
} from "../../../../kv/money/ledger/statement.ts";
import { writeActivity } from "../../../../kv/people/audit/account_activity.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { provenMonths, statementProof } from "../../../usage_api/proofs.ts";
import { parseDay } from "../../../usage_api/range.ts";
import { statementFileKindNames } from "../../../usage_api/statements/statement_files.ts";
import {
  listMonths,
  parseMonth,
  requireStatement,
  statementFile,
} from "../../../usage_api/statements.ts";
import {
  Card,
  DataTable,
  Empty,
  Icon,
  Notice,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { personDoer } from "../../visitor/doer.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { WalletDeps } from "./deps.ts";
import { StatementTable } from "./wallet_statement.tsx";
import { formatBucket } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { walletTexts } from "./wallet_texts.ts";
import { type CsvColumn, csvFile } from "../../../../core/lib/base/csv.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";

type PageContext = Context<DashboardEnv>;

async function statementOf(c: PageContext, { kv, clock, wallet }: WalletDeps) {
  const today = vietnamDay(clock.nowMs());
  const fromDay = parseDay(c.req.query("from")) ?? firstDayOfMonth(monthOfDay(today));
  const toDay = parseDay(c.req.query("to")) ?? today;
  const balance = (id: AccountId) => wallet.balance(id);
  const { id } = c.get("signedIn").account;
  return await readMatchingStatement(kv, id, { fromDay, toDay }, { today, balance });
}

/** Months whose files the page offers: three years. The API has all. */
const shownMonths = 36;

function MonthFiles({ months, proven, locale }: {
  months: readonly string[];
  /** Entries of which there is a proof. */
  proven: ReadonlySet<string>;
  locale: Locale;
}) {
  const t = walletTexts[locale];
  const nameOf = (month: string) =>
    formatBucket(vietnamDayStartMs(`${month}-01`), "month", locale, "long");
  return (
    <Card title={t.months} id="months">
      <p class="muted">
        {t.monthsText} <a href="/proofs">{t.checkProof}</a>
      </p>
      <DataTable
        label={t.months}
        rows={months}
        columns={[
          { head: t.month, kind: "one-line", phone: "first", cell: nameOf },
          {
            head: t.files,
            phone: "below",
            cell: (month) => (
              <div class="actions">
                {statementFileKindNames.map((kind) => (
                  <a
                    href={`/wallet/statements/${month}.${kind}`}
                    class="button outline secondary small"
                    aria-label={t.fileOf(kind.toUpperCase(), nameOf(month))}
                    download
                  >
                    {kind.toUpperCase()}
                  </a>
                ))}
              </div>
            ),
          },
          {
            head: t.proof,
            phone: "first-end",
            cell: (month) =>
              proven.has(month)
                ? (
                  <a
                    href={`/wallet/statements/${month}.json`}
                    aria-label={t.proofOf(nameOf(month))}
                  >
                    {t.proof}
                  </a>
                )
                : <span class="muted">{t.notSigned}</span>,
          },
        ]}
      />
    </Card>
  );
}

/** Sends a file of a month (`2026-11.pdf`), or its proof (`2026-11.json`). */
export async function monthDownload(c: PageContext, deps: WalletDeps) {
  const { locale } = c.get("visitor");
  const { account, role } = c.get("signedIn");
  const [name = "", extension] = (c.req.param("file") ?? "").split(".");
  const month = parseMonth(name);
  const kind = statementFileKindNames.find((one) => one === extension);
  if (month === undefined || (kind === undefined && extension !== "json")) {
    return await notFoundPage(c);
  }
  try {
    if (kind === undefined) {
      return c.json(await statementProof(deps.kv, account.id, month), 200, {
        "content-disposition": `attachment; filename="statement-proof-${month}.json"`,
      });
    }
    const source = {
      ...deps,
      vatRates: deps.topup.vatRates,
      brandName: deps.brand?.name,
      seller: deps.company,
    };
    const sees = { invoices: may(role, "view_invoices"), keys: may(role, "view_keys") };
    const statement = await requireStatement(source, account.id, month, sees);
    await writeActivity(deps.kv, {
      accountId: account.id,
      act: "statement_exported",
      by: personDoer(c),
      atMs: deps.clock.nowMs(),
      subject: `${month}.${kind}`,
    });
    return await statementFile(source, statement, { kind, locale });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const t = walletTexts[locale];
    return await renderPage(
      c,
      { title: t.statement, status: 404 },
      <Card>
        <Empty title={error.code === "not_found" ? t.noProofYet : t.noFile}>
          <p>
            <a href="/wallet/statement#months">{t.months}</a>
          </p>
        </Empty>
      </Card>,
    );
  }
}

/** Answers with the statement of a period. */
export async function statementPage(c: PageContext, deps: WalletDeps) {
  const { locale } = c.get("visitor");
  const t = walletTexts[locale];
  const { statement, balanceMicroVnd } = await statementOf(c, deps);
  const { fromDay, toDay } = statement;
  const months = (await listMonths(deps, c.get("signedIn").account.id)).slice(0, shownMonths);
  const proven = await provenMonths(deps.kv, months);
  const isOpen = toDay >= vietnamDay(deps.clock.nowMs());
  const csv = `/wallet/statement.csv?from=${fromDay}&to=${toDay}`;
  return await renderPage(
    c,
    {
      title: t.statement,
      lead: t.statementLead,
      actions: (
        <a href={csv} class="button outline secondary small" download>
          <Icon name="download" /> {t.csv}
        </a>
      ),
    },
    <>
      <Card>
        <form method="get" class="inline-form">
          <TextField name="from" label={t.from} type="date" value={fromDay} />
          <TextField name="to" label={t.to} type="date" value={toDay} />
          <SubmitButton tone="plain">{t.show}</SubmitButton>
        </form>
        {isOpen && statement.closingMicroVnd !== balanceMicroVnd && (
          <Notice tone="info">{t.moving}</Notice>
        )}
        <StatementTable statement={statement} locale={locale} />
      </Card>
      <MonthFiles months={months} proven={proven} locale={locale} />
    </>,
  );
}

/** Sends the statement of a period as CSV. */
export async function statementDownload(c: PageContext, deps: WalletDeps) {
  const { statement } = await statementOf(c, deps);
  const name = `statement-${statement.fromDay}-${statement.toDay}.csv`;
  return c.body(statementCsv(statement), 200, csvDownloadHeaders(name));
}

// Writes the statement of a wallet as CSV.

/** The balance before the first line, or after the last one. */
interface BalanceLine {
  readonly kind: "opening_balance" | "balance_before" | "closing_balance";
  readonly day: string;
  readonly balanceMicroVnd: bigint;
}

type Line = StatementLine | BalanceLine;

/** The movement of a line; calls are summed per day, so their line has none, and no time. */
function entryOf(line: Line) {
  return line.kind === "ledger" ? line.entry : undefined;
}

const columns: readonly CsvColumn<Line>[] = [
  { name: "day", cell: ({ day }) => day },
  {
    name: "booked_at",
    cell: (line) => line.kind === "ledger" ? vietnamIsoTime(line.entry.atMs) : undefined,
  },
  { name: "kind", cell: (line) => entryOf(line)?.kind ?? line.kind },
  { name: "detail", cell: (line) => entryOf(line)?.reason },
  { name: "calls", cell: (line) => line.kind === "usage" ? line.calls : undefined },
  { name: "ledger_id", cell: (line) => entryOf(line)?.ledgerId },
  {
    name: "change_vnd",
    cell: (line) =>
      line.kind === "ledger" || line.kind === "usage" ? formatVnd(changeOf(line)) : undefined,
  },
  { name: "balance_vnd", cell: ({ balanceMicroVnd }) => formatVnd(balanceMicroVnd) },
];

/** Writes a statement, oldest line first, between opening and closing balance. */
function statementCsv(statement: Statement): string {
  return csvFile(columns, [
    {
      kind: statement.opensAt === "day" ? "opening_balance" : "balance_before",
      day: openingDay(statement),
      balanceMicroVnd: statement.openingMicroVnd,
    },
    ...statement.lines,
    {
      kind: "closing_balance",
      day: statement.toDay,
      balanceMicroVnd: statement.closingMicroVnd,
    },
  ]);
}
