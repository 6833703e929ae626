/** Pages stay short enough to be read in one sitting; what is looked up instead of read may be longer. */
import { assert, assertEquals } from "../support/assert.ts";
import { pagesIn, sourceText } from "./source_files.ts";

/** Lines of the README: what a stranger reads in five minutes, on three screens. */
const maxReadmeLines = 120;
/** Words of a page: ten minutes at 250 words a minute. */
const maxPageWords = 2500;

/** Pages that are longer, with the reason. Nobody reads them from top to bottom, or their argument is one. */
const longPages: Readonly<Record<string, string>> = {
  "docs/api.md": "reference for clients, looked up by endpoint and error code",
  "docs/behaviour.md": "reference for what a call does and costs, linked to by section",
  "docs/benchmarks.md": "record of measurements, each with its day",
  "docs/conversion.md": "reference by field, looked up by name",
  "docs/performance.md": "record of measurements, each with its method",
  "docs/internals/MONEY.md": "one argument: invariants and their proofs build on each other",
  "docs/internals/WIRE_FORMATS.md": "reference for the vendors' formats, looked up by style",
};

/** Words of a page: runs of characters with a letter or digit, so no marks and no rules of tables. */
function wordsOf(text: string): number {
  return text.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

Deno.test(`the README has at most ${maxReadmeLines} lines`, () => {
  const lines = sourceText("README.md").trimEnd().split("\n").length;
  assert(lines <= maxReadmeLines, `README.md has ${lines} lines`);
});

Deno.test(`a page has at most ${maxPageWords} words, unless it is looked up instead of read`, () => {
  const long = pagesIn("docs/").filter((page) => wordsOf(sourceText(page)) > maxPageWords);
  assertEquals(long.toSorted(), Object.keys(longPages).toSorted());
});

Deno.test("words are counted without marks and rules of tables", () => {
  assertEquals(wordsOf("| a | b-c |\n| --- | :-: |\n| `x y` | 5 % |\n\n## Xin chào\n"), 7);
});
