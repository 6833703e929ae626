/**
 * Every error that a client can receive, in one table (docs/api.md#errors).
 *
 * `type` is the same in every style; Chat-style clients also read `code` and `param`,
 * Messages-style clients `request_id`. {@linkcode errorBody} is the only place that turns an error
 * into wire form.
 *
 * - Folder `core/lib/errors/`: errors of the gateway: their table, their wire form, and the bounds within which JSON
 *   is parsed.
 * - In: codes and causes of failures from every layer; JSON as it is scanned.
 * - Out: `GatewayError` values, and error bodies in each wire style.
 * - Never: writes the cause of a failure into the body of an error.
 */
import { fieldsJson } from "../json/fields.ts";
import type { JsonObject } from "../json/json.ts";
import {
  always,
  constant,
  type DescribedField,
  listOf,
  maybeText,
  objectSchema,
  optional,
  text,
} from "../json/schemas.ts";
import { defined } from "../base/defined.ts";

interface MessagesDetails {
  readonly error_code: string;
}

interface ErrorRow {
  readonly status: number;
  readonly type: string;
  /** The value of `x-should-retry`, which SDKs follow before they look at the status. */
  readonly retry: boolean;
  /** `error.details` of the Messages style, which its SDKs evaluate. */
  readonly messagesDetails?: MessagesDetails;
  /**
   * `error.code` of a failed Responses answer. Absent: `server_error`, after which agents repeat
   * the request.
   */
  readonly responsesCode?: string;
  /** `retry-after` of an error that may be repeated, unless whoever throws it knows better. */
  readonly retryAfterSeconds?: number;
}

/** The table of docs/api.md#errors has the same rows; a test compares them. */
export const errorTable = {
  invalid_request: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    responsesCode: "invalid_prompt",
  },
  invalid_json: { status: 400, type: "invalid_request_error", retry: false },
  /** `x-gateway-strict: true` and a field that the target style cannot carry. */
  conversion_refused: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    responsesCode: "invalid_prompt",
  },
  /** An MCP server of the request gave no list of its tools, or the model failed after tools had run. */
  mcp_server_failed: {
    status: 424,
    type: "invalid_request_error",
    retry: false,
    responsesCode: "invalid_prompt",
  },
  /**
   * State that a provider would keep. The Messages SDKs know this error and then send the whole
   * conversation.
   */
  thread_unsupported: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    messagesDetails: { error_code: "thread_unsupported_request" },
  },
  /** A turn that is not kept here (any more): the client sends the whole conversation. */
  previous_response_not_found: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    responsesCode: "invalid_prompt",
  },
  context_length_exceeded: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    responsesCode: "context_length_exceeded",
  },
  content_policy_violation: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    responsesCode: "invalid_prompt",
  },
  unsupported_media_type: { status: 415, type: "invalid_request_error", retry: false },
  invalid_api_key: { status: 401, type: "authentication_error", retry: false },
  insufficient_balance: {
    status: 402,
    type: "insufficient_balance",
    retry: false,
    responsesCode: "insufficient_quota",
  },
  /**
   * The balance suffices, but calls in flight have reserved it: the same call works when they end.
   */
  balance_on_hold: { status: 429, type: "rate_limit_error", retry: true },
  /** The limit that the owner set on this key. */
  spending_limit_reached: {
    status: 402,
    type: "insufficient_balance",
    retry: false,
    responsesCode: "insufficient_quota",
  },
  /** A budget of the organisation that refuses calls. */
  budget_exceeded: {
    status: 402,
    type: "insufficient_balance",
    retry: false,
    responsesCode: "insufficient_quota",
  },
  permission_denied: { status: 403, type: "permission_error", retry: false },
  /** An operator has blocked the organisation of the key. */
  organisation_blocked: { status: 403, type: "permission_error", retry: false },
  not_found: { status: 404, type: "not_found_error", retry: false },
  model_not_found: { status: 404, type: "not_found_error", retry: false },
  method_not_allowed: { status: 405, type: "invalid_request_error", retry: false },
  /**
   * A WebSocket was requested. Agents that support both take this status as the advice to use HTTP.
   */
  websocket_unsupported: { status: 426, type: "invalid_request_error", retry: false },
  request_timeout: { status: 408, type: "invalid_request_error", retry: false },
  /** The same `Idempotency-Key` as a request that has not ended. */
  order_under_way: { status: 409, type: "invalid_request_error", retry: true },
  /**
   * The same `Idempotency-Key` as a request that was answered and charged, and whose answer is no
   * longer kept.
   */
  already_answered: { status: 409, type: "invalid_request_error", retry: false },
  request_too_large: {
    status: 413,
    type: "request_too_large",
    retry: false,
    responsesCode: "invalid_prompt",
  },
  /** The same `Idempotency-Key` for two different requests. */
  idempotency_key_reused: { status: 422, type: "invalid_request_error", retry: false },
  rate_limit_exceeded: {
    status: 429,
    type: "rate_limit_error",
    retry: true,
    responsesCode: "rate_limit_exceeded",
  },
  /** A rate limit of the gateway, which binds the caller's account or key, or the model. */
  rate_limit_reached: {
    status: 429,
    type: "rate_limit_error",
    retry: true,
    responsesCode: "rate_limit_exceeded",
  },
  internal_error: { status: 500, type: "api_error", retry: true },
  upstream_unreachable: { status: 502, type: "api_error", retry: true },
  /** Maintenance, or a store that is away: a server takes two seconds to restart. */
  maintenance: {
    status: 503,
    type: "service_unavailable",
    retry: true,
    retryAfterSeconds: 2,
  },
  /** The memory for large bodies is full, or no connection can be opened. */
  busy: { status: 503, type: "service_unavailable", retry: true },
  /** The routes with the requested feature are out of service; others of the model are not. */
  feature_unavailable: { status: 503, type: "service_unavailable", retry: true },
  /** The provider's own 503. */
  service_unavailable: { status: 503, type: "service_unavailable", retry: true },
  overloaded: { status: 529, type: "overloaded_error", retry: true },
  upstream_timeout: { status: 504, type: "timeout_error", retry: true },
} as const satisfies Record<string, ErrorRow>;

/** A code of the table of errors. */
export type ErrorCode = keyof typeof errorTable;

/**
 * The figures of a refusal, of which pages make a sentence in the reader's language. Clients get the sentence of the
 * message; no wire form has them.
 */
export type RefusalFigures =
  | {
    readonly kind: "balance";
    readonly neededMicroVnd: bigint;
    readonly availableMicroVnd: bigint;
    readonly heldMicroVnd: bigint;
  }
  | {
    readonly kind: "spending_limit";
    /** Name of the limit in the table of limits. */
    readonly limitName: string;
    readonly limitMicroVnd: bigint;
    /** Spent, or held by calls in flight. */
    readonly usedMicroVnd: bigint;
    readonly neededMicroVnd: bigint;
  }
  | {
    readonly kind: "budget";
    /** Absent in rows of earlier versions. */
    readonly id?: string;
    readonly name: string;
    readonly limitMicroVnd: bigint;
    /** Spent, or held by calls in flight. */
    readonly usedMicroVnd: bigint;
    readonly neededMicroVnd: bigint;
    /** End of its window; absent: never. */
    readonly resetsAtMs?: number;
  }
  | {
    readonly kind: "rate_limit";
    readonly limitName: string;
    readonly limit: number;
    /** Absent: the call needs more than the limit, whenever it is sent. */
    readonly retryAfterSeconds?: number;
  };

/**
 * Part of a route that rests after its error. Only what is about the route may mark it: one caller could take it from
 * all others.
 *
 * - `nothing`: the request itself may have caused it.
 * - `ability`: the same, and another route is tried although the code is one of the caller: the route lacks what the
 *   request asks for.
 * - `several`: a refusal that a request may have caused: the route rests once several customers met it.
 * - `rate`: the customer rests first, and the key.
 * - `credential`: the key, and the route.
 */
export type Mark = "nothing" | "ability" | "several" | "rate" | "route" | "credential";

/** Facts that an error carries besides its code and message. */
export interface GatewayErrorOptions extends ErrorOptions {
  /** The request field at fault, e.g. `messages.0.content`. */
  readonly param?: string;
  /**
   * The provider's own error code (`unsupported_value`, `invalid_image_url`), for clients that read
   * codes.
   */
  readonly providerCode?: string;
  /** The value of `retry-after`. */
  readonly retryAfterSeconds?: number;
  /** Overrides the table where a provider's own status must be kept (its 4xx on the caller's request). */
  readonly status?: number;
  /** Set to `false` once anything was charged: a retry by the SDK would be a second charge. */
  readonly retry?: boolean;
  /** Members of the provider's error object, free of secrets, where the caller speaks the provider's style. */
  readonly vendorMembers?: JsonObject;
  /** Part that rests after it; `route` if absent. */
  readonly marks?: Mark;
  /** For pages. */
  readonly figures?: RefusalFigures;
}

/**
 * The one typed error. Its message is sent to the client unchanged, so it must name no secret, host
 * or upstream body.
 *
 * @example
 * ```ts
 * import { GatewayError } from "./errors.ts";
 * const error = new GatewayError("invalid_request", "max_tokens: must be a positive integer", { param: "max_tokens" });
 * if (error.status !== 400) throw new Error("wrong status");
 * ```
 */
export class GatewayError extends Error {
  override name = "GatewayError";
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly providerCode: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly status: number;
  readonly retry: boolean;
  readonly vendorMembers: JsonObject | undefined;
  readonly marks: Mark;
  readonly figures: RefusalFigures | undefined;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options);
    const row: ErrorRow = errorTable[code];
    this.code = code;
    this.param = options.param;
    this.providerCode = options.providerCode;
    this.status = options.status ?? row.status;
    this.retry = options.retry ?? row.retry;
    this.retryAfterSeconds = options.retryAfterSeconds ??
      (this.retry ? row.retryAfterSeconds : undefined);
    this.vendorMembers = options.vendorMembers;
    this.marks = options.marks ?? "route";
    this.figures = options.figures;
  }

  /** Copies the error with another message, or with members of the provider's error object. */
  reworded(message: string, vendorMembers = this.vendorMembers): GatewayError {
    const { code, cause, param, providerCode, retryAfterSeconds, status, retry } = this;
    const { marks, figures } = this;
    return new GatewayError(code, message, {
      cause,
      status,
      retry,
      marks,
      ...defined({ param, providerCode, retryAfterSeconds, vendorMembers, figures }),
    });
  }

  /** The `error.type` of the wire. */
  get type(): string {
    return errorTable[this.code].type;
  }

  /** The `error.code` of a failed Responses answer. */
  get responsesCode(): string {
    const row: ErrorRow = errorTable[this.code];
    return row.responsesCode ?? "server_error";
  }
}

/** The error format that the caller expects: it follows the endpoint, never the upstream. */
export type ErrorStyle = "messages" | "chat" | "gemini";

/** The Gemini vendor's names of statuses (google.rpc.Code). */
const rpcStatuses: ReadonlyMap<number, string> = new Map([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [402, "FAILED_PRECONDITION"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [409, "ABORTED"],
  [429, "RESOURCE_EXHAUSTED"],
  [500, "INTERNAL"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);

/**
 * Returns the status that a client gets, which receipts, logs and metrics show as well. The two
 * vendors use different statuses for "overloaded", and each SDK knows its own.
 *
 * @example
 * ```ts
 * import { GatewayError, wireStatus } from "./errors.ts";
 * const error = new GatewayError("overloaded", "The provider of this model is overloaded");
 * const statuses = [wireStatus(error, "messages"), wireStatus(error, "chat")].join();
 * if (statuses !== "529,503") throw new Error(statuses);
 * ```
 */
export function wireStatus(error: GatewayError, style: ErrorStyle): number {
  return error.status === 529 && style !== "messages" ? 503 : error.status;
}

const typeField: DescribedField<GatewayError> = always("type", text, ({ type }) => type);

const messageField: DescribedField<GatewayError> = always(
  "message",
  text,
  ({ message }) => message,
);

const errorInfoFields: readonly DescribedField<GatewayError>[] = [
  always("@type", text, () => "type.googleapis.com/google.rpc.ErrorInfo"),
  optional(
    "reason",
    { ...text, description: "The code of the gateway." },
    ({ code }) => code.toUpperCase(),
  ),
  optional("domain", text, () => "gateway"),
  optional(
    "metadata",
    { type: "object", properties: { param: text } },
    ({ param }) => defined({ param }),
  ),
];

const retryInfoFields: readonly DescribedField<number>[] = [
  always("@type", text, () => "type.googleapis.com/google.rpc.RetryInfo"),
  optional("retryDelay", text, (seconds) => `${seconds}s`),
];

const geminiInnerFields: readonly DescribedField<GatewayError>[] = [
  always("code", { type: "integer" }, (error) => wireStatus(error, "gemini")),
  messageField,
  always("status", text, (error) => {
    const status = wireStatus(error, "gemini");
    return rpcStatuses.get(status) ?? (status < 500 ? "INVALID_ARGUMENT" : "UNAVAILABLE");
  }),
  always(
    "details",
    listOf(objectSchema(
      "The code of the gateway, the time to wait, and what the provider adds.",
      [...errorInfoFields, ...retryInfoFields.filter(({ name }) => name !== "@type")],
    )),
    (error) => {
      const { retryAfterSeconds: seconds, vendorMembers = {} } = error;
      const said = vendorMembers["details"];
      return [
        fieldsJson(errorInfoFields, error),
        ...seconds === undefined ? [] : [fieldsJson(retryInfoFields, seconds)],
        ...Array.isArray(said) ? said : [],
      ];
    },
  ),
];

/** Merges members of the provider's error that have a value over those of the gateway. */
function vendorOver(ours: JsonObject, { vendorMembers = {} }: GatewayError): JsonObject {
  const merged: JsonObject = { ...ours };
  for (const [name, value] of Object.entries(vendorMembers)) {
    if (value !== null || merged[name] === undefined) merged[name] = value;
  }
  return merged;
}

const messagesInnerFields: readonly DescribedField<GatewayError>[] = [
  typeField,
  messageField,
  optional("details", {
    type: "object",
    description: "What SDKs of the style evaluate.",
    properties: { error_code: text } satisfies Record<keyof MessagesDetails, JsonObject>,
  }, ({ code }) => {
    const { messagesDetails }: ErrorRow = errorTable[code];
    return messagesDetails && { ...messagesDetails };
  }),
];

const chatInnerFields: readonly DescribedField<GatewayError>[] = [
  typeField,
  messageField,
  always(
    "param",
    { ...maybeText, description: "The field at fault." },
    ({ param }) => param ?? null,
  ),
  always("code", maybeText, ({ providerCode, code }) => providerCode ?? code),
];

interface AnsweredError {
  readonly error: GatewayError;
  readonly requestId: string;
}

const envelopeType: DescribedField<AnsweredError> = constant("type", "error");

function innerField(
  fields: readonly DescribedField<GatewayError>[],
  written: (ours: JsonObject, error: GatewayError) => JsonObject,
): DescribedField<AnsweredError> {
  return always(
    "error",
    objectSchema("What is wrong.", fields),
    ({ error }) => written(fieldsJson(fields, error), error),
  );
}

/** The fields of an error body in each style; members of a provider of that style may be beside them. */
export const errorFields: Readonly<Record<ErrorStyle, readonly DescribedField<AnsweredError>[]>> = {
  messages: [
    envelopeType,
    innerField(messagesInnerFields, vendorOver),
    always("request_id", text, ({ requestId }) => requestId),
  ],
  chat: [envelopeType, innerField(chatInnerFields, vendorOver)],
  gemini: [innerField(geminiInnerFields, (ours) => ours)],
};

/**
 * Builds the body of an error answer: the same envelope everywhere, with additional members per
 * style. What a provider of the caller's style adds beyond the message keeps its own wording.
 *
 * @example
 * ```ts
 * import { errorBody, GatewayError } from "./errors.ts";
 * const body = errorBody(new GatewayError("not_found", "No such path"), "messages", "req_1");
 * if (body["type"] !== "error" || body["request_id"] !== "req_1") throw new Error("wrong envelope");
 * ```
 */
export function errorBody(error: GatewayError, style: ErrorStyle, requestId: string): JsonObject {
  return fieldsJson(errorFields[style], { error, requestId });
}
