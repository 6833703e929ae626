/**
 * The answer of a call as HTTP: the headers about its model, price, cost and tokens and what conversion dropped, and
 * the body of an answer that was read whole.
 *
 * A large body is sent in pieces, so that its memory is released when it has left. As one body it would stay in the
 * server for as long as a client does not read.
 */
import {
  type ByteParts,
  type ByteSink,
  type ByteSource,
  joined,
  lengthOf,
  piecesOf,
} from "../../../core/lib/bytes/byte_parts.ts";
import { Reply } from "../../../core/net/http1/server/reply.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { billedInputTokens } from "../../../core/billing/tokens/token_bounds.ts";
import type { AmountBound } from "./call_money.ts";
import type { ChosenModel } from "./admission.ts";
import { applyPrice } from "../../../core/billing/price.ts";
import type { AppliedPrice, Receipt } from "../../../core/billing/usage/receipt.ts";
import { answerHeaders, type WithHeaders } from "../../http/own_headers.ts";
import type { BufferedAnswer } from "../../../core/lib/bytes/answer_budget.ts";
import type { Deadline, Deadlines } from "../../../core/lib/time/deadlines.ts";

/** Facts that are known as soon as the call is committed to a route: all that the headers of a stream can have. */
interface CallHeadersInput {
  readonly model: Pick<Model, "id">;
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

/**
 * Makes the headers that the answer of a call had, from its receipt: all but those of what conversion dropped, of a
 * lowered limit of output, and of rate limits, which receipts do not keep.
 */
export function receiptHeaders(receipt: Receipt): [string, string][] {
  const { requestId, model, mappedFrom, price, stream } = receipt;
  return [
    [answerHeaders.requestId, requestId],
    ...callHeaders({ model: { id: model }, mappedFrom, price, dropped: [] }),
    ...(stream ? [] : costHeaders(receipt)),
  ];
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
function answerOf(
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

/** Bytes of the pieces in which a large answer is sent: what a socket takes at once. */
const bufferedBodyPieceBytes = 64 * 1024;

/**
 * Milliseconds without a piece taken after which the connection of a client is closed: 4 kbit/s suffice to avoid
 * that.
 */
export const unreadAnswerMs = 120_000;

class BufferedSource implements ByteSource {
  readonly #over = Promise.withResolvers<void>();
  readonly #deadlines: Deadlines;
  #parts: Uint8Array[];
  #unread: Deadline | undefined;

  constructor(bytes: ByteParts, buffered: BufferedAnswer, deadlines: Deadlines) {
    this.#parts = piecesOf(bytes).filter(({ length }) => length > 0);
    this.#deadlines = deadlines;
    buffered.keepUntil(this.#over.promise);
  }

  start(sink: ByteSink): void {
    this.#unread = this.#deadlines.create(() => {
      this.#end();
      sink.error(new Error("The client did not read its answer"));
    });
    this.#unread.arm(unreadAnswerMs);
  }

  pull(sink: ByteSink): void {
    const [part] = this.#parts;
    if (part === undefined) return;
    const piece = part.subarray(0, bufferedBodyPieceBytes);
    if (piece.length < part.length) this.#parts[0] = part.subarray(piece.length);
    else this.#parts.shift();
    sink.enqueue(piece);
    this.#unread?.arm(unreadAnswerMs);
    if (this.#parts.length > 0) return;
    this.#end();
    sink.close();
  }

  cancel(): void {
    this.#end();
  }

  #end(): void {
    this.#unread?.disarm();
    this.#parts = [];
    this.#over.resolve();
  }
}

/**
 * Makes a 200. Its counted memory, if any, is released when the client has received all of it, has left, or
 * has stopped reading.
 */
export function wholeAnswer(
  bytes: ByteParts,
  headers: readonly [string, string][],
  buffered: BufferedAnswer | undefined,
  deadlines: Deadlines,
  contentType = "application/json",
): Reply {
  if (buffered === undefined || buffered.bytes === 0) {
    return answerOf(joined(bytes), contentType, headers);
  }
  const body = new BufferedSource(bytes, buffered, deadlines);
  return answerOf(body, contentType, [
    ...headers,
    ["content-length", String(lengthOf(bytes))],
  ]);
}
