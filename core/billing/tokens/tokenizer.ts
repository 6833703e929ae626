/**
 * Counts tokens of text with `gpt-tokenizer` (the o200k vocabulary).
 *
 * Its tables are 2 MB of code that take a quarter of a second to load, so they are loaded with the
 * first count and never at start-up.
 */
import { loadedOnce } from "../../lib/base/loaded_once.ts";

/**
 * Characters that one token count examines; the rest is scaled. The worst text takes 50 ms, prose
 * takes 5.
 */
export const maxTokenizedChars = 32 * 1024;

/** Characters passed to the tokenizer at once, whose time is quadratic in the length of a word. */
export const tokenizerSliceChars = 1024;

type CountText = (text: string) => number;

/** Loads the tables once per process. A failed load is repeated with the next count. */
export const loadTokenizer: () => Promise<CountText> = loadedOnce(async () => {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  // Text of a client is never a control token: `<|endoftext|>` in a prompt is plain text.
  return (text) => countTokens(text, { disallowedSpecial: new Set() });
});

/**
 * Counts the tokens of several texts.
 *
 * Up to {@linkcode maxTokenizedChars} characters, all of it is counted; of longer text, slices that
 * are spread evenly are counted, up to the same number of characters, and the sum is scaled up.
 * Slices are short because merging is quadratic in the length of a word.
 */
export function countTexts(texts: readonly string[], countText: CountText): number {
  const totalChars = texts.reduce((sum, text) => sum + text.length, 0);
  const sliceChars = tokenizerSliceChars;
  if (totalChars <= maxTokenizedChars) {
    return texts.reduce((sum, text) => sum + countSlices(text, sliceChars, countText), 0);
  }
  const slices = Math.floor(maxTokenizedChars / sliceChars);
  const strideChars = totalChars / slices;
  let tokens = 0;
  let counted = 0;
  let textAt = 0;
  let textStart = 0;
  for (let i = 0; i < slices; i++) {
    const from = Math.floor(i * strideChars);
    while (textStart + (texts[textAt]?.length ?? 0) <= from) {
      textStart += texts[textAt]?.length ?? 0;
      textAt++;
    }
    const slice = (texts[textAt] ?? "").slice(from - textStart, from - textStart + sliceChars);
    tokens += countText(slice);
    counted += slice.length;
  }
  return Math.ceil(tokens * totalChars / Math.max(counted, 1));
}

function countSlices(text: string, sliceChars: number, countText: CountText): number {
  let tokens = 0;
  for (let at = 0; at < text.length; at += sliceChars) {
    tokens += countText(text.slice(at, at + sliceChars));
  }
  return tokens;
}
