/** The times of a call as bars: each attempt, the first output, and the whole call. */
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { DataTable } from "../../components/mod.ts";
import { formatDuration } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { usageTexts } from "./texts.ts";

interface Span {
  readonly name: string;
  readonly outcome: string | undefined;
  readonly ms: number;
}

/** The spans of a call. Attempts may overlap, so a bar is a length and no position. */
function spansOf(
  { attempts, firstOutputMs, latencyMs }: Receipt,
  locale: Locale,
  namesRoutes: boolean,
): Span[] {
  const t = usageTexts[locale];
  return [
    ...attempts.map(({ route, outcome, ms }, at) => ({
      name: t.attemptNumber(at + 1) + (namesRoutes ? `: ${route}` : ""),
      outcome,
      ms,
    })),
    ...(firstOutputMs === undefined
      ? []
      : [{ name: t.firstOutput, outcome: undefined, ms: firstOutputMs }]),
    { name: t.latency, outcome: undefined, ms: latencyMs },
  ];
}

/** The attempts of a call with their times. Customers do not see which routes they used. */
export function Timing({ receipt, locale, namesRoutes = false }: {
  receipt: Receipt;
  locale: Locale;
  /** For operators. */
  namesRoutes?: boolean;
}) {
  const t = usageTexts[locale];
  const spans = spansOf(receipt, locale, namesRoutes);
  const longestMs = Math.max(1, ...spans.map(({ ms }) => ms));
  return (
    <DataTable
      label={t.timing}
      rows={spans}
      columns={[
        {
          head: t.step,
          cell: ({ name, outcome }) => (
            <>
              {name} {outcome !== undefined && <code>{outcome}</code>}
            </>
          ),
        },
        {
          head: t.latency,
          kind: "number",
          cell: ({ ms }) => formatDuration(ms, locale),
        },
        {
          head: t.share,
          wideOnly: true,
          cell: ({ ms }) => (
            <svg class="timing-bar" aria-hidden="true" focusable="false">
              <rect width={`${Math.max(0.5, ms / longestMs * 100).toFixed(1)}%`} height="100%" />
            </svg>
          ),
        },
      ]}
    />
  );
}
