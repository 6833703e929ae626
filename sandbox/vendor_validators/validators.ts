/**
 * Validates requests by the rules of the real vendors. The sandbox provider in strict mode refuses requests with it, and
 * the conformance tests check every conversion with it. It is stricter than the gateway is with its own clients, and not
 * on a hot path.
 *
 * Rules of single models (fixed sampling, no prefill) are route capabilities and not part of it.
 *
 * - Folder `sandbox/vendor_validators/`: rules of the real vendors for requests.
 * - In: a parsed request, its style, and the betas it names.
 * - Out: the refusal that the vendor would send, or `undefined`.
 * - Never: changes the request that it validates, or imports the sandbox provider.
 */
import type { z } from "zod";
import { isJsonObject, type Json } from "../../core/lib/json/json.ts";
import type { ProviderStyle } from "../../core/wire/contract/contract.ts";
import { chatChecks } from "./openai/chat_order.ts";
import { chatRequest } from "./openai/chat_schema.ts";
import { converseChecks } from "./bedrock/converse_order.ts";
import { converseRequest } from "./bedrock/converse_schema.ts";
import { geminiChecks } from "./google/gemini_order.ts";
import { geminiRequest } from "./google/gemini_schema.ts";
import { messagesChecks } from "./anthropic/messages_order.ts";
import { messagesRequest } from "./anthropic/messages_schema.ts";
import { firstProblem, type PathStyle } from "./base/problem.ts";
import { responsesChecks } from "./openai/responses_order.ts";
import { responsesRequest } from "./openai/responses_schema.ts";

function validate<Schema extends z.ZodType>(
  schema: Schema,
  checks: readonly ((request: z.infer<Schema>) => string | undefined)[],
  pathStyle: PathStyle,
  body: Json,
): string | undefined {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return firstProblem(parsed.error, pathStyle);
  for (const check of checks) {
    const refusal = check(parsed.data);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Messages fields that the vendor accepts only with a value of `anthropic-beta`, by the beginning of that value. */
const betaFields: ReadonlyMap<string, string> = new Map([
  ["context_management", "context-management-"],
]);

function lockedField(body: Json, betas: readonly string[]): string | undefined {
  if (!isJsonObject(body)) return undefined;
  for (const [field, beta] of betaFields) {
    const isLocked = body[field] !== undefined && !betas.some((value) => value.startsWith(beta));
    if (isLocked) return `${field}: Extra inputs are not permitted`;
  }
  return undefined;
}

/**
 * Validates a request as the real vendor of the style would. Returns the vendor's refusal, which names the field, or
 * `undefined` if the request is valid.
 *
 * @param betas the values of the request's `anthropic-beta`
 *
 * @example
 * ```ts
 * import { validateRequest } from "./validators.ts";
 * const refusal = validateRequest("chat", {
 *   model: "m",
 *   messages: [{ role: "tool", tool_call_id: "call_1", content: "5" }],
 * });
 * if (!refusal?.includes("must be a response to a preceeding message")) throw new Error(refusal);
 * ```
 */
export function validateRequest(
  style: ProviderStyle,
  body: Json,
  betas: readonly string[] = [],
): string | undefined {
  switch (style) {
    case "messages":
      return validate(messagesRequest, messagesChecks, "dots", body) ?? lockedField(body, betas);
    case "chat":
      return validate(chatRequest, chatChecks, "brackets", body);
    case "responses":
      return validate(responsesRequest, responsesChecks, "brackets", body);
    case "gemini":
      return validate(geminiRequest, geminiChecks, "brackets", body);
    case "converse":
      return validate(converseRequest, converseChecks, "dots", body);
  }
}
