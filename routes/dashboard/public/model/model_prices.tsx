/** The whole price of a model as a table: tokens with those of caches and long prompts, or units. */
import type { Model } from "../../../../core/catalog/catalog.ts";
import { microVndOf, type WrittenVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { TableFrame } from "../../components/mod.ts";
import { decimalsOf, formatCount, formatMoneyTo } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { furtherLines, priceLines } from "../../text/model_prices.ts";
import { modelTexts } from "./model_texts.ts";

interface Row {
  readonly name: string;
  readonly amount: string;
  readonly unit: string;
}

/** Prices of tokens of the catalogue. */
interface Rates {
  readonly vndPerMtok: WrittenVnd;
  readonly outputVndPerMtok?: WrittenVnd | undefined;
  readonly cacheReadVndPerMtok?: WrittenVnd | undefined;
  readonly cacheWriteVndPerMtok?: WrittenVnd | undefined;
  readonly cacheWriteHourVndPerMtok?: WrittenVnd | undefined;
}

/** The rates that a price has, in µVND. */
function amountsOf(rates: Rates): bigint[] {
  const {
    vndPerMtok,
    outputVndPerMtok,
    cacheReadVndPerMtok,
    cacheWriteVndPerMtok,
    cacheWriteHourVndPerMtok,
  } = rates;
  return [
    vndPerMtok,
    outputVndPerMtok,
    cacheReadVndPerMtok,
    cacheWriteVndPerMtok,
    cacheWriteHourVndPerMtok,
  ].flatMap((vnd) => vnd === undefined ? [] : [microVndOf(vnd)]);
}

function tokenRows(
  rates: Rates,
  { unit, decimals, locale }: { unit: string; decimals: number; locale: Locale },
): Row[] {
  const t = modelTexts[locale];
  const row = (name: string, vnd: WrittenVnd | undefined): Row[] =>
    vnd === undefined
      ? []
      : [{ name, amount: formatMoneyTo(microVndOf(vnd), locale, decimals), unit }];
  return [
    ...row(t.input, rates.vndPerMtok),
    ...row(t.output, rates.outputVndPerMtok ?? rates.vndPerMtok),
    ...row(t.cacheRead, rates.cacheReadVndPerMtok),
    ...row(t.cacheWrite, rates.cacheWriteVndPerMtok),
    ...row(t.cacheWriteHour, rates.cacheWriteHourVndPerMtok),
  ];
}

function rowsOf({ price }: Model, listRate: number, locale: Locale): Row[] {
  const t = modelTexts[locale];
  if (price.unit !== "token") {
    return priceLines(price, listRate, locale)
      .map(({ amount, unit }) => ({ name: t.price, amount, unit }));
  }
  const { longPrompt } = price;
  const decimals = decimalsOf([price, ...longPrompt === undefined ? [] : [longPrompt]]
    .flatMap(amountsOf));
  const rows = (rates: Rates, unit: string) => tokenRows(rates, { unit, decimals, locale });
  const above = longPrompt === undefined
    ? []
    : rows(longPrompt, t.above(formatCount(longPrompt.aboveTokens, locale)));
  const further = furtherLines(price, listRate, locale)
    .map(({ amount, unit }): Row => ({ name: unit, amount, unit: "" }));
  return [...rows(price, t.perMtok), ...above, ...further];
}

function priceRow({ name, amount, unit }: Row) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">
        <strong class="money">{amount}</strong>
      </td>
      <td class="muted">{unit}</td>
    </tr>
  );
}

/** The table. */
export function ModelPrices({ model, listRate, locale }: {
  model: Model;
  listRate: number;
  locale: Locale;
}) {
  return (
    <TableFrame label={modelTexts[locale].prices}>
      <table class="model-prices">
        <tbody>{rowsOf(model, listRate, locale).map(priceRow)}</tbody>
      </table>
    </TableFrame>
  );
}
