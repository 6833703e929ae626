/**
 * Reads the operator's settings for top-ups and invoices from the environment; returns all problems
 * at once.
 *
 * - Folder `core/trade/settings/`: the settings of top-ups and invoices.
 * - In: environment variables as values.
 * - Out: `TopupSettings`, or every problem at once.
 * - Never: chooses a tax rate: the operator's accountant decides.
 */
import { z } from "zod";
import { parsedText } from "../../lib/base/parsed_text.ts";
import {
  type Environment,
  secretText,
  setVariables,
  wholeNumber,
} from "../../lib/environment/environment.ts";
import { problemLines, readBySchema } from "../../lib/environment/schema_words.ts";
import { fromVnd } from "../../billing/money/micro_vnd.ts";
import type { ReceivingAccount } from "../bank/receiving_account.ts";
import type { SepaySecrets } from "../bank/sepay.ts";
import { type DatedVatRate, parseVatSchedule } from "../invoices/vat.ts";
import { defined } from "../../lib/base/defined.ts";

/** µVND of the smallest top-up: a smaller one costs more staff time than it brings. */
export const topupMinMicroVnd = 10_000_000_000n;

/** µVND of the largest top-up: one transfer of NAPAS 247 stays under 500 million VND. */
export const topupMaxMicroVnd = 499_000_000_000_000n;

/** The settings of top-ups by bank transfer, and of invoices. */
export interface TopupSettings {
  /** The first is shown on new orders; the others are still recognised. Empty: no top-up by transfer. */
  readonly receivingAccounts: readonly ReceivingAccount[];
  readonly sepay: SepaySecrets;
  /** The token for SePay's list of movements, the second source. */
  readonly sepayApiToken: string | undefined;
  readonly cassoWebhookKey: string | undefined;
  /** A transfer above this waits for a person. */
  readonly autoCreditMaxMicroVnd: bigint;
  /** The most that one operator may move alone, per action. */
  readonly approvalAboveMicroVnd: bigint;
  /** Empty: invoices cannot be requested. There is no default: the operator's accountant decides. */
  readonly vatRates: readonly DatedVatRate[];
  /** The name of the service on invoices. */
  readonly invoiceItemName: string;
}

const accountSchema = z.strictObject({
  bin: z.string().regex(/^\d{6}$/, "must have six digits"),
  bankName: z.string().min(1).max(60),
  account: z.string().regex(/^[A-Za-z0-9]{1,19}$/, "must be 1 to 19 letters or digits"),
  holder: z.string().min(1).max(100),
  memoPrefix: z.string().regex(/^[A-Z0-9]{0,8}$/, "must be at most 8 capitals or digits").default(
    "",
  ),
  alsoKnownAs: z.array(z.string().min(1).max(40)).max(10).default([]),
});

const wholeVnd = wholeNumber(0, 1_000_000_000).transform(fromVnd);
const secret = secretText(16).optional();

const jsonAccounts = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "is not JSON" });
    return z.NEVER;
  }
}).pipe(z.array(accountSchema).max(10));

const environmentSchema = z.object({
  GATEWAY_BANK_ACCOUNTS: jsonAccounts.default([]),
  SEPAY_WEBHOOK_SECRET: secret,
  SEPAY_WEBHOOK_API_KEY: secret,
  SEPAY_API_TOKEN: secret,
  CASSO_WEBHOOK_KEY: secret,
  GATEWAY_TOPUP_AUTO_MAX_VND: wholeVnd.default(topupMaxMicroVnd),
  GATEWAY_APPROVAL_ABOVE_VND: wholeVnd.default(fromVnd(5_000_000)),
  GATEWAY_VAT_RATES: parsedText(
    z.string(),
    parseVatSchedule,
    "must look like 2025-07-01=8,2027-01-01=10",
  ).default([]),
  GATEWAY_INVOICE_ITEM: z.string().min(1).max(200).default("Phí dịch vụ cổng API (trả trước)"),
});

/** The names of the variables that the settings are read from. */
export const topupVariableNames: readonly string[] = Object.keys(environmentSchema.shape);

/** The settings, or all problems of the environment. */
export type TopupSettingsResult =
  | { readonly ok: true; readonly settings: TopupSettings }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Reads the settings. An empty variable counts as not set.
 *
 * @example
 * ```ts
 * import { readTopupSettings } from "./settings.ts";
 * const read = readTopupSettings({ GATEWAY_VAT_RATES: "2025-07-01=8,2027-01-01=10" });
 * if (!read.ok || read.settings.receivingAccounts.length !== 0) throw new Error("wrong");
 * ```
 */
export function readTopupSettings(environment: Environment): TopupSettingsResult {
  const read = readBySchema(environmentSchema, setVariables(environment));
  if (!read.ok) return { ok: false, problems: problemLines("environment", read.problems) };
  const data = read.value;
  return {
    ok: true,
    settings: {
      receivingAccounts: data.GATEWAY_BANK_ACCOUNTS,
      sepay: {
        ...defined({ hmacSecret: data.SEPAY_WEBHOOK_SECRET, apiKey: data.SEPAY_WEBHOOK_API_KEY }),
      },
      sepayApiToken: data.SEPAY_API_TOKEN,
      cassoWebhookKey: data.CASSO_WEBHOOK_KEY,
      autoCreditMaxMicroVnd: data.GATEWAY_TOPUP_AUTO_MAX_VND,
      approvalAboveMicroVnd: data.GATEWAY_APPROVAL_ABOVE_VND,
      vatRates: data.GATEWAY_VAT_RATES,
      invoiceItemName: data.GATEWAY_INVOICE_ITEM,
    },
  };
}
