/** Warnings of prices below their cost: by their rates, and by what was earned in the last days. */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import { type Underpriced, underpricedRoutes } from "../../../../core/catalog/underpriced.ts";
import { marginMicroVnd, type MarginSum, readMargins } from "../../../../kv/money/costs/margins.ts";
import { Card } from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoney, formatMoneyShort } from "../../../dashboard/text/format.ts";
import { bucketWords } from "../../../dashboard/text/bucket_names.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { OperatorDeps } from "../base/frame.tsx";
import { losingDays } from "./margin_rows.ts";
import { marginTexts } from "./texts.ts";

/** Most lines of each kind of warnings; the rest is counted. */
const shownWarnings = 5;

/** Facts to warn of. */
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

/** One thing to look at: what is wrong, and where to mend it. */
interface PriceWarning {
  readonly tone: "bad" | "busy";
  readonly text: string;
  readonly act: { readonly href: string; readonly text: string };
}

/** Routes that charge more than customers pay. */
function underpricedWarnings(found: readonly Underpriced[], locale: Locale): PriceWarning[] {
  const t = marginTexts[locale];
  return found.map(({ model, route, bucket, priceMicroVnd, costMicroVnd }) => {
    const [price, cost] = [priceMicroVnd, costMicroVnd].map((sum) => formatMoney(sum, locale));
    return {
      tone: "busy",
      text: t.underpricedLine(model, route, bucketWords(bucket, locale), price ?? "", cost ?? ""),
      act: {
        href: `/operator/catalogue/model?${new URLSearchParams({ id: model })}`,
        text: t.changePrice,
      },
    };
  });
}

/** Models whose margin is negative, the greatest loss first. */
function losingWarnings(models: ReadonlyMap<string, MarginSum>, locale: Locale): PriceWarning[] {
  const t = marginTexts[locale];
  return [...models].flatMap(([model, sum]) => {
    const margin = marginMicroVnd(sum);
    return margin !== undefined && margin < 0n ? [{ model, margin }] : [];
  }).sort((one, other) => ascending(one.margin, other.margin)).map(({ model, margin }) => ({
    tone: "bad",
    text: t.losingLine(model, formatMoneyShort(margin, locale)),
    act: { href: "/operator/margins?period=7d&by=route", text: t.seeRoutes },
  }));
}

/** All warnings, one calm line each with what to do about it; nothing if there are none. */
export function PriceWarnings({ known, locale }: { known: KnownPriceWarnings; locale: Locale }) {
  const t = marginTexts[locale];
  const losing = losingWarnings(known.models, locale);
  const underpriced = underpricedWarnings(known.underpriced, locale);
  const shown = [losing, underpriced].flatMap((found) => found.slice(0, shownWarnings));
  if (shown.length === 0) return null;
  const rest = losing.length + underpriced.length - shown.length;
  return (
    <Card title={t.warnings}>
      <ul class="lines advice">
        {shown.map(({ tone, text, act }) => (
          <li key={text}>
            <span class={`dot ${tone}`}>{text}</span>
            <a href={act.href}>{act.text}</a>
          </li>
        ))}
        {rest > 0 && <li class="muted">{t.more(formatCount(rest, locale))}</li>}
      </ul>
    </Card>
  );
}
