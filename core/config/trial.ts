/** The settings of `/try`, where visitors without an account call models: who pays, and what bounds it. */
import { z } from "zod";
import { normaliseEmail } from "../people/accounts/email_address.ts";
import { wholeNumber } from "../lib/environment/environment.ts";

/** VND of play money for a day, in a sandbox: a thousand calls of its models. */
const playVndPerDay = 100_000;

/** VND of a day at most, so that a slip of the keyboard is noticed. */
const maxVndPerDay = 1_000_000_000;

/** Calls of an installation in a day at most: two commits of counters for each. */
const maxCallsPerDay = 1_000_000;

const payer = z.string().transform((text, context): string => {
  const email = normaliseEmail(text);
  if (email !== undefined) return email;
  context.addIssue({ code: "custom", message: "must be an e-mail address" });
  return z.NEVER;
});

/** The variables of this subject. */
export const trialVariables = {
  GATEWAY_TRIAL_ACCOUNT: payer.optional(),
  GATEWAY_TRIAL_VND_PER_DAY: wholeNumber(0, maxVndPerDay).optional(),
  GATEWAY_TRIAL_CALLS_PER_ADDRESS: wholeNumber(1, maxCallsPerDay).default(20),
  GATEWAY_TRIAL_CALLS_PER_DAY: wholeNumber(1, maxCallsPerDay).default(2_000),
} as const;

type Values = z.infer<z.ZodObject<typeof trialVariables>>;

/** Lists what is wrong with the variables in combination. */
export function trialProblems(
  { GATEWAY_TRIAL_ACCOUNT: account, GATEWAY_TRIAL_VND_PER_DAY: vnd }: Values,
): string[] {
  return account === undefined || vnd !== undefined ? [] : [
    "environment GATEWAY_TRIAL_VND_PER_DAY: must be set with GATEWAY_TRIAL_ACCOUNT: " +
    "what visitors may spend of it in a day",
  ];
}

/** Says what is missing where models cost real money: an account that pays. */
export function unpaidTrial(
  { GATEWAY_TRIAL_ACCOUNT: account, GATEWAY_TRIAL_VND_PER_DAY: vnd = 0 }: Values,
): string[] {
  return vnd === 0 || account !== undefined ? [] : [
    "environment GATEWAY_TRIAL_ACCOUNT: must be set with GATEWAY_TRIAL_VND_PER_DAY: " +
    "the e-mail address of the account that pays",
  ];
}

/** The settings of the operator. */
export interface TrialSettings {
  /** E-mail address of the account that pays; undefined: play money does, in a sandbox only. */
  readonly account: string | undefined;
  /** Undefined: as much as play money allows. */
  readonly vndPerDay: number | undefined;
  readonly callsPerAddress: number;
  readonly callsPerDay: number;
}

/** Puts the variables together. */
export function readTrial(values: Values): TrialSettings {
  return {
    account: values.GATEWAY_TRIAL_ACCOUNT,
    vndPerDay: values.GATEWAY_TRIAL_VND_PER_DAY,
    callsPerAddress: values.GATEWAY_TRIAL_CALLS_PER_ADDRESS,
    callsPerDay: values.GATEWAY_TRIAL_CALLS_PER_DAY,
  };
}

/** Bounds of the trial by visitors: the money and calls of a day. */
export interface Trial {
  /** The account that pays; `play`: one of the sandbox, with play money. */
  readonly payer: { readonly kind: "play" } | { readonly kind: "account"; readonly email: string };
  readonly vndPerDay: number;
  readonly callsPerAddress: number;
  readonly callsPerDay: number;
}

/**
 * Returns how visitors try models; `undefined` if they cannot. Without settings they can in a sandbox, where it costs
 * nothing.
 *
 * @example
 * ```ts
 * import { trialOf } from "./trial.ts";
 * const none = { account: undefined, vndPerDay: undefined, callsPerAddress: 20, callsPerDay: 2_000 };
 * if (trialOf(none, "sandbox")?.payer.kind !== "play") throw new Error("a sandbox without");
 * if (trialOf(none, "production") !== undefined) throw new Error("a trial without a payer");
 * const paid = trialOf({ ...none, account: "try@gw.example", vndPerDay: 50_000 }, "production");
 * if (paid?.payer.kind !== "account") throw new Error("not paid");
 * ```
 */
export function trialOf(
  { account, vndPerDay, callsPerAddress, callsPerDay }: TrialSettings,
  mode: "sandbox" | "production",
): Trial | undefined {
  const counts = { callsPerAddress, callsPerDay };
  if (vndPerDay === 0) return undefined;
  if (account !== undefined && vndPerDay !== undefined) {
    return { payer: { kind: "account", email: account }, vndPerDay, ...counts };
  }
  return mode === "sandbox"
    ? { payer: { kind: "play" }, vndPerDay: vndPerDay ?? playVndPerDay, ...counts }
    : undefined;
}
