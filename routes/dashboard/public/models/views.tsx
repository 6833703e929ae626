/** The list of models as a table and as cards. */
import type { Model } from "../../../../core/catalog/catalog.ts";
import {
  Badge,
  type BadgeTone,
  type Column,
  CopyButton,
  DataTable,
  Tag,
} from "../../components/mod.ts";
import type { ModelStatus } from "../../page/deps.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { microVndOf } from "../../../../core/billing/money/micro_vnd.ts";
import { formatCount, formatDuration } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { type PriceLine, priceLines } from "../../text/model_prices.ts";
import { modelListTexts } from "./texts.ts";

/** A model with what is known of it. */
export interface ListedModel {
  readonly model: Model;
  readonly status: ModelStatus;
  /** Absent: there were no calls. */
  readonly firstOutputMs: number | undefined;
}

/** Needs of both forms of the list. */
export interface ModelListProps {
  readonly models: readonly ListedModel[];
  readonly listRate: number;
  readonly locale: Locale;
}

const statusTones: Readonly<Record<ModelStatus, BadgeTone>> = {
  up: "good",
  degraded: "busy",
  down: "bad",
};

export function Status({ status, locale }: { status: ModelStatus; locale: Locale }) {
  return <Badge tone={statusTones[status]}>{modelListTexts[locale].statuses[status]}</Badge>;
}

function ModelName({ model, locale }: { model: Model; locale: Locale }) {
  const t = modelListTexts[locale];
  return (
    <>
      <div class="model-name">
        <a href={`/models/${encodeURIComponent(model.id)}`}>
          <code>{model.id}</code>
        </a>
        <CopyButton text={model.id} what={model.id} locale={locale} />
      </div>
      {model.aliases.length > 0 && (
        <small class="muted">{t.aliases} {model.aliases.join(", ")}</small>
      )}
    </>
  );
}

export function Kind({ model, locale }: { model: Model; locale: Locale }) {
  const t = modelListTexts[locale];
  return (
    <>
      {t.kinds[model.kind]} {model.vision && <Tag>{t.vision}</Tag>}
    </>
  );
}

export function priceLine({ amount, unit }: PriceLine) {
  return (
    <div class="price-line">
      <strong class="money">{amount}</strong> <small class="muted">{unit}</small>
    </div>
  );
}

export function listPriceLine({ list }: PriceLine) {
  return <div class="price-line">{list}</div>;
}

/** A figure of a chat model; a dash for others, and where nothing is known. */
export function chatFigure({ kind }: Model, figure: number, locale: Locale): string {
  return kind === "chat" ? formatCount(figure, locale) : "–";
}

export function speedText(firstOutputMs: number | undefined, locale: Locale): string {
  return firstOutputMs === undefined ? "–" : `≤ ${formatDuration(firstOutputMs, locale)}`;
}

/** The price by which models of one kind compare: input and output together, or the lowest of a unit. */
export function comparedMicroVnd({ price }: Model): bigint {
  if (price.unit === "video") {
    const tiers = price.tiers.map(({ vnd }) => microVndOf(vnd));
    return tiers.reduce((lowest, one) => one < lowest ? one : lowest);
  }
  const applied = applyPrice(price);
  return applied.unit === "token"
    ? applied.inputPerMtokMicroVnd + applied.outputPerMtokMicroVnd
    : applied.perUnitMicroVnd;
}

function columnsOf(listRate: number, locale: Locale): readonly Column<ListedModel>[] {
  const t = modelListTexts[locale];
  const linesOf = ({ model }: ListedModel) => priceLines(model.price, listRate, locale);
  return [
    {
      head: t.model,
      sortable: true,
      sortValue: ({ model }) => model.id,
      phone: "first",
      cell: ({ model }) => (
        <>
          <ModelName model={model} locale={locale} />
          <div class="model-line wide-only">
            <Kind model={model} locale={locale} />
          </div>
        </>
      ),
    },
    {
      head: t.price,
      sortable: true,
      sortValue: ({ model }) => Number(comparedMicroVnd(model)),
      phone: "below",
      cell: (listed) => <>{linesOf(listed).map(priceLine)}</>,
    },
    {
      head: t.listPrice,
      kind: "number",
      muted: true,
      wideOnly: true,
      cell: (listed) => <>{linesOf(listed).map(listPriceLine)}</>,
    },
    {
      head: t.context,
      kind: "number",
      wideOnly: true,
      sortable: true,
      sortValue: ({ model }) => model.kind === "chat" ? model.contextWindow : -1,
      cell: ({ model }) => chatFigure(model, model.contextWindow, locale),
    },
    {
      head: t.output,
      kind: "number",
      wideOnly: true,
      sortable: true,
      sortValue: ({ model }) => model.kind === "chat" ? model.maxOutputTokens : -1,
      cell: ({ model }) => chatFigure(model, model.maxOutputTokens, locale),
    },
    {
      head: t.speed,
      title: t.speedOf,
      kind: "number",
      wideOnly: true,
      sortable: true,
      sortValue: ({ firstOutputMs }) => firstOutputMs ?? Number.MAX_SAFE_INTEGER,
      cell: ({ firstOutputMs }) => speedText(firstOutputMs, locale),
    },
    {
      head: t.status,
      sortable: true,
      phone: "first-end",
      cell: ({ status }) => <Status status={status} locale={locale} />,
    },
  ];
}

/** The models as a table. */
export function ModelTable({ models, listRate, locale }: ModelListProps) {
  return (
    <DataTable
      label={modelListTexts[locale].title}
      columns={columnsOf(listRate, locale)}
      rows={models}
    />
  );
}

/** The models as cards. */
export function ModelCards({ models, listRate, locale }: ModelListProps) {
  const t = modelListTexts[locale];
  return (
    <ul class="model-cards">
      {models.map(({ model, status, firstOutputMs }) => (
        <li class="card">
          <div class="card-head">
            <h2>{model.displayName}</h2>
            <Status status={status} locale={locale} />
          </div>
          <ModelName model={model} locale={locale} />
          <p class="model-kind">
            <Kind model={model} locale={locale} />
          </p>
          {priceLines(model.price, listRate, locale).map(priceLine)}
          <dl class="model-figures">
            {model.kind === "chat" && (
              <>
                <div>
                  <dt>{t.context}</dt>
                  <dd>{formatCount(model.contextWindow, locale)}</dd>
                </div>
                <div>
                  <dt>{t.output}</dt>
                  <dd>{formatCount(model.maxOutputTokens, locale)}</dd>
                </div>
              </>
            )}
            <div title={t.speedOf}>
              <dt>{t.speed}</dt>
              <dd>{speedText(firstOutputMs, locale)}</dd>
            </div>
          </dl>
        </li>
      ))}
    </ul>
  );
}
