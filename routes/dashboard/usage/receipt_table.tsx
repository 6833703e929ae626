/** Calls as a table: on the overview and on the usage page. */
import { billedInputTokens } from "../../../core/money/token_usage.ts";
import type { Outcome, Receipt } from "../../../core/receipt.ts";
import { Badge, type BadgeTone, Money, TableFrame, Time } from "../components/mod.ts";
import { formatCount, formatDuration } from "../format.ts";
import type { Locale } from "../i18n.ts";
import { usageTexts } from "./texts.ts";

const outcomeTones: Readonly<Record<Outcome, BadgeTone>> = {
  completed: "good",
  empty: "neutral",
  failed: "bad",
  broken: "busy",
  client_gone: "busy",
};

export function OutcomeBadge({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const t = usageTexts[locale];
  return <Badge tone={outcomeTones[receipt.outcome]}>{t.outcomes[receipt.outcome]}</Badge>;
}

/** Tokens as `in + out`, or how many units. */
function Amount({ receipt, locale }: { receipt: Receipt; locale: Locale }) {
  const { usage } = receipt;
  if (receipt.price.unit !== "token" && usage === undefined) {
    return receipt.units === 0 ? "–" : formatCount(receipt.units, locale);
  }
  if (usage === undefined) return "–";
  const input = formatCount(billedInputTokens(usage), locale);
  return `${input} + ${formatCount(usage.output, locale)}`;
}

export function ReceiptTable({ receipts, keyNames, locale }: {
  receipts: readonly Receipt[];
  keyNames: ReadonlyMap<string, string>;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <TableFrame label={t.calls}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.time}</th>
            <th scope="col">{t.model}</th>
            <th scope="col" class="wide-only">{t.key}</th>
            <th scope="col" class="wide-only">{t.outcome}</th>
            <th scope="col" class="number wide-only">{t.amount}</th>
            <th scope="col" class="number wide-only">{t.latency}</th>
            <th scope="col" class="number">{t.cost}</th>
          </tr>
        </thead>
        <tbody>
          {receipts.map((receipt) => (
            <tr>
              <td class="nowrap">
                <a href={`/receipts/${receipt.requestId}`}>
                  <Time atMs={receipt.startedAtMs} locale={locale} />
                </a>
              </td>
              <td>{receipt.model}</td>
              <td class="wide-only">{keyNames.get(receipt.keyId) ?? t.unknownKey}</td>
              <td class="wide-only">
                <OutcomeBadge receipt={receipt} locale={locale} />
              </td>
              <td class="number wide-only">
                <Amount receipt={receipt} locale={locale} />
                {receipt.estimated && <span title={t.estimatedHint}>≈</span>}
              </td>
              <td class="number wide-only">{formatDuration(receipt.latencyMs, locale)}</td>
              <td class="number">
                <Money microVnd={receipt.costMicroVnd} locale={locale} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
