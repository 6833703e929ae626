/** The calculator of the landing page: tokens and calls of a day become a cost of a month. A form, so it needs no script. */
import type { Context } from "hono";
import type { Catalog, Model } from "../../../../core/catalog/catalog.ts";
import { applyPrice, costOfTokens } from "../../../../core/billing/price.ts";
import { Money } from "../../components/mod.ts";
import { SelectField, TextField } from "../../components/mod.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

/** Days of a month in the estimate. */
const daysOfMonth = 30n;

/** Largest figure of a field: no model takes more tokens, and nobody makes more calls in a day. */
const maxFigure = 100_000_000;

const texts = defineTexts({
  en: {
    title: "What will it cost?",
    model: "Model",
    input: "Tokens of a prompt",
    output: "Tokens of an answer",
    calls: "Calls per day",
    count: "Calculate",
    perCall: "One call",
    perMonth: "A month",
    note: "1,000 tokens are about 750 English words, or 500 Vietnamese ones.",
  },
  vi: {
    title: "Tốn bao nhiêu?",
    model: "Mô hình",
    input: "Token mỗi câu hỏi",
    output: "Token mỗi câu trả lời",
    calls: "Lượt gọi mỗi ngày",
    count: "Tính",
    perCall: "Một lượt gọi",
    perMonth: "Một tháng",
    note: "1.000 token khoảng 750 từ tiếng Anh, hoặc 500 từ tiếng Việt.",
  },
});

/** What the form asks. */
export interface Question {
  readonly model: Model;
  readonly input: number;
  readonly output: number;
  readonly calls: number;
}

function figure(text: string | undefined, otherwise: number): number {
  const digits = (text ?? "").replace(/[.,\s]/g, "");
  return /^\d{1,9}$/.test(digits) ? Math.min(Number(digits), maxFigure) : otherwise;
}

/** Models that are priced by the token. */
function pricedByToken({ models }: Pick<Catalog, "models">): readonly Model[] {
  return models.filter(({ kind, price }) => kind === "chat" && price.unit === "token");
}

/** Reads the query; wrong figures become the usual ones. */
function questionOf(c: Context<DashboardEnv>, catalog: Catalog): Question | undefined {
  const models = pricedByToken(catalog);
  const asked = models.find(({ id }) => id === c.req.query("model"));
  const model = asked ?? models.find(({ id }) => id === catalog.defaultModel.id) ?? models[0];
  return model === undefined ? undefined : {
    model,
    input: figure(c.req.query("in"), 2_000),
    output: figure(c.req.query("out"), 500),
    calls: figure(c.req.query("calls"), 100),
  };
}

/**
 * Computes what a call costs.
 *
 * @returns µVND
 */
export function costOfCall({ model, input, output }: Omit<Question, "calls">): bigint {
  const usage = { input, output, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  return costOfTokens(applyPrice(model.price), usage);
}

/** The calculator; nothing where no model is priced by the token. */
export function Calculator({ c, catalog, locale }: {
  c: Context<DashboardEnv>;
  catalog: Catalog;
  locale: Locale;
}) {
  const t = texts[locale];
  const question = questionOf(c, catalog);
  if (question === undefined) return null;
  const { model, input, output, calls } = question;
  const perCallMicroVnd = costOfCall(question);
  return (
    <section class="landing-section" id="calculator">
      <h2>{t.title}</h2>
      <form
        method="get"
        action="/#calculator"
        class="card calculator"
        hx-get="/"
        hx-trigger="input delay:200ms, submit"
        hx-target="#cost"
        hx-select="#cost"
        hx-swap="outerHTML"
      >
        <div class="calculator-fields">
          <SelectField
            name="model"
            label={t.model}
            value={model.id}
            options={pricedByToken(catalog)
              .map(({ id, displayName }) => ({ value: id, label: displayName }))}
          />
          <TextField name="in" label={t.input} value={String(input)} inputmode="numeric" />
          <TextField name="out" label={t.output} value={String(output)} inputmode="numeric" />
          <TextField name="calls" label={t.calls} value={String(calls)} inputmode="numeric" />
          <noscript>
            <button type="submit" class="outline secondary">{t.count}</button>
          </noscript>
        </div>
        <div class="calculator-cost" id="cost" aria-live="polite">
          <p>
            <span>{t.perMonth}</span>
            <strong>
              <Money
                microVnd={perCallMicroVnd * BigInt(calls) * daysOfMonth}
                locale={locale}
                short
              />
            </strong>
          </p>
          <p>
            <span>{t.perCall}</span>
            <Money microVnd={perCallMicroVnd} locale={locale} short />
          </p>
          <small class="muted">{t.note}</small>
        </div>
      </form>
    </section>
  );
}
