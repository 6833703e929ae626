/** The headers of a call: its model, price, cost and tokens, and what conversion dropped. */
import type { ByteSource } from "../../../core/lib/bytes/byte_parts.ts";
import { Reply } from "../../../core/net/http1/server/reply.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { billedInputTokens } from "../../../core/billing/tokens/token_bounds.ts";
import type { AmountBound } from "./call_money.ts";
import type { ChosenModel } from "./terms.ts";
import { applyPrice } from "../../../core/billing/price.ts";
import type { AppliedPrice, Receipt } from "../../../core/billing/usage/receipt.ts";
import { answerHeaders, type WithHeaders } from "../../http/own_headers.ts";

/** What is known as soon as the call is committed to a route: all that the headers of a stream can have. */
export interface CallHeadersInput {
  readonly model: Model;
  readonly mappedFrom: string | undefined;
  readonly price: AppliedPrice;
  /** Request fields that the route could not carry. */
  readonly dropped: readonly string[];
  readonly outputLimit?: OutputLimitNotice | undefined;
}

/** A limit of output that the provider got because no more was paid for. */
export interface OutputLimitNotice {
  /** Output tokens of one answer. */
  readonly tokens: number;
  readonly reason: AmountBound;
}

/**
 * Percent-encodes what a header cannot have, and `%` itself: names may come from callers.
 *
 * @example
 * ```ts
 * import { headerSafe } from "./response_headers.ts";
 * const told = headerSafe("mô hình/1");
 * if (told !== "m%C3%B4 h%C3%ACnh/1" || decodeURIComponent(told) !== "mô hình/1") throw new Error(told);
 * ```
 */
export function headerSafe(text: string): string {
  return text.replace(/[^\x20-\x7e]+|%/g, (part) => encodeURIComponent(part.toWellFormed()));
}

/** Most characters of `x-gateway-conversion`: thousands of fields of a request may be dropped. */
const conversionChars = 2_000;

function priceHeader(price: AppliedPrice): [string, string] {
  if (price.unit === "token") {
    return [answerHeaders.priceVndPerMtok, formatVnd(price.inputPerMtokMicroVnd)];
  }
  const name = price.unit === "second"
    ? answerHeaders.priceVndPerSecond
    : answerHeaders.priceVndPerRequest;
  return [name, formatVnd(price.perUnitMicroVnd)];
}

/** Makes the headers of any answer of a call. */
export function callHeaders(input: CallHeadersInput): [string, string][] {
  const headers: [string, string][] = [
    [answerHeaders.model, input.model.id],
  ];
  if (input.mappedFrom !== undefined) {
    headers.push([answerHeaders.mappedFrom, headerSafe(input.mappedFrom)]);
  }
  headers.push(priceHeader(input.price));
  if (input.dropped.length > 0) {
    const value = `dropped=${input.dropped.join(",")}`;
    headers.push([
      answerHeaders.conversion,
      headerSafe(value.length > conversionChars ? `${value.slice(0, conversionChars)}…` : value),
    ]);
  }
  if (input.outputLimit !== undefined) headers.push(outputLimitHeader(input.outputLimit));
  return headers;
}

/** Makes the header that names a lowered limit of output. */
export function outputLimitHeader({ tokens, reason }: OutputLimitNotice): [string, string] {
  return [answerHeaders.outputLimit, `tokens=${tokens}; reason=${reason}`];
}

/** Makes the headers of an answer whose cost is known, because it is not streamed. */
export function costHeaders(receipt: Receipt): [string, string][] {
  const headers: [string, string][] = [[answerHeaders.costVnd, formatVnd(receipt.costMicroVnd)]];
  if (receipt.usage !== undefined) {
    headers.push(
      [answerHeaders.inputTokens, String(billedInputTokens(receipt.usage))],
      [answerHeaders.outputTokens, String(receipt.usage.output)],
    );
  }
  return headers;
}

/** Headers that every answer has that is not streamed; zero if nothing was charged. */
const costNames = [answerHeaders.inputTokens, answerHeaders.outputTokens, answerHeaders.costVnd];

/**
 * Adds missing cost headers to an answer that is not streamed: a refusal, a free endpoint, a call that is not priced
 * by tokens.
 *
 * @param chosen the requested model, if it is known
 */
export function withCostHeaders<Answer extends WithHeaders>(
  response: Answer,
  chosen: ChosenModel | undefined,
): Answer {
  const { headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true ||
    headers.get(unbuffered) === "no";
  if (isStream) return response;
  for (const name of costNames) if (!headers.has(name)) headers.set(name, "0");
  if (chosen === undefined || headers.has(answerHeaders.model)) return response;
  headers.set(answerHeaders.model, chosen.model.id);
  if (chosen.mappedFrom !== undefined) {
    headers.set(answerHeaders.mappedFrom, headerSafe(chosen.mappedFrom));
  }
  const { price } = chosen.model;
  // A refused request may not say which of the video's prices applies.
  if (price.unit === "video") return response;
  const [name, value] = priceHeader(applyPrice(price));
  headers.set(name, value);
  return response;
}

/** Makes a 200 with these headers. */
export function answerOf(
  body: Uint8Array | ByteSource,
  contentType: string,
  headers: readonly [string, string][],
): Reply {
  return new Reply(200, [["content-type", contentType], ...headers], body);
}

/** The type of a stream of events. */
export const eventStream = "text/event-stream; charset=utf-8";

/** Keeps proxies from collecting an answer; every stream has it. */
const unbuffered = "x-accel-buffering";

/** Makes a stream that proxies neither buffer nor change. */
export function streamOf(
  body: ByteSource,
  headers: readonly [string, string][],
  contentType = eventStream,
): Reply {
  return answerOf(body, contentType, [
    ...headers,
    ["cache-control", "no-cache, no-transform"],
    [unbuffered, "no"],
  ]);
}
