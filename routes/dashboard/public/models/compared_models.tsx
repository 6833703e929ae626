/** Two models side by side: what they cost and what they take. */
import type { Child } from "hono/jsx";
import { Card, type Column, DataTable, SelectField } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { priceLines } from "../../text/model_prices.ts";
import { modelListTexts } from "./texts.ts";
import {
  chatFigure,
  Kind,
  type ListedModel,
  listPriceLine,
  priceLine,
  speedText,
  Status,
} from "./views.tsx";

/** Trait that is compared. */
interface Trait {
  readonly name: string;
  readonly of: (listed: ListedModel) => Child;
}

function traitsOf(listRate: number, locale: Locale): readonly Trait[] {
  const t = modelListTexts[locale];
  const linesOf = ({ model }: ListedModel) => priceLines(model.price, listRate, locale);
  return [
    { name: t.kind, of: ({ model }) => <Kind model={model} locale={locale} /> },
    { name: t.priceVnd, of: (listed) => <>{linesOf(listed).map(priceLine)}</> },
    { name: t.listPrice, of: (listed) => <>{linesOf(listed).map(listPriceLine)}</> },
    { name: t.context, of: ({ model }) => chatFigure(model, model.contextWindow, locale) },
    { name: t.output, of: ({ model }) => chatFigure(model, model.maxOutputTokens, locale) },
    { name: t.speed, of: ({ firstOutputMs }) => speedText(firstOutputMs, locale) },
    { name: t.status, of: ({ status }) => <Status status={status} locale={locale} /> },
  ];
}

/** The table, and the choice of both models. */
export function ComparedModels({ models, choices, listRate, locale }: {
  readonly models: readonly [ListedModel, ListedModel];
  readonly choices: readonly string[];
  readonly listRate: number;
  readonly locale: Locale;
}) {
  const t = modelListTexts[locale];
  const options = choices.map((value) => ({ value, label: value }));
  const columns: readonly Column<Trait>[] = [
    { head: t.trait, cell: ({ name }) => name },
    ...models.map((listed): Column<Trait> => ({
      head: listed.model.displayName,
      cell: ({ of }) => of(listed),
    })),
  ];
  return (
    <>
      <form method="get" action="/compare" class="toolbar" data-autosubmit>
        <SelectField name="a" label={t.firstModel} value={models[0].model.id} options={options} />
        <SelectField name="b" label={t.secondModel} value={models[1].model.id} options={options} />
        <noscript>
          <button type="submit" class="outline secondary">{t.apply}</button>
        </noscript>
      </form>
      <Card>
        <DataTable label={t.compare} columns={columns} rows={traitsOf(listRate, locale)} />
      </Card>
      <p>
        {models.map(({ model }) => (
          <>
            <a href={`/models/${encodeURIComponent(model.id)}`}>{model.displayName}</a>
            {" "}
          </>
        ))}
        <a href="/models">← {t.title}</a>
      </p>
    </>
  );
}
