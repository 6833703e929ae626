/**
 * Errors between the operator and the provider: the operator's key, balance or permission. The caller can neither cause
 * nor correct them.
 *
 * Codes and types decide. Of texts, only the beginnings that vendors write without a code count: texts quote what the
 * client sent, such as the name of a tool.
 */
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import type { ErrorFields } from "./error_fields.ts";

/** Codes and types in lower case, by the vendors that send them. */
const codes: ReadonlySet<string> = new Set([
  // Anthropic
  "authentication_error",
  "permission_error",
  "billing_error",
  "enforced_spend_limit_reached",
  // OpenAI
  "insufficient_quota",
  "credit_balance_exhausted",
  "invalid_api_key",
  "account_deactivated",
  "billing_not_active",
  "billing_hard_limit_reached",
  "unsupported_country_region_territory",
  // DeepSeek, Moonshot
  "insufficient_balance",
  "exceeded_current_quota_error",
  "invalid_authentication_error",
  "permission_denied_error",
  "incorrect_api_key_error",
  // Z.AI: the balance is used up
  "1113",
  // Alibaba, Volcengine
  "arrearage",
  "accountoverdueerror",
  "invalidapikey",
  // Google: reasons of ErrorInfo
  "api_key_invalid",
  "api_key_expired",
  "api_key_service_blocked",
  "billing_disabled",
  "consumer_suspended",
  "consumer_invalid",
  "service_disabled",
]);

/** Beginnings of texts that come without a code of their own. */
const beginnings: readonly RegExp[] = [
  // Anthropic
  /^Your credit balance is too low to access the /,
  /^You have reached your specified (?:API |workspace API )?usage limits/,
  /^This organization has been disabled/,
  // Google, which answers 400
  /^API key (?:not valid|expired)\./,
  // OpenAI and servers that copy its texts
  /^Incorrect API key provided/,
  /^Your account (?:\S{1,80} )?(?:<\S{1,80}> )?is (?:suspended|not active|disabled)/,
  /^Insufficient Balance$/i,
];

/** Whether an error is between operator and provider, by its code, its type, its reasons or a text of a known vendor. */
export function concernsAccount(fields: ErrorFields, body: Json | undefined): boolean {
  if (codes.has(fields.code) || codes.has(fields.type)) return true;
  return reasonsOf(body).some((reason) => codes.has(reason)) ||
    beginnings.some((beginning) => beginning.test(fields.message));
}

/** The reasons of Google's `ErrorInfo`, and the code that Anthropic puts into `details`. */
function reasonsOf(body: Json | undefined): string[] {
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : body;
  const details = isJsonObject(error) ? error["details"] : undefined;
  return (Array.isArray(details) ? details : [details]).flatMap((detail) =>
    isJsonObject(detail)
      ? [detail["reason"], detail["error_code"]].filter((reason) => typeof reason === "string")
        .map((reason) => reason.toLowerCase())
      : []
  );
}
