/** Whatever comes in, conversion ends in a result or in an error of ours that names a field: never in a bug. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { convertAnswer, convertRequest } from "../../../../core/wire/convert/convert.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { chatAnswer, messagesAnswer } from "./arbitrary_answers.ts";
import { context } from "./converting.ts";
import { chatFrames } from "./streaming.ts";

const odd: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, 0, -1, 1.5, "", "constructor", "__proto__", [], {}, [[]], [{}]),
  fc.jsonValue({ maxDepth: 2 }).map((value): Json => JSON.parse(JSON.stringify(value))),
);

/** A value with one place in it replaced. */
function replaced(value: Json, steps: readonly number[], by: Json): Json {
  const [step, ...rest] = steps;
  if (step === undefined) return by;
  if (Array.isArray(value) && value.length > 0) {
    const at = step % value.length;
    return value.map((item, i) => i === at ? replaced(item, rest, by) : item);
  }
  if (!isJsonObject(value)) return by;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return by;
  return { ...value, [key]: replaced(value[key] ?? null, rest, by) };
}

const steps = fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 7 });

const requests: Readonly<Record<"messages" | "chat", JsonObject>> = {
  messages: {
    model: "m",
    max_tokens: 5000,
    system: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
          {
            type: "document",
            title: "t",
            source: { type: "content", content: [{ type: "text", text: "x" }] },
          },
          {
            type: "search_result",
            source: "s",
            title: "t",
            content: [{ type: "text", text: "x" }],
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "t", signature: "s" },
          { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "text", text: "x" }],
        }],
      },
    ],
    tools: [{ name: "f", input_schema: { type: "object", properties: { a: { type: "array" } } } }],
    tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
    thinking: { type: "enabled", budget_tokens: 2000 },
    output_config: { effort: "low", format: { type: "json_schema", schema: { type: "object" } } },
    metadata: { user_id: "u" },
    stop_sequences: ["x"],
    service_tier: "auto",
  },
  chat: {
    model: "m",
    messages: [
      { role: "system", content: [{ type: "text", text: "s" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } },
          {
            type: "file",
            file: { filename: "f.pdf", file_data: "data:application/pdf;base64,aGk=" },
          },
        ],
      },
      {
        role: "assistant",
        content: "b",
        reasoning_details: [{ type: "reasoning.text", text: "t", signature: "s", index: 0 }],
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "call_2", type: "custom", custom: { name: "g", input: "x" } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "x" },
      { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "y" }] },
    ],
    tools: [
      { type: "function", function: { name: "f", parameters: { type: "object" }, strict: true } },
      {
        type: "custom",
        custom: {
          name: "g",
          format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
        },
      },
    ],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
    },
    response_format: {
      type: "json_schema",
      json_schema: { name: "n", schema: { type: ["object", "null"] } },
    },
    reasoning: { effort: "low" },
    stop: ["x"],
    user: "u",
    stream_options: { include_usage: true },
  },
};

Deno.test("a request with any place replaced by anything converts or is refused by name", () => {
  fc.assert(
    fc.property(steps, odd, steps, odd, (first, by, second, also) => {
      for (const from of ["messages", "chat"] as const) {
        const body = replaced(replaced(requests[from], first, by), second, also);
        if (!isJsonObject(body)) continue;
        for (const to of ["messages", "chat", "responses"] as const) {
          if (to === from) continue;
          const conversion = convertRequest(from, to, body, {
            capabilities: {},
            upstreamModel: "m",
            maxOutputTokens: 8000,
          });
          if (conversion.ok) continue;
          assertEquals(conversion.error.status, 400);
          assert(conversion.error.param !== undefined, conversion.error.message);
        }
      }
    }),
    { numRuns: 1500 },
  );
});

Deno.test("the untouched requests convert: the test above starts from good ones", () => {
  for (const from of ["messages", "chat"] as const) {
    for (const to of ["messages", "chat", "responses"] as const) {
      if (to === from) continue;
      const options = { capabilities: {}, upstreamModel: "m", maxOutputTokens: 8000 };
      assertEquals(convertRequest(from, to, requests[from], options).ok, true);
    }
  }
});

/** Runs what may fail only by a {@linkcode GatewayError}. */
function ours(run: () => void): void {
  try {
    run();
  } catch (error) {
    assert(error instanceof GatewayError, String(error));
  }
}

Deno.test("an answer with any place replaced by anything converts or is the upstream's fault", () => {
  fc.assert(
    fc.property(messagesAnswer, chatAnswer, steps, odd, (messages, chat, steps, by) => {
      const pairs: readonly (readonly [Style, Style, JsonObject])[] = [
        ["messages", "chat", messages.body],
        ["chat", "messages", chat.body],
        ["chat", "responses", chat.body],
      ];
      for (const [from, to, body] of pairs) {
        const broken = replaced(body, steps, by);
        if (isJsonObject(broken)) ours(() => void convertAnswer(from, to, broken, context, {}));
      }
    }),
    { numRuns: 1000 },
  );
});

Deno.test("a block whose type is an object that is no text converts as one that nobody knows", () => {
  const content = [{ type: { toString: null } }, { type: "text", text: "Hi" }];
  const answer = { type: "message", role: "assistant", content, stop_reason: "end_turn" };
  for (const to of ["chat", "responses"] as const) {
    const converted = JSON.stringify(convertAnswer("messages", to, answer, context, {}));
    assert(converted.includes("[unknown left out") && converted.includes("Hi"), converted);
  }
});

Deno.test("frames of anything end in an end, an error event or an error of ours", () => {
  const frame = fc.oneof(
    odd.map((value) => JSON.stringify(value)),
    fc.tuple(steps, odd).map(([steps, by]) =>
      JSON.stringify(replaced({ choices: [{ index: 0, delta: { content: "a" } }] }, steps, by))
    ),
    fc.tuple(steps, odd).map(([steps, by]) =>
      JSON.stringify(replaced(
        {
          choices: [{
            index: 0,
            delta: {
              tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }],
              reasoning_details: [{ type: "reasoning.text", text: "x", signature: "s" }],
            },
          }],
        },
        steps,
        by,
      ))
    ),
    fc.tuple(steps, odd).map(([steps, by]) =>
      JSON.stringify(replaced(
        {
          type: "content_block_start",
          index: 0,
          content_block: { type: "tool_use", id: "a", name: "f", input: {} },
        },
        steps,
        by,
      ))
    ),
    fc.tuple(steps, odd).map(([steps, by]) =>
      JSON.stringify(replaced(
        {
          type: "message_delta",
          delta: { stop_reason: "end_turn" },
          usage: { output_tokens: 3 },
        },
        steps,
        by,
      ))
    ),
    fc.string().map((text) => text.replace(/[\r\n]/g, " ")),
  );
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), (frames) => {
      const text = frames.map((data) => `data: ${data}\n\n`).join("") + chatFrames([]);
      for (
        const [from, to] of [["chat", "messages"], ["messages", "chat"], [
          "chat",
          "responses",
        ]] as const
      ) {
        const pipe = createConvertingPipe(from, to, context, {});
        ours(() => void pipe.push(new TextEncoder().encode(text)));
        const out = new TextDecoder().decode(pipe.end());
        assert(out.length > 0, "the client is told how it ended");
      }
    }),
    { numRuns: 1000 },
  );
});

Deno.test("an error body of anything is an error with a status, a text and no secrets", () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(odd, fc.string()), (status, body) => {
      const error = decodeProviderError("chat", status, JSON.stringify(body));
      assert(error.status >= 400 && error.message.length > 0);
      assert(error.status !== 401 && error.status !== 403);
    }),
  );
});
