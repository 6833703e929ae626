/** The difference between two catalogues as a table. */
import { type CatalogChange, shownValue } from "../../../../core/catalog/diff.ts";
import { formatDecimal } from "../../../../core/billing/money/display.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { Badge, type BadgeTone, DataTable } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { formatPercent } from "../../../dashboard/text/format.ts";
import { fieldLabels, isFieldName } from "./fields/labels.ts";
import { changeShare } from "./effect/price_stops.ts";
import { type CatalogueTexts, catalogueTexts } from "./texts.ts";

const tones: Readonly<Record<CatalogChange["kind"], BadgeTone>> = {
  added: "good",
  removed: "bad",
  changed: "busy",
};

/** The last part of a path in words, where it is a price. */
export function memberOf(path: string, locale: Locale): string | undefined {
  const [, from, to] = /^price\.tiers\.(\d+)-(\d+)(?:\.vnd)?$/.exec(path) ?? [];
  if (from !== undefined) return `${fieldLabels[locale].tiers}: ${from}–${to} s`;
  const field = /^price\.(\w+)$/.exec(path)?.[1];
  return field !== undefined && isFieldName(field) ? fieldLabels[locale][field] : undefined;
}

function valueText(value: Json | undefined, locale: Locale): string {
  return typeof value === "number" ? formatDecimal(String(value), locale) : shownValue(value);
}

function signedPercent(share: number, locale: Locale): string {
  return `${share > 0 ? "+" : "−"}${formatPercent(Math.abs(share), locale)}`;
}

function subject(change: CatalogChange, t: CatalogueTexts): string {
  return change.part === "settings" ? t.settings : change.name;
}

/** Lists the changes, one a row. */
export function ChangeTable({ changes, locale }: {
  readonly changes: readonly CatalogChange[];
  readonly locale: Locale;
}) {
  const t = catalogueTexts[locale];
  return (
    <DataTable
      label={t.change}
      rows={changes}
      columns={[
        {
          head: t.change,
          kind: "long",
          cell: (change) => (
            <>
              <strong>{subject(change, t)}</strong>{" "}
              <Badge tone={tones[change.kind]}>{t[change.kind]}</Badge>
              {change.path !== "" && (
                <>
                  <br />
                  {memberOf(change.path, locale) ?? <code>{change.path}</code>}
                </>
              )}
            </>
          ),
        },
        {
          head: `${t.before} → ${t.after}`,
          kind: "long",
          cell: (change) => {
            const { before, after } = change;
            const share = changeShare(change);
            return (
              <>
                {before !== undefined && <del class="muted">{valueText(before, locale)}</del>}
                {before !== undefined && after !== undefined && " → "}
                {after !== undefined && <strong>{valueText(after, locale)}</strong>}
                {share !== undefined && share !== 0 && (
                  <span class="muted">{` (${signedPercent(share, locale)})`}</span>
                )}
              </>
            );
          },
        },
      ]}
    />
  );
}
