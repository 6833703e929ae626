import { type ErrorCode, GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { concernsAccount } from "./account_errors.ts";
import { bodyWaitSeconds } from "./body_wait.ts";
import { type ErrorFields, readErrorFields } from "./error_fields.ts";

// Requests beyond a model's context window: how providers report them, and the wording that clients get.
//
// Agent clients compact their conversation when they read `prompt is too long: N tokens > M maximum`, and some compute
// from N and M how much to cut. They lower `max_tokens` when they read that input and `max_tokens` together exceed the
// limit. Errors quote what the client sent, so that only what a text begins with, in a wording of a known vendor, tells
// which of the two it is.

/** A count of tokens as providers write it, at most 12 digits. */
const count = String.raw`\d[\d,]{0,14}`;
const used = `(?<used>${count})`;
const cap = `(?<cap>${count})`;
const most = `(?<most>${count})`;

/** What libraries and vendors write before their texts: `litellm.BadRequestError: OpenAIException - `, `<400> …: `. */
const lead =
  /^(?:<\d{3}>\s*)?(?:[A-Za-z_][\w.]*(?:Error|Exception|InvalidParameter)\w*\s*(?::|-)\s*|Invalid request: |Request [\w-]{1,64}: |Input validation error: |invalid params, |The model returned the following errors: )*/;

/** Begins a pattern at the beginning of a text. */
const begins = (form: string) => new RegExp(`^(?:the |your )?${form}`, "i");

/** Wordings with both numbers, each with a vendor or server that uses it. */
const promptForms: readonly RegExp[] = [
  // Anthropic, also behind other hosts.
  `prompt is too long: ${used} tokens > ${most} maximum`,
  // OpenAI, Azure, DeepSeek, vLLM, OpenRouter.
  `(?:this (?:model|endpoint)'s |model's )?maximum context length (?:is|of) ${most} tokens.{0,60}?(?:resulted in|requested(?: about| a total of)?) ${used} tokens`,
  `(?:input tokens )?exceed the configured limit of ${most} tokens.{0,40}?resulted in ${used} tokens`,
  // vLLM.
  `You passed ${used} input tokens.{0,200}?maximum input length of ${most} tokens`,
  `(?:decoder )?prompt \\(length ${used}\\) is longer than the maximum model length of ${most}`,
  // SGLang.
  `requested token count exceeds the model's maximum context length of ${most} tokens\\. You requested a total of ${used} tokens`,
  `input \\(${used} tokens\\) is longer than the model's context length \\(${most} tokens\\)`,
  // Gemini.
  `input token count \\(${used}\\) exceeds the maximum number of tokens allowed \\(${most}\\)`,
  `unable to submit request because the input token count is ${used} but model only supports up to ${most}`,
  // Mistral.
  `prompt contains ${used} tokens.{0,60}?too large for model with ${most} maximum context length`,
  // xAI.
  `(?:this model's )?maximum prompt length is ${most} but the request contains ${used} tokens`,
  // Fireworks.
  `prompt is too long: ${used}, model maximum context length: ${most}`,
  // Cerebras.
  `please reduce the length of the messages or completion\\. Current length is ${used} while limit is ${most}`,
  // GitHub Copilot.
  `prompt token count of ${used} exceeds the limit of ${most}`,
  // Moonshot.
  `request exceeded model token limit: ${most} \\(requested: ${used}\\)`,
  // llama.cpp.
  `request \\(${used} tokens\\) exceeds the available context size \\(${most} tokens\\)`,
  // Text Generation Inference, Together.
  `\`inputs\` must have less than ${most} tokens\\. Given: ${used}`,
].map(begins);

/**
 * Wordings that tell the prompt from the cap on output, whose sum is beyond the window. The prompt alone may fit.
 */
const sumForms: readonly RegExp[] = [
  // OpenAI, DeepSeek, vLLM, OpenRouter.
  `(?:this (?:model|endpoint)'s )?maximum context length is ${most} tokens.{0,120}?\\(${used} (?:in the messages|of text input|in your prompt)[^)]{0,120}?${cap} (?:in|for) the (?:completion|output)\\)`,
  // SGLang.
  `requested token count exceeds the model's maximum context length of ${most} tokens.{0,60}?${used} tokens from the input messages and ${cap} tokens for the completion`,
  // vLLM.
  `(?:['"\`]?max_tokens['"\`]? or )?['"\`]?max_(?:completion_)?tokens['"\`]? is too large: ${cap}\\. This model's maximum context length is ${most} tokens and your request has ${used} input tokens`,
  `You passed ${used} input tokens and requested ${cap} output tokens.{0,60}?context length is only ${most} tokens`,
  // Text Generation Inference.
  `\`inputs\` tokens \\+ \`max_new_tokens\` must be <= ${most}\\. Given: ${used} \`inputs\` tokens and ${cap}`,
  // Anthropic.
  `input length and \`max_tokens\` exceed context limit: ${used} \\+ ${cap} > ${most}`,
].map(begins);

/** The same without numbers, where the cap is the fault. */
const capWords = begins(
  String
    .raw`(?:['"\x60]?max_tokens['"\x60]? or )?['"\x60]?max_(?:completion_|output_)?tokens['"\x60]?:? `,
);

/** Wordings without both numbers. */
const promptWords = begins(
  `(?:prompt is too long|prompt exceeds max length|input is too long|input exceeds the context window|` +
    `context (?:window|length) exceed|(?:this (?:model|endpoint)'s )?maximum (?:context|prompt) length|` +
    `range of input length should be|input token count|input tokens exceed|too many input tokens|` +
    `request \\(?${count} tokens\\)? exceeds|requested token count exceeds|exceeded model token limit|` +
    `please reduce the length of the messages)`,
);

/** What a text says of a request beyond the window. */
export type WindowExcess =
  /** The prompt alone is too long, in the one wording that clients get. */
  | { readonly kind: "prompt"; readonly text: string }
  /** The prompt fits, but not together with the cap on output. */
  | { readonly kind: "cap"; readonly text: string };

/**
 * Reads the text of a request beyond the window. Without numbers of a known wording the provider's text follows unchanged.
 *
 * @param isCoded whether the error's code says so already, so that any text is one of a window
 *
 * @example
 * ```ts
 * import { readWindowExcess } from "./provider_error.ts";
 * const long = "This model's maximum prompt length is 131072 but the request contains 140000 tokens.";
 * if (readWindowExcess(long, false)?.text !== "prompt is too long: 140000 tokens > 131072 maximum") throw new Error();
 * const quoted = "Invalid schema for 'x': missing 'context length'";
 * if (readWindowExcess(quoted, false) !== undefined) throw new Error("a quoted name decided");
 * ```
 */
export function readWindowExcess(message: string, isCoded: boolean): WindowExcess | undefined {
  const text = message.replace(lead, "");
  for (const form of sumForms) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const [prompt, output, window] = [groups["used"], groups["cap"], groups["most"]].map(countOf);
    if (prompt === undefined || output === undefined || window === undefined) continue;
    return prompt > window ? tooLong(prompt, window) : {
      kind: "cap",
      text: `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ` +
        `${window}, decrease input length or \`max_tokens\` and try again`,
    };
  }
  for (const form of promptForms) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const [prompt, window] = [groups["used"], groups["most"]].map(countOf);
    if (prompt !== undefined && window !== undefined && prompt > window) {
      return tooLong(prompt, window);
    }
  }
  if (capWords.test(text)) return undefined;
  if (!isCoded && !promptWords.test(text)) return undefined;
  const isWorded = /^(?:the |your )?prompt is too long/i.test(message);
  return { kind: "prompt", text: isWorded ? message : `prompt is too long: ${message}` };
}

function tooLong(prompt: number, window: number): WindowExcess {
  return { kind: "prompt", text: `prompt is too long: ${prompt} tokens > ${window} maximum` };
}

function countOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits.replaceAll(",", ""));
}

/** Providers' names of errors (`code`, `type` or HTTP status), by the gateway's code. */
const words: readonly (readonly [ErrorCode, readonly string[]])[] = [
  ["overloaded", [
    "overloaded_error",
    "overloaded",
    "server_is_overloaded",
    "over_capacity",
    "engine_overloaded_error",
    "529",
  ]],
  ["service_unavailable", ["service_unavailable_error", "service_unavailable", "503"]],
  ["rate_limit_exceeded", [
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit_reached_error",
    "too_many_requests",
    "resource_exhausted",
    "slow_down",
    "requests",
    "tokens",
    "429",
  ]],
  ["upstream_timeout", ["timeout_error", "timeout", "request_timeout", "408", "504"]],
  ["context_length_exceeded", [
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "1261",
  ]],
  ["content_policy_violation", [
    "content_policy_violation",
    "content_filter",
    "content_filtered",
    "moderation_blocked",
  ]],
  ["request_too_large", ["request_too_large", "413"]],
  ["invalid_request", [
    "invalid_request_error",
    "invalid_request",
    "invalid_prompt",
    "bad_request",
    "400",
    "422",
  ]],
];

const codeOfWord: ReadonlyMap<string, ErrorCode> = new Map(
  words.flatMap(([code, names]) => names.map((name) => [name, code] as const)),
);

/** Codes, types and statuses of errors that the caller cannot correct, without details for him. */
const privateWords: ReadonlySet<string> = new Set([
  "not_found_error",
  "model_not_found",
  "401",
  "402",
  "403",
  "404",
]);

const generic = "The provider could not finish this answer";

/** Texts for the client if the provider sent none that may be shown. */
export const ownWords: Partial<Record<ErrorCode, string>> = {
  invalid_request: "The provider of this model refused the request",
  not_found: "The provider of this model does not have what the request refers to",
  model_not_found: "The provider does not know this model",
  request_too_large: "The request is too large for this model",
  rate_limit_exceeded: "The provider of this model limits the rate of calls",
  overloaded: "The provider of this model is overloaded",
  service_unavailable: "The provider of this model is out of service at the moment",
  upstream_timeout: "The provider of this model did not answer in time",
  upstream_unreachable: "The provider of this model failed",
};

/**
 * Turns a provider's error of any shape into a `GatewayError`. `body` is the whole JSON of an error answer or of an error
 * event; known shapes are a nested `error`, flat members, `detail` (a text, or a list of faults from validating servers),
 * and text.
 *
 * The message is passed on only from the provider's own error field and without addresses or keys; errors of the
 * operator's own account (its key, its quota) become `upstream_unreachable` with a generic text. A prompt that is too
 * long gets the one text that agents recognize, in whole answers and in streams.
 *
 * @example
 * ```ts
 * import { readProviderError } from "./provider_error.ts";
 * const error = readProviderError({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
 * if (error.code !== "overloaded" || error.message !== "Overloaded") throw new Error("wrong");
 * ```
 */
export function readProviderError(body: Json | undefined): GatewayError {
  const fields = readErrorFields(body);
  if (concernsAccount(fields, body)) return new GatewayError("upstream_unreachable", generic);
  for (const name of [fields.code, fields.type]) {
    if (privateWords.has(name)) return new GatewayError("upstream_unreachable", generic);
    const code = codeOfWord.get(name);
    if (code === undefined) continue;
    const message = fields.message || (ownWords[code] ?? generic);
    const isCoded = code === "context_length_exceeded";
    const excess = isCoded || code === "invalid_request"
      ? windowError(message, isCoded)
      : undefined;
    return excess ?? new GatewayError(isCoded ? "invalid_request" : code, message, {
      ...providerCode(code, fields),
      ...waitOf(code, body, fields),
    });
  }
  return windowError(fields.message, false) ??
    new GatewayError("upstream_unreachable", fields.message || generic);
}

/** The error of a request beyond the context window, if its code or its text reports one. */
export function windowError(message: string, isCoded: boolean): GatewayError | undefined {
  const excess = readWindowExcess(message, isCoded);
  if (excess === undefined) return undefined;
  const code = excess.kind === "prompt" ? "context_length_exceeded" : "invalid_request";
  return new GatewayError(code, excess.text);
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
export function waitOf(
  code: ErrorCode,
  body: Json | undefined,
  { message }: ErrorFields,
  headerSeconds?: number,
): { readonly retryAfterSeconds?: number } {
  if (!waitHelps.has(code)) return {};
  return defined({ retryAfterSeconds: headerSeconds ?? bodyWaitSeconds(body, message) });
}

/**
 * The error of a body with a success status that holds no answer of its style. Only a code shows that waiting, or another
 * request, would help.
 */
export function readNoAnswer(body: JsonObject): GatewayError {
  const said = readProviderError(body);
  return said.code === "upstream_unreachable"
    ? new GatewayError("upstream_unreachable", "The provider of this model sent no answer")
    : said;
}

/** Most characters of a provider's code that are passed on. */
const codeChars = 64;

/**
 * Returns the provider's code if it is more specific than the gateway's, as an object to spread. Chat and Responses
 * clients read the codes of one vendor; a code is a word, never a sentence or a number.
 */
export function providerCode(
  code: ErrorCode,
  { code: word }: ErrorFields,
): { readonly providerCode?: string } {
  if (code !== "invalid_request" || word.length > codeChars) return {};
  return /^[a-z][a-z0-9_]*$/.test(word) ? { providerCode: word } : {};
}
