/** The table of calls on the overview and on the usage page. */
import { billedInputTokens } from "../../../core/billing/token_usage.ts";
import type { RequestId } from "../../../core/lib/ids.ts";
import type { Outcome, Receipt } from "../../../core/billing/receipt.ts";
import type { LedgerEntry } from "../../../kv/ledger/ledger.ts";
import { Badge, type BadgeTone, DataTable, Money, Time } from "../components/mod.ts";
import { formatCount, formatDuration } from "../format.ts";
import type { Locale } from "../i18n.ts";
import { usageTexts } from "./texts.ts";

const outcomeTones: Readonly<Record<Outcome, BadgeTone>> = {
  completed: "good",
  empty: "neutral",
  failed: "bad",
  broken: "busy",
  client_gone: "busy",
  cut: "busy",
  withheld: "busy",
};

/** The result of a call as a badge. */
export function OutcomeBadge({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const t = usageTexts[locale];
  return <Badge tone={outcomeTones[receipt.outcome]}>{t.outcomes[receipt.outcome]}</Badge>;
}

/** Formats tokens as `in + out`, or a number of units. */
function Amount({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const { usage } = receipt;
  if (receipt.price.unit !== "token" && usage === undefined) {
    return receipt.units === 0 ? "–" : formatCount(receipt.units, locale);
  }
  if (usage === undefined) return "–";
  const input = formatCount(billedInputTokens(usage), locale);
  return `${input} + ${formatCount(usage.output, locale)}`;
}

/** The table of calls. */
export function ReceiptTable({ receipts, refunds, keyNames, locale }: {
  receipts: readonly Receipt[];
  refunds: ReadonlyMap<RequestId, LedgerEntry>;
  keyNames: ReadonlyMap<string, string>;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <DataTable
      label={t.calls}
      rows={receipts}
      columns={[
        {
          head: t.time,
          kind: "one-line",
          cell: (receipt) => (
            <a href={`/receipts/${receipt.requestId}`}>
              <Time atMs={receipt.startedAtMs} locale={locale} />
            </a>
          ),
        },
        { head: t.model, cell: (receipt) => receipt.model },
        {
          head: t.key,
          wideOnly: true,
          cell: (receipt) => keyNames.get(receipt.keyId) ?? t.unknownKey,
        },
        {
          head: t.outcome,
          wideOnly: true,
          cell: (receipt) => <OutcomeBadge receipt={receipt} locale={locale} />,
        },
        {
          head: t.amount,
          kind: "number",
          wideOnly: true,
          cell: (receipt) => (
            <>
              <Amount receipt={receipt} locale={locale} />
              {receipt.estimated && <span title={t.estimatedHint}>≈</span>}
            </>
          ),
        },
        {
          head: t.latency,
          kind: "number",
          wideOnly: true,
          cell: (receipt) => formatDuration(receipt.latencyMs, locale),
        },
        {
          head: t.cost,
          kind: "number",
          cell: (receipt) => (
            <>
              {refunds.has(receipt.requestId) && <Badge tone="neutral">{t.refunded}</Badge>}{" "}
              <Money microVnd={receipt.costMicroVnd} locale={locale} />
            </>
          ),
        },
      ]}
    />
  );
}
