/** Error answers of the document, made of the one table of errors. */
import { objectSchema, ref } from "../../core/lib/json/schemas.ts";
import {
  type ErrorCode,
  errorFields,
  errorTable,
  GatewayError,
  wireStatus,
} from "../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { answerHeaders } from "../http/own_headers.ts";
import { everyAnswerHeaders, rateHeaderNames } from "./headers.ts";
import type { AnswerStyle } from "./operation.ts";

/** Errors of every operation that asks for a key. */
export const keyErrors = [
  "invalid_api_key",
  "permission_denied",
  "organisation_blocked",
  "internal_error",
  "service_unavailable",
] as const satisfies readonly ErrorCode[];

/** Errors of the operations that maintenance stops. */
export const callErrors = [
  ...keyErrors,
  "maintenance",
  "busy",
] as const satisfies readonly ErrorCode[];

/** Errors of a request with a body. */
export const bodyErrors = [
  ...callErrors,
  "invalid_request",
  "invalid_json",
  "model_not_found",
  "request_timeout",
  "request_too_large",
  "unsupported_media_type",
] as const satisfies readonly ErrorCode[];

/** Errors of a call that a provider answers and that costs money. */
export const paidErrors = [
  ...bodyErrors,
  "content_policy_violation",
  "insufficient_balance",
  "spending_limit_reached",
  "budget_exceeded",
  "order_under_way",
  "already_answered",
  "idempotency_key_reused",
  "balance_on_hold",
  "rate_limit_reached",
  "rate_limit_exceeded",
  "upstream_unreachable",
  "feature_unavailable",
  "overloaded",
  "upstream_timeout",
] as const satisfies readonly ErrorCode[];

/** Errors of a chat call. */
export const chatErrors = [
  ...paidErrors,
  "conversion_refused",
  "context_length_exceeded",
] as const satisfies readonly ErrorCode[];

/** The schema that each style of errors has. */
const errorSchemas: Readonly<Record<AnswerStyle, string>> = {
  asked: "AnyError",
  messages: "MessagesError",
  chat: "ChatError",
  gemini: "GeminiError",
};

const statusNames: Readonly<Record<number, string>> = {
  400: "Wrong request",
  401: "No valid key",
  402: "Not enough money",
  403: "Not allowed",
  404: "Not found",
  408: "Body too slow",
  409: "Sent before",
  413: "Too large",
  415: "Wrong media type",
  422: "Idempotency key reused",
  429: "Too many requests",
  500: "Defect of the gateway",
  502: "Provider unreachable",
  503: "Not available now",
  504: "No answer in time",
  529: "Provider overloaded",
};

/** Codes that no described operation answers: another method, a WebSocket. */
const elsewhere: readonly ErrorCode[] = ["method_not_allowed", "websocket_unsupported"];

/** Every code of the table that a described operation may answer. */
function describedCodes(): readonly ErrorCode[] {
  return Object.keys(errorTable).filter((code): code is ErrorCode =>
    code in errorTable && !elsewhere.some((other) => other === code)
  );
}

function statusOf(code: ErrorCode, style: AnswerStyle): number {
  return wireStatus(new GatewayError(code, ""), style === "asked" ? "chat" : style);
}

function answerName(style: AnswerStyle, status: number): string {
  return `${errorSchemas[style]}${status}`;
}

/**
 * Refers to the error answers of an operation, by status.
 *
 * @example
 * ```ts
 * import { errorAnswers } from "./error_answers.ts";
 * const answers = errorAnswers(["overloaded", "invalid_api_key"], "chat");
 * if (Object.keys(answers).join() !== "401,503") throw new Error(Object.keys(answers).join());
 * ```
 */
export function errorAnswers(codes: readonly ErrorCode[], style: AnswerStyle): JsonObject {
  const statuses = new Set(codes.map((code) => statusOf(code, style)));
  return Object.fromEntries(
    [...statuses].sort((a, b) => a - b).map((status) => [
      String(status),
      { $ref: `#/components/responses/${answerName(style, status)}` },
    ]),
  );
}

/** Describes every error answer: of each style and status, with all its codes. */
export function errorAnswerComponents(): JsonObject {
  const components: JsonObject = {};
  for (const style of ["messages", "chat", "gemini", "asked"] as const) {
    const byStatus = Map.groupBy(describedCodes(), (code) => statusOf(code, style));
    for (const [status, codes] of byStatus) {
      components[answerName(style, status)] = errorAnswer(status, codes, style);
    }
  }
  return components;
}

function errorAnswer(status: number, codes: readonly ErrorCode[], style: AnswerStyle): JsonObject {
  const mayWait = codes.some((code) => errorTable[code].retry);
  const headers = [
    ...everyAnswerHeaders,
    answerHeaders.shouldRetry,
    ...mayWait ? ["retry-after"] : [],
    ...status === 429 && style !== "asked" ? rateHeaderNames(style) : [],
  ];
  return {
    description: `${statusNames[status] ?? "Error"}: ${
      codes.map((code) => `\`${code}\``).join(", ")
    }`,
    headers: Object.fromEntries(
      headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    content: { "application/json": { schema: ref(errorSchemas[style]) } },
  };
}

/** The schemas of error bodies. */
export const errorBodySchemas: JsonObject = {
  AnyError: {
    description: "An error in the style that the headers ask for.",
    anyOf: [ref("ChatError"), ref("MessagesError"), ref("GeminiError")],
  },
  MessagesError: objectSchema("An error of the Messages style.", errorFields.messages),
  ChatError: objectSchema(
    "An error of the Chat Completions and Responses styles, and of all other paths.",
    errorFields.chat,
  ),
  GeminiError: objectSchema(
    "An error of the Gemini style; the code of the gateway is the reason in details.",
    errorFields.gemini,
  ),
};
