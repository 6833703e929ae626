/** The rate limits of one account: what binds it, what is used now, and the form that changes them. */
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { Card, PostForm, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale, parseTypedLimit } from "../../../dashboard/text/i18n.ts";
import { LimitTable, rateTexts } from "../../../dashboard/customer/rate_limits/limit_table.tsx";
import { type LimitInUse, limitsInUse } from "../../../dashboard/page/rate_view.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { type OperatorDeps, ReasonField } from "../base/frame.tsx";
import {
  type RateLimitName,
  type RateLimitOf,
  rateLimitsOf,
} from "../../../../core/limits/limit_table.ts";
import type { AccountRateLimits } from "../../../../core/limits/rate_limits.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";

// Reads the form in which an operator sets the rate limits of one account.

/** The fields in their order on the form. */
const accountFields = rateLimitsOf("account");

/** The fields in their order in a line of models. */
const modelFields = rateLimitsOf("account_model");

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

function overridesOf<Name extends RateLimitName>(
  names: readonly Name[],
  textOf: (name: Name, at: number) => string,
): RateOverridesOf<Name> | undefined {
  const overrides: { -readonly [Limit in Name]?: number | "none" } = {};
  for (const [at, name] of names.entries()) {
    const one = written(textOf(name, at));
    if (!one.ok) return undefined;
    if (one.value !== undefined) overrides[name] = one.value;
  }
  return overrides;
}

/** Limits in place of the defaults, of some names. */
type RateOverridesOf<Name extends RateLimitName> = { readonly [Limit in Name]?: number | "none" };

/** The result of reading the form: limits of the account and of single models, or what is wrong. */
export type RateFormResult =
  | {
    readonly ok: true;
    readonly limits: RateOverridesOf<RateLimitOf<"account">>;
    readonly models: Record<string, RateOverridesOf<RateLimitOf<"account_model">>>;
  }
  | { readonly ok: false; readonly problem: "limit" | "model" };

/** Reads the form. Whether the models exist is for the operation to say. */
export function readRateForm(form: PostedForm): RateFormResult {
  const limits = overridesOf(accountFields, (name) => form.text(name));
  if (limits === undefined) return { ok: false, problem: "limit" };
  const lines = form.text("models").split("\n").map((line) => line.trim()).filter(Boolean);
  const models: Record<string, RateOverridesOf<RateLimitOf<"account_model">>> = {};
  for (const line of lines) {
    const [id = "", ...texts] = line.split(/\s+/);
    const own = texts.length === modelFields.length
      ? overridesOf(modelFields, (_name, at) => texts[at] ?? "")
      : undefined;
    if (own === undefined) return { ok: false, problem: "model" };
    models[id] = own;
  }
  return { ok: true, limits, models };
}

function textOf(value: number | "none" | undefined, absent: string): string {
  return value === undefined ? absent : value === "none" ? "0" : String(value);
}

/** The fields of a form for limits that are set. */
function rateFormOf(limits: AccountRateLimits | undefined): Record<string, string> {
  const models = Object.entries(limits?.models ?? {}).map(([id, of]) =>
    [id, ...modelFields.map((name) => textOf(of[name], "-"))].join(" ")
  );
  return {
    ...recordOf(accountFields, (name) => textOf(limits?.[name], "")),
    models: models.join("\n"),
  };
}

// Texts of the form about the rate limits of an account.

const rateCardTexts = defineTexts({
  both: {
    change: ["Change the limits of this account", "Đổi giới hạn của tài khoản này"],
    unlimited: ["no limit", "không giới hạn"],
    models: ["On single models", "Trên từng mô hình"],
    save: ["Save limits", "Lưu giới hạn"],
  },
  en: {
    text:
      "They replace the defaults for this account on every instance within two seconds. What was used in the last minute still counts.",
    fieldHint: (limit: string) => `Empty: the default (${limit}). 0: no limit.`,
    modelsHint: (names: string, example: string) =>
      `One model per line: id, ${names}, with - for the default and 0 for no limit. For example: ${example}`,
    problems: {
      limit: "Limits are whole numbers, 0 for none, or empty for the default.",
      model: (count: number, example: string) =>
        `A line of the models is wrong: write the id of a model and ${count} limits, such as ${example}.`,
    },
  },
  vi: {
    text:
      "Giới hạn này thay mặc định cho tài khoản trên mọi máy trong vòng hai giây. Những gì đã dùng trong phút qua vẫn được tính.",
    fieldHint: (limit) => `Để trống: mặc định (${limit}). 0: không giới hạn.`,
    modelsHint: (names, example) =>
      `Mỗi dòng một mô hình: mã, ${names}; dấu - là mặc định, 0 là không giới hạn. Ví dụ: ${example}`,
    problems: {
      limit: "Giới hạn là số nguyên, 0 là không giới hạn, để trống là mặc định.",
      model: (count, example) =>
        `Có dòng mô hình chưa đúng: hãy ghi mã mô hình và ${count} giới hạn, ví dụ ${example}.`,
    },
  },
});

const exampleOf: Record<RateLimitOf<"account_model">, string> = {
  requestsPerMinute: "60",
  tokensPerMinute: "100000",
  callsAtOnce: "-",
};

/** A line of models, as the form expects it. */
const modelExample = ["premium-1", ...modelFields.map((name) => exampleOf[name])].join(" ");

/** The names of the limits in a line of models. */
function modelNames(locale: Locale): string {
  return modelFields.map((name) => rateTexts[locale].names[name].toLowerCase()).join(", ");
}

/** Problem of a form. */
export function rateProblem(problem: "limit" | "model", locale: Locale): string {
  const { limit, model } = rateCardTexts[locale].problems;
  return problem === "limit" ? limit : model(modelFields.length, modelExample);
}

/** Reads what the form shows. */
export async function loadRates(deps: OperatorDeps, account: Account): Promise<LimitInUse[]> {
  return await limitsInUse(deps.rates, { account });
}

function hintOf(limit: number | undefined, locale: Locale): string {
  const t = rateCardTexts[locale];
  return t.fieldHint(limit === undefined ? t.unlimited : formatCount(limit, locale));
}

/** The form that changes the limits of an account, below those that bind now. */
export function RateForm({ account, limits, deps, visitor }: {
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
    <>
      <Card title={rates.title}>
        {limits.length === 0 ? <p class="muted">{rates.none}</p> : (
          <>
            <p class="muted">{rates.now}</p>
            <LimitTable limits={limits} locale={locale} />
          </>
        )}
      </Card>
      <Card title={t.change}>
        <p>{t.text}</p>
        <PostForm visitor={visitor} action={`/operator/accounts/${account.id}/limits`}>
          <div class="fields">
            {accountFields.map((name) => (
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
            hint={t.modelsHint(modelNames(locale), modelExample)}
          />
          <ReasonField locale={locale} />
          <SubmitButton>{t.save}</SubmitButton>
        </PostForm>
      </Card>
    </>
  );
}
