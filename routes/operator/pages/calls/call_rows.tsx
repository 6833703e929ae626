/** The table of calls for operators: as customers see it, with the customer and the route. */
import { DataTable, Empty, Time } from "../../../dashboard/components/mod.ts";
import { formatDuration } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import {
  CallCost,
  CallResult,
  callRowAttributes,
  sharedOf,
} from "../../../dashboard/customer/usage/call_table.tsx";
import { usageTexts } from "../../../dashboard/customer/usage/texts.ts";
import { type Call, callerOf, errorOf } from "../../../usage_api/search/call_scan.ts";
import { accountTexts } from "../base/account_texts.ts";
import { type AccountNames, CustomerLink, Person } from "../base/linked_text.tsx";
import { frameTexts } from "../base/texts.ts";
import { callsLabel, callTexts } from "./texts.ts";

function callerName(call: Call, names: AccountNames): string {
  const { accountId } = callerOf(call);
  return names.get(accountId) ?? accountId;
}

/** The table of calls. */
export function OperatorCallTable({ calls, names, locale }: {
  calls: readonly Call[];
  names: AccountNames;
  locale: Locale;
}) {
  const t = callTexts[locale];
  const usage = usageTexts[locale];
  return (
    <DataTable
      label={callsLabel[locale]}
      rows={calls}
      rowAttributes={({ requestId }) => callRowAttributes(requestId)}
      empty={
        <Empty title={t.none}>
          <p>{t.noneText}</p>
        </Empty>
      }
      columns={[
        {
          head: frameTexts[locale].when,
          sortable: true,
          kind: "one-line",
          cell: (call) => (
            <a href={`/operator/calls/${call.requestId}`}>
              <Time atMs={sharedOf(call).atMs} locale={locale} relative />
            </a>
          ),
        },
        {
          head: accountTexts[locale].customer,
          kind: "long",
          sortable: true,
          wideOnly: true,
          cell: (call) => {
            const { accountId } = callerOf(call);
            return <CustomerLink id={accountId} names={names} />;
          },
        },
        {
          head: usage.model,
          sortable: true,
          cell: (call) => {
            const error = errorOf(call);
            return (
              <>
                {sharedOf(call).model ?? "–"}
                <small class="narrow-only muted">
                  <Person address={callerName(call, names)} />
                </small>
                {error !== undefined && (
                  <>
                    <br />
                    <code>{error}</code>
                  </>
                )}
              </>
            );
          },
        },
        {
          head: usage.outcome,
          cell: (call) => <CallResult call={call} locale={locale} />,
        },
        {
          head: t.route,
          kind: "long",
          wideOnly: true,
          cell: (call) => (call.kind === "receipt" ? call.receipt.route : undefined) ?? "–",
        },
        {
          head: usage.latency,
          sortable: true,
          kind: "number",
          wideOnly: true,
          cell: (call) => {
            const { latencyMs } = sharedOf(call);
            return <data value={String(latencyMs)}>{formatDuration(latencyMs, locale)}</data>;
          },
        },
        {
          head: usage.cost,
          sortable: true,
          kind: "number",
          wideOnly: true,
          cell: (call) => <CallCost call={call} locale={locale} />,
        },
      ]}
    />
  );
}
