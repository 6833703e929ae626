/**
 * Shows rate limits and what is used of them now.
 *
 * - Folder `routes/dashboard/customer/rate_limits/`: the table of rate limits and of what is used of them.
 * - In: limits in use, as `routes/dashboard/page/rate_view.ts` finds them.
 * - Out: markup and texts.
 * - Never: admits or refuses a call, or reads the store.
 */
import { DataTable } from "../../components/mod.ts";
import { formatCount } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import type { LimitInUse } from "../../page/rate_view.ts";
import { rateTexts } from "./texts.ts";

/** Shares of a limit above which its bar warns. */
const highShare = 0.8;

/** A limit of whole calls or tokens is used up from here on: the bar is red then. */
const wholeUse = 0.5;

function whose({ scope, model }: LimitInUse, locale: Locale): string {
  const t = rateTexts[locale];
  return model === undefined ? t.scopes[scope] : t.ofModel(model);
}

/** A table of limits, one row each. */
export function LimitTable({ limits, locale }: {
  readonly limits: readonly LimitInUse[];
  readonly locale: Locale;
}) {
  const t = rateTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={limits}
      columns={[
        { head: t.limit, cell: ({ name }) => t.names[name] },
        { head: t.of, cell: (row) => whose(row, locale) },
        {
          head: t.used,
          kind: "number",
          cell: ({ used, limit }) =>
            t.usedOf(formatCount(used, locale), formatCount(limit, locale)),
        },
        {
          head: t.share,
          wideOnly: true,
          hiddenHead: true,
          cell: ({ name, used, limit }) => (
            <meter
              class="limit-meter"
              aria-label={t.names[name]}
              min={0}
              max={limit}
              low={limit * highShare}
              high={limit - wholeUse}
              optimum={0}
              value={Math.min(used, limit)}
            />
          ),
        },
      ]}
    />
  );
}
