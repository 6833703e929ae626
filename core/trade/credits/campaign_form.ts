/**
 * Reads the terms of a campaign as operators type them, in a form or on the command line. Every bound is
 * checked here, so that a slip does not promise a fortune.
 */
import { microVndPerVnd } from "../../billing/money/micro_vnd.ts";
import { parseTypedCount, parseTypedVnd } from "../../billing/money/read_amount.ts";
import { defined } from "../../lib/base/defined.ts";
import { isOneLine } from "../../lib/base/plain_text.ts";
import { recordOf } from "../../lib/base/record_of.ts";
import { parseVietnamMoment } from "../../lib/time/vietnam_time.ts";
import { campaignKinds, type CampaignTerms, type Gift } from "./campaign.ts";

/** Characters of a name: it is a line of a statement. */
export const maxCampaignNameChars = 80;

/** The most of one grant, in VND: more is a top-up. */
const maxGiftVnd = 10_000_000n;

/** The most that a campaign may promise, in VND. */
const maxBudgetVnd = 10_000_000_000n;

/** A field: what is typed into it, and what a refusal says that it must be. */
export type CampaignField =
  & {
    readonly form: string;
    /** Shown in the empty field. */
    readonly example?: string;
    /** The only kind of campaign that has it. */
    readonly only?: CampaignTerms["kind"];
  }
  & (
    | { readonly input: "kind" | "name" | "moment" }
    /** Whole VND above 0. */
    | { readonly input: "vnd"; readonly maxVnd: bigint }
    /** A whole number above 0. */
    | { readonly input: "count"; readonly max: number }
  );

/** All fields, in the order of forms and of the command. */
export const campaignFields = {
  kind: { input: "kind", form: "signup, voucher or bonus" },
  name: { input: "name", form: `1 to ${maxCampaignNameChars} characters of one line` },
  amount: {
    input: "vnd",
    maxVnd: maxGiftVnd,
    example: "20k",
    form: "whole VND above 0 and at most 10,000,000, unless percent is set",
  },
  // Twice the top-up.
  percent: {
    input: "count",
    max: 200,
    example: "10",
    only: "bonus",
    form: "1 to 200, for a bonus without an amount",
  },
  cap: {
    input: "vnd",
    maxVnd: maxGiftVnd,
    example: "50k",
    only: "bonus",
    form: "whole VND, and is needed with percent and only there",
  },
  minTopup: {
    input: "vnd",
    maxVnd: maxBudgetVnd,
    example: "100k",
    only: "bonus",
    form: "whole VND, for a bonus",
  },
  budget: {
    input: "vnd",
    maxVnd: maxBudgetVnd,
    example: "10tr",
    form: "whole VND; a campaign needs it or maxGrants",
  },
  maxGrants: { input: "count", max: 1_000_000, example: "500", form: "1 to 1,000,000" },
  // Ten years.
  expiresAfterDays: { input: "count", max: 3_650, example: "30", form: "1 to 3,650" },
  starts: { input: "moment", form: "a day such as 2026-12-01, with or without 08:00" },
  ends: { input: "moment", form: "a day such as 2026-12-31, after the start" },
  perAccount: { input: "count", max: 100, example: "1", form: "1 to 100, and 1 for signup" },
  // Sign-ups of one network and day.
  perNetworkPerDay: {
    input: "count",
    max: 10_000,
    example: "10",
    only: "signup",
    form: "1 to 10,000, for signup",
  },
} as const satisfies Readonly<Record<string, CampaignField>>;

/** The name of a field. */
export type CampaignFieldName = keyof typeof campaignFields;

/** Fields as typed. An empty text means that the field is not set. */
export type CampaignFields = Readonly<Record<CampaignFieldName, string>>;

/** The names of the fields of one input. */
type NameOf<Input extends CampaignField["input"]> = {
  [Name in CampaignFieldName]: (typeof campaignFields)[Name]["input"] extends Input ? Name : never;
}[CampaignFieldName];

function isFieldName(name: string): name is CampaignFieldName {
  return Object.hasOwn(campaignFields, name);
}

/** The names of all fields. */
export const campaignFieldNames = Object.keys(campaignFields).filter(isFieldName);

/** The terms, or the first field that is wrong. */
export type ReadCampaign =
  | { readonly ok: true; readonly terms: CampaignTerms }
  | { readonly ok: false; readonly field: CampaignFieldName };

class WrongField {
  readonly field: CampaignFieldName;
  constructor(field: CampaignFieldName) {
    this.field = field;
  }
}

/**
 * Reads the terms of a campaign.
 *
 * @param nowMs when it starts, unless a time is typed
 *
 * @example
 * ```ts
 * import { noCampaignFields, readCampaign } from "./campaign_form.ts";
 * const typed = { ...noCampaignFields, kind: "signup", name: "Welcome", amount: "20k", budget: "5tr" };
 * const read = readCampaign(typed, 0);
 * if (!read.ok || read.terms.budgetMicroVnd !== 5_000_000_000_000n) throw new Error("refused");
 * const endless = readCampaign({ ...typed, budget: "" }, 0);
 * if (endless.ok || endless.field !== "budget") throw new Error("without a bound");
 * ```
 */
export function readCampaign(fields: CampaignFields, nowMs: number): ReadCampaign {
  try {
    return { ok: true, terms: termsOf(fields, nowMs) };
  } catch (error) {
    if (error instanceof WrongField) return { ok: false, field: error.field };
    throw error;
  }
}

function termsOf(fields: CampaignFields, nowMs: number): CampaignTerms {
  const number = (field: NameOf<"count">) => wholeNumber(fields, field);
  const money = (field: NameOf<"vnd">) => amountOf(fields, field);
  const kind = campaignKinds.find((one) => one === fields.kind);
  if (kind === undefined) throw new WrongField("kind");
  const name = fields.name.trim();
  if (name === "" || name.length > maxCampaignNameChars || !isOneLine(name)) {
    throw new WrongField("name");
  }
  const budgetMicroVnd = money("budget");
  const maxGrants = number("maxGrants");
  if (budgetMicroVnd === undefined && maxGrants === undefined) throw new WrongField("budget");
  const startsAtMs = momentOf(fields, "starts") ?? nowMs;
  const endsAtMs = momentOf(fields, "ends");
  if (endsAtMs !== undefined && endsAtMs <= startsAtMs) throw new WrongField("ends");
  const minTopupMicroVnd = money("minTopup");
  if (minTopupMicroVnd !== undefined && kind !== "bonus") throw new WrongField("minTopup");
  const perNetworkPerDay = number("perNetworkPerDay");
  if (perNetworkPerDay !== undefined && kind !== "signup") throw new WrongField("perNetworkPerDay");
  const perAccount = number("perAccount") ?? 1;
  if (perAccount !== 1 && kind === "signup") throw new WrongField("perAccount");
  const expiresAfterDays = number("expiresAfterDays");
  return {
    kind,
    name,
    gift: giftOf(fields, kind),
    startsAtMs,
    perAccount,
    ...defined({
      minTopupMicroVnd,
      budgetMicroVnd,
      maxGrants,
      endsAtMs,
      expiresAfterDays,
      perNetworkPerDay,
    }),
  };
}

/** A fixed amount, or for a bonus a share with its cap. */
function giftOf(fields: CampaignFields, kind: CampaignTerms["kind"]): Gift {
  const percent = wholeNumber(fields, "percent");
  const amountMicroVnd = amountOf(fields, "amount");
  const capMicroVnd = amountOf(fields, "cap");
  if (percent === undefined) {
    if (amountMicroVnd === undefined) throw new WrongField("amount");
    if (capMicroVnd !== undefined) throw new WrongField("cap");
    return { kind: "amount", amountMicroVnd };
  }
  if (kind !== "bonus" || amountMicroVnd !== undefined) throw new WrongField("percent");
  if (capMicroVnd === undefined) throw new WrongField("cap");
  return { kind: "percent", percent, capMicroVnd };
}

function wholeNumber(fields: CampaignFields, field: NameOf<"count">): number | undefined {
  const text = fields[field].trim();
  if (text === "") return undefined;
  const value = parseTypedCount(text, campaignFields[field].max);
  if (value === undefined) throw new WrongField(field);
  return value;
}

/** Reads whole VND above 0. */
function amountOf(fields: CampaignFields, field: NameOf<"vnd">): bigint | undefined {
  const text = fields[field].trim();
  if (text === "") return undefined;
  const amountMicroVnd = parseTypedVnd(text) ?? 0n;
  const isRight = amountMicroVnd > 0n &&
    amountMicroVnd <= campaignFields[field].maxVnd * microVndPerVnd;
  if (!isRight) throw new WrongField(field);
  return amountMicroVnd;
}

function momentOf(fields: CampaignFields, field: NameOf<"moment">): number | undefined {
  const text = fields[field].trim();
  if (text === "") return undefined;
  const atMs = parseVietnamMoment(text);
  if (atMs === undefined) throw new WrongField(field);
  return atMs;
}

/** A form in which nothing is typed. */
export const noCampaignFields: CampaignFields = recordOf(campaignFieldNames, () => "");
