/** The price of a model beside the costs of its routes: rates down, routes across, and the margin of each pair. */
import type { PropsWithChildren } from "hono/jsx";
import type { RateComparison } from "../../../../core/catalog/underpriced.ts";
import { costMembers, priceMembers, tokenBuckets } from "../../../../core/billing/tariff.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { Money, TableFrame } from "../../../dashboard/components/mod.ts";
import { bucketWords } from "../../../dashboard/text/bucket_names.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import { shareText } from "./effect/effect_view.tsx";
import type { TypedMargins } from "./effect/typed_margins.ts";
import { fieldLabels, type FieldName, fieldTexts } from "./fields/labels.ts";
import { objectOf, plainText, shownText } from "./fields/reading.ts";
import { modelMembers, type PriceUnit, routeMembers } from "./fields/shapes.ts";
import { chosenCase, type FormView } from "./fields/views.tsx";
import { catalogueTexts } from "./texts.ts";

const matrixTexts = defineTexts({
  both: {
    label: ["Price, cost and margin", "Giá bán, chi phí và biên"],
    rate: ["Rate", "Đơn giá"],
    perMtok: ["VND per 1M tokens", "VND mỗi 1 triệu token"],
    margin: ["Margin", "Biên"],
    input: ["Input", "Đầu vào"],
    output: ["Output", "Đầu ra"],
    seldom: ["Other rates", "Đơn giá khác"],
    byDefault: ["empty: as its kind, or input", "để trống: theo loại, hoặc đầu vào"],
    covered: ["No route costs more than customers pay.", "Không tuyến nào tốn hơn giá bán."],
    below: ["Below cost:", "Thấp hơn chi phí:"],
    waits: ["Margins are shown once the form can be read:", "Biên sẽ hiện khi đọc được mọi ô:"],
  },
  en: {
    perPiece: (unit: string) => `VND per ${unit}`,
    cost: (currency: string) => `Cost (${currency})`,
    one: (unit: string) => `Per ${unit}`,
    unknown: "No route has a cost, so its margin is not known.",
    more: (count: number) => `and ${count} more rates`,
  },
  vi: {
    perPiece: (unit) => `VND mỗi ${unit}`,
    cost: (currency) => `Chi phí (${currency})`,
    one: (unit) => `Mỗi ${unit}`,
    unknown: "Chưa tuyến nào có chi phí nên chưa biết biên.",
    more: (count) => `và ${count} đơn giá khác`,
  },
});

/** A row: a rate of the price, and the same rate of costs. */
interface Rate {
  /** As comparisons call it. */
  readonly bucket: string;
  readonly label: string;
  readonly price: FieldName;
  readonly cost: FieldName;
  /** Shown also where nothing is written. */
  readonly isUsual: boolean;
}

/** A pair of columns. */
export interface RouteColumn {
  /** The place of the route in the form. */
  readonly at: number;
  readonly route: JsonObject;
  readonly currency: string;
}

const usualBuckets: ReadonlySet<string> = new Set(["input", "output", "cache_read", "cache_write"]);

/** The rows of a unit; none for a price with steps, which is a list. */
function ratesOf(unit: string, locale: Locale): readonly Rate[] {
  const t = matrixTexts[locale];
  const piece = (of: PriceUnit, price: FieldName, cost: FieldName): Rate[] => [
    { bucket: of, label: t.one(fieldTexts[locale].units[of]), price, cost, isUsual: true },
  ];
  switch (unit) {
    case "token": {
      const others = tokenBuckets.filter((one) => one !== "input" && one !== "output");
      return (["input", "output", ...others] as const).map((bucket): Rate => ({
        bucket,
        label: bucket === "input" || bucket === "output"
          ? t[bucket]
          : fieldLabels[locale][costMembers[bucket]],
        price: priceMembers[bucket],
        cost: costMembers[bucket],
        isUsual: usualBuckets.has(bucket),
      }));
    }
    case "request":
    case "image":
    case "search":
      return piece(unit, "vnd", "amount");
    case "second":
      return piece(unit, "vndPerMinute", "perMinute");
    default:
      return [];
  }
}

/** The unit that a price is shown with. */
function unitOf(price: Json | undefined): string {
  return chosenCase({ value: price, shape: modelMembers.price }).name;
}

function unitWords(unit: string, locale: Locale): string | undefined {
  return Object.entries(fieldTexts[locale].units).find(([name]) => name === unit)?.[1];
}

/** The members of a price that are in the matrix. */
export function matrixPrices(price: Json | undefined): readonly FieldName[] {
  return ratesOf(unitOf(price), "en").map((rate) => rate.price);
}

/** The members of a route's cost that are in the matrix: those of the price's rates that its own unit has. */
export function matrixCosts(price: Json | undefined, cost: Json | undefined): readonly FieldName[] {
  const { members } = chosenCase({ value: cost, shape: routeMembers.cost });
  return ratesOf(unitOf(price), "en").map((rate) => rate.cost)
    .filter((member) => members[member] !== undefined);
}

/** A field in a cell; its label is seen on a phone, where the head of its column is not. */
function AmountField({ view, name, rate, column, kind, value }: {
  readonly view: FormView;
  readonly name: string;
  readonly rate: Rate;
  readonly column: string;
  readonly kind: "vnd" | "cost";
  readonly value: Json | undefined;
}) {
  const error = view.errors[name];
  return (
    <div class="field">
      <label for={name}>
        <span class="visually-hidden">{rate.label},</span> {column}
      </label>
      <input
        type="text"
        id={name}
        name={name}
        inputmode="decimal"
        placeholder="–"
        value={error === undefined ? shownText({ kind }, value) : plainText(value)}
        aria-invalid={error === undefined ? undefined : "true"}
        aria-describedby={error === undefined ? undefined : `${name}-error`}
      />
      {error !== undefined && <small class="field-error" id={`${name}-error`}>{error}</small>}
    </div>
  );
}

/** The margin of a rate on a route. It is swapped into the page by its id when the form has changed. */
function Margin({ at, rate, margins, locale, isSwapped }: {
  readonly at: number;
  readonly rate: Rate;
  readonly margins: TypedMargins;
  readonly locale: Locale;
  readonly isSwapped: boolean;
}) {
  // A provider may charge by the call what is sold by the piece.
  const found = margins.routes.get(at)?.find(({ bucket }) =>
    bucket === rate.bucket || (rate.price === "vnd" && bucket === "request")
  );
  const margin = found && found.priceMicroVnd - found.costMicroVnd;
  const tone = margin === undefined || margin === 0n ? "muted" : margin > 0n ? "good" : "bad";
  return (
    <span
      id={`margin-${at}-${rate.bucket}`}
      class={`margin ${tone}`}
      hx-swap-oob={isSwapped ? "true" : undefined}
    >
      {found === undefined || margin === undefined ? "–" : (
        <>
          <Money microVnd={margin} locale={locale} signed />
          <small>{shareText(found, locale)}</small>
        </>
      )}
    </span>
  );
}

interface PlacedRate extends RateComparison {
  readonly at: number;
}

/** Words on the rates that are below their cost, also those that are not in the matrix; or why there are no margins. */
function MarginWords({ margins: { routes, problem }, locale }: {
  readonly margins: TypedMargins;
  readonly locale: Locale;
}) {
  const t = matrixTexts[locale];
  if (problem !== undefined) return <span class="muted">{t.waits} {problem}</span>;
  const all: readonly PlacedRate[] = [...routes].flatMap(([at, rates]) =>
    rates.map((rate) => ({ at, ...rate }))
  );
  if (all.length === 0) return <span class="muted">{t.unknown}</span>;
  const below = all.filter(({ priceMicroVnd, costMicroVnd }) => priceMicroVnd < costMicroVnd);
  if (below.length === 0) return <span class="good">{t.covered}</span>;
  const lines = [...new Set(below.map(({ at }) => at))].map((at) => {
    const [first, ...others] = below.filter((rate) => rate.at === at);
    const bucket = first?.bucket ?? "";
    const rate = unitWords(bucket, locale) ?? bucketWords(bucket, locale);
    const more = others.length === 0 ? "" : ` ${t.more(others.length)}`;
    return `${catalogueTexts[locale].route(at + 1)}, ${rate}${more}`;
  });
  return (
    <span class="bad">
      <strong>{t.below}</strong> {lines.join("; ")}
    </span>
  );
}

const wordsId = "margin-words";

/** Margins of a changed form, in place of those that it was shown with. */
export function SwappedMargins({ price, places, margins, locale }: {
  /** The price that the form was shown with: it has those rows. */
  readonly price: Json | undefined;
  /** Number of routes of the form. */
  readonly places: number;
  readonly margins: TypedMargins;
  readonly locale: Locale;
}) {
  const rates = ratesOf(unitOf(price), locale);
  return (
    <>
      {Array.from({ length: places }, (_, at) =>
        rates.map((rate) => (
          <Margin at={at} rate={rate} margins={margins} locale={locale} isSwapped />
        )))}
      <div id={wordsId} hx-swap-oob="innerHTML">
        <MarginWords margins={margins} locale={locale} />
      </div>
    </>
  );
}

interface MatrixProps {
  readonly view: FormView;
  readonly price: JsonObject;
  readonly columns: readonly RouteColumn[];
  readonly margins: TypedMargins;
}

function MatrixHead({ view: { locale }, price, columns }: MatrixProps) {
  const t = matrixTexts[locale];
  const unit = unitOf(price);
  const piece = unit === "token" ? undefined : unitWords(unit, locale);
  const routeName = ({ at, route }: RouteColumn) => {
    const provider = plainText(route["provider"]);
    return (
      <>
        {catalogueTexts[locale].route(at + 1)} {provider !== "" && <code>{provider}</code>}
      </>
    );
  };
  return (
    <thead>
      <tr>
        <th scope="col" rowspan={2}>
          {t.rate}
          {unit === "token" && <small>{t.byDefault}</small>}
        </th>
        <th scope="col" rowspan={2}>
          {catalogueTexts[locale].price}
          <small>{piece === undefined ? t.perMtok : t.perPiece(piece)}</small>
        </th>
        {columns.map((column) => (
          <th scope="colgroup" colspan={2} class="route-start">{routeName(column)}</th>
        ))}
      </tr>
      <tr>
        {columns.map(({ currency }) => (
          <>
            <th scope="col" class="route-start">{t.cost(currency)}</th>
            <th scope="col" class="number">{t.margin}</th>
          </>
        ))}
      </tr>
    </thead>
  );
}

function MatrixRow({ rate, view, price, columns, margins }: MatrixProps & { readonly rate: Rate }) {
  const { locale } = view;
  return (
    <tr>
      <th scope="row">{rate.label}</th>
      <td>
        <AmountField
          view={view}
          name={`price.${rate.price}`}
          rate={rate}
          column={catalogueTexts[locale].price}
          kind="vnd"
          value={price[rate.price]}
        />
      </td>
      {columns.map(({ at, route }) => (
        <>
          <td class="route-start">
            {matrixCosts(price, route["cost"]).includes(rate.cost)
              ? (
                <AmountField
                  view={view}
                  name={`routes.${at}.cost.${rate.cost}`}
                  rate={rate}
                  column={catalogueTexts[locale].route(at + 1)}
                  kind="cost"
                  value={objectOf(route["cost"])[rate.cost]}
                />
              )
              : <span class="muted">–</span>}
          </td>
          <td class="number">
            <Margin at={at} rate={rate} margins={margins} locale={locale} isSwapped={false} />
          </td>
        </>
      ))}
    </tr>
  );
}

function MatrixTable({ rates, label, ...props }: MatrixProps & {
  readonly rates: readonly Rate[];
  readonly label: string;
}) {
  return (
    <TableFrame label={label}>
      <table class="matrix price-matrix">
        <MatrixHead {...props} />
        <tbody>
          {rates.map((rate) => <MatrixRow key={rate.bucket} rate={rate} {...props} />)}
        </tbody>
      </table>
    </TableFrame>
  );
}

/** Whether a rate has a row among the first: it is usual, written somewhere, or wrong. */
function isShown(rate: Rate, { view: { errors }, price, columns }: MatrixProps): boolean {
  return rate.isUsual || price[rate.price] !== undefined ||
    errors[`price.${rate.price}`] !== undefined ||
    columns.some(({ at, route }) =>
      objectOf(route["cost"])[rate.cost] !== undefined ||
      errors[`routes.${at}.cost.${rate.cost}`] !== undefined
    );
}

/**
 * The matrix. Rates that nothing is written for fold away, beside the other members of the price. One with steps has no
 * rows, only its margins in words.
 */
export function PriceMatrix({ children, ...props }: PropsWithChildren<MatrixProps>) {
  const { view: { locale }, price, margins } = props;
  const t = matrixTexts[locale];
  const rates = ratesOf(unitOf(price), locale);
  const seldom = rates.filter((rate) => !isShown(rate, props));
  return (
    <>
      {rates.length > 0 && (
        <MatrixTable
          {...props}
          rates={rates.filter((rate) => !seldom.includes(rate))}
          label={t.label}
        />
      )}
      <p id={wordsId} role="status">
        <MarginWords margins={margins} locale={locale} />
      </p>
      <div class="folds">
        {seldom.length > 0 && (
          <details class="field-group">
            <summary>{t.seldom}</summary>
            <MatrixTable {...props} rates={seldom} label={t.seldom} />
          </details>
        )}
        {children}
      </div>
    </>
  );
}
