/** The statement of a wallet as a table. */
import {
  changeOf,
  openingDay,
  type Statement,
  type StatementLine,
} from "../../../../kv/money/ledger/statement.ts";
import { type Column, DataTable, Empty, Money, Notice, Time } from "../../components/mod.ts";
import { formatCount } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { ledgerReason } from "../../../usage_api/statements/ledger_reason.ts";
import { walletTexts } from "./wallet_texts.ts";

function detailOf(line: StatementLine, locale: Locale): string {
  return line.kind === "ledger"
    ? ledgerReason(line.entry, locale)
    : walletTexts[locale].callsOf(formatCount(line.calls, locale));
}

/** The lines of a period, newest first, between opening and closing balance. */
export function StatementTable({ statement, locale }: { statement: Statement; locale: Locale }) {
  const t = walletTexts[locale];
  if (statement.lines.length === 0) {
    return (
      <Empty title={t.noMoves}>
        <p>{t.noMovesText}</p>
      </Empty>
    );
  }
  return (
    <>
      {statement.truncated && <Notice tone="warning">{t.truncated}</Notice>}
      <DataTable
        label={t.statement}
        columns={columnsOf(locale)}
        rows={statement.lines.toReversed()}
        edges={{
          first: (
            <EdgeRow
              day={statement.toDay}
              name={t.closing}
              microVnd={statement.closingMicroVnd}
              locale={locale}
            />
          ),
          last: (
            <EdgeRow
              day={openingDay(statement)}
              name={openingName(statement, locale)}
              microVnd={statement.openingMicroVnd}
              locale={locale}
            />
          ),
        }}
      />
    </>
  );
}

/** Returns the label of the first balance: "opening" only at the beginning of a day. */
function openingName({ opensAt }: Statement, locale: Locale): string {
  const t = walletTexts[locale];
  return opensAt === "day" ? t.opening : t.balanceBefore;
}

/** A day in Vietnam, where daily sums begin and end. */
function Day({ day, locale }: { day: string; locale: Locale }) {
  return <Time atMs={Date.parse(`${day}T00:00:00+07:00`)} locale={locale} dateOnly />;
}

function columnsOf(locale: Locale): readonly Column<StatementLine>[] {
  const t = walletTexts[locale];
  return [
    {
      head: t.day,
      kind: "one-line",
      phone: "second",
      cell: ({ day }) => <Day day={day} locale={locale} />,
    },
    {
      head: t.kind,
      wideOnly: true,
      cell: (line) => t.kinds[line.kind === "ledger" ? line.entry.kind : "usage"],
    },
    { head: t.detail, phone: "first", cell: (line) => detailOf(line, locale) },
    {
      head: t.change,
      kind: "number",
      phone: "first-end",
      cell: (line) => <Money microVnd={changeOf(line)} locale={locale} signed />,
    },
    {
      head: t.after,
      kind: "number",
      phone: "second-end",
      cell: ({ balanceMicroVnd }) => <Money microVnd={balanceMicroVnd} locale={locale} />,
    },
  ];
}

/** A balance; its name is where lines have their kind or, on a phone, their detail. */
function EdgeRow({ day, name, microVnd, locale }: {
  day: string;
  name: string;
  microVnd: bigint;
  locale: Locale;
}) {
  return (
    <tr>
      <td class="nowrap" data-phone="second">
        <Day day={day} locale={locale} />
      </td>
      <th scope="row" data-phone="first">{name}</th>
      <td class="wide-only"></td>
      <td></td>
      <td class="number" data-phone="first-end">
        <strong>
          <Money microVnd={microVnd} locale={locale} />
        </strong>
      </td>
    </tr>
  );
}
