/**
 * Parts of an answer that the client's style has no place for: each is named, in its place and to the caller, media among
 * them is not charged, and an answer of which nothing else is left is a failure.
 */
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { AnswerReading, Style } from "../contract/contract.ts";
import type { Answer, AnswerBlock, Choice, StreamEvent } from "../conversation/mod.ts";
import { dataUrl } from "../content/citations.ts";
import { endingOfStop } from "../fields/stop_words.ts";
import { mediaRefusal, pictureNote, withoutMedia } from "../fields/pictures.ts";
import { clientPlaces, emptyFailure, unknownFailure } from "../stream/answer_gate.ts";
import { textBytes } from "../stream/reading.ts";
import { argumentsText } from "../tools/tool_fields.ts";

/** Kinds of blocks that are named; a provider may write anything. */
const plainKind = /^[\w.-]{1,40}$/;

/** Kinds of content whose tokens are no text: without a place they are not charged. */
const mediaKinds: ReadonlySet<string> = new Set([
  "audio",
  "video",
  "document",
  "inlineData",
  "fileData",
]);

/** A part that the client does not get. */
export interface LostPart {
  /** Kind of the part, as far as a name of it may be passed on. */
  readonly kind: string;
  /** The text that takes its place. */
  readonly note: string;
  readonly isMedia: boolean;
}

/** The client of an answer. */
export interface AnswerClient {
  readonly style: Style;
  /** Whether it asked for sound, without which a Chat client does not look for it. */
  readonly wantsSound: boolean;
}

/** Reads whether a block, or the event of one, is lost to a client. */
export function lostPart(
  block: AnswerBlock | StreamEvent,
  { style, wantsSound }: AnswerClient,
): LostPart | undefined {
  const { type } = block;
  if (type !== "picture" && type !== "sound" && type !== "foreign") return undefined;
  const isUnasked = type === "sound" && style === "chat" && !wantsSound;
  if (clientPlaces[style][type] !== "named" && !isUnasked) return undefined;
  if (type === "picture") {
    // The address of a picture is a text that any client can read.
    if (dataUrl(block.url) === undefined) return undefined;
    return { kind: "image", note: pictureNote(block.url), isMedia: true };
  }
  if (type === "sound") return { kind: "audio", note: lostNote("audio"), isMedia: true };
  const isLost = "otherwise" in block ? block.otherwise === "warn" : block.isLost === true;
  if (!isLost) return undefined;
  const kind = plainKind.test(block.kind) ? block.kind : "content";
  return { kind, note: lostNote(kind), isMedia: mediaKinds.has(kind) };
}

function lostNote(kind: string): string {
  return `[${kind} left out: this API has no place for it]`;
}

/** The failure of an answer that is nothing but such a part. */
export function loneFailure({ kind, isMedia }: LostPart, style: Style): GatewayError {
  return isMedia ? mediaRefusal(kind, style) : unknownFailure(kind);
}

/** Whether a client can read a block. */
function isRead(block: AnswerBlock, client: AnswerClient): boolean {
  if (lostPart(block, client) !== undefined) return false;
  if (block.type === "text") return block.text !== "";
  // A signature is for the provider; redacted reasoning has no other text.
  if (block.type === "reasoning") return block.text !== "" || block.proof?.kind === "redacted";
  return block.type === "picture" || clientPlaces[client.style][block.type] === "read";
}

function bytesOf(block: AnswerBlock): number {
  if (block.type === "text") return textBytes(block.text);
  return block.type === "tool_call" ? textBytes(argumentsText(block)) : 0;
}

/** The bytes of the texts and calls of all choices. */
export function bytesOfAnswer(answer: Answer): number {
  const blocks = [answer, ...answer.others ?? []].flatMap((choice) => choice.blocks);
  return blocks.reduce((sum, block) => sum + bytesOf(block), 0);
}

/** An answer as a client can read it. */
export interface ReadableAnswer {
  readonly answer: Answer;
  /** Takes what its client does not get out of what was read for the charge. */
  readonly charged: (reading: AnswerReading) => AnswerReading;
}

/**
 * Puts notes in the place of parts that a client cannot read.
 *
 * @param onLost gets the name of each
 * @param unknown content beside the parts that nothing could be made of
 * @throws {GatewayError} if no part is left: `conversion_refused` for media, else `upstream_unreachable`
 */
export function readableAnswer(
  given: Answer,
  client: AnswerClient,
  { onLost, unknown }: {
    readonly onLost: (what: string) => void;
    readonly unknown: string | undefined;
  },
): ReadableAnswer {
  const lost: LostPart[] = [];
  const noted = <Some extends Choice>(choice: Some): Some => {
    const blocks = choice.blocks.map((block): AnswerBlock => {
      const part = lostPart(block, client);
      if (part === undefined) return block;
      lost.push(part);
      return { type: "text", path: block.path, text: part.note };
    });
    return { ...choice, blocks };
  };
  const choices = [given, ...given.others ?? []];
  const hasPart = choices.some(({ blocks }) => blocks.some((block) => isRead(block, client)));
  const { others } = given;
  const answer: Answer = noted(
    others === undefined ? given : { ...given, others: others.map(noted) },
  );
  const [first] = lost;
  if (!hasPart) {
    const failure = first === undefined
      ? emptyFailure({
        endings: choices.map(({ stop }) => endingOfStop(stop.reason)),
        usage: given.usage,
        unknown,
      })
      : loneFailure(first, client.style);
    if (failure !== undefined) throw failure;
  }
  for (const { kind } of lost) onLost(`answer.${kind}`);
  if (!lost.some(({ isMedia }) => isMedia)) return { answer, charged: (reading) => reading };
  const bytes = bytesOfAnswer(given);
  const { usage } = answer;
  return {
    answer: usage === undefined ? answer : { ...answer, usage: withoutMedia(usage, { bytes }) },
    charged: (reading) => ({
      ...reading,
      outputBytes: Math.min(reading.outputBytes, bytes),
      ...(reading.usage && { usage: withoutMedia(reading.usage, { bytes }) }),
    }),
  };
}
