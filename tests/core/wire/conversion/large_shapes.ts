/** Conversions of requests by their shape, and by the number of what is in them. */
import { assert } from "../../../support/assert.ts";
import type { Cases } from "../../../support/steps.ts";
import { convertRequest } from "../../../../core/wire/convert/convert.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";

const options = { capabilities: { mid_system: true }, upstreamModel: "m", maxOutputTokens: 1_000 };

const said = (role: string, content: Json = "x"): JsonObject => ({ role, content });
const hello = said("user");
const oneCall = [{ id: "a", type: "function", function: { name: "n", arguments: "{}" } }];

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

/** Calls in one assistant message, and results with `resultId`. */
function calling(
  count: number,
  callId: (i: number) => string,
  resultId: (i: number) => string,
): JsonObject[] {
  const calls = times(count, (i) => ({
    id: callId(i),
    type: "function",
    function: { name: "n", arguments: "{}" },
  }));
  const results = times(count, (i) => ({ role: "tool", tool_call_id: resultId(i), content: "x" }));
  return [hello, { role: "assistant", content: null, tool_calls: calls }, ...results];
}

/** Messages by the number of what is in them. */
const shapes: Readonly<Record<string, (count: number) => JsonObject[]>> = {
  "neighbours of one role": (count) => times(count, () => hello),
  "one id for all calls": (count) => calling(count, () => "a", () => "a"),
  "results in the opposite order": (count) =>
    calling(count, (i) => `c${i}`, (i) => `c${count - 1 - i}`),
  "results of other calls": (count) => calling(count, (i) => `c${i}`, (i) => `d${i}`),
  "one id in every turn": (count) => [
    hello,
    ...times(
      count,
      (i) =>
        i % 2 === 0
          ? { role: "assistant", content: null, tool_calls: oneCall }
          : { role: "tool", tool_call_id: "a", content: "x" },
    ),
  ],
  "instructions behind a long turn with a call": (count) => [
    hello,
    {
      role: "assistant",
      content: times(count, () => ({ type: "text", text: "x" })),
      tool_calls: oneCall,
    },
    ...times(count, () => said("system")),
  ],
  "instructions between": (count) =>
    times(count, (i) => said(["user", "system", "assistant", "system"][i % 4]!)),
};

export const cases: Cases = Object.fromEntries(
  Object.entries(shapes).flatMap(([name, messagesOf]) =>
    (["messages", "responses"] as const).map((to) => [`chat to ${to}: ${name}`, (count: number) => {
      const body = { model: "m", max_tokens: 1, messages: messagesOf(count) };
      const converted = convertRequest("chat", to, body, options);
      assert(converted.ok, converted.ok ? "" : converted.error.message);
    }])
  ),
);
