/** How far the output of a call may go: a provider that ignores the caller's bound is stopped there. */
import type { Model } from "../../catalog/catalog.ts";
import type { StreamReading } from "../../wire/contract.ts";
import { GatewayError } from "../../errors.ts";
import {
  maxBytesPerToken,
  reportedModelOutputs,
  reportedOutputExtra,
} from "../../billing/limits.ts";
import { maxAnswerBytes } from "../../wire/limits.ts";
import type { TokenUsage } from "../../billing/token_usage.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import type { StreamBound, StreamCut } from "../stream_bounds.ts";

/**
 * Bytes of JSON around one token of a whole answer: with the twenty most likely alternatives beside it, of 150 bytes
 * each, a token is 3 KB.
 */
const answerBytesPerToken = 4 * 1024;
/** What an answer holds beside its tokens: pictures, sealed reasoning, results of searches. */
const answerBytesBeside = 8 * 1024 * 1024;

/** Bytes of the events around one token of a stream: with its alternatives, or with the sound that it stands for. */
const streamBytesPerToken = 8 * 1024;
/** What a stream holds beside its tokens: signs of life, pictures, sealed reasoning. */
const streamBytesBeside = 64 * 1024 * 1024;

/**
 * The most output tokens that a caller can want, those of all answers together. Its own bound counts as it was sent; a
 * caller without one gets what the model makes, which may be more than its file says.
 */
export function wantedOutputTokens(request: ChatRequest, model: Model): number {
  const ofModel = model.maxOutputTokens * reportedModelOutputs;
  return Math.min(request.maxTokens ?? ofModel, ofModel) * request.choices;
}

/**
 * The most bytes that this many tokens of text, reasoning and tool arguments can be. No entry of a
 * vocabulary is longer, so a provider that keeps to the bound is never stopped.
 *
 * @example
 * ```ts
 * import { mostOutputBytes } from "./output_limit.ts";
 * if (mostOutputBytes(100) !== 20_992) throw new Error(String(mostOutputBytes(100)));
 * ```
 */
export function mostOutputBytes(tokens: number): number {
  return (tokens + reportedOutputExtra) * maxBytesPerToken;
}

/** Bytes of a whole answer with so many tokens: beyond them it is not read on. */
export function mostAnswerBytes(tokens: number): number {
  return Math.min(maxAnswerBytes, answerBytesBeside + tokens * answerBytesPerToken);
}

/** Bytes of a stream with so many tokens, whatever they are: beyond them it is no answer. */
export function mostStreamBytes(tokens: number): number {
  return streamBytesBeside + tokens * streamBytesPerToken;
}

/** The same with reasoning, which does not obey the caller's bound at some vendors, only what the model can make. */
export function mostBytesWithReasoning(tokens: number, model: Model): number {
  return mostOutputBytes(tokens + model.maxOutputTokens * reportedModelOutputs);
}

/** The bytes that a stream may have. */
export interface OutputBytes {
  readonly answer: number;
  readonly withReasoning: number;
}

/** Ends a stream with the stop for length once it has more output than the caller's bound can be. */
export class OutputLimit implements StreamBound {
  outputBytes: number;
  readonly #most: OutputBytes;
  readonly #usageOf: (reading: StreamReading) => TokenUsage;

  /** @param usageOf what is billed of a stream that is ended now */
  constructor(most: OutputBytes, usageOf: (reading: StreamReading) => TokenUsage) {
    this.outputBytes = most.answer;
    this.#most = most;
    this.#usageOf = usageOf;
  }

  passed(reading: StreamReading): StreamCut | undefined {
    const { answer, withReasoning } = this.#most;
    const { outputBytes, answerBytes } = reading;
    if (reading.stopReason !== undefined) {
      // Only the report follows, if anything.
      this.outputBytes = Infinity;
      return undefined;
    }
    if (answerBytes <= answer && outputBytes <= withReasoning) {
      this.outputBytes = Math.min(withReasoning, outputBytes + answer - answerBytes);
      return undefined;
    }
    const error = new GatewayError(
      "upstream_unreachable",
      "The provider of this model sent more output than was asked for",
    );
    return { as: "length", error, usage: this.#usageOf(reading) };
  }
}
