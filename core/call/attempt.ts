/** One try of one route, up to the point where the client may see something of it. */
import type { AnswerReading, StreamPipe } from "../dialects/contract.ts";
import { GatewayError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import type { ByteReader, UpstreamExchange, UpstreamResponse } from "../upstream/transport.ts";
import { UpstreamFailure } from "../upstream/transport.ts";
import { readWhole } from "./read_whole.ts";

/** What a route does with the exchange; made anew for each try. */
export interface AttemptHandlers {
  readonly exchange: UpstreamExchange;
  readonly createPipe: () => StreamPipe;
  readonly readAnswer: (body: JsonObject) => AnswerReading;
  /** Turns a refusal of the provider into ours. */
  readonly decodeError: (status: number, body: string) => GatewayError;
  /** Told the status as soon as it is in, e.g. to let a refused credential rest. */
  readonly onStatus?: (status: number, retryAfterSeconds: number | undefined) => void;
  /** After a failure: whether the same route may be tried again with another credential. */
  readonly mayRepeat?: () => boolean;
}

/** Output has begun: from here on the route is committed. */
export interface StartedStream {
  readonly kind: "stream";
  readonly exchange: UpstreamExchange;
  readonly body: ByteReader;
  readonly pipe: StreamPipe;
  /** What the client gets first: everything up to and with the first real output. */
  readonly preamble: Uint8Array;
  /** The upstream body already ended (a short answer in one piece). */
  readonly bodyEnded: boolean;
}

/** A whole answer, not streamed. */
export interface WholeAnswer {
  readonly kind: "answer";
  readonly bytes: Uint8Array;
  readonly value: JsonObject;
  readonly reading: AnswerReading;
}

const unreachable = "The provider of this model cannot be reached";

/** The client's view of a failed exchange. The cause stays inside: it may name hosts. */
export function asGatewayError(failure: unknown): GatewayError {
  if (failure instanceof GatewayError) return failure;
  if (failure instanceof UpstreamFailure) {
    return new GatewayError("upstream_unreachable", unreachable, { cause: failure });
  }
  throw failure;
}

function retryAfterSeconds(response: UpstreamResponse): number | undefined {
  const text = response.header("retry-after");
  if (text === undefined || !/^\d{1,6}$/.test(text.trim())) return undefined;
  return Number(text);
}

async function refusal(
  response: UpstreamResponse,
  handlers: AttemptHandlers,
): Promise<GatewayError> {
  const bytes = await readWhole(response.body, limits.errorBodyBytes);
  const error = handlers.decodeError(response.status, new TextDecoder().decode(bytes));
  const seconds = retryAfterSeconds(response);
  if (seconds === undefined || error.retryAfterSeconds !== undefined) return error;
  return new GatewayError(error.code, error.message, {
    status: error.status,
    retry: error.retry,
    retryAfterSeconds: seconds,
    ...(error.param === undefined ? {} : { param: error.param }),
  });
}

/** Waits for status and headers; anything but a success is thrown as the provider's refusal. */
async function answered(handlers: AttemptHandlers): Promise<UpstreamResponse> {
  const response = await handlers.exchange.response;
  handlers.onStatus?.(response.status, retryAfterSeconds(response));
  if (response.status < 200 || response.status > 299) throw await refusal(response, handlers);
  return response;
}

function parseObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function concat(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Waits for the whole answer.
 *
 * @throws {GatewayError | UpstreamFailure} when this route gave no usable answer
 */
export async function attemptAnswer(handlers: AttemptHandlers): Promise<WholeAnswer> {
  const response = await answered(handlers);
  const bytes = await readWhole(response.body, limits.answerBytes);
  const value = parseObject(bytes);
  if (value === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no JSON");
  }
  const reading = handlers.readAnswer(value);
  if (reading.error !== undefined) throw reading.error;
  return { kind: "answer", bytes, value, reading };
}

/**
 * Waits for the first real output. Everything before it (a start event, pings, a role) is held back, so that a route
 * that fails here can be replaced without the client noticing.
 *
 * @throws {GatewayError | UpstreamFailure} when this route failed before any output
 */
export async function attemptStream(handlers: AttemptHandlers): Promise<StartedStream> {
  const { exchange } = handlers;
  const response = await answered(handlers);
  const contentType = response.header("content-type") ?? "";
  if (!contentType.includes("event-stream")) {
    // A provider that answers a stream request with a page or an error object in a 200.
    const bytes = await readWhole(response.body, limits.errorBodyBytes);
    const value = parseObject(bytes);
    throw (value && handlers.readAnswer(value).error) ??
      new GatewayError("upstream_unreachable", "The provider of this model sent no event stream");
  }
  const pipe = handlers.createPipe();
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  let bodyEnded = false;
  while (!pipe.reading.sawOutput && pipe.reading.state === "open") {
    const chunk = await response.body.read();
    if (chunk === null) {
      bodyEnded = true;
      break;
    }
    const out = pipe.push(chunk);
    if (out.length === 0) continue;
    held.push(out);
    heldBytes += out.length;
    if (heldBytes > limits.preambleBytes) {
      throw new GatewayError("upstream_unreachable", "The provider of this model sends no output");
    }
  }
  const { reading } = pipe;
  if (!reading.sawOutput && reading.state === "error") {
    throw reading.error ?? new GatewayError("upstream_unreachable", unreachable);
  }
  if (
    !reading.sawOutput && bodyEnded && reading.state === "open" && reading.stopReason === undefined
  ) {
    throw new GatewayError("upstream_unreachable", "The provider of this model broke off");
  }
  return {
    kind: "stream",
    exchange,
    body: response.body,
    pipe,
    preamble: concat(held, heldBytes),
    bodyEnded,
  };
}
