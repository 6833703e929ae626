import { assert, assertEquals } from "../../support/assert.ts";
import { readConfig } from "../../../core/config/config.ts";

const fileText = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));

/** The problems of the shipped file with another price of its first model. */
function problemsWith(price: object): readonly string[] {
  const file = JSON.parse(fileText);
  file.models[0].price = price;
  const read = readConfig({}, JSON.stringify(file));
  return read.ok ? [] : read.problems;
}

const short = { unit: "token", vndPerMtok: 3, outputVndPerMtok: 15, cacheWriteHourVndPerMtok: 6 };

Deno.test("no rate of a long prompt may be cheaper than that of a shorter one", () => {
  const long = { aboveTokens: 200_000, vndPerMtok: 6, outputVndPerMtok: 15 };
  assertEquals(problemsWith({ ...short, longPrompt: long }), []);
  for (
    const cheaper of [
      { vndPerMtok: 2, cacheReadVndPerMtok: 6, cacheWriteVndPerMtok: 6 },
      { outputVndPerMtok: 14 },
      { cacheReadVndPerMtok: 2 },
      { cacheWriteVndPerMtok: 2, cacheWriteHourVndPerMtok: 6 },
      { cacheWriteHourVndPerMtok: 5 },
    ]
  ) {
    const problems = problemsWith({ ...short, longPrompt: { ...long, ...cheaper } });
    assertEquals(problems.length, 1, JSON.stringify(cheaper));
    assert(problems[0]!.includes("models.0.price.longPrompt: must not be cheaper"), problems[0]);
  }
});

Deno.test("a price has at most four decimals, as a number or a text", () => {
  const right = [0.75, "0.75", 8_300, "8300.0001", 0.0001];
  for (const vndPerMtok of right) {
    assertEquals(problemsWith({ unit: "token", vndPerMtok }), [], String(vndPerMtok));
  }
  for (const vndPerMtok of [0.00001, 1e-7, "1e3", "1,5", " 1", "", "-1", -0.5, 1e13, null]) {
    assertEquals(problemsWith({ unit: "token", vndPerMtok }), [
      "gateway.json models.0.price.vndPerMtok: must be VND from 0 to 1000000000000 with at most 4 decimals",
    ], String(vndPerMtok));
  }
});

Deno.test("no rate is negative, and a long prompt has a length", () => {
  const wrong = [
    { ...short, cacheWriteHourVndPerMtok: -1 },
    { ...short, longPrompt: { vndPerMtok: 6, outputVndPerMtok: 15 } },
    { ...short, longPrompt: { aboveTokens: 0, vndPerMtok: 6, outputVndPerMtok: 15 } },
    { ...short, longPrompt: { aboveTokens: 10, unit: "token", vndPerMtok: 6 } },
  ];
  for (const price of wrong) assert(problemsWith(price).length > 0, JSON.stringify(price));
});
