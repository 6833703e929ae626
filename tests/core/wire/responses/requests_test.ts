import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { normalizeTurns } from "../../../../core/wire/fields/normalize_turns.ts";
import type { Block, Conversation } from "../../../../core/wire/conversation/mod.ts";
import type { RouteCapabilities } from "../../../../core/wire/contract/capabilities.ts";
import { responsesDialect } from "../../../../core/wire/responses/dialect.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";

const decode = (body: JsonObject): Conversation =>
  responsesDialect.decodeRequest({ model: "m", ...body });

const blocksOf = (input: Json): readonly Block[] =>
  decode({ input }).turns.flatMap((turn) => turn.blocks);

Deno.test("a string is one user turn, instructions and leading developer items are the system", () => {
  const short = decode({ input: "Hi", instructions: "Be brief." });
  assertEquals<unknown>(short.turns, [
    { role: "user", path: "input", blocks: [{ type: "text", text: "Hi", path: "input" }] },
  ]);
  const long = decode({
    instructions: "A",
    input: [
      { role: "developer", content: "B" },
      { role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { role: "developer", content: "C" },
    ],
  });
  assertEquals(long.system.map((block) => block.text), ["A", "B"]);
  assertEquals(long.turns.map((turn) => turn.role), ["user", "system"]);
});

Deno.test("calls, outputs and reasoning keep their ids, text and proof", () => {
  assertEquals<unknown>(
    blocksOf([
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Hm" }],
        encrypted_content: "gAAA",
      },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "add", arguments: "{}" },
      { type: "custom_tool_call", call_id: "c2", name: "patch", input: "x" },
      { type: "function_call_output", call_id: "c1", output: "2" },
      {
        type: "custom_tool_call_output",
        call_id: "c2",
        output: [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }],
      },
    ]),
    [
      {
        type: "reasoning",
        path: "input.0",
        text: "Hm",
        proof: { kind: "item", signer: "responses", id: "rs_1", encryptedContent: "gAAA" },
      },
      {
        type: "tool_call",
        path: "input.1",
        id: "c1",
        itemId: "fc_1",
        name: "add",
        input: { kind: "json_text", text: "{}" },
      },
      {
        type: "tool_call",
        path: "input.2",
        id: "c2",
        name: "patch",
        input: { kind: "text", text: "x" },
      },
      {
        type: "tool_result",
        path: "input.3",
        callId: "c1",
        content: [{ type: "text", text: "2", path: "input.3.output" }],
        isError: false,
      },
      {
        type: "tool_result",
        path: "input.4",
        callId: "c2",
        content: [{
          type: "image",
          path: "input.4.output.0",
          source: { kind: "base64", mediaType: "image/png", data: "AAAA" },
        }],
        isError: false,
        custom: true,
      },
    ],
  );
});

Deno.test("images and files are read in every form", () => {
  const pdf = "data:application/pdf;base64,AAAA";
  const content: Json = [
    { type: "input_image", image_url: "https://example.com/a.png", detail: "low" },
    { type: "input_image", file_id: "file_1" },
    { type: "input_file", filename: "a.pdf", file_data: pdf },
    { type: "input_file", filename: "a.txt", file_data: `data:text/plain;base64,${btoa("Hi")}` },
    { type: "input_file", file_url: "https://example.com/a.pdf" },
  ];
  const sources = blocksOf([{ role: "user", content }]).map((block) =>
    block.type === "image" || block.type === "document" ? block.source : undefined
  );
  assertEquals<unknown>(sources, [
    { kind: "url", url: "https://example.com/a.png" },
    { kind: "file", style: "responses", id: "file_1" },
    { kind: "base64", mediaType: "application/pdf", data: "AAAA" },
    { kind: "text", text: "Hi" },
    { kind: "url", url: "https://example.com/a.pdf" },
  ]);
});

Deno.test("fields without a place are kept as extras, harmless ones marked so", () => {
  const { extras } = decode({
    input: "Hi",
    text: { verbosity: "low" },
    truncation: "disabled",
    prompt_cache_key: "k",
    client_metadata: { a: "b" },
  });
  assertEquals(extras.map(({ path, otherwise }) => [path, otherwise]), [
    ["text.verbosity", "warn"],
    ["truncation", "ignore"],
    ["prompt_cache_key", "warn"],
    ["client_metadata", "warn"],
  ]);
});

const refusals: [field: string, body: JsonObject][] = [
  ["previous_response_id", { input: "Hi", previous_response_id: "resp_1" }],
  ["conversation", { input: "Hi", conversation: "conv_1" }],
  ["prompt", { input: "Hi", prompt: { id: "p" } }],
  ["background", { input: "Hi", background: true }],
  ["input.0", { input: [{ type: "item_reference", id: "msg_1" }] }],
  ["input.0", { input: [{ type: "compaction_summary", encrypted_content: "e" }] }],
  ["input.0", { input: [{ type: "context_compaction", encrypted_content: "e" }] }],
  ["input.0", { input: [{ type: "compaction", encrypted_content: "x" }] }],
];

for (const [field, body] of refusals) {
  Deno.test(`what binds to one provider is refused by name: ${JSON.stringify(body)}`, () => {
    try {
      decode(body);
    } catch (error) {
      assert(error instanceof GatewayError);
      assertEquals([error.code, error.param], ["conversion_refused", field]);
      return;
    }
    throw new Error("accepted");
  });
}

const wrong: [field: string, body: JsonObject][] = [
  ["input", {}],
  ["input", { input: 5 }],
  ["input.0.role", { input: [{ role: "tool", content: "x" }] }],
  ["input.0.content.0.type", { input: [{ role: "user", content: [{ type: "x" }] }] }],
  ["input.0.call_id", { input: [{ type: "function_call", name: "f", arguments: "" }] }],
  ["tools.0.type", { input: "Hi", tools: [{ name: "f" }] }],
  ["text.format.type", { input: "Hi", text: { format: { type: "xml" } } }],
  ["reasoning.effort", { input: "Hi", reasoning: { effort: "huge" } }],
];

for (const [field, body] of wrong) {
  Deno.test(`what is wrong in its own style is named: ${field}`, () => {
    assertThrows(() => decode(body), GatewayError, `${field}: `);
  });
}

const options = (capabilities: RouteCapabilities = {}) => ({
  capabilities,
  upstreamModel: "up",
  maxOutputTokens: 8192,
});

/** Encodes and shows that the vendor would accept it. */
function encode(
  body: JsonObject,
  capabilities: RouteCapabilities = {},
): { body: JsonObject; warnings: readonly string[] } {
  const { body: written, warnings } = responsesDialect.encodeRequest(
    normalizeTurns(decode(body)),
    options(capabilities),
  );
  assertEquals(validateRequest("responses", written), undefined);
  return { body: written, warnings };
}

Deno.test("nothing is stored at the upstream, and its reasoning is asked for", () => {
  const { body } = encode({ input: "Hi", stream: true, max_output_tokens: 100 });
  assertEquals<unknown>(body, {
    model: "up",
    input: [{ role: "user", content: "Hi" }],
    max_output_tokens: 100,
    store: false,
    include: ["reasoning.encrypted_content"],
    stream: true,
  });
});

Deno.test("a route without reasoning is not asked for it", () => {
  const { body, warnings } = encode({ input: "Hi", reasoning: { effort: "high" } }, {
    efforts: [],
  });
  assertEquals([body["include"], body["reasoning"]], [undefined, undefined]);
  assertEquals(warnings, ["reasoning"]);
});

Deno.test("a tool loop goes out in the vendor's order, item ids left out", () => {
  const { body } = encode({
    input: [
      { role: "user", content: "Hi" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "add", arguments: "" },
      { type: "function_call_output", call_id: "c1", output: "" },
    ],
    tools: [{ type: "function", name: "add" }],
    parallel_tool_calls: false,
  });
  assertEquals<unknown>(body["input"], [
    { role: "user", content: "Hi" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
    { type: "function_call", call_id: "c1", name: "add", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "" },
  ]);
  assertEquals<unknown>(body["tools"], [{
    type: "function",
    name: "add",
    parameters: { type: "object", properties: {} },
    strict: false,
  }]);
  assertEquals(body["parallel_tool_calls"], false);
});

Deno.test("reasoning goes back to its signer only, and never without what it led to", () => {
  const reasoning: JsonObject = {
    type: "reasoning",
    id: "rs_1",
    summary: [],
    encrypted_content: "gAAA",
  };
  const said: JsonObject = { role: "assistant", content: "Yes" };
  const ask: JsonObject = { role: "user", content: "Hi" };
  const kinds = (input: Json, capabilities: RouteCapabilities = {}): unknown => {
    const written = encode({ input }, capabilities).body["input"];
    assert(Array.isArray(written));
    return written.map((item) => JSON.stringify(item).includes("gAAA"));
  };
  assertEquals(kinds([ask, reasoning, said, ask]), [false, true, false, false]);
  assertEquals(kinds([ask, reasoning, said, ask], { reasoning_signer: "other" }), [
    false,
    false,
    false,
  ]);
  assertEquals(kinds([ask, reasoning, ask]), [false, false]);
});

Deno.test("an id that is too long is shortened alike in call and output", () => {
  const call_id = "c".repeat(80);
  const { body } = encode({
    input: [
      { role: "user", content: "Hi" },
      { type: "function_call", call_id, name: "add", arguments: "{}" },
      { type: "function_call_output", call_id, output: "2" },
    ],
  });
  assert(Array.isArray(body["input"]));
  const ids = body["input"].slice(1).map((item) =>
    item !== null && typeof item === "object" && "call_id" in item ? item.call_id : undefined
  );
  assert(ids[0] === ids[1] && typeof ids[0] === "string" && ids[0].length <= 64);
});

Deno.test("json_object keeps the instructions in the input, where the vendor looks for the word", () => {
  const { body } = encode({
    input: "List three fruits",
    instructions: "Answer in JSON.",
    text: { format: { type: "json_object" } },
  });
  assertEquals<unknown>(body["input"], [
    { role: "system", content: "Answer in JSON." },
    { role: "user", content: "List three fruits" },
  ]);
  assertEquals(body["instructions"], undefined);
});

Deno.test("a schema that cannot be strict is sent as it is, and named when strict was requested", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const { body, warnings } = encode({
    input: "Hi",
    text: { format: { type: "json_schema", name: "o", schema, strict: true } },
  });
  assertEquals<unknown>(body["text"], {
    format: { type: "json_schema", name: "o", schema, strict: false },
  });
  assertEquals(warnings, ["text.format.strict"]);
});

Deno.test("cache marks become breakpoints where the route has them, else they are named", () => {
  const input: Json = [{
    role: "user",
    content: [
      { type: "input_text", text: "A", prompt_cache_breakpoint: { mode: "explicit" } },
      { type: "input_text", text: "B" },
    ],
  }];
  const marked = encode({ input }, { cache_marks: "breakpoint" }).body["input"];
  assert(JSON.stringify(marked).includes('"prompt_cache_breakpoint":{"mode":"explicit"}'));
  assertEquals(encode({ input }).warnings, ["input.0.content.0.prompt_cache_breakpoint"]);
});

Deno.test("a tiny cap is raised to the vendor's least and named", () => {
  const { body, warnings } = encode({ input: "Hi", max_output_tokens: 5 });
  assertEquals([body["max_output_tokens"], warnings], [16, ["max_completion_tokens"]]);
});

Deno.test("what the route does not take is refused by its place", () => {
  const image: Json = [{
    role: "user",
    content: [{ type: "input_image", image_url: "https://example.com/a.png" }],
  }];
  for (const capabilities of [{ images: "none" }, { images: "base64" }] as const) {
    assertThrows(() => encode({ input: image }, capabilities), GatewayError, "input.0.content.0: ");
  }
});
