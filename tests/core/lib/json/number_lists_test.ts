/** Lists of numbers are skipped as the cursor skips everything else: to the same byte, whatever the text. */
import { JsonCursor, NumberLists } from "../../../../core/lib/json/json_cursor.ts";
import { assertEquals } from "../../../support/assert.ts";

const encode = (text: string) => new TextEncoder().encode(text);
/** Enough bytes behind a text that its lists are searched. */
const rest = `,"rest":"${"x".repeat(40_000)}"}`;

/** Where each member of an object ends. */
function ends(text: string): string[] {
  const bytes = encode(text);
  const cursor = new JsonCursor();
  cursor.reset(bytes, 0, bytes.length);
  cursor.enterObject();
  const values: string[] = [];
  while (cursor.nextMember()) {
    const start = cursor.at;
    cursor.skip();
    values.push(new TextDecoder().decode(bytes.subarray(start, cursor.at)));
  }
  return values;
}

const lists = [
  "[]",
  "[1]",
  "[-1.5e-3, 2]",
  '[1,"]"]',
  '[1,"\\"]",2]',
  "[1,[2,3],4]",
  '[1,{"a":[1]},2]',
  "[[1,2],[3,[4]],5]",
  `[${"0.25,".repeat(10_000)}1]`,
  `[${"0.25,".repeat(80_000)}1]`,
  `[${"[0.1,0.2],".repeat(40_000)}[]]`,
  `[${'{"v":[1,2,3]},'.repeat(30_000)}{}]`,
  `[${'[1,"é"],'.repeat(30_000)}[1]]`,
];

for (const list of lists) {
  Deno.test(`the end of ${list.slice(0, 24)} (${list.length} characters) is found`, () => {
    const [value, other] = ends(`{"a":${list},"b":[1,2]${rest}`);
    assertEquals([value === list, other], [true, "[1,2]"]);
  });
}

Deno.test("a list beside characters of several bytes is not searched as text", () => {
  const bytes = encode(`[1,2]${"é".repeat(10_000)}`);
  assertEquals(new NumberLists(bytes, bytes.length).endOf(0), -1);
});

Deno.test("invalid UTF-8 moves no end", () => {
  for (const stranger of [0xff, 0xc3, 0xe2, 0x80]) {
    const bytes = encode(`{"a":[1,2],"b":"?","c":[3]${rest}`);
    bytes[bytes.indexOf(0x3f)] = stranger;
    const cursor = new JsonCursor();
    cursor.reset(bytes, 0, bytes.length);
    cursor.enterObject();
    const starts: (number | undefined)[] = [];
    while (cursor.nextMember()) {
      cursor.skip();
      starts.push(bytes[cursor.at]);
    }
    assertEquals(starts, [0x2c, 0x2c, 0x2c, 0x7d]);
  }
});
