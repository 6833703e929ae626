/** What is held of a stream's output: learned per model and key, and never too little for output that does not show. */
import { assertEquals } from "../../../support/assert.ts";
import { buildModel } from "../../../../core/catalog/catalog.ts";
import { modelSchema } from "../../../../core/catalog/schema.ts";
import { OutputExpectations } from "../../../../core/calls/bounds/output_limit.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";

function modelOf(id: string, capabilities: object = {}) {
  const routes = [{ provider: "p", facts: capabilities }];
  const price = { unit: "token", vndPerMtok: 1 };
  return buildModel(modelSchema.parse({ id, kind: "chat", family: "f", price, routes }));
}

const model = modelOf("m");
const [one, two] = [newId("apiKey", 1), newId("apiKey", 2)];
const shown = (outputBytes: number) => ({
  outputTokens: Math.ceil(outputBytes / 4),
  reasoningTokens: 0,
  outputBytes,
});

Deno.test("the average output of a key's calls follows the latest, counted by us where no report came", () => {
  const expectations = new OutputExpectations();
  assertEquals(expectations.averageTokens(model, one), undefined);
  expectations.note(model, one, shown(4_000));
  assertEquals(expectations.averageTokens(model, one), 1_000);
  expectations.note(model, one, shown(8_000));
  assertEquals(expectations.averageTokens(model, one), 1_200);
  assertEquals(expectations.averageTokens(model, two), undefined);
  expectations.note(model, two, { outputTokens: 0, reasoningTokens: 0, outputBytes: 400 });
  assertEquals(expectations.averageTokens(model, two), 100);
});

Deno.test("the output of a key's calls is expected of its next ones, and decays as they produce less", () => {
  const expectations = new OutputExpectations();
  assertEquals(expectations.tokens(model, one), 2_048);
  expectations.note(model, one, shown(40_000));
  assertEquals(expectations.tokens(model, one), 40_000);
  assertEquals(expectations.tokens(model, two), 2_048);
  assertEquals(expectations.tokens(modelOf("other"), one), 2_048);
  for (let calls = 0; calls < 60; calls++) expectations.note(model, one, shown(100));
  assertEquals(expectations.tokens(model, one), 2_048);
});

Deno.test("for a model with hidden reasoning all is reserved, for every key; also if its routes declare it", () => {
  const expectations = new OutputExpectations();
  assertEquals(expectations.tokens(modelOf("r", { efforts: ["low"] }), one), Infinity);
  assertEquals(expectations.tokens(modelOf("t", { thinking: "adaptive" }), one), Infinity);
  assertEquals(expectations.tokens(modelOf("n", { thinking: "none", efforts: [] }), one), 2_048);
  expectations.note(model, one, { outputTokens: 900, reasoningTokens: 800, outputBytes: 400 });
  assertEquals([one, two].map((key) => expectations.tokens(model, key)), [Infinity, Infinity]);
});

Deno.test("tokens without bytes that are not reasoning concern only the key, for a while", () => {
  const expectations = new OutputExpectations();
  expectations.note(model, one, { outputTokens: 600, reasoningTokens: 0, outputBytes: 60 });
  assertEquals([one, two].map((key) => expectations.tokens(model, key)), [Infinity, 2_048]);
  for (let calls = 0; calls < 20; calls++) expectations.note(model, one, shown(100));
  assertEquals(expectations.tokens(model, one), 2_048);
});

Deno.test("the table is bounded: keys that no longer call are forgotten", () => {
  const expectations = new OutputExpectations();
  expectations.note(model, one, shown(40_000));
  for (let key = 0; key < 10_000; key++) {
    expectations.note(model, newId("apiKey", 10 + key), shown(100));
  }
  assertEquals(expectations.tokens(model, one), 2_048);
});
