/** The statement of a wallet as a table. */
import {
  changeOf,
  openingDay,
  type Statement,
  type StatementLine,
} from "../../../../kv/money/ledger/statement.ts";
import { Empty, Money, Notice, TableFrame, Time } from "../../components/mod.ts";
import { formatCount } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { walletTexts } from "./wallet_texts.ts";

function detailOf(line: StatementLine, locale: Locale): string {
  return line.kind === "ledger"
    ? line.entry.reason
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
      <TableFrame label={t.statement}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.day}</th>
              <th scope="col" class="wide-only">{t.kind}</th>
              <th scope="col">{t.detail}</th>
              <th scope="col" class="number">{t.change}</th>
              <th scope="col" class="number">{t.after}</th>
            </tr>
          </thead>
          <tbody>
            <EdgeRow
              day={statement.toDay}
              name={t.closing}
              microVnd={statement.closingMicroVnd}
              locale={locale}
            />
            {statement.lines.toReversed().map((line) => (
              <tr>
                <DayCell day={line.day} locale={locale} />
                <td class="wide-only">
                  {t.kinds[line.kind === "ledger" ? line.entry.kind : "usage"]}
                </td>
                <td>{detailOf(line, locale)}</td>
                <td class="number">
                  <Money microVnd={changeOf(line)} locale={locale} />
                </td>
                <td class="number">
                  <Money microVnd={line.balanceMicroVnd} locale={locale} />
                </td>
              </tr>
            ))}
            <EdgeRow
              day={openingDay(statement)}
              name={openingName(statement, locale)}
              microVnd={statement.openingMicroVnd}
              locale={locale}
            />
          </tbody>
        </table>
      </TableFrame>
    </>
  );
}

/** Returns the label of the first balance: "opening" only at the beginning of a day. */
function openingName({ opensAt }: Statement, locale: Locale): string {
  const t = walletTexts[locale];
  return opensAt === "day" ? t.opening : t.balanceBefore;
}

/** A day in Vietnam, where daily sums begin and end. */
function DayCell({ day, locale }: { day: string; locale: Locale }) {
  return (
    <td class="nowrap">
      <Time atMs={Date.parse(`${day}T00:00:00+07:00`)} locale={locale} dateOnly />
    </td>
  );
}

function EdgeRow({ day, name, microVnd, locale }: {
  day: string;
  name: string;
  microVnd: bigint;
  locale: Locale;
}) {
  return (
    <tr>
      <DayCell day={day} locale={locale} />
      <th scope="row">{name}</th>
      <td class="wide-only"></td>
      <td></td>
      <td class="number">
        <strong>
          <Money microVnd={microVnd} locale={locale} />
        </strong>
      </td>
    </tr>
  );
}
