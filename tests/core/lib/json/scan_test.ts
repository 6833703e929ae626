import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { modulePath, moduleText } from "../../../support/write_wasm.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { outlineOf, type OutlineRules, wholeOf } from "../../../../core/lib/json/outline.ts";
import { maxScannedBytes, scanJson } from "../../../../core/lib/json/scan/scan.ts";
import { stringifyExactly } from "../../../../core/lib/runtime/built_ins.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const strict = new TextDecoder("utf-8", { fatal: true });

class AllNames extends Set<string> {
  override has(): boolean {
    return true;
  }
}

/** Leaves out every long string, wherever it is. */
const everywhere: OutlineRules = {
  left: new AllNames(),
  decoded: new Set(),
  isDecoded: () => false,
  mayBegin: () => false,
};

function outlined(bytes: Uint8Array) {
  const skeleton = scanJson(bytes);
  return skeleton && outlineOf(bytes, skeleton, everywhere);
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(strict.decode(bytes));
  } catch {
    return undefined;
  }
}

/** Pieces of string literals: plain, escaped, beyond ASCII, broken, and as long as the blocks of the scanner. */
const pieces = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", " ", "x".repeat(61), "lorem ipsum ".repeat(5)) },
  {
    weight: 5,
    arbitrary: fc.constantFrom('\\"', "\\\\", "\\n", "\\/", "\\u00e9", "\\uD83d\\uDE00"),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom("é", "ế", "𝄞", "\u007f", "{", "]", ":", ",", "'", "5e5"),
  },
  { weight: 2, arbitrary: fc.constantFrom("\\ud800", "\\udc00\\ud800", "\\u0000", "\\b\\f\\r\\t") },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "binary" }).map((text) => JSON.stringify(text).slice(1, -1)),
  },
);
const faultyPieces = fc.constantFrom(
  "\\x",
  "\\u12g4",
  "\\u12",
  "\n",
  "\t",
  "\u0000",
  "\\",
  '"',
  "\\U0041",
);

function literals(piece: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const short = fc.array(piece, { maxLength: 6 });
  const long = fc.tuple(short, fc.nat(700), short).map((
    [before, length, after],
  ) => [...before, "y".repeat(length), ...after]);
  return fc.oneof(short, long).map((all) => `"${all.join("")}"`);
}

/** JSON text as strangers write it, from literals as they are given. */
function texts(literal: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const space = fc.constantFrom("", "", "", " ", "\n", "\t ", "\r\n", " ".repeat(70));
  const scalar = fc.oneof(
    { weight: 4, arbitrary: literal },
    {
      weight: 2,
      arbitrary: fc.constantFrom("0", "-0", "1", "-1.5", "1234567", "true", "null", "{}", "[]"),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("123456789012345678", "0.30000000000000004", "1e3", "2E-300"),
    },
  );
  const { value } = fc.letrec<{ value: string }>((tie) => {
    const spaced = fc.tuple(space, tie("value"), space).map((parts) => parts.join(""));
    const member = fc.tuple(space, literal, space, spaced)
      .map(([before, name, after, held]) => `${before}${name}${after}:${held}`);
    return {
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        scalar,
        fc.array(spaced, { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
        fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(",")}}`),
      ),
    };
  });
  return fc.array(fc.tuple(literal, value), { maxLength: 6 }).map((members) =>
    `{${members.map(([name, held]) => `${name}:${held}`).join(",")}}`
  );
}

/** Bytes with a few changes, any of which may make them something else than JSON. */
const changes = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom("replace", "insert", "remove", "cut", "repeat"),
    byte: fc.oneof(
      fc.nat(255),
      fc.constantFrom(...encode('"\\{}[]:, \u001f0e'), 0xc0, 0xe2, 0xf4, 0xed),
    ),
  }),
  { minLength: 1, maxLength: 3 },
);
type Change = typeof changes extends fc.Arbitrary<(infer One)[]> ? One : never;

function changed(bytes: Uint8Array, { at, kind, byte }: Change): Uint8Array {
  const list = [...bytes];
  const place = Math.min(Math.floor(at * list.length), list.length);
  if (kind === "replace") list[place] = byte;
  if (kind === "insert") list.splice(place, 0, byte);
  if (kind === "remove") list.splice(place, 1);
  if (kind === "cut") list.length = place;
  if (kind === "repeat") list.splice(place, 0, ...list.slice(place, place + 200));
  return Uint8Array.from(list);
}

/** What the scanner takes is JSON, with the same value; what it does not take is left to the parser. */
function checkAgainstParser(bytes: Uint8Array): boolean {
  const outline = outlined(bytes);
  if (outline === undefined) return false;
  const value = parsed(bytes);
  assert(typeof value === "object" && value !== null, `taken: ${new TextDecoder().decode(bytes)}`);
  // Numbers outside double precision are exact in the outline.
  assertEquals(
    JSON.stringify(JSON.parse(stringifyExactly(wholeOf(outline)))),
    JSON.stringify(value),
  );
  return true;
}

Deno.test("scanJson() takes nothing but JSON, and gives its value: valid, faulty and mutated texts", () => {
  const runs = 3_000;
  fc.assert(
    fc.property(texts(literals(pieces)), (text) => {
      const isTaken = checkAgainstParser(encode(text));
      // Nothing else may make it doubtful, or the test would prove nothing.
      const isPlain = !/\de|\dE| {64}/.test(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
      assert(isTaken || !isPlain, text);
    }),
    { numRuns: runs },
  );
  fc.assert(
    fc.property(
      texts(literals(fc.oneof({ weight: 30, arbitrary: pieces }, faultyPieces))),
      (text) => {
        checkAgainstParser(encode(text));
      },
    ),
    { numRuns: runs },
  );
  fc.assert(
    fc.property(texts(literals(pieces)), changes, (text, all) => {
      checkAgainstParser(all.reduce(changed, encode(text)));
    }),
    { numRuns: runs },
  );
});

Deno.test("scanJson() takes no long string with something beside it that would change its mark", () => {
  const long = JSON.stringify("y".repeat(600));
  for (const beside of ["0", "5", "12", "-", "+", ".", "1.", ".5", "e", "E", "n", '""', long]) {
    for (
      const text of [
        `{"a":${long}${beside}}`,
        `{"a":${beside}${long}}`,
        `[1,${long}${beside},2]`,
        `[1,${beside}${long}]`,
        `{"a":{"b":[${long}${beside}]}}`,
      ]
    ) {
      assert(!checkAgainstParser(encode(text)), text.replace(long, "…"));
    }
  }
});

Deno.test("scanJson() validates UTF-8 in what it leaves out, at every place of a block", () => {
  const sequences = [
    [0x80],
    [0xc0, 0x80],
    [0xc1, 0xbf],
    [0xc2, 0x80],
    [0xc2],
    [0xdf, 0xbf],
    [0xe0, 0x80, 0x80],
    [0xe0, 0xa0, 0x80],
    [0xe1, 0x80],
    [0xed, 0x9f, 0xbf],
    [0xed, 0xa0, 0x80],
    [0xef, 0xbf, 0xbf],
    [0xf0, 0x80, 0x80, 0x80],
    [0xf0, 0x90, 0x80, 0x80],
    [0xf1, 0x80, 0x80],
    [0xf4, 0x8f, 0xbf, 0xbf],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xff],
    [0xc2, 0x80, 0x80],
    [0xe2, 0x82, 0x28],
    [0xf0, 0x9f, 0x98, 0x80, 0x80],
  ];
  for (const sequence of sequences) {
    for (let before = 0; before < 70; before++) {
      const bytes = Uint8Array.from([
        ...encode(`{"a":"${"x".repeat(530 + before)}`),
        ...sequence,
        ...encode('"}'),
      ]);
      assertEquals(
        outlined(bytes) !== undefined,
        parsed(bytes) !== undefined,
        `${sequence} at ${before}`,
      );
      const cut = bytes.slice(0, bytes.length - 2);
      assertEquals(outlined(cut), undefined);
    }
  }
});

Deno.test("scanJson() validates escapes in what it leaves out, at every place of a block", () => {
  for (let code = 0; code < 256; code++) {
    const escape = `\\${String.fromCharCode(code)}`;
    for (const rest of ["", "0041", "00g1", "\\\\", '\\"']) {
      for (const before of [0, 1, 7, 40, 62, 63]) {
        const bytes = encode(`{"a":"${"x".repeat(530 + before)}${escape}${rest}"}`);
        assertEquals(outlined(bytes) !== undefined, parsed(bytes) !== undefined, escape + rest);
      }
    }
  }
});

Deno.test("scanJson() finds the ends of strings behind runs of backslashes of every length", () => {
  for (let run = 0; run < 140; run++) {
    for (let before = 0; before < 64; before += 3) {
      const bytes = encode(
        `{"${"b".repeat(before)}":"${"\\".repeat(run)}","c":"${"z".repeat(600)}"}`,
      );
      assertEquals(
        outlined(bytes) !== undefined,
        parsed(bytes) !== undefined,
        `${run} behind ${before}`,
      );
    }
  }
});

Deno.test("a number of the text is never taken for a long string", () => {
  const long = `"${"x".repeat(600)}"`;
  for (
    const number of [
      "1e-300",
      "1E-300",
      "2.0e-300",
      `0.${"0".repeat(299)}1`,
      "12345678901234567890",
    ]
  ) {
    const text = `{"a":${number},"b":${long},"c":[${number}]}`;
    const outline = outlined(encode(text));
    if (outline === undefined) continue;
    assertEquals(stringifyExactly(wholeOf(outline)), text);
  }
  assertEquals(outlined(encode(`{"a":1e-300,"b":${long}}`)), undefined);
});

Deno.test("scanJson() leaves what is larger or deeper than its bounds to the parser", () => {
  const nested = (depth: number) => encode(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  assert(outlined(nested(100)) !== undefined);
  assertEquals(outlined(nested(129)), undefined);
  assertEquals(outlined(nested(20_000)), undefined);
  const long = (bytes: number) => encode(`{"a":"${"x".repeat(bytes - 8)}"}`);
  assertEquals(outlined(long(maxScannedBytes + 1)), undefined);
  const whole = outlined(long(maxScannedBytes));
  assertEquals((wholeOf(whole ?? {}) as JsonObject)["a"], "x".repeat(maxScannedBytes - 8));
});

Deno.test("a member of any name, `__proto__` too, keeps its long text", () => {
  const text = `{"__proto__":"${"p".repeat(600)}","a":{"__proto__":"${"q".repeat(600)}","0":"${
    "r".repeat(600)
  }"}}`;
  assert(checkAgainstParser(encode(text)));
});

Deno.test("the module is what its source compiles to: deno task wasm", async () => {
  assertEquals(await Deno.readTextFile(modulePath), await moduleText());
});
