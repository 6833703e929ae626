/** `GET /v1/statements` and `/v1/statements/{month}`: the months of an account, and the statement of one as a file. */
import { defaultBrand } from "../../core/people/mail/brand.ts";
import type { Locale } from "../../core/lib/base/locale.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import { FewAtOnce } from "../../core/lib/time/few_at_once.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { TimeSlices } from "../../core/lib/time/time_slices.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { monthOfDay, vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import type { DatedVatRate } from "../../core/trade/invoices/vat.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { maxStatementLines } from "../../kv/money/ledger/statement.ts";
import {
  monthsOf,
  type MonthStatement,
  readMonthStatement,
  withoutInvoices,
  withoutKeyNames,
} from "../../kv/money/statements/month_statement.ts";
import { getAccount } from "../../kv/people/accounts/accounts.ts";
import { writeActivity } from "../../kv/people/audit/account_activity.ts";
import { counted, wrongParameter } from "../http/query.ts";
import { type Answer, mayRead, requireBalanceRight, seesKeyNames } from "./calls.ts";
import { parseDay } from "./range.ts";
import { statementDocument } from "./statements/statement_document.ts";
import {
  type StatementFileKind,
  statementFileKindNames,
  statementFileKinds,
} from "./statements/statement_files.ts";
import { statementFields, statementListFields } from "./statements/statement_json.ts";

/** Needs of statements. */
export interface StatementDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  readonly vatRates: readonly DatedVatRate[];
  /** The name of the service. Absent: that of the project. */
  readonly brandName?: string | undefined;
  /** Company that runs the service. */
  readonly seller: string | undefined;
}

/** The values of `format`. */
export const statementFormats = ["json", ...statementFileKindNames] as const;

/** The values of `language`. */
export const statementLanguages: readonly Locale[] = ["vi", "en"];

/** Reads a month such as `2026-11`; `undefined` for any other text. */
export function parseMonth(month: string): string | undefined {
  const isMonth = /^\d{4}-\d\d$/.test(month) && parseDay(`${month}-01`) !== undefined;
  return isMonth ? month : undefined;
}

/** Reads the month of a path. */
export function requireMonth(text = ""): string {
  const month = parseMonth(text);
  if (month === undefined) throw wrongParameter("month", "must be a month such as 2026-11");
  return month;
}

/** The months of an account, the newest first. An account that is gone has none. */
export async function listMonths(
  { kv, clock }: Pick<StatementDeps, "kv" | "clock">,
  accountId: AccountId,
): Promise<string[]> {
  const account = await getAccount(kv, accountId);
  return account === undefined ? [] : monthsOf(account.createdAtMs, clock.nowMs());
}

/**
 * Reads the statement of a month.
 *
 * @param sees.invoices whether the reader may see invoices, and the details of their buyer
 * @param sees.keys whether the reader may see the names of keys
 * @throws {GatewayError} if the month has not begun, or has more movements than a statement holds
 */
export async function requireStatement(
  { kv, clock, vatRates }: StatementDeps,
  accountId: AccountId,
  month: string,
  sees: { readonly invoices: boolean; readonly keys: boolean },
): Promise<MonthStatement> {
  const nowMs = clock.nowMs();
  if (month > monthOfDay(vietnamDay(nowMs))) throw wrongParameter("month", "has not begun");
  const statement = await readMonthStatement(kv, accountId, { month, nowMs, vatRates });
  if (statement !== undefined) {
    const named = sees.keys ? statement : withoutKeyNames(statement);
    return sees.invoices ? named : withoutInvoices(named);
  }
  throw new GatewayError(
    "invalid_request",
    `The month has more than ${
      counted(maxStatementLines)
    } movements; download it by days from the page of the statement`,
  );
}

/** Files that are made at a time, each with up to half of the thread, and those that wait for their turn. */
const files = new FewAtOnce({
  most: 2,
  maxWaiting: 20,
  refusal: "Too many files are being made; try again in a moment",
});

/**
 * Makes the answer that is a file of a statement.
 *
 * @throws {GatewayError} `overloaded` when too many are being made
 */
export async function statementFile(
  { baseUrl, brandName: brand = defaultBrand.name, seller, clock }: StatementDeps,
  statement: MonthStatement,
  { kind, locale }: { readonly kind: StatementFileKind; readonly locale: Locale },
): Promise<Response> {
  const { month, toDay } = statement;
  const proofAddress = `${baseUrl}/v1/statements/${month}/proof`;
  const document = statementDocument(statement, { locale, brand, seller, proofAddress });
  const slices = new TimeSlices({ clock, pause: sleep });
  const { type, write } = statementFileKinds[kind];
  return new Response(await files.run(() => write(document, toDay, slices)), {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="statement-${month}-${locale}.${kind}"`,
    },
  });
}

/** Lists the months. */
export function statementListAnswer(deps: StatementDeps): Answer {
  return async (_, reader) => {
    requireBalanceRight(reader);
    const months = await listMonths(deps, reader.accountId);
    const current = monthOfDay(vietnamDay(deps.clock.nowMs()));
    return fieldsJson(
      statementListFields,
      months.map((month) => ({ month, isOpen: month === current })),
    );
  };
}

/** Answers with the statement of a month, in the form that the query asks for. */
export function statementAnswer(deps: StatementDeps): Answer {
  return async (c, reader) => {
    requireBalanceRight(reader);
    const month = requireMonth(c.req.param("month"));
    const format = c.req.query("format") ?? "json";
    const kind = statementFileKindNames.find((name) => name === format);
    if (kind === undefined && format !== "json") {
      throw wrongParameter("format", `must be one of ${statementFormats.join(", ")}`);
    }
    const language = c.req.query("language") ?? "vi";
    const locale = statementLanguages.find((one) => one === language);
    if (locale === undefined) throw wrongParameter("language", "must be vi or en");
    const sees = {
      invoices: await mayRead(deps.kv, reader, "view_invoices"),
      keys: await seesKeyNames(deps.kv, reader),
    };
    const statement = await requireStatement(deps, reader.accountId, month, sees);
    if (kind === undefined) return fieldsJson(statementFields, statement);
    const { accountId, program: by } = reader;
    if (by !== undefined) {
      const line = { accountId, act: "statement_exported", atMs: deps.clock.nowMs() } as const;
      await writeActivity(deps.kv, { ...line, by, subject: `${month}.${kind}` });
    }
    return await statementFile(deps, statement, { kind, locale });
  };
}
