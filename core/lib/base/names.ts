/** The names that people and programs give to what is theirs: keys, teams, organisations, budgets, webhooks. */
import { z } from "zod";
import { parsedText } from "./parsed_text.ts";

/** Most characters of a name, unless its thing has a bound of its own: a line of a list. */
export const maxNameChars = 60;

/** Joiners and variation selectors within an emoji, which are invisible by themselves. */
const emojiJoints =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])\ufe0f?\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\ufe0f/gu;

/**
 * Control characters, lone surrogates (a store writes all of them as the same character) and invisible characters: names
 * with them look alike, or turn the direction of the text around them.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Returns a name in its normal form without surplus space; `undefined` if it is empty, too long or has characters that
 * are not seen.
 *
 * @example
 * ```ts
 * import { parseName } from "./names.ts";
 * if (parseName("  Máy   chủ 👩‍💻 ") !== "Máy chủ 👩‍💻") throw new Error("refused");
 * for (const bad of [" ", "a\u0000b", "a\u202eb", "a\u200bb", "\ud83d", "x".repeat(61)]) {
 *   if (parseName(bad) !== undefined) throw new Error(JSON.stringify(bad));
 * }
 * ```
 */
export function parseName(text: string, maxChars: number = maxNameChars): string | undefined {
  const name = text.normalize("NFC").replace(/\s+/g, " ").trim();
  const isName = name !== "" && [...name].length <= maxChars &&
    !unseen.test(name.replace(emojiJoints, ""));
  return isName ? name : undefined;
}

function schemaOf(minChars: 0 | 1, maxChars: number) {
  return parsedText(
    z.string().meta({ minLength: minChars, maxLength: maxChars }),
    (text) => minChars === 0 && text.trim() === "" ? "" : parseName(text, maxChars),
    `must have ${minChars} to ${maxChars} visible characters`,
  );
}

/** The schema of a name. */
export function nameOf(maxChars: number = maxNameChars) {
  return schemaOf(1, maxChars);
}

/** The schema of a name that may be empty. */
export function optionalNameOf(maxChars: number = maxNameChars) {
  return schemaOf(0, maxChars);
}
