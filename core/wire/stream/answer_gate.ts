/**
 * Gate of answers: an answer has at least one part that its client can read, or an ending that says why there is none.
 * Everything else is a failure of the provider: it costs nothing, and the next route is tried.
 *
 * Routes of the client's own style count parts of unknown types, since the client may know them; only text must be text.
 * Routes of another style count what the client's style has a place for, by {@linkcode clientPlaces}.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { ProviderStyle, StreamReading, Style } from "../contract/contract.ts";
import type { AnswerBlock } from "../conversation/mod.ts";
import { readNoAnswer } from "../errors/provider_error.ts";
import { type Ending, endingOf, stopFailure } from "../fields/stop_words.ts";
import { SseSplitter } from "../../lib/sse/frame.ts";
import { maxSseEventBytes } from "../contract/limits.ts";
import { shapedAnswer, shapedEvent, UnknownNames } from "./answer_shape.ts";
import { frameJson } from "./reading.ts";

/**
 * Fate of a block at a client. `read`: it is a part of the answer. `beside`: what it led to is in other parts.
 * `named`: it is lost, named and not charged.
 */
type Place = "read" | "beside" | "named";

/** Fates that are the same at the clients of all styles. */
const everywhere = {
  text: "read",
  reasoning: "read",
  tool_call: "read",
  foreign: "named",
} as const;

/** Blocks that the clients of each style can read. */
export const clientPlaces: Readonly<Record<Style, Readonly<Record<AnswerBlock["type"], Place>>>> = {
  chat: { ...everywhere, hosted_call: "beside", picture: "read", sound: "read" },
  messages: { ...everywhere, hosted_call: "read", picture: "named", sound: "named" },
  responses: { ...everywhere, hosted_call: "read", picture: "read", sound: "named" },
  gemini: { ...everywhere, hosted_call: "beside", picture: "read", sound: "read" },
};

/** An answer of which its client can read nothing. */
interface EmptyAnswer {
  /** Endings of its choices. */
  readonly endings: readonly Ending[];
  readonly usage: TokenUsage | undefined;
  /** Content that nothing could be made of, if there is any. */
  readonly unknown: string | undefined;
}

/** The failure of an answer of a kind that the gateway does not know. */
export function unknownFailure(kind: string): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    `The model answered only with ${kind}, which this API has no place for`,
    { marks: "nothing" },
  );
}

/**
 * Tokens of an answer of which the model wrote the end alone: Messages vendors count two or three of them, for turns that
 * end at once, as after the result of a tool. More were words, which are not there.
 */
const maxEndTokens = 3;

/**
 * The failure of an answer of which its client can read nothing; `undefined` if its ending explains that. A plain end does
 * if the provider counted the tokens of an end and no more.
 *
 * @example
 * ```ts
 * import { emptyFailure } from "./answer_gate.ts";
 * const usage = { input: 9, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
 * const unknown = undefined;
 * if (emptyFailure({ endings: ["plain"], usage, unknown }) === undefined) throw new Error("nothing was paid");
 * if (emptyFailure({ endings: ["explained"], usage, unknown }) !== undefined) throw new Error("a refusal is an answer");
 * ```
 */
export function emptyFailure({ endings, usage, unknown }: EmptyAnswer): GatewayError | undefined {
  if (unknown !== undefined) return unknownFailure(unknown);
  if (endings.includes("explained")) return undefined;
  const ownTokens = usage === undefined ? 0 : usage.output - usage.reasoning;
  const isEndAlone = ownTokens > 0 && ownTokens <= maxEndTokens;
  if (endings.includes("plain") && isEndAlone) return undefined;
  return new GatewayError(
    "upstream_unreachable",
    "The provider of this model sent no answer",
    // A request can have any model say nothing.
    { marks: "nothing" },
  );
}

/** Places of the content of a whole answer of each style, which may be empty but not absent. */
const contentPlaces: Readonly<Record<ProviderStyle, readonly string[]>> = {
  chat: ["choices", "message", "content"],
  messages: ["content"],
  responses: ["output"],
  gemini: ["candidates", "content"],
  converse: ["output", "message", "content"],
};

function hasPlace(value: Json | undefined, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  if (Array.isArray(value)) return value.some((one) => hasPlace(one, path));
  return isJsonObject(value) && value[name] !== undefined && hasPlace(value[name], rest);
}

/** Content of a whole answer that nothing could be made of; `undefined` if it is plainly empty. */
function unknownOf(style: ProviderStyle, body: JsonObject): string | undefined {
  const unknown = new UnknownNames();
  try {
    shapedAnswer(style, body, unknown);
  } catch (error) {
    if (error instanceof GatewayError) return "content that cannot be read";
    throw error;
  }
  return unknown.take()[0];
}

/** Reading of a whole answer. */
export interface WholeReading {
  readonly reasons: readonly (Json | undefined)[];
  readonly hasOutput: boolean;
  readonly usage: TokenUsage | undefined;
}

/** The failure of a whole answer that reports no error; `undefined` if it is an answer. */
export function answerFailure(
  style: ProviderStyle,
  body: JsonObject,
  { reasons, hasOutput, usage }: WholeReading,
): GatewayError | undefined {
  const failure = stopFailure(reasons, hasOutput);
  if (failure !== undefined || hasOutput) return failure;
  // Of nothing that the style has, an error without the name of one may be left.
  if (reasons.every((reason) => reason === undefined || reason === null || reason === "")) {
    return readNoAnswer(body);
  }
  const isPlain = hasPlace(body, contentPlaces[style]);
  const unknown = unknownOf(style, body);
  const endings = reasons.map(endingOf);
  return emptyFailure({ endings, usage: isPlain ? usage : undefined, unknown });
}

/**
 * The failure of a stream that ended before anything of it could be read; `undefined` if its ending explains that.
 *
 * @param unknown content that nothing could be made of
 */
export function streamFailure(
  { lost, stopReason, usage }: Readonly<StreamReading>,
  unknown?: string,
): GatewayError | undefined {
  if (lost !== undefined) return lost;
  return emptyFailure({ endings: [endingOf(stopReason)], usage, unknown });
}

/** Content of a native stream that nothing could be made of; `undefined` if there is none. */
export function unknownInStream(style: ProviderStyle, bytes: Uint8Array): string | undefined {
  const unknown = new UnknownNames();
  const splitter = new SseSplitter(maxSseEventBytes);
  try {
    splitter.push(bytes, (frame) => {
      const data = frame.payloadIs("[DONE]") || !frame.hasPayload ? null : frameJson(frame);
      if (!isJsonObject(data)) return true;
      const { type } = data;
      shapedEvent(style, typeof type === "string" ? type : frame.event, data, unknown);
      return true;
    });
  } catch (error) {
    if (error instanceof GatewayError) return "content that cannot be read";
    throw error;
  }
  return unknown.take()[0];
}
