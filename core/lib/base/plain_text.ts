/** Checks of a text from a person or a program, where it is stored, shown on pages or written into files. */

/** Control characters, halves of characters, and marks that end a line or turn its direction. */
const notInLine = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u;

/** The same, but for tabs and ends of lines. */
const notInProse = /[[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]--[\t\n\r]]/v;

/** Form of a text that {@linkcode isOneLine} accepts, for messages. */
export const oneLineForm =
  "must have no control characters, line breaks or marks of text direction";

/** Form of a text that {@linkcode isProse} accepts, for messages. */
export const proseForm = "must have no control characters or marks of text direction";

/**
 * Whether a text is one line that can be shown as it is. Half of a surrogate pair is refused, too: a store writes all of
 * them as the same character.
 *
 * @example
 * ```ts
 * import { isOneLine } from "./plain_text.ts";
 * if (!isOneLine("Tết 🎉") || isOneLine("a\nb") || isOneLine("\ud83d")) throw new Error("wrong");
 * ```
 */
export function isOneLine(text: string): boolean {
  return !notInLine.test(text);
}

/** Whether a text of some lines can be shown as it is. */
export function isProse(text: string): boolean {
  return !notInProse.test(text);
}
