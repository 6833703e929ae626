/** The table of calls on the overview and on the usage page. */
import { billedInputTokens } from "../../../core/billing/token_usage.ts";
import type { RequestId } from "../../../core/lib/ids.ts";
import type { Outcome, Receipt } from "../../../core/billing/receipt.ts";
import type { LedgerEntry } from "../../../kv/ledger/ledger.ts";
import { type Call, errorOf } from "../../usage_api/call_scan.ts";
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

/** The result of a call: of its receipt, or that it was refused, and how many others like it have no row. */
export function CallResult({ call, locale }: { call: Call; locale: Locale }) {
  const t = usageTexts[locale];
  if (call.kind === "receipt") return <OutcomeBadge receipt={call.receipt} locale={locale} />;
  const { status, leftOut = 0 } = call.refused;
  return (
    <>
      <Badge tone="bad">{t.refused}</Badge> <code>{status}</code>
      {leftOut > 0 && <small class="muted">{t.leftOut(formatCount(leftOut, locale))}</small>}
    </>
  );
}

/** The table of calls. */
export function CallTable({ calls, refunds, keyNames, locale }: {
  calls: readonly Call[];
  refunds: ReadonlyMap<RequestId, LedgerEntry>;
  keyNames: ReadonlyMap<string, string>;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <DataTable
      label={t.calls}
      rows={calls.map((call) => ({ call, ...sharedOf(call), error: errorOf(call) }))}
      columns={[
        {
          head: t.time,
          kind: "one-line",
          cell: ({ call, atMs }) => (
            <a href={`/receipts/${call.requestId}`}>
              <Time atMs={atMs} locale={locale} />
            </a>
          ),
        },
        {
          head: t.model,
          cell: ({ model, error }) => (
            <>
              {model ?? "–"}
              {error !== undefined && (
                <>
                  <br />
                  <code>{error}</code>
                </>
              )}
            </>
          ),
        },
        { head: t.key, wideOnly: true, cell: ({ keyId }) => keyNames.get(keyId) ?? t.unknownKey },
        {
          head: t.outcome,
          wideOnly: true,
          cell: ({ call }) => <CallResult call={call} locale={locale} />,
        },
        {
          head: t.amount,
          kind: "number",
          wideOnly: true,
          cell: ({ call }) =>
            call.kind === "refused" ? "–" : (
              <>
                <Amount receipt={call.receipt} locale={locale} />
                {call.receipt.estimated && <span title={t.estimatedHint}>≈</span>}
              </>
            ),
        },
        {
          head: t.latency,
          kind: "number",
          wideOnly: true,
          cell: ({ latencyMs }) => formatDuration(latencyMs, locale),
        },
        {
          head: t.cost,
          kind: "number",
          cell: ({ call }) => (
            <>
              {refunds.has(call.requestId) && <Badge tone="neutral">{t.refunded}</Badge>}{" "}
              <Money
                microVnd={call.kind === "receipt" ? call.receipt.costMicroVnd : 0n}
                locale={locale}
              />
            </>
          ),
        },
      ]}
    />
  );
}

/** What both kinds of calls have. */
export function sharedOf(call: Call) {
  if (call.kind === "refused") return call.refused;
  const { startedAtMs: atMs, model, keyId, latencyMs } = call.receipt;
  return { atMs, model, keyId, latencyMs };
}
