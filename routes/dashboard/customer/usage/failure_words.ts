/**
 * Says in the reader's language why a call was refused or failed, with amounts in the form of that language, and what to
 * do about it. Clients got the English message.
 */
import { type ErrorCode, errorTable } from "../../../../core/lib/errors/errors.ts";
import { failureCodes } from "../../../../core/billing/usage/call_failure.ts";
import type { RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { type Call, errorOf } from "../../../usage_api/search/call_scan.ts";
import { formatCount, formatDateTime, formatMoneyShort } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { rateTexts } from "../rate_limits/limit_table.tsx";
import { usageTexts } from "./texts.ts";

/** Every code that receipts and refused calls can have. */
export const failureCodesOfPages: readonly string[] = [
  ...new Set([...Object.keys(errorTable), ...failureCodes]),
].sort();

/** Failure and the next step, in words. */
type Words = readonly [what: string, next: string];

const english: Readonly<Record<ErrorCode, Words>> = {
  invalid_request: [
    "The request has a mistake.",
    "Correct what the message names, then call again.",
  ],
  invalid_json: ["The body is not valid JSON.", "Correct the body, then call again."],
  conversion_refused: [
    "The provider's style cannot carry a field of the request.",
    "Leave the field out, or call without x-gateway-strict.",
  ],
  thread_unsupported: [
    "The request refers to state that is not kept here.",
    "Send the whole conversation.",
  ],
  previous_response_not_found: [
    "The response to continue is not kept here (any more).",
    "Send the whole conversation.",
  ],
  context_length_exceeded: [
    "The request is too long for the model.",
    "Send less, or choose a model with a larger context.",
  ],
  content_policy_violation: ["The content was refused.", "Change the content, then call again."],
  unsupported_media_type: [
    "The content type is not supported.",
    "Send the content type that the documentation of the endpoint names.",
  ],
  invalid_api_key: ["The API key is revoked or has expired.", "Call with another key."],
  insufficient_balance: [
    "The balance does not pay for this call.",
    "Top up, then call again with the same key.",
  ],
  balance_on_hold: [
    "Running calls hold the balance or the limit of the key.",
    "Call again when they have ended, or ask for fewer output tokens.",
  ],
  spending_limit_reached: [
    "The spending limit of the key is reached.",
    "Raise the limit of the key, or wait until its period ends.",
  ],
  budget_exceeded: [
    "A budget is used up.",
    "Raise the budget, or wait until it resets.",
  ],
  organisation_blocked: ["The organisation is blocked.", "Contact support."],
  permission_denied: [
    "The key may not make this call.",
    "Change the models or addresses that the key allows, or call with another key.",
  ],
  not_found: ["There is nothing with this address or id.", "Check the address and the id."],
  model_not_found: ["There is no such model.", "Choose a name from Models and prices."],
  method_not_allowed: ["The endpoint has no such method.", "Use the method of the documentation."],
  websocket_unsupported: ["WebSockets are not supported.", "Call over HTTP, with streaming."],
  request_timeout: [
    "The request did not arrive in time.",
    "Check the connection, then call again.",
  ],
  order_under_way: [
    "A call with the same Idempotency-Key is still running.",
    "Wait for its answer, then call again.",
  ],
  mcp_server_failed: [
    "An MCP server of the request failed, or the model failed after its tools had run.",
    "Check the server and its token, then call again.",
  ],
  already_answered: [
    "A call with the same Idempotency-Key was answered and charged.",
    "Use a new key for a new call.",
  ],
  request_too_large: ["The request is too large.", "Send less at once."],
  idempotency_key_reused: [
    "The Idempotency-Key belongs to another request.",
    "Use a key of its own for each request.",
  ],
  rate_limit_exceeded: ["The provider is at its limit.", "Wait a moment, then call again."],
  rate_limit_reached: ["A rate limit is reached.", "Wait a moment, then call again."],
  internal_error: ["Something went wrong inside the gateway.", "Call again."],
  upstream_unreachable: [
    "The provider could not be reached.",
    "Call again, or choose another model.",
  ],
  maintenance: ["The service was under maintenance.", "Call again in a moment."],
  busy: ["The service was too busy.", "Call again in a moment."],
  feature_unavailable: [
    "No route with the requested feature was available.",
    "Call again in a moment, or choose another model.",
  ],
  service_unavailable: [
    "The provider is out of service.",
    "Call again in a moment, or choose another model.",
  ],
  overloaded: ["The provider is overloaded.", "Call again in a moment."],
  upstream_timeout: [
    "The provider did not answer in time.",
    "Call again, stream the answer, or choose another model.",
  ],
};

const vietnamese: typeof english = {
  invalid_request: ["Yêu cầu không hợp lệ.", "Hãy sửa phần được nêu trong thông báo rồi gọi lại."],
  invalid_json: ["Nội dung không phải JSON hợp lệ.", "Hãy sửa nội dung rồi gọi lại."],
  conversion_refused: [
    "Kiểu API của nhà cung cấp không có một trường trong yêu cầu.",
    "Hãy bỏ trường đó, hoặc gọi không kèm x-gateway-strict.",
  ],
  thread_unsupported: [
    "Yêu cầu nhắc đến trạng thái không được lưu ở đây.",
    "Hãy gửi toàn bộ cuộc trò chuyện.",
  ],
  previous_response_not_found: [
    "Câu trả lời cần nối tiếp không còn được giữ ở đây.",
    "Hãy gửi toàn bộ cuộc trò chuyện.",
  ],
  context_length_exceeded: [
    "Yêu cầu quá dài đối với mô hình.",
    "Hãy gửi ít hơn, hoặc chọn mô hình có ngữ cảnh lớn hơn.",
  ],
  content_policy_violation: ["Nội dung bị từ chối.", "Hãy đổi nội dung rồi gọi lại."],
  unsupported_media_type: [
    "Kiểu nội dung (content type) không được hỗ trợ.",
    "Hãy gửi kiểu nội dung mà tài liệu của endpoint nêu.",
  ],
  invalid_api_key: ["Khoá API đã bị thu hồi hoặc hết hạn.", "Hãy gọi bằng khoá khác."],
  insufficient_balance: [
    "Số dư không đủ cho lượt gọi này.",
    "Hãy nạp tiền rồi gọi lại bằng chính khoá này.",
  ],
  balance_on_hold: [
    "Các lượt gọi đang chạy giữ số dư hoặc hạn mức của khoá.",
    "Hãy gọi lại khi chúng xong, hoặc yêu cầu ít token đầu ra hơn.",
  ],
  spending_limit_reached: [
    "Khoá API đã đến hạn mức chi.",
    "Hãy nâng hạn mức của khoá, hoặc đợi hết kỳ.",
  ],
  budget_exceeded: ["Ngân sách đã dùng hết.", "Hãy nâng ngân sách, hoặc đợi kỳ mới."],
  organisation_blocked: ["Tổ chức đang bị chặn.", "Hãy liên hệ bộ phận hỗ trợ."],
  permission_denied: [
    "Khoá API không được dùng cho lượt gọi này.",
    "Hãy đổi mô hình hoặc địa chỉ mà khoá cho phép, hoặc gọi bằng khoá khác.",
  ],
  not_found: ["Không có gì ở địa chỉ hoặc mã này.", "Hãy kiểm tra địa chỉ và mã."],
  model_not_found: ["Không có mô hình này.", "Hãy chọn một tên trong Mô hình và giá."],
  method_not_allowed: [
    "Endpoint không có phương thức này.",
    "Hãy dùng phương thức trong tài liệu.",
  ],
  websocket_unsupported: ["WebSocket không được hỗ trợ.", "Hãy gọi qua HTTP, có streaming."],
  request_timeout: ["Yêu cầu không đến kịp.", "Hãy kiểm tra kết nối rồi gọi lại."],
  order_under_way: [
    "Một lượt gọi cùng Idempotency-Key vẫn đang chạy.",
    "Hãy đợi câu trả lời của nó rồi gọi lại.",
  ],
  mcp_server_failed: [
    "Máy chủ MCP trong yêu cầu bị lỗi, hoặc mô hình bị lỗi sau khi công cụ đã chạy.",
    "Hãy kiểm tra máy chủ và token, rồi gọi lại.",
  ],
  already_answered: [
    "Một lượt gọi cùng Idempotency-Key đã được trả lời và tính tiền.",
    "Hãy dùng Idempotency-Key mới cho lượt gọi mới.",
  ],
  request_too_large: ["Yêu cầu quá lớn.", "Hãy gửi ít hơn trong một lần."],
  idempotency_key_reused: [
    "Idempotency-Key này thuộc về một yêu cầu khác.",
    "Hãy dùng Idempotency-Key riêng cho từng yêu cầu.",
  ],
  rate_limit_exceeded: ["Nhà cung cấp đang quá hạn mức.", "Hãy đợi giây lát rồi gọi lại."],
  rate_limit_reached: ["Đã chạm giới hạn tốc độ.", "Hãy đợi giây lát rồi gọi lại."],
  internal_error: ["Đã có lỗi bên trong cổng.", "Hãy gọi lại."],
  upstream_unreachable: [
    "Không kết nối được với nhà cung cấp.",
    "Hãy gọi lại, hoặc chọn mô hình khác.",
  ],
  maintenance: ["Dịch vụ đang bảo trì.", "Hãy gọi lại sau giây lát."],
  busy: ["Dịch vụ đang quá bận.", "Hãy gọi lại sau giây lát."],
  feature_unavailable: [
    "Không có tuyến nào với tính năng được yêu cầu.",
    "Hãy gọi lại sau giây lát, hoặc chọn mô hình khác.",
  ],
  service_unavailable: [
    "Nhà cung cấp đang ngừng phục vụ.",
    "Hãy gọi lại sau giây lát, hoặc chọn mô hình khác.",
  ],
  overloaded: ["Nhà cung cấp đang quá tải.", "Hãy gọi lại sau giây lát."],
  upstream_timeout: [
    "Nhà cung cấp không trả lời kịp.",
    "Hãy gọi lại, dùng streaming, hoặc chọn mô hình khác.",
  ],
};

const texts = defineTexts({
  en: {
    byCode: english,
    otherwise: "Call again, or choose another model.",
    needs: (needed: string, available: string) =>
      `This call needs ${needed} to begin; ${available} is available.`,
    held: (needed: string, available: string, held: string) =>
      `This call needs ${needed} to begin; ${available} is free and ${held} is held by running calls.`,
    spent: (limit: string, used: string, needed: string) =>
      `The limit of the key is ${limit}; ${used} is spent or held, and this call needs ${needed}.`,
    budget: (name: string, limit: string, used: string, needed: string) =>
      `The budget “${name}” is ${limit}; ${used} is spent or held, and this call needs ${needed}.`,
    resets: (time: string) => `Raise the budget, or wait until it resets at ${time}.`,
    rate: (name: string, limit: string) => `A rate limit is reached: ${name} ${limit}.`,
    wait: (seconds: string) => `Call again in ${seconds} s.`,
    tooLarge: "The call needs more than the limit allows: ask for less at once.",
  },
  vi: {
    byCode: vietnamese,
    otherwise: "Hãy gọi lại, hoặc chọn mô hình khác.",
    needs: (needed, available) => `Lượt gọi này cần ${needed} để bắt đầu; hiện có ${available}.`,
    held: (needed, available, held) =>
      `Lượt gọi này cần ${needed} để bắt đầu; còn ${available}, các lượt gọi đang chạy giữ ${held}.`,
    spent: (limit, used, needed) =>
      `Hạn mức của khoá là ${limit}; đã chi hoặc đang giữ ${used}, lượt gọi này cần ${needed}.`,
    budget: (name, limit, used, needed) =>
      `Ngân sách “${name}” là ${limit}; đã chi hoặc đang giữ ${used}, lượt gọi này cần ${needed}.`,
    resets: (time) => `Hãy nâng ngân sách, hoặc đợi kỳ mới lúc ${time}.`,
    rate: (name, limit) => `Đã chạm giới hạn tốc độ: ${name} ${limit}.`,
    wait: (seconds) => `Hãy gọi lại sau ${seconds} giây.`,
    tooLarge: "Lượt gọi cần nhiều hơn giới hạn cho phép: hãy yêu cầu ít hơn trong một lần.",
  },
});

/**
 * The codes whose message names what in the request is wrong: only the message knows, and it is about the caller's code.
 */
const detailedCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_request",
  "invalid_json",
  "conversion_refused",
  "thread_unsupported",
  "previous_response_not_found",
  "context_length_exceeded",
  "unsupported_media_type",
  "permission_denied",
  "not_found",
  "model_not_found",
  "request_too_large",
]);

/** A row may have been written by a version whose table had other codes. */
function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/** Why a call brought no answer. */
export interface FailureWords {
  readonly what: string;
  readonly next: string;
  /** The message of the API, in English, where it says more than the code. */
  readonly detail?: string;
}

/** Messages that name a field and one thing that is wrong with it, as Vietnamese says them. */
const fieldFaults: readonly (readonly [RegExp, (field: string) => string])[] = [
  [/^(\S+): is required$/, (field) => `Thiếu ${field}.`],
  [/^(\S+): is not allowed$/, (field) => `Không được dùng ${field} ở đây.`],
  [/^(\S+): is not supported$/, (field) => `Chưa hỗ trợ ${field}.`],
];

/**
 * Puts a message of the API into Vietnamese; `undefined`: it has to be quoted.
 *
 * @example
 * ```ts
 * import { vietnameseDetail } from "./failure_words.ts";
 * if (vietnameseDetail("messages: is required") !== "Thiếu messages.") throw new Error();
 * ```
 */
export function vietnameseDetail(message: string): string | undefined {
  for (const [pattern, say] of fieldFaults) {
    const field = pattern.exec(message)?.[1];
    if (field !== undefined) return say(field);
  }
  return undefined;
}

type Refusal = Pick<RefusedCall, "code" | "message" | "figures">;

function limitName(name: string, locale: Locale): string {
  const names: Readonly<Record<string, string>> = rateTexts[locale].names;
  return (Object.hasOwn(names, name) ? names[name] : undefined) ?? name;
}

/** The sentences that amounts replace. */
function figureWords(
  { figures, code }: Refusal,
  locale: Locale,
): { readonly what?: string; readonly next?: string } {
  const t = texts[locale];
  const money = (microVnd: bigint) => formatMoneyShort(microVnd, locale);
  switch (figures?.kind) {
    case undefined:
      return {};
    case "balance": {
      const [needed, available] = [money(figures.neededMicroVnd), money(figures.availableMicroVnd)];
      return {
        what: code === "balance_on_hold"
          ? t.held(needed, available, money(figures.heldMicroVnd))
          : t.needs(needed, available),
      };
    }
    case "spending_limit": {
      const { limitMicroVnd, usedMicroVnd, neededMicroVnd } = figures;
      return { what: t.spent(money(limitMicroVnd), money(usedMicroVnd), money(neededMicroVnd)) };
    }
    case "budget": {
      const { name, limitMicroVnd, usedMicroVnd, neededMicroVnd, resetsAtMs } = figures;
      return {
        what: t.budget(name, money(limitMicroVnd), money(usedMicroVnd), money(neededMicroVnd)),
        ...(resetsAtMs !== undefined && { next: t.resets(formatDateTime(resetsAtMs, locale)) }),
      };
    }
    case "rate_limit": {
      const { retryAfterSeconds: seconds } = figures;
      return {
        what: t.rate(limitName(figures.limitName, locale), formatCount(figures.limit, locale)),
        next: seconds === undefined ? t.tooLarge : t.wait(formatCount(seconds, locale)),
      };
    }
  }
}

/** Returns the words of a refusal. */
export function refusalWords(refusal: Refusal, locale: Locale): FailureWords {
  const { code, message } = refusal;
  const t = texts[locale];
  const [what, next] = isKnown(code) ? t.byCode[code] : [code, t.otherwise];
  const words = { what, next, ...figureWords(refusal, locale) };
  return isKnown(code) && !detailedCodes.has(code) ? words : { ...words, detail: message };
}

/** Our words for the code of a failed attempt; one without words is shown as it is. */
function reasonOf(code: string, locale: Locale): string {
  const { reasons } = usageTexts[locale];
  return (Object.hasOwn(reasons, code) ? reasons[code] : undefined) ?? code;
}

/** Returns the words of a call that failed at its provider. */
export function failureWords(code: string, locale: Locale): FailureWords {
  const t = texts[locale];
  return { what: reasonOf(code, locale), next: isKnown(code) ? t.byCode[code][1] : t.otherwise };
}

/** Says what a code means, whatever call had it. */
export function wordsOfCode(code: string, locale: Locale): FailureWords {
  if (!isKnown(code)) return failureWords(code, locale);
  const [what, next] = texts[locale].byCode[code];
  return { what, next };
}

/**
 * Names a kind of errors, as sums by hour have them: its status, and what its code means.
 *
 * @example
 * ```ts
 * import { errorKindName } from "./failure_words.ts";
 * const name = errorKindName("402 insufficient_balance", "en");
 * if (name !== "402 The balance does not pay for this call") throw new Error(name);
 * ```
 */
export function errorKindName(kind: string, locale: Locale): string {
  const [status = "", code = ""] = kind.split(" ");
  return `${status} ${wordsOfCode(code, locale).what.replace(/\.$/u, "")}`;
}

/** Returns why a call was refused or failed; `undefined` for one that was answered. */
export function wordsOfCall(call: Call, locale: Locale): FailureWords | undefined {
  if (call.kind === "refused") return refusalWords(call.refused, locale);
  const code = errorOf(call);
  return code === undefined ? undefined : failureWords(code, locale);
}
