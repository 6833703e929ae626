/** Patterns find what JavaScript's regular expressions find, on the subset that both have, in steps linear in the text. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import {
  type LinearPattern,
  type PatternMatch,
  readPattern,
  type StepBudget,
} from "../../../../core/lib/base/linear_pattern.ts";

function read(text: string): LinearPattern {
  const pattern = readPattern(text);
  if (typeof pattern === "string") throw new Error(`${text}: ${pattern}`);
  return pattern;
}

/** All matches, with a pause after so many steps. */
function matchesIn(
  pattern: LinearPattern,
  text: string,
  budget: StepBudget = { left: 1e9 },
  stepsPerTurn = Infinity,
): PatternMatch[] {
  const search = pattern.search();
  search.begin(text);
  const all: PatternMatch[] = [];
  while (budget.left >= 0) {
    const turn = { left: Math.min(budget.left, stepsPerTurn) };
    const given = turn.left;
    const found = search.next(turn);
    budget.left -= given - turn.left;
    if (found === undefined) break;
    if (found !== "paused") all.push(found);
  }
  return all;
}

/** Characters of texts: with both cases, word and other characters, one beyond the first plane. */
const letters = ["a", "b", "A", "B", "1", "_", " ", "\n", "-", "đ", "Đ", "😀", "k", "s"];

const atom = fc.constantFrom(
  ...["a", "b", "B", "1", "k", "s", "đ", "😀", ".", "[ab]", "[^a]", "[a-b1]", "[^\\d]"],
  ...["\\d", "\\w", "\\s", "\\S", "\\W", "\\D", "\\n", "-", "\\*", "[-\\w]", "\\x61", "\\x{1F600}"],
);
const quantifier = fc.constantFrom(
  "*",
  "+",
  "?",
  "{2}",
  "{1,}",
  "{1,3}",
  "*?",
  "+?",
  "??",
  "{1,2}?",
);
const { pattern: patterns } = fc.letrec<{ pattern: string; all: string; part: string }>((tie) => ({
  pattern: fc.array(tie("all"), { minLength: 1, maxLength: 3 }).map((all) => all.join("|")),
  all: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  part: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    atom,
    fc.tuple(atom, quantifier).map(([one, times]) => one + times),
    fc.constantFrom("\\b", "\\B", "^", "$"),
    fc.tuple(tie("pattern"), fc.constantFrom("", "*", "+", "?", "{2}", "+?"))
      .map(([inner, times]) => `(${inner})${times}`),
  ),
}));

/** The same pattern in JavaScript's syntax. */
function inJavaScript(text: string, ignoresCase: boolean): RegExp {
  const written = text.replaceAll("\\x{1F600}", "😀").replaceAll(".", "[^\\n]");
  return new RegExp(written, ignoresCase ? "giu" : "gu");
}

Deno.test("matches are those of JavaScript's regular expressions", () => {
  let [compared, tried] = [0, 0];
  fc.assert(
    fc.property(
      patterns,
      fc.boolean(),
      fc.array(fc.constantFrom(...letters), { maxLength: 14 }).map((all) => all.join("")),
      fc.integer({ min: 0, max: 20 }),
      (text, ignoresCase, input, steps) => {
        tried++;
        const pattern = readPattern(ignoresCase ? `(?i)${text}` : text);
        // What is not in the subset; the test below says which.
        if (typeof pattern === "string") return;
        compared++;
        const found = matchesIn(pattern, input).map(({ start, end }) => [start, end]);
        const inTurns = matchesIn(pattern, input, { left: 1e9 }, steps);
        assertEquals(
          inTurns.map(({ start, end }) => [start, end]),
          found,
          "a pause changes nothing",
        );
        const expected = [...input.matchAll(inJavaScript(text, ignoresCase))]
          .map((match) => [match.index, match.index + match[0].length]);
        assertEquals(found, expected, `${text} on ${JSON.stringify(input)}`);
      },
    ),
    { numRuns: 6_000 },
  );
  assert(compared * 4 > tried, `${compared} of ${tried} are in the subset`);
});

Deno.test("what is beyond the subset is refused with its reason", () => {
  for (
    const [text, reason] of [
      ["", "matches the empty text"],
      ["a*", "matches the empty text"],
      ["a|", "matches the empty text"],
      ["^$", "matches the empty text"],
      ["(a*)+", "repeats what can be empty"],
      ["(\\b)*a", "repeats what can be empty"],
      ["a**", "repeats a repetition"],
      ["*a", "repeats nothing"],
      ["(a", 'has a "(" without ")"'],
      ["a)", 'has a ")" without "("'],
      ["[a", "ends in the middle"],
      ["a\\", "ends in the middle"],
      ["(?=a)b", 'takes only "("'],
      ["(?<n>a)", 'takes only "("'],
      ["(a)\\1", 'does not know "\\1"'],
      ["\\p{L}", 'does not know "\\p"'],
      ["a{201}", "has a count"],
      ["a{3,2}", "has a count"],
      ["a{x}", 'has a "{"'],
      ["[b-a]", "has a range"],
      ["[[:alpha:]]", "takes no names"],
      ["(a{100}){100}", "has more than 1000 states"],
      ["a".repeat(501), "has more than 500 characters"],
      ["(".repeat(60) + "a" + ")".repeat(60), "has more than 50 groups"],
    ] as const
  ) {
    const problem = readPattern(text);
    assert(typeof problem === "string" && problem.startsWith(reason), `${text}: ${problem}`);
  }
});

Deno.test("steps grow with the text, not with its square, whatever the pattern", () => {
  const hostile = ["(a|aa)+b", "(a+)+b", "a{1,50}a{1,50}b", "(a|b|ab)+c", "[ab]{1,100}x"];
  for (const text of hostile) {
    const pattern = read(text);
    const stepsFor = (chars: number) => {
      const budget = { left: 1e9 };
      assertEquals(matchesIn(pattern, "a".repeat(chars), budget), []);
      return 1e9 - budget.left;
    };
    const [short, long] = [stepsFor(1_000), stepsFor(10_000)];
    assert(long <= short * 11, `${text}: ${short} steps, then ${long}`);
  }
});

Deno.test("a search that has used its steps pauses", () => {
  const search = read("(a+)+b").search();
  search.begin(`${"a".repeat(1_000)}b`);
  assertEquals(search.next({ left: 100 }), "paused");
  assertEquals(search.next({ left: 100 }), "paused");
  assertEquals(search.next({ left: 1e9 }), { start: 0, end: 1_001 });
});

Deno.test("an assertion that failed in one place is asked again in the next", () => {
  assertEquals(matchesIn(read("a?\\B\\n"), "aĐ\n"), [{ start: 2, end: 3 }]);
  assertEquals(matchesIn(read("a?\\B\\n"), "a--\n"), [{ start: 3, end: 4 }]);
});

Deno.test("letters match in either case, also those beyond ASCII with the other case in it", () => {
  const cases = [["(?i)s1", "ſ1"], ["(?i)k1", "\u212a1"], ["(?i)đ", "Đ"]] as const;
  for (const [pattern, text] of cases) {
    const [found] = matchesIn(read(pattern), text);
    assertEquals(found, { start: 0, end: text.length });
  }
});

Deno.test("a text without a beginning of a match costs no step", () => {
  const budget = { left: 0 };
  const text = "no such letter here, không có chữ đó. ".repeat(1_000);
  assertEquals(matchesIn(read("(?i)x\\d+"), text, budget), []);
  assertEquals(budget.left, 0);
});
