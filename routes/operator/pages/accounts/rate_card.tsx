/** The rate limits of one account: what binds it, what is used now, and the form that changes them. */
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { Card, PostForm, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale, parseTypedLimit } from "../../../dashboard/text/i18n.ts";
import { LimitTable, rateTexts } from "../../../dashboard/customer/rate_limits/limit_table.tsx";
import { type LimitInUse, limitsInUse } from "../../../dashboard/page/rate_view.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { type OperatorDeps, ReasonField } from "../base/frame.tsx";
import { defined } from "../../../../core/lib/base/defined.ts";
import type {
  AccountRateLimits,
  RateLimitName,
  RateOverrides,
} from "../../../../core/limits/rate_limits.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";

// Reads the form in which an operator sets the rate limits of one account.

/** Models of one account with limits of their own: more would be a price list. */
const maxModels = 50;

/** The fields in their order on the form and in a line of models. */
const rateFields = [
  "requestsPerMinute",
  "tokensPerMinute",
  "callsAtOnce",
] as const satisfies readonly RateLimitName[];

type Written = { readonly ok: true; readonly value: number | "none" | undefined } | {
  readonly ok: false;
};

/** Empty or `-`: the default; `0`: no limit. */
function written(text: string): Written {
  if (text === "" || text === "-") return { ok: true, value: undefined };
  if (/^0+$/.test(text)) return { ok: true, value: "none" };
  const value = parseTypedLimit(text);
  return value === undefined ? { ok: false } : { ok: true, value };
}

function overridesOf(texts: readonly string[]): RateOverrides | undefined {
  const values = texts.map(written);
  if (values.some(({ ok }) => !ok)) return undefined;
  return defined(Object.fromEntries(
    rateFields.map((name, at) => {
      const one = values[at];
      return [name, one?.ok === true ? one.value : undefined];
    }),
  ));
}

/** The result of reading the form: limits, none at all, or what is wrong. */
export type RateFormResult =
  | { readonly ok: true; readonly limits: AccountRateLimits | undefined }
  | { readonly ok: false; readonly problem: "limit" | "model" };

/**
 * Reads the form.
 *
 * @param isModel whether a model of this id exists
 */
export function readRateForm(form: PostedForm, isModel: (id: string) => boolean): RateFormResult {
  const own = overridesOf(rateFields.map((name) => form.text(name)));
  if (own === undefined) return { ok: false, problem: "limit" };
  const lines = form.text("models").split("\n").map((line) => line.trim()).filter(Boolean);
  if (lines.length > maxModels) return { ok: false, problem: "model" };
  const models: Record<string, RateOverrides> = {};
  for (const line of lines) {
    const [id = "", ...texts] = line.split(/\s+/);
    const limits = texts.length === rateFields.length ? overridesOf(texts) : undefined;
    if (!isModel(id) || limits === undefined) return { ok: false, problem: "model" };
    models[id] = limits;
  }
  const limits = { ...own, ...(lines.length > 0 && { models }) };
  return { ok: true, limits: Object.keys(limits).length === 0 ? undefined : limits };
}

function textOf(value: number | "none" | undefined, absent: string): string {
  return value === undefined ? absent : value === "none" ? "0" : String(value);
}

/** The fields of a form for limits that are set. */
function rateFormOf(limits: AccountRateLimits | undefined): Record<string, string> {
  const models = Object.entries(limits?.models ?? {}).map(([id, of]) =>
    [id, ...rateFields.map((name) => textOf(of[name], "-"))].join(" ")
  );
  return {
    ...Object.fromEntries(rateFields.map((name) => [name, textOf(limits?.[name], "")])),
    models: models.join("\n"),
  };
}

// Texts of the operator's card about the rate limits of an account.

export const rateCardTexts = defineTexts({
  en: {
    change: "Change the limits of this account",
    text:
      "They replace the defaults for this account on every instance within two seconds. What was used in the last minute still counts.",
    fieldHint: (limit: string) => `Empty: the default (${limit}). 0: no limit.`,
    unlimited: "no limit",
    models: "On single models",
    modelsHint:
      "One model per line: id, calls per minute, tokens per minute, calls at once, with - for the default and 0 for no limit. For example: premium-1 60 100000 -",
    save: "Save limits",
    problems: {
      limit: "Limits are whole numbers, 0 for none, or empty for the default.",
      model:
        "A line of the models is wrong: write the id of a model and three limits, such as premium-1 60 - 0.",
    },
  },
  vi: {
    change: "Đổi giới hạn của tài khoản này",
    text:
      "Giới hạn này thay mặc định cho tài khoản trên mọi máy trong vòng hai giây. Những gì đã dùng trong phút qua vẫn được tính.",
    fieldHint: (limit) => `Để trống: mặc định (${limit}). 0: không giới hạn.`,
    unlimited: "không giới hạn",
    models: "Trên từng mô hình",
    modelsHint:
      "Mỗi dòng một mô hình: mã, lượt gọi mỗi phút, token mỗi phút, lượt gọi cùng lúc; dấu - là mặc định, 0 là không giới hạn. Ví dụ: premium-1 60 100000 -",
    save: "Lưu giới hạn",
    problems: {
      limit: "Giới hạn là số nguyên, 0 là không giới hạn, để trống là mặc định.",
      model:
        "Có dòng mô hình chưa đúng: hãy ghi mã mô hình và ba giới hạn, ví dụ premium-1 60 - 0.",
    },
  },
});

/** Reads what the card shows. */
export async function loadRates(deps: OperatorDeps, account: Account): Promise<LimitInUse[]> {
  return await limitsInUse(deps.rates, { account });
}

function hintOf(limit: number | undefined, locale: Locale): string {
  const t = rateCardTexts[locale];
  return t.fieldHint(limit === undefined ? t.unlimited : formatCount(limit, locale));
}

/** The card of the account page. */
export function RateCard({ account, limits, deps, visitor }: {
  readonly account: Account;
  readonly limits: readonly LimitInUse[];
  readonly deps: OperatorDeps;
  readonly visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = rateCardTexts[locale];
  const rates = rateTexts[locale];
  const values = rateFormOf(account.rateLimits);
  const defaults = deps.rates?.defaults()?.account;
  return (
    <Card title={rates.title}>
      {limits.length === 0 ? <p>{rates.none}</p> : (
        <>
          <p class="muted">{rates.now}</p>
          <LimitTable limits={limits} locale={locale} />
        </>
      )}
      <details>
        <summary>{t.change}</summary>
        <p>{t.text}</p>
        <PostForm visitor={visitor} action={`/operator/accounts/${account.id}/limits`}>
          <div class="fields">
            {rateFields.map((name) => (
              <TextField
                name={name}
                label={rates.names[name]}
                value={values[name]}
                inputmode="numeric"
                autocomplete="off"
                maxlength={16}
                hint={hintOf(defaults?.[name], locale)}
              />
            ))}
          </div>
          <TextField
            name="models"
            label={t.models}
            value={values["models"]}
            rows={3}
            maxlength={10_000}
            hint={t.modelsHint}
          />
          <ReasonField locale={locale} id="limits-reason" />
          <SubmitButton>{t.save}</SubmitButton>
        </PostForm>
      </details>
    </Card>
  );
}
