/** One attempt on one route, up to the point where the client may see something of it. */
import { decodeUtf8, joined } from "../../lib/bytes/byte_parts.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Deadlines } from "../../lib/time/deadlines.ts";
import type { AnswerReading, StreamPipe } from "../../wire/contract/contract.ts";
import { GatewayError, type Mark } from "../../lib/errors/errors.ts";
import { streamFailure } from "../../wire/stream/answer_gate.ts";
import { parseExactly, parseWithinDepth } from "../../lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { maxAnswerBytes, maxSseEventBytes } from "../../wire/contract/limits.ts";
import {
  arrivedWhole,
  bodyOf,
  codingOf,
  decompressed,
  type GrowingCounter,
  maxErrorBodyBytes,
  readBeginning,
  readWhole,
} from "../../net/transport/read_whole.ts";
import {
  type ByteReader,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamResponse,
} from "../../net/transport/transport.ts";
import { retryAfterSeconds } from "../../net/transport/retry_after.ts";
import { waitUntilSeconds } from "../../wire/errors/body_wait.ts";
import { defined } from "../../lib/base/defined.ts";

/**
 * Milliseconds to wait for the body of a refusal, which usually follows its status at once; after that the
 * status alone decides.
 */
export const refusalBodyMs = 2_000;

/** Bytes of a stream that are held back until the first real output. */
export const maxPreambleBytes = 1024 * 1024;

/**
 * Seconds after which a client may retry when no connection to a provider could be opened: calls that end
 * free sockets.
 */
const shortageRetrySeconds = 1;

/** A whole answer as the provider sent it. */
export interface ProviderAnswer {
  readonly bytes: Uint8Array;
  /** The same, decoded. */
  readonly text: string;
  readonly value: JsonObject;
}

/** Handlers of a route for the exchange of one attempt. */
export interface AttemptHandlers {
  readonly exchange: UpstreamExchange;
  readonly createPipe: () => StreamPipe;
  readonly readAnswer: (body: JsonObject) => AnswerReading;
  /** The client gets the bytes of the answer, so that its value is only read and its numbers may be rounded. */
  readonly isNative?: boolean;
  /**
   * Converts the whole answer to the client's style. Throws a {@linkcode GatewayError} if it turns out not to be an
   * answer.
   */
  readonly toClient: (answer: ProviderAnswer) => Uint8Array;
  /** Writes a whole answer as a stream of the provider's style; absent where a route has no streams. */
  readonly asStream?: (body: JsonObject) => Uint8Array;
  /**
   * Collects a whole stream of the provider to an answer for the client. Throws a {@linkcode GatewayError} if it is not
   * one.
   */
  readonly fromStream?: (bytes: Uint8Array) => Omit<WholeAnswer, "kind">;
  /** Names what of a stream without readable output its client might know; absent where the pipe knows it. */
  readonly unknownInStream?: (bytes: Uint8Array) => string | undefined;
  /** Converts a refusal of the provider to an error of ours; `waitSeconds` is its `retry-after`. */
  readonly decodeError: (
    status: number,
    body: string,
    waitSeconds: number | undefined,
  ) => GatewayError;
  /**
   * Called with the status of a success as soon as it arrives, and with that of a refusal once its body shows what
   * rests because of it, e.g. the credential.
   */
  readonly onStatus?: (
    status: number,
    retryAfterSeconds: number | undefined,
    marks?: Mark,
  ) => void;
  /** Whether, after a failure, the same route may be tried again with another credential. */
  readonly mayRepeat?: () => boolean;
  /** Whether, after any failure, the same route is tried again with a request that it will understand. */
  readonly repeats?: () => boolean;
}

/** The handlers that judge the head of an answer. */
export type HeadHandlers = Pick<AttemptHandlers, "exchange" | "decodeError" | "onStatus">;

/** A stream whose output has begun: the call is committed to its route. */
export interface StartedStream {
  readonly kind: "stream";
  readonly exchange: UpstreamExchange;
  readonly body: ByteReader;
  readonly pipe: StreamPipe;
  /** Bytes that the client gets first: everything up to and including the first real output. */
  readonly preamble: Uint8Array;
  /** The provider's body has already ended (a short answer in one piece). */
  readonly bodyEnded: boolean;
  /**
   * Bytes that arrived in one read with the first output and were not parsed yet. Valid until the next read of
   * `body`.
   */
  readonly unread?: Uint8Array;
}

/**
 * Bytes of a read that a chat stream parses in one go before its first output. A fast provider sends whole answers in
 * one read; output beyond the reservation must wait until the reservation has grown.
 */
export const firstSliceBytes = 2_048;

/** A whole answer, not streamed, in the form that the client gets. */
export interface WholeAnswer {
  readonly kind: "answer";
  /** In the client's style. */
  readonly clientBytes: Uint8Array;
  readonly reading: AnswerReading;
}

const failed = (what: string, cause?: unknown) =>
  new GatewayError(
    "upstream_unreachable",
    `The provider of this model ${what}`,
    cause === undefined ? {} : { cause },
  );

/** Maps a failed exchange to the client's error; `undefined` for an exception that is a defect of ours. */
export function knownFailure(failure: unknown): GatewayError | undefined {
  if (failure instanceof GatewayError) return failure;
  // The cause is not shown to the client: it may name hosts.
  if (!(failure instanceof UpstreamFailure)) return undefined;
  switch (failure.code) {
    case "timeout":
      return new GatewayError("upstream_timeout", "The provider of this model stopped sending", {
        cause: failure,
      });
    case "shortage":
      // Another route would fail in the same way, and no route is to blame.
      return new GatewayError("busy", "Too many connections are open at the moment; try again", {
        cause: failure,
        retryAfterSeconds: shortageRetrySeconds,
      });
    default:
      return failed("cannot be reached", failure);
  }
}

/** Maps a failed exchange to the client's error; rethrows other exceptions. */
export function asGatewayError(failure: unknown): GatewayError {
  const known = knownFailure(failure);
  if (known === undefined) throw failure;
  return known;
}

/** The clock and timers of an attempt. */
export interface AttemptTime {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
}

/** Reads a refusal. Its status decides and its body only refines that, so reading it is bounded in time and memory. */
async function refusal(
  response: UpstreamResponse,
  handlers: HeadHandlers,
  time: AttemptTime,
): Promise<GatewayError> {
  const deadline = time.deadlines.create(() => handlers.exchange.cancel());
  deadline.arm(refusalBodyMs);
  const bytes = await readBeginning(response.body, maxErrorBodyBytes);
  deadline.disarm();
  const text = new TextDecoder().decode(bytes);
  const { status, header } = response;
  const waitSeconds = retryAfterSeconds(header, time.clock) ??
    waitUntilSeconds(text, time.clock.nowMs());
  const error = handlers.decodeError(status, text, waitSeconds);
  handlers.onStatus?.(status, error.retryAfterSeconds, error.marks);
  return error;
}

/**
 * Waits for status and headers of a success.
 *
 * @throws {GatewayError | UpstreamFailure} the provider's refusal, or an answer in a coding that cannot be undone
 */
export async function answered(
  handlers: HeadHandlers,
  time: AttemptTime,
): Promise<UpstreamResponse> {
  const response = decompressed(await handlers.exchange.response);
  if (!isSuccess(response, handlers)) throw await refusal(response, handlers, time);
  return response;
}

/**
 * Judges the head of an answer; `false` for a refusal.
 *
 * @throws {GatewayError} for an answer in a coding that cannot be undone
 */
function isSuccess(
  response: UpstreamResponse,
  { onStatus }: HeadHandlers,
): boolean {
  const { status } = response;
  if (status < 200 || status > 299) return false;
  onStatus?.(status, undefined);
  if (codingOf(response) !== undefined) throw failed("sent a compressed answer");
  return true;
}

function parsed(bytes: Uint8Array, isExact = true): Omit<ProviderAnswer, "bytes"> | undefined {
  try {
    const text = decodeUtf8(bytes);
    const value = isExact ? parseExactly(text) : parseWithinDepth(text);
    return isJsonObject(value) ? { text, value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Waits for the whole answer.
 *
 * @param bounds `maxBytes`: a longer answer fails. `counter`: counts the bytes of a large answer; its owner releases
 * them. `onSign`: called for the status of a success
 * @throws {GatewayError | UpstreamFailure} when this route gave no usable answer
 */
export async function attemptAnswer(
  handlers: AttemptHandlers,
  time: AttemptTime,
  { maxBytes = maxAnswerBytes, counter, onSign }: {
    readonly maxBytes?: number | undefined;
    readonly counter?: GrowingCounter | undefined;
    readonly onSign?: () => void;
  } = {},
): Promise<WholeAnswer> {
  // Not by `answered` and `readWhole` alone: each function that is awaited costs a call as much as reading a header.
  const response = decompressed(await handlers.exchange.response);
  if (!isSuccess(response, handlers)) throw await refusal(response, handlers, time);
  onSign?.();
  const bytes = arrivedWhole(response, maxBytes) ?? await readWhole(response, maxBytes, counter);
  const answer = parsed(bytes, handlers.isNative !== true);
  if (answer === undefined) {
    const { fromStream } = handlers;
    const isStream = isEventStream(response) || beginsAsEvents(bytes);
    if (fromStream === undefined || !isStream) throw failed("sent no JSON");
    return { kind: "answer", ...fromStream(bytes) };
  }
  const { text, value } = answer;
  const reading = handlers.readAnswer(value);
  if (reading.error !== undefined) {
    // The members of an error go to the client, with exact numbers.
    throw handlers.readAnswer((parsed(bytes) ?? answer).value).error ?? reading.error;
  }
  // Converted before the route is committed: an answer that cannot be delivered is a failure of this route, not
  // charged.
  return { kind: "answer", clientBytes: handlers.toClient({ bytes, text, value }), reading };
}

/**
 * Makes a stream of the whole answer with which some servers answer a stream request.
 *
 * @throws {GatewayError} the error that it holds; `upstream_unreachable` for a page or anything else
 */
export async function wholeAsStream(
  response: UpstreamResponse,
  { asStream, readAnswer }: Pick<AttemptHandlers, "asStream" | "readAnswer">,
): Promise<UpstreamResponse> {
  // An event holds no more, and most styles repeat the answer in one.
  const answer = parsed(await readWhole(response, maxSseEventBytes));
  if (answer === undefined || asStream === undefined) throw failed("sent no event stream");
  const { error } = readAnswer(answer.value);
  if (error !== undefined) throw error;
  return {
    status: response.status,
    header: (name) => response.header(name),
    body: bodyOf(asStream(answer.value)),
  };
}

/**
 * Waits for the first real output. Everything before it (a start event, pings, a role) is held back, so that a route
 * that fails here can be replaced without the client noticing.
 *
 * @param onSign called for the status and for bytes that are not output: the route is slow, not dead
 * @throws {GatewayError | UpstreamFailure} when this route failed before any output
 */
export async function attemptStream(
  handlers: AttemptHandlers,
  time: AttemptTime,
  onSign?: () => void,
): Promise<StartedStream> {
  // Created while the provider works, so that it costs no time once the answer arrives.
  const pipe = handlers.createPipe();
  const response = await answered(handlers, time);
  onSign?.();
  const stream = isEventStream(response) ? response : await wholeAsStream(response, handlers);
  const started = await startStream(handlers.exchange, stream, pipe, {
    sliceBytes: firstSliceBytes,
    onSign,
  });
  if (!pipe.reading.sawOutput) {
    const all = joined([started.preamble, pipe.heldBack ?? new Uint8Array(0)]);
    const failure = streamFailure(pipe.reading, handlers.unknownInStream?.(all));
    if (failure !== undefined) throw failure;
  }
  return started;
}

/** Whether the answer is an event stream. A missing type counts as one: reading the bytes shows what they are. */
export function isEventStream(response: UpstreamResponse): boolean {
  const contentType = response.header("content-type") ?? "text/event-stream";
  return /^text\/event-stream\b/i.test(contentType.trim());
}

/** Whether a body is a stream of events whatever its type: it begins with a field or a comment of one. */
function beginsAsEvents(bytes: Uint8Array): boolean {
  return /^\s*(?:data|event|id|retry)?:/.test(new TextDecoder().decode(bytes.subarray(0, 64)));
}

/**
 * Reads a stream up to its first real output.
 *
 * @throws {GatewayError | UpstreamFailure} when it failed before any
 */
export async function startStream(
  exchange: UpstreamExchange,
  response: UpstreamResponse,
  pipe: StreamPipe,
  { sliceBytes = Infinity, onSign }: {
    /** Bytes of a read that are parsed in one go. */
    readonly sliceBytes?: number;
    readonly onSign?: (() => void) | undefined;
  } = {},
): Promise<StartedStream> {
  const { reading } = pipe;
  const held: Uint8Array[] = [];
  let bufferedBytes = 0;
  let bodyEnded = false;
  let unread: Uint8Array | undefined;
  while (!reading.sawOutput && reading.state === "open") {
    const chunk = unread ?? await response.body.read();
    if (chunk === null) {
      bodyEnded = true;
      break;
    }
    onSign?.();
    unread = chunk.length > sliceBytes ? chunk.subarray(sliceBytes) : undefined;
    const out = pipe.push(unread === undefined ? chunk : chunk.subarray(0, sliceBytes));
    if (out.length === 0) continue;
    held.push(out);
    bufferedBytes += out.length;
    // Only what precedes output is bounded: output itself can be a whole picture in one event.
    if (bufferedBytes > maxPreambleBytes && !reading.sawOutput) throw failed("sends no output");
  }
  // Also if some output came with the error: the client has seen nothing yet, and another route may give a whole
  // answer.
  if (reading.state === "error") throw reading.error ?? failed("failed");
  const whole = reading.state === "completed" || reading.stopReason !== undefined;
  if (!reading.sawOutput && bodyEnded && !whole) throw failed("broke off");
  return {
    kind: "stream",
    exchange,
    body: response.body,
    pipe,
    preamble: joined(held),
    bodyEnded,
    ...defined({ unread }),
  };
}
