/** The gateway, which prices a call, and the provider, which executes it, must read it in the same way. */
import { assertEquals, assertThrows } from "../support/assert.ts";
import { readChatRequest } from "../../core/calls/request/chat_request.ts";
import { parseJsonBody } from "../../core/calls/body/json_body.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { readImageRequest } from "../../core/media/images/request.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { readSpeechRequest } from "../../core/media/speech/attempt.ts";

const parse = (text: string) => parseJsonBody(new TextEncoder().encode(text));

Deno.test("a field that decides the cost is refused in other case: some providers would take it", () => {
  const bodies = [
    '{"model":"a","Model":"dear"}',
    '{"MODEL":"dear","model":"a"}',
    '{"model":"a","N":16}',
    '{"model":"a","\\u0042ackground":true}',
    '{"model":"a","Max_Tokens":9}',
    '{"model":"a","Service_Tier":"priority"}',
    '{"model":"a","tools":[],"Tools":[{"type":"web_search"}]}',
    '{"model":"a","provideroptions":{}}',
    // Letters with a third case: some servers take `\u017f` for an `s` and U+212A for a `k`.
    '{"model":"a","\u017ferver_tier":1,"\u017fpeed":"fast"}',
    '{"model":"a","fallbac\u212as":"default"}',
  ];
  for (const body of bodies) {
    assertThrows(() => parse(body), GatewayError, "is named");
  }
});

const inside: JsonObject[] = [
  { model: "dear" },
  { n: 9 },
  { best_of: 9 },
  { max_tokens: 99_999 },
  { max_completion_tokens: 99_999 },
  { max_output_tokens: 99_999 },
  // It would remove the limit at the top level.
  { max_tokens: null },
  { partial_images: 50 },
  { stream: true },
  { stream_options: {} },
  { messages: [] },
  { input: "x" },
  { prompt: "x" },
  { previous_response_id: "resp_1" },
  { conversation: "conv_1" },
  { background: true },
  { thread: {} },
  { extra_body: { n: 9 } },
  { N: 9 },
  { Model: "dear" },
  { Service_Tier: "priority" },
  { "fallbac\u212as": "default" },
  { Tools: [] },
];

Deno.test("what decides the cost is refused inside extra_body, in all styles and on media", () => {
  for (const extra_body of inside) {
    const bytes = (body: JsonObject) => new TextEncoder().encode(JSON.stringify(body));
    const message = { role: "user", content: "hi" };
    const reads = [
      () => readChatRequest("chat", { model: "m", messages: [message], extra_body }),
      () =>
        readChatRequest("messages", { model: "m", max_tokens: 9, messages: [message], extra_body }),
      () => readChatRequest("responses", { model: "m", input: "hi", extra_body }),
      () => readSpeechRequest(bytes({ model: "m", input: "hi", extra_body })),
      () =>
        readImageRequest(
          "generations",
          bytes({ model: "m", prompt: "a", extra_body }),
          "application/json",
        ),
    ];
    for (const read of reads) assertThrows(read, GatewayError, "extra_body.");
  }
  const harmless = {
    top_k: 4,
    service_tier: "priority",
    tools: [],
    chat_template_kwargs: { n: 9 },
  };
  const body = { model: "m", messages: [{ role: "user", content: "hi" }], extra_body: harmless };
  assertEquals(readChatRequest("chat", body).model, "m");
  assertEquals(readChatRequest("chat", { ...body, extra_body: null }).model, "m");
});

Deno.test("best_of makes as many answers as n does", () => {
  const choices = (asked: JsonObject) =>
    readChatRequest("chat", { model: "m", messages: [{ role: "user", content: "hi" }], ...asked })
      .choices;
  assertEquals(choices({}), 1);
  assertEquals(choices({ best_of: 4 }), 4);
  assertEquals(choices({ n: 2, best_of: 4 }), 4);
  assertEquals(choices({ n: 4, best_of: null }), 4);
  for (const best_of of [0, 17, 1.5, "2", true]) {
    assertThrows(() => choices({ best_of }), GatewayError, "best_of: must be");
  }
});

Deno.test("other fields may have any name", () => {
  const body = parse('{"model":"a","customField":1,"CustomField":2,"messages":[{"Model":"x"}]}');
  assertEquals([...body.fields.keys()], ["model", "customField", "CustomField", "messages"]);
});
