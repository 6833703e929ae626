/** Tokens of the sandbox, which has no tokenizer. */

const encoder = new TextEncoder();

/** Maximum UTF-8 bytes of a token. */
const tokenBytes = 4;

/**
 * Counts tokens as the sandbox defines them: a token is as many whole characters as fit into 4 bytes of UTF-8. For
 * ASCII that is a quarter of the length, rounded up.
 *
 * @example
 * ```ts
 * import { countTokens } from "./tokens.ts";
 * if (countTokens("hello") !== 2 || countTokens("") !== 0 || countTokens("chào") !== 2) throw new Error("wrong");
 * ```
 */
export function countTokens(text: string): number {
  // Prompts are long and mostly ASCII, for which the length is enough.
  if (encoder.encode(text).length === text.length) return Math.ceil(text.length / tokenBytes);
  let count = 0;
  for (const _ of tokensOf(text)) count++;
  return count;
}

/** Splits a text into tokens; joined, they are the text again. */
export function* tokensOf(text: string): Generator<string> {
  let token = "";
  let bytes = 0;
  for (const character of text) {
    const more = utf8Length(character.codePointAt(0) ?? 0);
    if (bytes + more > tokenBytes) {
      yield token;
      token = "";
      bytes = 0;
    }
    token += character;
    bytes += more;
  }
  if (token !== "") yield token;
}

/** Returns the first `limit` tokens of a text. */
export function takeTokens(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let taken = "";
  let count = 0;
  for (const token of tokensOf(text)) {
    if (count++ >= limit) break;
    taken += token;
  }
  return taken;
}

/** Splits a text into pieces of `size` tokens, as a streaming model does. */
export function* cutIntoPieces(text: string, size: number): Generator<string> {
  let piece = "";
  let count = 0;
  for (const token of tokensOf(text)) {
    piece += token;
    if (++count === size) {
      yield piece;
      piece = "";
      count = 0;
    }
  }
  if (piece !== "") yield piece;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
