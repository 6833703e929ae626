/**
 * Recognizes chunks that differ from an earlier one in a single piece of text. Most chunks of a stream do: reading only
 * the piece is several times faster than parsing the chunk.
 */
import { FrameTemplate } from "../../../lib/json/json_literal.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { isZeroCall } from "../answer/answer_reading.ts";

/** What the one piece of text in a chunk is. */
export type PieceKind = "text" | "reasoning" | "arguments";

const reasoningKeys: ReadonlySet<string> = new Set(["reasoning_content", "reasoning"]);

/** Whether a member of a chunk holds anything. */
export function holds(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === "") return false;
  if (isJsonObject(value) && isZeroCall(value)) return false;
  return !Array.isArray(value) || value.length > 0;
}

/** Whether a chunk has nothing beside the delta of its choice. */
function isQuiet(chunk: JsonObject, choice: JsonObject): boolean {
  return !holds(chunk.usage) && !holds(chunk.x_groq) && !holds(choice.usage) &&
    !holds(choice.finish_reason) && !holds(choice.logprobs) && !holds(chunk.moderation);
}

/** The shape of the last chunk, if the chunk had nothing but one piece of text. */
export class ChunkShape {
  readonly #template = new FrameTemplate();
  #kind: PieceKind | undefined;

  /** What the piece is; `undefined` while no shape is learnt. */
  get kind(): PieceKind | undefined {
    return this.#kind;
  }

  /** Offset of the piece's literal in a chunk of this shape; 0 if none matches. */
  get pieceAt(): number {
    return this.#template.textAt;
  }

  /** The piece of a chunk of this shape as a JSON literal; `undefined` if the chunk has another shape or no text. */
  match(data: string): string | undefined {
    if (this.#kind === undefined) return undefined;
    const json = this.#template.match(data);
    return json === '""' ? undefined : json;
  }

  forget(): void {
    this.#kind = undefined;
  }

  /** Learns the shape of a chunk with one choice. `piece` is what the chunk brought of a call's arguments. */
  learn(
    { chunk, choice, delta }: {
      readonly chunk: JsonObject;
      readonly choice: JsonObject;
      readonly delta: JsonObject;
    },
    data: string,
    piece: string | undefined,
  ): void {
    if (!isQuiet(chunk, choice)) return;
    const [only, ...more] = Object.entries(delta)
      .filter(([key, value]) => key !== "role" && holds(value));
    if (only === undefined || more.length > 0) return;
    const [key, value] = only;
    if (key === "tool_calls") {
      if (piece !== undefined) this.#take("arguments", data, "arguments", piece);
      return;
    }
    if (typeof value !== "string" || (delta.role !== undefined && delta.role !== "assistant")) {
      return;
    }
    if (key === "content") this.#take("text", data, key, value);
    else if (reasoningKeys.has(key)) this.#take("reasoning", data, key, value);
  }

  #take(kind: PieceKind, data: string, key: string, piece: string): void {
    this.#template.learn(data, key, piece);
    this.#kind = kind;
  }
}
