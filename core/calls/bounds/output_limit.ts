/** Stops a provider that ignores the caller's bound on output. */
import type { Model } from "../../catalog/catalog.ts";
import type { StreamReading } from "../../wire/contract/contract.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import {
  maxBytesPerToken,
  reportedModelOutputs,
  reportedOutputExtra,
} from "../../billing/tokens/limits.ts";
import { maxAnswerBytes } from "../../wire/contract/limits.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import type { StreamBound, StreamCut } from "../stream/stream_bounds.ts";

/**
 * Bytes of JSON for one token of a whole answer: with its twenty most likely alternatives, of 150 bytes each, a token
 * takes 3 KB.
 */
const answerBytesPerToken = 4 * 1024;
/** Bytes of a whole answer beside its tokens: pictures, encrypted reasoning, search results. */
const answerBytesBeside = 8 * 1024 * 1024;

/** Upper bound of SSE bytes per output token, including logprobs and audio. */
const streamBytesPerToken = 8 * 1024;
/** Bytes of a stream beside its tokens: pings, pictures, encrypted reasoning. */
const streamBytesBeside = 64 * 1024 * 1024;

/**
 * Computes the most output tokens that a caller can want, of all answers together. A bound in the request counts as
 * it is; without one, the model's maximum counts, with a margin because models may produce more than their entry
 * says.
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
 * import { maxOutputBytes } from "./output_limit.ts";
 * if (maxOutputBytes(100) !== 20_992) throw new Error(String(maxOutputBytes(100)));
 * ```
 */
export function maxOutputBytes(tokens: number): number {
  return (tokens + reportedOutputExtra) * maxBytesPerToken;
}

/** Computes the most bytes of a whole answer with so many tokens; a longer one fails. */
export function maxBytesOfAnswer(tokens: number): number {
  return Math.min(maxAnswerBytes, answerBytesBeside + tokens * answerBytesPerToken);
}

/** Computes the most bytes of a stream with so many tokens, whatever the bytes contain. */
export function maxStreamBytes(tokens: number): number {
  return streamBytesBeside + tokens * streamBytesPerToken;
}

/** Computes the most bytes of output including reasoning, which at some vendors only the model's maximum bounds. */
export function maxBytesWithReasoning(tokens: number, model: Model): number {
  return maxOutputBytes(tokens + model.maxOutputTokens * reportedModelOutputs);
}

/** The most bytes of output that a stream may have. */
export interface OutputBytes {
  readonly answer: number;
  readonly withReasoning: number;
}

/** Ends a stream with the stop for length once its output exceeds the caller's bound. */
export class OutputLimit implements StreamBound {
  outputBytes: number;
  readonly #most: OutputBytes;
  readonly #usageOf: (reading: StreamReading) => TokenUsage;

  /** @param usageOf computes the billed usage of a stream that ends now */
  constructor(most: OutputBytes, usageOf: (reading: StreamReading) => TokenUsage) {
    this.outputBytes = most.answer;
    this.#most = most;
    this.#usageOf = usageOf;
  }

  passed(reading: StreamReading): StreamCut | undefined {
    const { answer, withReasoning } = this.#most;
    const { outputBytes, answerBytes } = reading;
    if (reading.stopReason !== undefined) {
      // Only the usage report can follow.
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
    return { as: "length", error, code: "output_limit", usage: this.#usageOf(reading) };
  }
}
