/** The list of models as a table and as cards. */
import type { Model } from "../../../../core/catalog/catalog.ts";
import { Badge, type BadgeTone, CopyButton, TableFrame } from "../../components/mod.ts";
import type { ModelStatus } from "../../page/deps.ts";
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

/** What both forms of the list need. */
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

function Status({ status, locale }: { status: ModelStatus; locale: Locale }) {
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

function Kind({ model, locale }: { model: Model; locale: Locale }) {
  const t = modelListTexts[locale];
  return (
    <>
      {t.kinds[model.kind]} {model.vision && <Badge tone="neutral">{t.vision}</Badge>}
    </>
  );
}

function priceLine({ amount, unit }: PriceLine) {
  return (
    <div class="price-line">
      <strong class="money">{amount}</strong> <small class="muted">{unit}</small>
    </div>
  );
}

function listPriceLine({ list }: PriceLine) {
  return <div class="price-line">{list}</div>;
}

/** A figure of a chat model; a dash for others, and where nothing is known. */
function chatFigure({ kind }: Model, figure: number, locale: Locale): string {
  return kind === "chat" ? formatCount(figure, locale) : "–";
}

function speedText(firstOutputMs: number | undefined, locale: Locale): string {
  return firstOutputMs === undefined ? "–" : `≤ ${formatDuration(firstOutputMs, locale)}`;
}

/** The models as a table. */
export function ModelTable({ models, listRate, locale }: ModelListProps) {
  const t = modelListTexts[locale];
  return (
    <TableFrame label={t.title}>
      <table class="models">
        <thead>
          <tr>
            <th scope="col">{t.model}</th>
            <th scope="col" class="wide-only">{t.kind}</th>
            <th scope="col">{t.price}</th>
            <th scope="col" class="number wide-only">{t.listPrice}</th>
            <th scope="col" class="number wide-only">{t.context}</th>
            <th scope="col" class="number wide-only">{t.output}</th>
            <th scope="col" class="number wide-only" title={t.speedOf}>{t.speed}</th>
            <th scope="col">{t.status}</th>
          </tr>
        </thead>
        <tbody>
          {models.map(({ model, status, firstOutputMs }) => {
            const lines = priceLines(model.price, listRate, locale);
            return (
              <tr>
                <td>
                  <ModelName model={model} locale={locale} />
                </td>
                <td class="nowrap wide-only">
                  <Kind model={model} locale={locale} />
                </td>
                <td class="prices">{lines.map(priceLine)}</td>
                <td class="number muted wide-only">{lines.map(listPriceLine)}</td>
                <td class="number wide-only">{chatFigure(model, model.contextWindow, locale)}</td>
                <td class="number wide-only">
                  {chatFigure(model, model.maxOutputTokens, locale)}
                </td>
                <td class="number wide-only">{speedText(firstOutputMs, locale)}</td>
                <td>
                  <Status status={status} locale={locale} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableFrame>
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
