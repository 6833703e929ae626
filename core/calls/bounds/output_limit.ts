/**
 * Length of outputs, as a rule and at most.
 *
 * The gateway learns how much output the calls of a key to a model usually have, so that a stream reserves that much
 * when it begins. A figure that is too low costs a stream more extensions of its reservation; one that is too high keeps
 * money from other calls. Neither lets a call have more than is reserved for it.
 *
 * {@linkcode OutputLimit} stops a provider that ignores the caller's bound on output.
 */
import type { Model } from "../../catalog/catalog.ts";
import type { ApiKeyId } from "../../lib/ids/ids.ts";
import { estimateOutputTokens } from "../../billing/tokens/rough_estimate.ts";
import { firstSliceBytes } from "../attempts/attempt.ts";
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
import type { StreamBound, StreamCut } from "../stream/metered_stream.ts";

/** Tokens reserved at least, and where nothing is known: some paragraphs, which a fast provider sends in one piece. */
const leastTokens = firstSliceBytes;
/** Tokens of an answer where nothing is known: a page. */
const unknownUsualTokens = 1_024;
/** Tokens of an answer at least, however short earlier ones were: a paragraph or two. */
const leastUsualTokens = 256;
/** Weight of the latest call in the average. */
const latestWeight = 0.2;
/** Factor by which a high figure shrinks with each call that stays below it: some dozens of calls forget it. */
const decay = 0.9;
/** Entries of one generation; there are two. */
const entriesPerGeneration = 5_000;
/**
 * Tokens that a report may have beyond the received bytes (end marks, call syntax) before the model counts as hiding
 * output.
 */
const unseenTokens = 64;

/**
 * Calls of a key with a full reservation after one whose report showed more output than arrived and did not call it
 * reasoning.
 */
const suspectCalls = 20;

/** The output of an ended call. */
interface SeenOutput {
  /** Output tokens as the provider reports them. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that the report calls reasoning. */
  readonly reasoningTokens: number;
  /** Bytes of text, reasoning and tool arguments that arrived. */
  readonly outputBytes: number;
}

interface Expectation {
  readonly tokens: number;
  /** The average of late. */
  readonly average: number;
  /** Number of further calls with a full reservation. */
  readonly suspect: number;
}

/** Whether the configuration declares that the model reasons; providers show little or nothing of that. */
function isDeclaredReasoning({ routes }: Model): boolean {
  return routes.some(({ capabilities: { thinking, efforts } }) =>
    (thinking !== undefined && thinking !== "none") || (efforts?.length ?? 0) > 0
  );
}

/**
 * Learns how much output each model and key usually gives.
 *
 * @example
 * ```ts
 * import { buildModel } from "../../catalog/catalog.ts";
 * import { modelSchema } from "../../catalog/schema.ts";
 * import { newId } from "../../lib/ids/ids.ts";
 * import { OutputExpectations } from "./output_limit.ts";
 * const price = { unit: "token", vndPerMtok: 1 };
 * const entry = { id: "m", kind: "chat", family: "f", price, routes: [{ provider: "p" }] };
 * const model = buildModel(modelSchema.parse(entry));
 * const expectations = new OutputExpectations();
 * const keyId = newId("apiKey", 0);
 * expectations.note(model, keyId, { outputTokens: 1_000, reasoningTokens: 0, outputBytes: 4_000 });
 * if (expectations.tokens(model, keyId) !== 4_000) throw new Error("not learned");
 * expectations.note(model, keyId, { outputTokens: 5_000, reasoningTokens: 4_990, outputBytes: 10 });
 * if (expectations.tokens(model, keyId) !== Infinity) throw new Error("hidden output cannot be expected");
 * ```
 */
export class OutputExpectations {
  #young = new Map<string, Expectation>();
  #old = new Map<string, Expectation>();
  /** Ids of models with hidden reasoning. Bounded by the catalog. */
  readonly #hiding = new Set<string>();
  readonly #declared = new WeakMap<Model, boolean>();

  /**
   * Computes the output tokens to reserve when a stream begins. `Infinity` for a model that hides output: its
   * reservation cannot grow with what arrives.
   */
  tokens(model: Model, keyId: ApiKeyId): number {
    if (this.#hidesOutput(model)) return Infinity;
    const known = this.#find(entryName(model, keyId));
    if (known === undefined) return leastTokens;
    return known.suspect > 0 ? Infinity : Math.max(known.tokens, leastTokens);
  }

  /**
   * Computes the output tokens that a call usually has, hidden ones included: what a call gets at least beside others,
   * where the money does not suffice for its worst case.
   */
  usualTokens(model: Model, keyId: ApiKeyId): number {
    const known = this.#find(entryName(model, keyId));
    return known === undefined ? unknownUsualTokens : Math.max(known.tokens, leastUsualTokens);
  }

  /** The output tokens that calls of a key to a model had on average of late; `undefined` before the first. */
  averageTokens(model: Model, keyId: ApiKeyId): number | undefined {
    return this.#find(entryName(model, keyId))?.average;
  }

  /**
   * Learns from an ended call. A token has at least a byte, so the larger of the two figures bounds the tokens.
   * Hidden reasoning counts for the model, for all keys; other output beyond the bytes counts for the key only,
   * because tool calls without arguments also have more tokens than bytes, and a customer who causes many of those
   * must not change what others reserve.
   */
  note(model: Model, keyId: ApiKeyId, seen: SeenOutput): void {
    const { outputTokens, reasoningTokens, outputBytes } = seen;
    const isBeyondSight = outputTokens > outputBytes + unseenTokens;
    if (isBeyondSight && reasoningTokens > 0) this.#hiding.add(model.id);
    const name = entryName(model, keyId);
    const tokens = outputTokens > 0 ? outputTokens : estimateOutputTokens(outputBytes);
    const earlier = this.#find(name) ?? { tokens: 0, average: tokens, suspect: 0 };
    if (this.#young.size >= entriesPerGeneration && !this.#young.has(name)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, {
      tokens: Math.max(outputTokens, outputBytes, Math.round(earlier.tokens * decay)),
      average: earlier.average + (tokens - earlier.average) * latestWeight,
      suspect: isBeyondSight ? suspectCalls : Math.max(earlier.suspect - 1, 0),
    });
  }

  #find(name: string): Expectation | undefined {
    return this.#young.get(name) ?? this.#old.get(name);
  }

  #hidesOutput(model: Model): boolean {
    if (this.#hiding.has(model.id)) return true;
    let declared = this.#declared.get(model);
    if (declared === undefined) this.#declared.set(model, declared = isDeclaredReasoning(model));
    return declared;
  }
}

function entryName(model: Model, keyId: ApiKeyId): string {
  return `${model.id} ${keyId}`;
}

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
interface OutputBytes {
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
