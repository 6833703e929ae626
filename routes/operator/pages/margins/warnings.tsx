/** Warnings of prices below their cost: by their rates, and by what was earned in the last days. */
import { type Underpriced, underpricedRoutes } from "../../../../core/catalog/underpriced.ts";
import { marginMicroVnd, type MarginSum, readMargins } from "../../../../kv/money/costs/margins.ts";
import { Notice } from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoney, formatMoneyShort } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { OperatorDeps } from "../base/frame.tsx";
import { losingDays } from "./margin_rows.ts";
import { marginTexts } from "./texts.ts";

/** Most lines of a warning; the rest is counted. */
const shownWarnings = 5;

/** What there is to warn of. */
export interface KnownPriceWarnings {
  readonly underpriced: readonly Underpriced[];
  /** The margins of the last days, by model. */
  readonly models: ReadonlyMap<string, MarginSum>;
}

/** Reads what there is to warn of; nothing where no costs are configured. */
export async function readPriceWarnings(
  { kv, clock, catalog: { current: catalog } }: OperatorDeps,
): Promise<KnownPriceWarnings> {
  if (!catalog.hasCosts) return { underpriced: [], models: new Map() };
  const { by: { model } } = await readMargins(kv, losingDays(clock.nowMs()));
  return { underpriced: underpricedRoutes(catalog), models: model };
}

/** All warnings. */
export function PriceWarnings({ known, locale }: { known: KnownPriceWarnings; locale: Locale }) {
  return (
    <>
      <UnderpricedNotice found={known.underpriced} locale={locale} />
      <LosingNotice models={known.models} locale={locale} />
    </>
  );
}

/** Warns of routes that charge more than customers pay. */
function UnderpricedNotice({ found, locale }: {
  found: readonly Underpriced[];
  locale: Locale;
}) {
  if (found.length === 0) return null;
  const t = marginTexts[locale];
  const rest = found.length - shownWarnings;
  return (
    <Notice tone="warning" title={t.underpriced(formatCount(found.length, locale))}>
      <ul>
        {found.slice(0, shownWarnings).map((
          { model, route, bucket, priceMicroVnd, costMicroVnd },
        ) => (
          <li>
            {t.underpricedLine(
              model,
              route,
              bucket,
              formatMoney(priceMicroVnd, locale),
              formatMoney(costMicroVnd, locale),
            )}
          </li>
        ))}
        {rest > 0 && <li>{t.more(formatCount(rest, locale))}</li>}
      </ul>
    </Notice>
  );
}

/** Warns of models whose margin is negative. */
function LosingNotice({ models, locale }: {
  models: ReadonlyMap<string, MarginSum>;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const losing = [...models].flatMap(([model, sum]) => {
    const margin = marginMicroVnd(sum);
    return margin !== undefined && margin < 0n ? [{ model, margin }] : [];
  }).sort((one, other) => one.margin < other.margin ? -1 : 1);
  if (losing.length === 0) return null;
  const rest = losing.length - shownWarnings;
  return (
    <Notice tone="warning" title={t.losing(formatCount(losing.length, locale))}>
      <ul>
        {losing.slice(0, shownWarnings).map(({ model, margin }) => (
          <li>{t.losingLine(model, formatMoneyShort(margin, locale))}</li>
        ))}
        {rest > 0 && <li>{t.more(formatCount(rest, locale))}</li>}
      </ul>
    </Notice>
  );
}
