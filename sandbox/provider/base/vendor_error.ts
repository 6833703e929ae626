/** Errors in the form of the vendors. */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { jsonReply, type Reply } from "./reply.ts";
import type { ErrorStatus, Triggers } from "./triggers.ts";

/** The style of a vendor's errors. */
export type VendorStyle = "messages" | "chat" | "gemini";

interface Words {
  readonly messages: string;
  readonly chat: readonly [type: string, code: string | null];
  readonly text: string;
}

const words: Readonly<Record<ErrorStatus, Words>> = {
  400: {
    messages: "invalid_request_error",
    chat: ["invalid_request_error", null],
    text: "The sandbox was asked to refuse this request.",
  },
  401: {
    messages: "authentication_error",
    chat: ["invalid_request_error", "invalid_api_key"],
    text: "Incorrect API key provided.",
  },
  403: {
    messages: "permission_error",
    chat: ["invalid_request_error", null],
    text: "The key has no permission for this model.",
  },
  404: {
    messages: "not_found_error",
    chat: ["invalid_request_error", "model_not_found"],
    text: "The model does not exist.",
  },
  413: {
    messages: "request_too_large",
    chat: ["invalid_request_error", "request_too_large"],
    text: "The request is too large.",
  },
  429: {
    messages: "rate_limit_error",
    chat: ["requests", "rate_limit_exceeded"],
    text: "Rate limit reached, try again later.",
  },
  500: { messages: "api_error", chat: ["server_error", null], text: "Internal server error." },
  503: {
    messages: "overloaded_error",
    chat: ["service_unavailable_error", "server_is_overloaded"],
    text: "The server is overloaded.",
  },
  529: {
    messages: "overloaded_error",
    chat: ["service_unavailable_error", "server_is_overloaded"],
    text: "Overloaded",
  },
};

/** The Gemini vendor's names of statuses. */
const rpcStatuses: Readonly<Record<ErrorStatus, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  413: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  529: "UNAVAILABLE",
};

/** Makes the error body of a vendor; `message` replaces the usual text. */
export function vendorErrorBody(
  style: VendorStyle,
  status: ErrorStatus,
  message?: string,
): JsonObject {
  const { messages, chat, text } = words[status];
  if (style === "messages") {
    return {
      type: "error",
      error: { type: messages, message: message ?? text },
      request_id: "req_sandbox",
    };
  }
  if (style === "gemini") {
    const code = status === 529 ? 503 : status;
    return { error: { code, message: message ?? text, status: rpcStatuses[status] } };
  }
  return { error: { message: message ?? text, type: chat[0], param: null, code: chat[1] } };
}

/** The status on the wire: only the Messages vendor has 529, and servers that imitate it. */
function wireStatus(style: VendorStyle, status: ErrorStatus): number {
  return style === "gemini" && status === 529 ? 503 : status;
}

/** Makes an error reply in the style of a vendor. */
export function vendorError(style: VendorStyle, status: ErrorStatus, message?: string): Reply {
  return jsonReply(wireStatus(style, status), vendorErrorBody(style, status, message), {});
}

/** Makes the error that a trigger requests in place of an answer, if any. */
export function troubleReply(style: VendorStyle, triggers: Triggers): Reply | undefined {
  const { errorStatus, htmlStatus, retryAfterSeconds } = triggers;
  if (errorStatus !== undefined) {
    const headers = retryAfterSeconds === undefined
      ? []
      : [["retry-after", String(retryAfterSeconds)] as const];
    const status = wireStatus(style, errorStatus);
    return jsonReply(status, vendorErrorBody(style, errorStatus), triggers, headers);
  }
  if (htmlStatus === undefined) return undefined;
  const bytes = new TextEncoder().encode(
    "<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>",
  );
  return {
    status: htmlStatus,
    headers: new Map([["content-type", "text/html"], ["content-length", String(bytes.length)]]),
    waitMs: triggers.slowMs ?? 0,
    steps: [{ do: "send", bytes }],
  };
}
