/** Input that a few bytes make a provider read is reserved before the call; otherwise many calls could share one small balance. */
import { assert, assertEquals, assertThrows } from "../support/assert.ts";
import { hostedToolsAskedFor, readChatRequest } from "../../core/calls/request/chat_request.ts";
import { inputBound } from "../../core/calls/bounds/chat_bounds.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";

const context = 1_000_000;
const bound = (body: JsonObject, style: Style = "chat") =>
  inputBound({
    body,
    bodyBytes: JSON.stringify(body).length,
    contextWindow: context,
    hostedTools: hostedToolsAskedFor({ style, body }).length,
  }).tokens;
const says = (part: JsonObject): JsonObject => ({ messages: [{ role: "user", content: [part] }] });

Deno.test("a document that is only named may fill the whole context", () => {
  const parts: JsonObject[] = [
    { type: "document", source: { type: "url", url: "https://a/b.pdf" } },
    { type: "document", source: { type: "file", file_id: "f" } },
    { type: "input_file", file_url: "https://a/b.pdf" },
    { type: "file", file: { file_id: "f" } },
    { type: "tool_result", content: [{ type: "document", source: { type: "url", url: "u" } }] },
    { type: "video_url", video_url: { url: "https://a/b.mp4" } },
    // In the forms of several vendors.
    { type: "document_url", document_url: "https://a/b" },
    { type: "document_url", document_url: { url: "https://a/b" } },
    { type: "file_url", file_url: { url: "https://a/b" } },
    { type: "file", file: { file_url: "https://a/b" } },
    { type: "file", file: { file_data: "https://a/b", filename: "b.pdf" } },
    { type: "image_url", image_url: { url: "https://a/b.pdf" } },
  ];
  for (const part of parts) assertEquals(bound(says(part)), context, JSON.stringify(part));
  assertEquals(bound({ input: [{ role: "user", content: [parts[2]!] }] }), context);
});

Deno.test("a picture behind a short URL counts as a picture, however long the body is", () => {
  const picture = { type: "image_url", image_url: { url: "https://a/b.png" } };
  assert(bound(says(picture)) >= 6_000);
  const many = { messages: [{ role: "user", content: Array(400).fill(picture) }] };
  assert(JSON.stringify(many).length > 16 * 1024);
  assertEquals(bound(many), context);
});

Deno.test("a PDF in a part for pictures counts as a document, by its bytes", () => {
  const data = `data:application/pdf;base64,${"A".repeat(60_000)}`;
  const sent = [
    { type: "image_url", image_url: { url: data } },
    { type: "document_url", document_url: data },
  ];
  for (const part of sent) assert(bound(says(part)) > 60_000, part.type);
});

Deno.test("hosted tools add input of their own, tools of the client do not", () => {
  const text = { messages: [{ role: "user", content: "hi" }] };
  const hosted = { ...text, tools: [{ type: "web_search_20250305", name: "web_search" }] };
  assert(bound(hosted) >= 100_000);
  assert(bound({ ...text, web_search_options: {} }) >= 100_000);
  assert(
    bound({ ...text, tools: [{ type: "shell", environment: { type: "container_auto" } }] }) > 1e5,
  );
  const billableFields: JsonObject[] = [
    { mcp_servers: [{ url: "https://a" }] },
    { web_search_options: {} },
    { plugins: [{ id: "web" }] },
    { enable_search: true },
    { search_parameters: { mode: "auto" } },
    { container: "container_1" },
  ];
  for (const field of billableFields) {
    assert(bound({ ...text, ...field }) >= 1e5, JSON.stringify(field));
    assert(bound({ ...text, extra_body: field }) >= 1e5, `inside: ${JSON.stringify(field)}`);
  }
  const off = { ...text, enable_search: false, search_parameters: { mode: "off" }, plugins: [] };
  assertEquals(bound(off), JSON.stringify(off).length);
  const added = { input: [{ type: "x", tools: [{ type: "web_search" }] }] };
  assert(bound(added, "responses") >= 1e5);
  const groups = { ...text, tools: [{ type: "namespace", name: "n", tools: [] }] };
  assertEquals(bound(groups), JSON.stringify(groups).length);
  const own = { ...text, tools: [{ type: "function", function: { name: "web_search" } }] };
  assertEquals(bound(own), JSON.stringify(own).length);
});

Deno.test("content inside the body counts by its length", () => {
  const bodies: JsonObject[] = [
    says({ type: "text", text: "file_id" }),
    says({ type: "tool_use", id: "1", name: "open", input: { file_id: "f" } }),
    says({ type: "document", source: { type: "text", media_type: "text/plain", data: "abc" } }),
  ];
  for (const body of bodies) assertEquals(bound(body), JSON.stringify(body).length);
});

Deno.test("a long body counts by its bytes, brackets and all, but for the base64 of its pictures", () => {
  const nested: Json = JSON.parse(`${"[".repeat(40)}${"]".repeat(40)}`);
  const brackets = {
    ...says({ type: "text", text: "hi" }),
    tools: [{
      type: "function",
      function: { name: "f", parameters: { enum: Array<Json>(300).fill(nested) } },
    }],
  };
  assert(JSON.stringify(brackets).length > 16 * 1024);
  assertEquals(bound(brackets), Math.min(JSON.stringify(brackets).length, context));
  const picture = (data: string): JsonObject => ({
    type: "image",
    source: { type: "base64", media_type: "image/png", data },
  });
  const long = { type: "text", text: "word ".repeat(5_000) };
  const content = [long, picture("A".repeat(500_000))];
  const counted = bound({ messages: [{ role: "user", content }] });
  assert(counted > 25_000 + 6_000 && counted < 25_000 + 6_000 + 200, `${counted}`);
  const inArguments = says({
    type: "tool_use",
    id: "1",
    name: "f",
    input: picture("A".repeat(50_000)),
  });
  assert(bound(inArguments) > 50_000, "what stands in arguments is text");
});

Deno.test("state stored at the provider is refused, since it belongs to no single customer", () => {
  const states: JsonObject[] = [
    { previous_response_id: "resp_1", input: "go on" },
    { conversation: "conv_1", input: "go on" },
    { prompt: { id: "pmpt_1" } },
  ];
  for (const state of states) {
    assertThrows(
      () => readChatRequest("responses", { model: "m", ...state }),
      GatewayError,
      "is not supported",
    );
  }
  const input = [{ type: "item_reference", id: "msg_1" }];
  assertThrows(
    () => readChatRequest("responses", { model: "m", input }),
    GatewayError,
    "is not held here",
  );
  const thread = { type: "continue", previous_message_id: "msg_1" };
  const messages = [{ role: "user", content: "go on" }];
  assertThrows(
    () => readChatRequest("messages", { model: "m", max_tokens: 9, messages, thread }),
    GatewayError,
    "thread: is not supported",
  );
  const nulls = { model: "m", previous_response_id: null, conversation: null, input: "hi" };
  assertEquals(readChatRequest("responses", nulls).model, "m");
});
