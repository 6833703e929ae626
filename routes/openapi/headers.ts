/** Headers of answers, and of requests, in the document. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import type { ErrorStyle } from "../../core/lib/errors/errors.ts";
import { maxTags, tagsPattern } from "../../core/billing/usage/call_tags.ts";
import { answerHeaders, rateHeaders, requestHeaders } from "../http/own_headers.ts";
import { inHeader, oneOf, type Parameter } from "./operation.ts";

const text = (description: string, schema: JsonObject = { type: "string" }): JsonObject => ({
  description,
  schema,
});

const digits: JsonObject = { type: "string", pattern: "^\\d+$" };
const amount: JsonObject = { type: "string", pattern: "^\\d+(\\.\\d+)?$" };

/** The headers of rate limits, in the form of each style. */
function rateComponents(): JsonObject {
  const { messages, others } = rateHeaders;
  const components: JsonObject = {};
  for (const counted of ["requests", "tokens"] as const) {
    const unit = counted === "requests" ? "Calls" : "Tokens";
    for (const names of [messages[counted], others[counted]]) {
      components[names.limit] = text(
        `${unit} per minute that the strictest rate limit allows.`,
        digits,
      );
      components[names.remaining] = text(`${unit} that are left of it.`, digits);
    }
    components[messages[counted].reset] = text(`When all of them are there again.`, {
      type: "string",
      format: "date-time",
    });
    components[others[counted].reset] = text("The time until all of them are there again.", {
      type: "string",
      pattern: "^(\\d+ms|(\\d+m)?\\d+(\\.\\d+)?s)$",
    });
  }
  return components;
}

/** The headers of rate limits in the style of an answer. */
export function rateHeaderNames(style: ErrorStyle): readonly string[] {
  const names = style === "messages" ? rateHeaders.messages : rateHeaders.others;
  return [...Object.values(names.requests), ...Object.values(names.tokens)];
}

/** Every header that an answer may have, by name. */
export const headerComponents: JsonObject = {
  [answerHeaders.requestId]: text(
    "Id of the request, and of its receipt; name it when you write to the support.",
  ),
  [answerHeaders.messagesRequestId]: text("The same, under the name that Messages SDKs read."),
  "retry-after": text("Seconds to wait before the next try.", digits),
  [answerHeaders.shouldRetry]: text("Whether a retry can help.", {
    type: "string",
    enum: ["true", "false"],
  }),
  [answerHeaders.replayed]: text("`true` if an earlier request with this idempotency key got it."),
  [answerHeaders.model]: text("Id of the model that answered."),
  [answerHeaders.mappedFrom]: text("The name that was sent, where no model has it."),
  [answerHeaders.conversion]: text("Fields of the request that the model could not carry."),
  [answerHeaders.outputLimit]: text(
    "A lower limit of output than the request's, because no more is paid for, and why: `tokens=5947; reason=balance`, `key_limit` or `budget`.",
  ),
  [answerHeaders.estimate]: text("`true` where the gateway has counted tokens itself."),
  [answerHeaders.inputTokens]: text("Tokens of the prompt that were billed.", digits),
  [answerHeaders.outputTokens]: text("Tokens of the answer.", digits),
  [answerHeaders.costVnd]: text("What the call cost, in VND; exact.", amount),
  [answerHeaders.priceVndPerMtok]: text(
    "VND for a million input tokens, where the model is priced by tokens.",
    amount,
  ),
  [answerHeaders.priceVndPerRequest]: text("VND for a unit of any other price.", amount),
  [answerHeaders.priceVndPerSecond]: text(
    "VND for a second of sound, where the model is priced by time.",
    amount,
  ),
  ...rateComponents(),
};

/** Headers that every answer has, errors included. */
export const everyAnswerHeaders: readonly string[] = [
  answerHeaders.requestId,
  answerHeaders.messagesRequestId,
];

/** Headers of an answer whose cost is known. */
export const costHeaderNames: readonly string[] = [
  answerHeaders.model,
  answerHeaders.costVnd,
  answerHeaders.priceVndPerMtok,
  answerHeaders.priceVndPerRequest,
  answerHeaders.priceVndPerSecond,
  answerHeaders.inputTokens,
  answerHeaders.outputTokens,
  answerHeaders.mappedFrom,
  answerHeaders.conversion,
  answerHeaders.outputLimit,
  answerHeaders.replayed,
];

/** Headers that every paid call takes. */
export const callParameters: readonly Parameter[] = [
  inHeader(
    requestHeaders.idempotencyKey,
    "Repeat a request with the same key within 24 hours, and it is charged once.",
    { schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" } },
  ),
  inHeader(
    requestHeaders.tags,
    `At most ${maxTags} tags, which the receipt keeps and sums of usage can be by.`,
    { schema: { type: "string", pattern: tagsPattern }, example: "team=search,env=prod" },
  ),
];

/** The header with preferences of the route. */
export const routeParameter = inHeader(
  requestHeaders.route,
  "Other models to try, and which providers may serve the call: what `models` and `provider` of the body say.",
  { example: "models=general-01; sort=latency; max_price.prompt=9000" },
);

/** The header with which a request asks for its cost in the answer. */
export const costParameter = inHeader(
  requestHeaders.cost,
  "`true`: the usage in the answer has `cost` and its parts, in VND. " +
    '`"usage": {"include": true}` in the body asks for the same.',
  { schema: oneOf(["true", "false"]) },
);

/** The header with which a request refuses conversions that lose a field. */
export const strictParameter = inHeader(
  requestHeaders.strict,
  "`true`: a request with fields that the model cannot carry is a 400 that names them.",
  { schema: oneOf(["true", "false"]) },
);
