/** Turns what a provider says of a failure into an error of the gateway, by the kind that the table gives it. */
import { type ErrorCode, GatewayError, type GatewayErrorOptions } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { bodyWaitSeconds } from "./body_wait.ts";
import { classify, type Verdict } from "./classify.ts";
import { type ErrorFields, publicMessage, readErrorFields } from "./error_fields.ts";
import { type Consequence, consequences } from "./table/kinds.ts";

/** Properties of a call on which reading a provider's error depends. */
export interface ProviderErrorOptions {
  /** The time of the provider's `retry-after`. */
  readonly retryAfterSeconds?: number;
  /**
   * The client speaks the route's style, so the field that the provider names is a field of the client's request.
   */
  readonly native?: boolean;
}

/** A refusal for the key, the rights or the credit of the operator. Clients read that it is our fault, not why. */
export class OperatorRefusal extends GatewayError {
  /** The status of the provider's answer. */
  readonly providerStatus: number;

  constructor(providerStatus: number, options: Pick<GatewayErrorOptions, "marks"> = {}) {
    const message = "The provider of this model refused the call for reasons on our side";
    super("upstream_unreachable", message, { cause: `status ${providerStatus}`, ...options });
    this.providerStatus = providerStatus;
  }
}

const generic = "The provider could not finish this answer";

/** Texts for the client if the provider sent none that may be shown. */
const ownWords: Partial<Record<ErrorCode, string>> = {
  invalid_request: "The provider of this model refused the request",
  content_policy_violation: "A filter of this model's provider refused the content",
  not_found: "The provider of this model does not have what the request refers to",
  model_not_found: "The provider does not know this model",
  request_too_large: "The request is too large for this model",
  rate_limit_exceeded: "The provider of this model limits the rate of calls",
  overloaded: "The provider of this model is overloaded",
  service_unavailable: "The provider of this model is out of service at the moment",
  upstream_timeout: "The provider of this model did not answer in time",
  upstream_unreachable: "The provider of this model failed",
};

/** Advice to the operator in a rate limit: a customer would take the plan or the balance for his own. */
const accountTalk =
  /\b(?:billing|recharge|balance|payment|trial|tier|upgrade|your (?:current )?(?:plan|quota)|your account)\b/i;

/** Circumstances of a failure besides its body. */
interface Circumstances extends ProviderErrorOptions {
  /** The status of a refusal; absent for an error within a stream or a success. */
  readonly status?: number;
}

/** Makes the error of a body of any shape. */
export function errorOf(body: Json | undefined, circumstances: Circumstances): GatewayError {
  const { status, native = false } = circumstances;
  const fields = readErrorFields(body);
  const verdict = classify(status, fields);
  const consequence: Consequence = consequences[verdict.kind];
  const { code, marks } = consequence;
  // The client named a model that exists: within a stream there is no other route to say so of.
  if (consequence.alarms || (verdict.kind === "model" && status === undefined)) {
    return new OperatorRefusal(status ?? 200, { marks });
  }
  const isCallers = status === undefined || status < 500;
  return new GatewayError(code, wordsFor(consequence, verdict, fields, circumstances), {
    marks,
    ...(status === undefined ? {} : { cause: `status ${status}` }),
    ...(keepsStatus(code, status) ? { status } : {}),
    ...(native && isCallers ? defined({ param: fields.param }) : {}),
    ...(isCallers ? providerCode(code, fields) : {}),
    ...defined({ retry: consequence.retry }),
    ...waitOf(consequence, body, fields, circumstances.retryAfterSeconds),
  });
}

/** A provider's own 4xx for the caller's request is kept. */
function keepsStatus(code: ErrorCode, status: number | undefined): status is number {
  return code === "invalid_request" && status !== undefined && status > 400 && status < 500 &&
    status !== 401 && status !== 402 && status !== 403 && status !== 404 && status !== 429;
}

function wordsFor(
  { code, words }: Consequence,
  verdict: Verdict,
  fields: ErrorFields,
  { native = false, status }: Circumstances,
): string {
  const own = ownWords[code] ?? generic;
  const { lacks } = verdict;
  if (lacks !== undefined) return `This model does not support ${publicMessage(lacks).trim()}`;
  if (words === "window") return windowWords(verdict, fields, native) ?? own;
  if (words === "gateway") {
    return verdict.kind === "beyond_rate"
      ? "The request is larger than what the provider of this model takes within a minute"
      : own;
  }
  if (code === "rate_limit_exceeded" && accountTalk.test(fields.said)) return own;
  const silent = status === undefined && verdict.kind === "broken" ? generic : own;
  return fields.message || silent;
}

/** The words by which agents shorten their conversation, or lower their limit on output. */
function windowWords(
  { kind, counts }: Verdict,
  { message }: ErrorFields,
  native: boolean,
): string | undefined {
  if (kind === "cap") {
    // The provider's own words for clients of its style, which may know them.
    if (counts?.cap === undefined || native) return message || undefined;
    return `input length and \`max_tokens\` exceed context limit: ${counts.used} + ${counts.cap} > ` +
      `${counts.most}, decrease input length or \`max_tokens\` and try again`;
  }
  if (counts !== undefined) {
    return `prompt is too long: ${counts.used} tokens > ${counts.most} maximum`;
  }
  const isWorded = /^(?:the |your )?prompt is too long/i.test(message);
  return message === "" || isWorded
    ? message || "prompt is too long"
    : `prompt is too long: ${message}`;
}

/**
 * Turns an error within a stream, or within a success, into a `GatewayError`. `body` is the whole JSON of the event or of
 * the answer.
 *
 * The message is passed on only from the provider's own error field, without what identifies the operator; errors of the
 * operator's own account become `upstream_unreachable` with a generic text. A prompt that is too long gets the one text
 * that agents recognize, in whole answers and in streams.
 *
 * @example
 * ```ts
 * import { readProviderError } from "./provider_error.ts";
 * const error = readProviderError({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
 * if (error.code !== "overloaded" || error.message !== "Overloaded") throw new Error("wrong");
 * ```
 */
export function readProviderError(body: Json | undefined): GatewayError {
  return errorOf(body, {});
}

/** Codes for which a caller may wait. */
const waitHelps: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "rate_limit_exceeded",
  "overloaded",
  "service_unavailable",
]);

/**
 * The time to wait, as an object to spread: what the body tells, unless a header told it.
 *
 * @param headerSeconds the time of `retry-after`
 */
function waitOf(
  { code, retry }: Consequence,
  body: Json | undefined,
  { said }: ErrorFields,
  headerSeconds: number | undefined,
): { readonly retryAfterSeconds?: number } {
  if (!waitHelps.has(code) || retry === false) return {};
  return defined({ retryAfterSeconds: headerSeconds ?? bodyWaitSeconds(body, said) });
}

/**
 * The error of a body with a success status that holds no answer of its style. Only a code shows that waiting, or another
 * request, would help.
 */
export function readNoAnswer(body: JsonObject): GatewayError {
  const said = readProviderError(body);
  if (said.code !== "upstream_unreachable" || said instanceof OperatorRefusal) return said;
  return new GatewayError("upstream_unreachable", "The provider of this model sent no answer");
}

/** Most characters of a provider's code that are passed on. */
const codeChars = 64;

/**
 * Returns the provider's code if it is more specific than the gateway's, as an object to spread. Chat and Responses
 * clients read the codes of one vendor; a code is a word, never a sentence or a number.
 */
function providerCode(
  code: ErrorCode,
  { code: word }: ErrorFields,
): { readonly providerCode?: string } {
  if (code !== "invalid_request" || word.length > codeChars) return {};
  return /^[a-z][a-z0-9_]*$/.test(word) ? { providerCode: word } : {};
}
