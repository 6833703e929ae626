/** Reads the form in which an operator sets the rate limits of one account. */
import { defined } from "../../../../core/lib/base/defined.ts";
import type { RateLimitName, RateOverrides } from "../../../../core/limits/rate_limits.ts";
import type { AccountRateLimits } from "../../../../core/limits/subjects.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";
import { parseTypedLimit } from "../../../dashboard/text/typed_numbers.ts";

/** Models of one account with limits of their own: more would be a price list. */
const mostModels = 50;

/** The fields in their order on the form and in a line of models. */
export const rateFields = [
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
  if (lines.length > mostModels) return { ok: false, problem: "model" };
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
export function rateFormOf(limits: AccountRateLimits | undefined): Record<string, string> {
  const models = Object.entries(limits?.models ?? {}).map(([id, of]) =>
    [id, ...rateFields.map((name) => textOf(of[name], "-"))].join(" ")
  );
  return {
    ...Object.fromEntries(rateFields.map((name) => [name, textOf(limits?.[name], "")])),
    models: models.join("\n"),
  };
}
