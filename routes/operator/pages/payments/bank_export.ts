/** Exports paid top-ups for accounting. */
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { vietnamDay, vietnamIsoTime } from "../../../../core/lib/time/vietnam_time.ts";
import { csvFile } from "../../../../core/lib/base/csv.ts";
import {
  type BankNoticeRow,
  type JournalMark,
  journalMark,
  listBankNotices,
} from "../../../../kv/money/payments/bank_notices.ts";
import { csvDownloadHeaders } from "../../../http/csv_download.ts";
import { parseDay } from "../../../usage_api/days.ts";
import type { OperatorDeps } from "../base/deps.ts";
import type { OperatorContext } from "../base/frame.tsx";
import { defined } from "../../../../core/lib/base/defined.ts";

/**
 * Reads the credited transfers of a period, oldest first, with or without an invoice request. A notice may be credited
 * long after it arrived, so the whole journal is read.
 */
async function creditedRows(
  deps: OperatorDeps,
  fromDay: string,
  toDay: string,
): Promise<BankNoticeRow[]> {
  const rows: BankNoticeRow[] = [];
  let before: JournalMark | undefined;
  for (;;) {
    const page = await listBankNotices(deps.kv, {
      count: 500,
      ...defined({ before }),
    });
    for (const row of page) {
      if (row.state.kind !== "credited") continue;
      const day = vietnamDay(row.state.atMs);
      if (day >= fromDay && day <= toDay) rows.push(row);
    }
    const last = page.at(-1);
    if (last === undefined) return rows.reverse();
    before = journalMark(last);
  }
}

/** Answers with the credited transfers of the requested days as CSV. */
export async function topupsCsv(c: OperatorContext, deps: OperatorDeps) {
  const today = vietnamDay(deps.clock.nowMs());
  const fromDay = parseDay(c.req.query("from")) ?? `${today.slice(0, 7)}-01`;
  const toDay = parseDay(c.req.query("to")) ?? today;
  const rows = await creditedRows(deps, fromDay, toDay);
  const lines = rows.map(({ event, state }) => [
    state.kind === "credited" ? vietnamIsoTime(state.atMs) : "",
    vietnamIsoTime(event.time.atMs),
    `${event.source}:${event.id}`,
    event.reference ?? "",
    state.kind === "credited" ? state.accountId : "",
    state.kind === "credited" ? state.orderCode ?? "" : "",
    formatVnd(event.amountMicroVnd),
  ]);
  const header = [
    "credited_at",
    "transferred_at",
    "notice",
    "bank_reference",
    "account",
    "order_code",
    "amount_vnd",
  ];
  const name = `topups-${fromDay}-${toDay}.csv`;
  return c.body(csvFile([header, ...lines]), 200, csvDownloadHeaders(name));
}
