/** Tool calls of native Chat answers that break the contract of the style. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import {
  needsCallRepair,
  withTextArguments,
} from "../../../../core/wire/chat/answer/call_repair.ts";
import { assertSplitMakesNoDifference, pipeText } from "./piping.ts";

const chunk = (calls: JsonObject[], choice = 0) =>
  `data: ${
    JSON.stringify({
      id: "c",
      model: "m",
      choices: [{ index: choice, delta: { tool_calls: calls }, finish_reason: null }],
    })
  }\n\n`;
const end =
  'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n';

interface SeenCall {
  id: string;
  name: string;
  arguments: string;
}

/** Adds the deltas of a stream up by index, as the vendor's client library does. */
function callsOf(text: string): Record<number, SeenCall> {
  const calls: Record<number, SeenCall> = {};
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    for (const call of JSON.parse(line.slice(6)).choices[0].delta.tool_calls ?? []) {
      const seen = calls[call.index] ??= { id: "", name: "", arguments: "" };
      seen.id ||= call.id ?? "";
      seen.name ||= call.function?.name ?? "";
      seen.arguments += call.function?.arguments ?? "";
    }
  }
  return calls;
}

const call = (index: number | undefined, id: string | undefined, name: string, args: unknown) =>
  JSON.parse(JSON.stringify({ index, id, type: "function", function: { name, arguments: args } }));
const piece = (index: number | undefined, args: string) =>
  JSON.parse(JSON.stringify({ index, function: { arguments: args } }));

const two = {
  0: { id: "a", name: "f", arguments: '{"x":1}' },
  1: { id: "b", name: "g", arguments: '{"y":2}' },
};

const broken: Record<string, string> = {
  "all have index 0": chunk([call(0, "a", "f", '{"x":1}')]) + chunk([call(0, "b", "g", '{"y":2}')]),
  "all have index 0, in pieces": chunk([call(0, "a", "f", "")]) + chunk([piece(0, '{"x":1}')]) +
    chunk([call(0, "b", "g", "")]) + chunk([piece(0, '{"y":')]) + chunk([piece(0, "2}")]),
  "all have index 0, in one list": chunk([
    call(0, "a", "f", '{"x":1}'),
    call(0, "b", "g", '{"y":2}'),
  ]),
  "none has an index": chunk([call(undefined, "a", "f", '{"x":1}')]) +
    chunk([call(undefined, "b", "g", "")]) + chunk([piece(undefined, '{"y":2}')]),
  "arguments are objects": chunk([call(0, "a", "f", { x: 1 })]) +
    chunk([call(1, "b", "g", { y: 2 })]),
};

for (const [what, calls] of Object.entries(broken)) {
  Deno.test(`parallel calls of which ${what} reach the client as two`, () => {
    const { passed, ending, reading } = pipeText("chat", calls + end, { repairsCalls: true });
    assertEquals(callsOf(passed + ending), two);
    assertEquals([reading.state, reading.sawOutput], ["completed", true]);
    const bytes = new TextEncoder().encode(calls + end);
    assertSplitMakesNoDifference("chat", bytes, { repairsCalls: true });
  });
}

Deno.test("a route can opt out, and streams that keep the contract pass byte for byte", () => {
  const text = broken["all have index 0"] + end;
  const left = pipeText("chat", text, { repairsCalls: false });
  assertEquals(left.passed + left.ending, text);
  const good = [
    chunk([call(0, "a", "f", "")]) + chunk([piece(0, '{"x":1}')]) + chunk([call(1, "b", "g", "")]) +
    chunk([piece(1, '{"y":2}')]),
    // Ids and names that are repeated in every delta are no new calls.
    chunk([call(0, "a", "f", "")]) + chunk([call(0, "a", "f", '{"x":1}')]),
    // The index begins at 1 at some servers, which clients can read.
    chunk([call(1, "a", "f", '{"x":1}')]) + chunk([call(2, "b", "g", '{"y":2}')]),
    // Calls of several choices.
    chunk([call(0, "a", "f", "{}")]) + chunk([call(0, "b", "g", "{}")], 1),
  ];
  for (const calls of good) {
    const { passed, ending } = pipeText("chat", calls + end, { repairsCalls: true });
    assertEquals(passed + ending, calls + end);
  }
});

Deno.test("arguments keep the digits of their numbers", () => {
  const text = chunk([call(0, "a", "f", { x: 1 })]).replace(
    '{"x":1}',
    '{"x":12345678901234567890}',
  );
  const { passed, ending } = pipeText("chat", text + end, { repairsCalls: true });
  assertEquals(callsOf(passed + ending)[0]?.arguments, '{"x":12345678901234567890}');
});

Deno.test("a whole answer whose arguments are objects has them as text", () => {
  const answer = {
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: null,
        tool_calls: [call(undefined, "a", "f", { x: 1 })],
      },
      finish_reason: "tool_calls",
    }],
  };
  assert(needsCallRepair(answer));
  const text = JSON.stringify(withTextArguments(answer));
  assert(text.includes('"arguments":"{\\"x\\":1}"'), text);
  assert(!needsCallRepair(withTextArguments(answer)));
});
