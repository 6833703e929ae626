/**
 * Reads the terms of a campaign as operators type them, in a form or on the command line. Every bound is
 * checked here, so that a slip does not promise a fortune.
 */
import { microVndPerVnd } from "../../billing/money/micro_vnd.ts";
import { defined } from "../../lib/base/defined.ts";
import { parseVietnamMoment } from "../../lib/time/vietnam_time.ts";
import { parseTypedAmount } from "../statements/statement_csv.ts";
import { campaignKinds, type CampaignTerms, type Gift } from "./campaign.ts";

/** Characters of a name: it is a line of a statement. */
export const maxCampaignNameChars = 80;

/** The most of one grant, in VND: more is a top-up. */
const maxGiftVnd = 10_000_000n;

/** The most that a campaign may promise, in VND. */
const maxBudgetVnd = 10_000_000_000n;

/** The most grants of one campaign. */
const maxGrantsOfCampaign = 1_000_000;

/** The most grants of one account. */
const maxPerAccount = 100;

/** The longest time until credit expires: ten years of days. */
const maxExpiryDays = 3_650;

/** The largest share of a top-up in percent: twice its amount. */
const maxPercent = 200;

/** The most sign-ups of a network and day that get credit. */
const maxPerNetwork = 10_000;

/** What is typed. An empty text means that the field is not set. */
export interface CampaignFields {
  readonly kind: string;
  readonly name: string;
  readonly amount: string;
  readonly percent: string;
  readonly cap: string;
  readonly minTopup: string;
  readonly budget: string;
  readonly maxGrants: string;
  readonly starts: string;
  readonly ends: string;
  readonly expiresAfterDays: string;
  readonly perAccount: string;
  readonly perNetworkPerDay: string;
}

/** The terms, or the first field that is wrong. */
export type ReadCampaign =
  | { readonly ok: true; readonly terms: CampaignTerms }
  | { readonly ok: false; readonly field: keyof CampaignFields };

class WrongField {
  readonly field: keyof CampaignFields;
  constructor(field: keyof CampaignFields) {
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
  const number = (field: keyof CampaignFields, most: number) => wholeNumber(fields, field, most);
  const money = (field: keyof CampaignFields, maxVnd: bigint) => amountOf(fields, field, maxVnd);
  const kind = campaignKinds.find((one) => one === fields.kind);
  if (kind === undefined) throw new WrongField("kind");
  const name = fields.name.trim();
  if (name === "" || name.length > maxCampaignNameChars) throw new WrongField("name");
  const budgetMicroVnd = money("budget", maxBudgetVnd);
  const maxGrants = number("maxGrants", maxGrantsOfCampaign);
  if (budgetMicroVnd === undefined && maxGrants === undefined) throw new WrongField("budget");
  const startsAtMs = momentOf(fields, "starts") ?? nowMs;
  const endsAtMs = momentOf(fields, "ends");
  if (endsAtMs !== undefined && endsAtMs <= startsAtMs) throw new WrongField("ends");
  const minTopupMicroVnd = money("minTopup", maxBudgetVnd);
  if (minTopupMicroVnd !== undefined && kind !== "bonus") throw new WrongField("minTopup");
  const perNetworkPerDay = number("perNetworkPerDay", maxPerNetwork);
  if (perNetworkPerDay !== undefined && kind !== "signup") throw new WrongField("perNetworkPerDay");
  const perAccount = number("perAccount", maxPerAccount) ?? 1;
  if (perAccount !== 1 && kind === "signup") throw new WrongField("perAccount");
  const expiresAfterDays = number("expiresAfterDays", maxExpiryDays);
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
  const percent = wholeNumber(fields, "percent", maxPercent);
  const amountMicroVnd = amountOf(fields, "amount", maxGiftVnd);
  const capMicroVnd = amountOf(fields, "cap", maxGiftVnd);
  if (percent === undefined) {
    if (amountMicroVnd === undefined) throw new WrongField("amount");
    if (capMicroVnd !== undefined) throw new WrongField("cap");
    return { kind: "amount", amountMicroVnd };
  }
  if (kind !== "bonus" || amountMicroVnd !== undefined) throw new WrongField("percent");
  if (capMicroVnd === undefined) throw new WrongField("cap");
  return { kind: "percent", percent, capMicroVnd };
}

function wholeNumber(
  fields: CampaignFields,
  field: keyof CampaignFields,
  most: number,
): number | undefined {
  const text = fields[field].trim();
  if (text === "") return undefined;
  const value = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new WrongField(field);
  return value;
}

/** Reads whole VND above 0. */
function amountOf(
  fields: CampaignFields,
  field: keyof CampaignFields,
  maxVnd: bigint,
): bigint | undefined {
  const text = fields[field].trim();
  if (text === "") return undefined;
  const amountMicroVnd = parseTypedAmount(text) ?? 0n;
  const isRight = amountMicroVnd > 0n && amountMicroVnd % microVndPerVnd === 0n &&
    amountMicroVnd <= maxVnd * microVndPerVnd;
  if (!isRight) throw new WrongField(field);
  return amountMicroVnd;
}

function momentOf(fields: CampaignFields, field: keyof CampaignFields): number | undefined {
  const text = fields[field].trim();
  if (text === "") return undefined;
  const atMs = parseVietnamMoment(text);
  if (atMs === undefined) throw new WrongField(field);
  return atMs;
}

/** A form in which nothing is typed. */
export const noCampaignFields: CampaignFields = {
  kind: "",
  name: "",
  amount: "",
  percent: "",
  cap: "",
  minTopup: "",
  budget: "",
  maxGrants: "",
  starts: "",
  ends: "",
  expiresAfterDays: "",
  perAccount: "",
  perNetworkPerDay: "",
};

/** The names of all fields. */
export const campaignFieldNames = Object.keys(
  noCampaignFields,
) as readonly (keyof CampaignFields)[];
