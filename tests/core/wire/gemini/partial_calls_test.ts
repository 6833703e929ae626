/** Calls whose arguments a Gemini server streams in pieces, for clients of the other styles. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { streamed } from "../conversion/streaming.ts";
import { pipeParts } from "../native/piping.ts";

/** The pieces of a value by the path of its place; texts come in pieces of `size` characters. */
function piecesOf(value: Json, path: string, size: number): JsonObject[] {
  if (Array.isArray(value)) {
    return value.flatMap((one, i) => piecesOf(one, `${path}[${i}]`, size));
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, inner]) => {
      const quoted = `['${name.replaceAll(/['\\]/gu, "\\$&")}']`;
      const step = /^[a-z]+$/u.test(name) ? `.${name}` : quoted;
      return piecesOf(inner as Json, `${path}${step}`, size);
    });
  }
  if (typeof value === "string") {
    const count = Math.max(1, Math.ceil(value.length / size));
    return Array.from({ length: count }, (_, i) => ({
      jsonPath: path,
      stringValue: value.slice(i * size, (i + 1) * size),
      willContinue: i < count - 1,
    }));
  }
  if (typeof value === "number") return [{ jsonPath: path, numberValue: value }];
  if (typeof value === "boolean") return [{ jsonPath: path, boolValue: value }];
  return [{ jsonPath: path, nullValue: "NULL_VALUE" }];
}

function framesOf(parts: readonly JsonObject[], lastReason: string): string {
  return parts.map((part, i) => {
    const finishReason = i === parts.length - 1 ? { finishReason: lastReason } : {};
    const candidates = [{ content: { parts: [part], role: "model" }, index: 0, ...finishReason }];
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 9, totalTokenCount: 14 };
    return `data: ${JSON.stringify({ candidates, usageMetadata })}\r\n\r\n`;
  }).join("");
}

/** The calls that a Chat client puts together. */
function callsOf(transcript: string): { readonly name: string; readonly input: Json }[] {
  const calls: { name: string; text: string }[] = [];
  for (const line of streamed("gemini", "chat", transcript).text.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    for (const { delta } of JSON.parse(line.slice(6)).choices) {
      for (const { index, function: { name, arguments: text = "" } } of delta.tool_calls ?? []) {
        calls[index] ??= { name, text: "" };
        calls[index].text += text;
      }
    }
  }
  return calls.map(({ name, text }) => ({ name, input: JSON.parse(text) }));
}

const text = fc.string({ unit: "binary", maxLength: 12 });
const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
/** `JSON.parse` of V8 15.0 takes a name of one escaped character for the name `\\`, once it has read such a name. */
const isOneEscape = (name: string) => JSON.stringify(name).length === 4 && name.length === 1;
const name = fc.oneof(
  fc.constantFrom("city", "a b", "it's", "x.y[0]", "đường", "C:\\"),
  fc.string({ minLength: 1, maxLength: 6 }),
).filter((one) => one !== "__proto__" && !isOneEscape(one));
const { value: argument } = fc.letrec<{ value: Json; list: Json; object: Json }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, tie("list"), tie("object")),
  list: fc.array(tie("value"), { minLength: 1, maxLength: 3 }),
  object: fc.dictionary(name, tie("value"), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
}));

Deno.test("arguments in pieces are the arguments of one call, however they are cut", () => {
  const call = fc.dictionary(name, argument, { maxKeys: 4, noNullPrototype: true });
  const property = fc.property(
    fc.array(call, { minLength: 1, maxLength: 3 }),
    fc.integer({ min: 1, max: 5 }),
    fc.boolean(),
    (calls, size, hasEndPart) => {
      const parts = calls.flatMap((input, at): JsonObject[] => {
        const pieces = piecesOf(input as Json, "$", size);
        const continued = pieces.map((piece, i): JsonObject => ({
          functionCall: {
            partialArgs: [piece],
            ...(hasEndPart || i < pieces.length - 1 ? { willContinue: true } : {}),
          },
        }));
        const end = hasEndPart || pieces.length === 0 ? [{ functionCall: {} }] : [];
        return [{ functionCall: { name: `tool_${at}`, willContinue: true } }, ...continued, ...end];
      });
      assertEquals(
        callsOf(framesOf(parts, "STOP")),
        calls.map((input, at) => ({ name: `tool_${at}`, input: input as Json })),
      );
    },
  );
  fc.assert(property, { numRuns: 500 });
});

Deno.test("a call is whole where the answer ends or another call begins", () => {
  const begun = (tool: string) => ({
    functionCall: {
      name: tool,
      partialArgs: [{ jsonPath: "$.city", stringValue: "Huế" }],
      willContinue: true,
    },
  });
  assertEquals(callsOf(framesOf([begun("a"), begun("b"), { text: "" }], "STOP")), [
    { name: "a", input: { city: "Huế" } },
    { name: "b", input: { city: "Huế" } },
  ]);
});

Deno.test("pieces that have no place are a failure, not a call without them", () => {
  const wrong: readonly Json[] = [
    [{ jsonPath: "city", stringValue: "Huế" }],
    [{ jsonPath: "$", stringValue: "Huế" }],
    [{ jsonPath: "$..city", stringValue: "Huế" }],
    [{ jsonPath: "$.city[7]", stringValue: "Huế" }],
    [{ jsonPath: "$.city[*]", stringValue: "Huế" }],
    [{ stringValue: "Huế" }],
    ["Huế"],
    { city: "Huế" },
    "Huế",
  ];
  for (const partialArgs of wrong) {
    const parts = [
      { functionCall: { name: "weather", willContinue: true } },
      { functionCall: { partialArgs, willContinue: true } },
      { functionCall: {} },
    ];
    const { text, reading } = streamed("gemini", "chat", framesOf(parts, "STOP"));
    assert(reading.state !== "completed" && !text.includes("weather"), JSON.stringify(partialArgs));
  }
});

Deno.test("a native stream passes unchanged, and its pieces count as output", () => {
  const said = "Đà Nẵng ".repeat(20);
  const parts = [
    { functionCall: { name: "weather", willContinue: true } },
    ...piecesOf({ city: said, days: 3 }, "$", 7).map((piece) => ({
      functionCall: { partialArgs: [piece], willContinue: true },
    })),
    { functionCall: {} },
  ];
  const sent = framesOf(parts, "STOP");
  const { passed, ending, reading } = pipeParts("gemini", [new TextEncoder().encode(sent)]);
  assertEquals(passed + ending, sent);
  const bytes = new TextEncoder().encode(`${said}3`).length;
  assertEquals([reading.outputBytes, reading.answerBytes], [bytes, bytes]);
});

Deno.test("a native stream with an index that is none passes unchanged", () => {
  for (const index of [-1, 0.5, "0", 16, 2 ** 40]) {
    const candidates = [{ content: { parts: [{ text: "Hi" }] }, index, finishReason: "STOP" }];
    const sent = `data: ${JSON.stringify({ candidates })}\r\n\r\n`;
    const { passed, ending, reading } = pipeParts("gemini", [new TextEncoder().encode(sent)]);
    assertEquals([passed + ending, reading.outputBytes], [sent, 2], String(index));
  }
});
