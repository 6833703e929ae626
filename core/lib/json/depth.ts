import type { Json } from "./json.ts";
import { JsonScanner, token } from "./json_scanner.ts";
import { maxJsonDepth } from "./scan/limits.ts";

/**
 * Characters of a text that is parsed whatever its depth: so few brackets take the engine a millisecond. Nearly all
 * answers and events are shorter.
 */
const uncheckedChars = 64 * 1024;

/**
 * Refuses JSON from a provider that is nested deeper than requests may be: a million brackets block the engine for a
 * second.
 *
 * @param unchecked characters of a text that is not looked at; 0 where what is parsed is walked by recursion
 * @throws {SyntaxError} if a text of some length has more than `maxJsonDepth` levels
 *
 * @example
 * ```ts
 * import { checkJsonDepth } from "./depth.ts";
 * checkJsonDepth(`[${"{},".repeat(100_000)}{}]`);
 * try {
 *   checkJsonDepth("[".repeat(100_000));
 *   throw new Error("not refused");
 * } catch (error) {
 *   if (!(error instanceof SyntaxError)) throw error;
 * }
 * ```
 */
export function checkJsonDepth(text: string, unchecked = uncheckedChars): void {
  if (text.length <= unchecked) return;
  let depth = 0;
  const scanner = JsonScanner.ofText(text);
  for (let found = scanner.next(); found !== token.end; found = scanner.next()) {
    if (found === token.close) depth--;
    else if (found === token.open && ++depth > maxJsonDepth) {
      throw new SyntaxError(`Nested deeper than ${maxJsonDepth} levels`);
    }
  }
}

/**
 * Parses JSON from a provider whose numbers need not be exact; see {@linkcode checkJsonDepth}.
 *
 * @param unchecked as for {@linkcode checkJsonDepth}
 * @throws {SyntaxError} if the text is not JSON, or too deep
 */
export function parseWithinDepth(text: string, unchecked?: number): Json {
  checkJsonDepth(text, unchecked);
  const value: Json = JSON.parse(text);
  return value;
}
