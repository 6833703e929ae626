/**
 * The usage of an answer as it is read from provider's reports.
 *
 * Counts of one stream are cumulative, so that a later report can only be larger; but some servers end a stream with
 * zeros, or leave out what an earlier event reported.
 */
import { defined } from "../../lib/base/defined.ts";
import {
  billedInputTokens,
  type MediaParts,
  partsWithin,
  type ReportedUsage,
  type TokenUsage,
} from "../../billing/tokens/token_bounds.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { maxReportedTokens } from "../../billing/tokens/limits.ts";
import type { FrameEdits, SseFrame } from "../../lib/sse/frame.ts";
import type { StreamReading } from "../contract/contract.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { parseExactly, parseWithinDepth } from "../../lib/json/exact_json.ts";
import { JsonScanError } from "../../lib/json/json_cursor.ts";

/**
 * Joins a report with the earlier ones of its stream: each counter keeps its largest value, and the prompt as a whole is a
 * counter. Tokens that a later report moves from one bucket of the prompt to another are therefore not counted twice.
 *
 * @example
 * ```ts
 * import { joinReports } from "./reading.ts";
 * const first = { input: 100, cacheRead: 900, cacheWrite: 0, output: 0, reasoning: 0 };
 * const zeros = { input: 0, cacheRead: 0, cacheWrite: 0, output: 7, reasoning: 0 };
 * const { input, cacheRead, output } = joinReports(first, zeros);
 * if (`${input} ${cacheRead} ${output}` !== "100 900 7") throw new Error("zeros erased a report");
 * ```
 */
export function joinReports(
  earlier: ReportedUsage | undefined,
  next: ReportedUsage,
): ReportedUsage {
  if (earlier === undefined) return next;
  const said = earlier.said === undefined && next.said === undefined
    ? undefined
    : largest(earlier.said ?? earlier, next.said ?? next);
  return {
    ...largest(earlier, next),
    ...(said === undefined ? {} : { said }),
    ...(next.partlyAbsurd === true && { partlyAbsurd: true }),
  };
}

/**
 * Adds the reports of two requests that together make one answer.
 *
 * @example
 * ```ts
 * import { addReports } from "./reading.ts";
 * const first = { input: 100, cacheRead: 900, cacheWrite: 0, output: 5, reasoning: 2 };
 * const second = { input: 30, cacheRead: 0, cacheWrite: 0, output: 7, reasoning: 0 };
 * const { input, cacheRead, output } = addReports(first, second);
 * if (`${input} ${cacheRead} ${output}` !== "130 900 12") throw new Error("wrong sum");
 * ```
 */
export function addReports(a: ReportedUsage, b: ReportedUsage): ReportedUsage {
  const said = a.said === undefined && b.said === undefined
    ? undefined
    : added(a.said ?? a, b.said ?? b);
  return {
    ...added(a, b),
    ...defined({ said }),
    ...((a.partlyAbsurd ?? b.partlyAbsurd) === true && { partlyAbsurd: true }),
  };
}

function added(a: TokenUsage, b: TokenUsage): TokenUsage {
  const hour = (a.cacheWriteHour ?? 0) + (b.cacheWriteHour ?? 0);
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(hour > 0 && { cacheWriteHour: hour }),
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    inputAudio: (a.inputAudio ?? 0) + (b.inputAudio ?? 0),
    inputImage: (a.inputImage ?? 0) + (b.inputImage ?? 0),
    outputAudio: (a.outputAudio ?? 0) + (b.outputAudio ?? 0),
    outputImage: (a.outputImage ?? 0) + (b.outputImage ?? 0),
  };
}

function largest(a: TokenUsage, b: TokenUsage): TokenUsage {
  const prompt = Math.max(billedInputTokens(a), billedInputTokens(b));
  const cacheRead = Math.min(Math.max(a.cacheRead, b.cacheRead), prompt);
  const cacheWrite = Math.min(Math.max(a.cacheWrite, b.cacheWrite), prompt - cacheRead);
  const hour = Math.min(Math.max(a.cacheWriteHour ?? 0, b.cacheWriteHour ?? 0), cacheWrite);
  const input = prompt - cacheRead - cacheWrite;
  const output = Math.max(a.output, b.output);
  return {
    input,
    ...partsWithin(largestParts(a, b), { input, output }),
    cacheRead,
    cacheWrite,
    ...(hour > 0 && { cacheWriteHour: hour }),
    output,
    reasoning: Math.max(a.reasoning, b.reasoning),
  };
}

function largestParts(a: MediaParts, b: MediaParts): MediaParts {
  return {
    inputAudio: Math.max(a.inputAudio ?? 0, b.inputAudio ?? 0),
    inputImage: Math.max(a.inputImage ?? 0, b.inputImage ?? 0),
    outputAudio: Math.max(a.outputAudio ?? 0, b.outputAudio ?? 0),
    outputImage: Math.max(a.outputImage ?? 0, b.outputImage ?? 0),
  };
}

/** Reads the parts that the details of input and output name; nonsense is none. */
export function readParts(input: Json | undefined, output: Json | undefined): MediaParts {
  return {
    inputAudio: tokensIn(input, "audio_tokens"),
    inputImage: tokensIn(input, "image_tokens"),
    outputAudio: tokensIn(output, "audio_tokens"),
    outputImage: tokensIn(output, "image_tokens"),
  };
}

function tokensIn(details: Json | undefined, name: string): number {
  const count = isJsonObject(details) ? readCount(details[name]) ?? 0 : 0;
  return Number.isNaN(count) ? 0 : count;
}

// Parses the data of a stream's event. An `error` event may also hold plain text, which some providers send.

/**
 * Parses the data for decoders, with exact numbers.
 *
 * @throws {GatewayError} `upstream_unreachable` when the data is not JSON
 *
 * @example
 * ```ts
 * import { eventJson } from "./reading.ts";
 * if (eventJson("message", "[1]")?.toString() !== "1") throw new Error("JSON was not read");
 * if (eventJson("error", "try later") !== "try later") throw new Error("the text was lost");
 * ```
 */
export function eventJson(event: string | undefined, data: string): Json {
  try {
    return parseExactly(data);
  } catch (cause) {
    if (event === "error") return data;
    throw new GatewayError("upstream_unreachable", "The provider's stream cannot be read", {
      cause,
    });
  }
}

/**
 * Requires that an event of a stream is an object; `undefined` for the nothing that some servers send to keep the
 * connection alive.
 *
 * @throws {GatewayError} `upstream_unreachable` for any other value
 */
export function eventObject(value: Json): JsonObject | undefined {
  if (isJsonObject(value)) return value;
  if (value === null || value === "") return undefined;
  throw new GatewayError("upstream_unreachable", "The provider's stream cannot be read");
}

/**
 * Parses the data for meters, which need only counts that fit a `number`.
 *
 * @throws {JsonScanError} when the data is not JSON
 */
export function frameJson(frame: SseFrame): Json {
  try {
    return parseWithinDepth(frame.data);
  } catch (cause) {
    if (frame.event === "error") return frame.data;
    throw new JsonScanError("Not JSON", { cause });
  }
}

/**
 * Place of the one text of a frame, if the frame changes nothing in a reading but its lengths. A meter fills it while
 * it reads the frame.
 */
export class LoneText {
  /** The text without its quotes, as a range of the payload. */
  start = 0;
  end = 0;
  /** Whether it belongs to the answer; otherwise it is reasoning. */
  isAnswer = false;
  #texts = 0;
  #hasMore = false;

  /** Begins with a frame. */
  clear(): void {
    this.#texts = 0;
    this.#hasMore = false;
  }

  /** Enters a string whose literal is `[start, end)`; an empty one counts for nothing. */
  saw(start: number, end: number, isAnswer: boolean): void {
    this.start = start + 1;
    this.end = end - 1;
    if (this.start >= this.end) return;
    this.isAnswer = isAnswer;
    this.#texts++;
  }

  /** The frame has something else that counts. */
  sawMore(): void {
    this.#hasMore = true;
  }

  /** Whether the frame had one text, and nothing else that counts. */
  get isAlone(): boolean {
    return this.#texts === 1 && !this.#hasMore;
  }
}

/** Creates the reading of a stream that has not begun. */
export function newStreamReading(): StreamReading {
  return {
    usage: undefined,
    usageRejected: false,
    toolUses: undefined,
    serviceTier: undefined,
    sawOutput: false,
    outputBytes: 0,
    answerBytes: 0,
    state: "open",
    error: undefined,
    stopReason: undefined,
  };
}

/**
 * The fate of a frame on its way to the client.
 *
 * `pass` forwards it, `drop` removes it, `last` keeps it back as the end of the stream, `hold` keeps it back until
 * another frame shows that it is not the end. All but `drop` apply the {@linkcode StreamMeter.edits}.
 */
export type FrameFate = "pass" | "drop" | "last" | "hold";

/** Reads the frames of one style's stream as they pass. One per stream. */
export interface StreamMeter {
  readonly reading: StreamReading;
  /**
   * Reads one frame and returns its fate; the caller has cleared {@linkcode edits}. Sets `reading.state` at the end and at
   * an error of the stream.
   *
   * @throws {JsonScanError} if the data is not what the style prescribes
   */
  read(frame: SseFrame): FrameFate;
  /** Changes to the last frame for the client. */
  readonly edits: FrameEdits;
  /** The one text of the last frame; absent where the frames of a style differ in more than a text. */
  readonly text?: LoneText;
}

/** Enters the text of a frame that repeats the last one otherwise. */
export function enterText(reading: StreamReading, bytes: number, isAnswer: boolean): void {
  reading.outputBytes += bytes;
  if (isAnswer) reading.answerBytes += bytes;
  if (bytes > 0) reading.sawOutput = true;
}

/** A report of usage: absent, impossible, or counts. */
export type UsageReport =
  | { readonly kind: "none" }
  | { readonly kind: "absurd" }
  | { readonly kind: "counts"; readonly usage: ReportedUsage };

/** The absence of a usage report. */
export const noReport: UsageReport = { kind: "none" };
/** A usage report that cannot be true. */
export const absurdReport: UsageReport = { kind: "absurd" };

/**
 * Enters a report into a reading: each counter keeps its largest value, an impossible report leaves the earlier counts.
 *
 * `usageRejected` describes the last report, so a valid one clears it. While it is set, `usage` (if any) is older than
 * the last report: the caller estimates, and takes the larger.
 */
export function enterReport(
  reading: { usage: ReportedUsage | undefined; usageRejected: boolean },
  report: UsageReport,
): void {
  if (report.kind === "none") return;
  reading.usageRejected = report.kind === "absurd";
  if (report.kind === "counts") reading.usage = joinReports(reading.usage, report.usage);
}

/**
 * Reads one count of a report.
 *
 * `undefined` if absent or null; `NaN` if it cannot be a token count (negative, a fraction, not a
 * number, beyond {@linkcode maxReportedTokens}).
 *
 * @example
 * ```ts
 * import { readCount } from "./reading.ts";
 * if (readCount(7) !== 7 || readCount(null) !== undefined) throw new Error("wrong");
 * if (!Number.isNaN(readCount(-1)) || !Number.isNaN(readCount("7"))) throw new Error("accepted");
 * ```
 */
export function readCount(value: Json | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isSafeInteger(value)) return NaN;
  return value < 0 || value > maxReportedTokens ? NaN : value;
}

/** Whether all buckets are valid counts, unlike `NaN` of {@linkcode readCount} and sums beyond the bound. */
export function isPlausible(usage: TokenUsage): boolean {
  const total = usage.input + usage.cacheRead + usage.cacheWrite + (usage.cacheWriteHour ?? 0) +
    usage.output + usage.reasoning;
  return total >= 0 && usage.input + usage.cacheRead + usage.cacheWrite <= maxReportedTokens &&
    usage.output <= maxReportedTokens;
}

const encoder = new TextEncoder();

/**
 * Texts of at most a third of these bytes, as most answers are, are counted without memory of their own: a buffer costs
 * as much as encoding them.
 */
const scratch = new Uint8Array(16 * 1024);

/** Most UTF-8 bytes of a UTF-16 unit. */
const maxBytesPerUnit = 3;

/** Returns the UTF-8 length of a string, 0 for anything else. */
export function textBytes(value: Json | undefined): number {
  if (typeof value !== "string") return 0;
  // For long ASCII text, which is the usual case, the encoder is the fastest exact way.
  return value.length * maxBytesPerUnit <= scratch.length
    ? encoder.encodeInto(value, scratch).written
    : encoder.encode(value).length;
}
