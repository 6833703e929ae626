/** Calls of tools that the provider runs reach the clients of other styles with what came of them. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { withoutForeignBlocks } from "../../../../core/wire/messages/request/decode_blocks.ts";
import { withoutSealedReasoning } from "../../../../core/wire/responses/items/output_items.ts";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import { essence, list, readStream, readWhole } from "../../../conformance/clients.ts";
import { answerOf, streamOf } from "../../../support/hosted_answers.ts";
import { accepted, convertedAnswer } from "./converting.ts";
import { messagesFrames, streamed } from "./streaming.ts";

const page = { url: "https://a.example/rain", title: "Rain" };

/** A Messages answer that searched, fetched, ran code, and called an MCP server. */
const messagesContent: JsonObject[] = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "rain" } },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", ...page, encrypted_content: "EqQB", page_age: null }],
  },
  { type: "server_tool_use", id: "srvtoolu_2", name: "web_fetch", input: { url: page.url } },
  {
    type: "web_fetch_tool_result",
    tool_use_id: "srvtoolu_2",
    content: {
      type: "web_fetch_result",
      url: page.url,
      retrieved_at: null,
      content: {
        type: "document",
        title: "Rain",
        source: { type: "text", media_type: "text/plain", data: "It rains." },
      },
    },
  },
  {
    type: "server_tool_use",
    id: "srvtoolu_3",
    name: "bash_code_execution",
    input: { command: "echo 1" },
  },
  {
    type: "bash_code_execution_tool_result",
    tool_use_id: "srvtoolu_3",
    content: {
      type: "bash_code_execution_result",
      stdout: "1\n",
      stderr: "",
      return_code: 0,
      content: [],
    },
  },
  { type: "mcp_tool_use", id: "mcptoolu_4", name: "f", server_name: "s", input: { x: 1 } },
  {
    type: "mcp_tool_result",
    tool_use_id: "mcptoolu_4",
    is_error: false,
    content: [{ type: "text", text: "ok" }],
  },
  { type: "text", text: "It rains." },
];
const messagesBody: JsonObject = {
  content: messagesContent,
  stop_reason: "end_turn",
  usage: { input_tokens: 9, output_tokens: 5 },
};

/** The items that a Responses client gets of it, without their ids. */
const items: JsonObject[] = [
  {
    type: "web_search_call",
    status: "completed",
    action: {
      type: "search",
      query: "rain",
      queries: ["rain"],
      sources: [{ type: "url", url: page.url }],
    },
  },
  {
    type: "web_search_call",
    status: "completed",
    action: { type: "open_page", url: page.url },
  },
  {
    type: "code_interpreter_call",
    status: "completed",
    code: "echo 1",
    container_id: "",
    outputs: [{ type: "logs", logs: "1\n" }],
  },
  {
    type: "mcp_call",
    status: "completed",
    server_label: "s",
    name: "f",
    arguments: '{"x":1}',
    output: "ok",
    error: null,
    approval_request_id: null,
  },
];

function hostedItems(answer: JsonObject): JsonObject[] {
  return list(answer["output"])
    .filter(({ type }) => type !== "message")
    .map(({ id: _, ...rest }) => rest);
}

/** The vendor's stream of a content: inputs in pieces, results whole. */
function messagesStream(content: readonly JsonObject[]): string {
  const events = content.flatMap((block, index): { type: string }[] => {
    const delta = (delta: JsonObject) => ({ type: "content_block_delta", index, delta });
    const stop = { type: "content_block_stop", index };
    const start = (content_block: JsonObject) => ({
      type: "content_block_start",
      index,
      content_block,
    });
    if (block["type"] === "text") {
      const text = { type: "text_delta", text: block["text"] ?? "" };
      return [start({ type: "text", text: "" }), delta(text), stop];
    }
    if (!("input" in block)) return [start(block), stop];
    const json = JSON.stringify(block["input"]);
    const pieces = ["", json.slice(0, 4), json.slice(4)];
    return [
      start({ ...block, input: {} }),
      ...pieces.map((partial_json) => delta({ type: "input_json_delta", partial_json })),
      stop,
    ];
  });
  const usage = { input_tokens: 9, output_tokens: 5 };
  return messagesFrames([
    { type: "message_start", ...{ message: { id: "msg_1", usage } } },
    ...events,
    { type: "message_delta", ...{ delta: { stop_reason: "end_turn" }, usage } },
    { type: "message_stop" },
  ]);
}

function readStreamed(from: Style, to: Style, transcript: string): JsonObject {
  const bytes = new TextEncoder().encode(streamed(from, to, transcript).text);
  const outcome = readStream(to, bytes);
  assert(outcome.kind === "answer", JSON.stringify(outcome));
  return outcome.answer;
}

Deno.test("a Responses client gets hosted calls of a Messages model as items, whole and streamed", () => {
  const whole = readWhole("responses", convertedAnswer("messages", "responses", messagesBody));
  assertEquals(hostedItems(whole), items);
  const stream = readStreamed("messages", "responses", messagesStream(messagesContent));
  assertEquals(essence("responses", stream), essence("responses", whole));
});

Deno.test("a call without a result, and one that failed, are told as what they are", () => {
  const failed = { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" };
  const content: JsonObject[] = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: failed },
    { type: "server_tool_use", id: "srvtoolu_2", name: "web_search", input: { query: "b" } },
  ];
  const whole = convertedAnswer("messages", "responses", { ...messagesBody, content });
  const stream = readStreamed("messages", "responses", messagesStream(content));
  for (const answer of [readWhole("responses", whole), stream]) {
    const found = hostedItems(answer);
    assertEquals(found.map(({ status }) => status), ["failed", "completed"]);
    assertEquals(found.map(({ action }) => isJsonObject(action) && action["query"]), ["a", "b"]);
  }
});

/** A Responses answer that did the same. */
const output: JsonObject[] = [
  { ...items[0], id: "ws_0c7d" },
  { ...items[1], id: "ws_0c7e" },
  { ...items[2], id: "ci_0c7f", container_id: "cntr_1" },
  { ...items[3], id: "mcp_0c80" },
  {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "It rains.", annotations: [] }],
  },
];
const usage = { input_tokens: 9, output_tokens: 5 };
const responsesBody: JsonObject = { id: "resp_1", status: "completed", output, usage };

const useIds = ["srvtoolu_ugw1_ws_0c7d", "srvtoolu_ugw1_ci_0c7f", "mcptoolu_ugw1_mcp_0c80"];

/** What a Messages client gets of it: pages that were opened have no text that could be told. */
const blocks: JsonObject[] = [
  { type: "server_tool_use", id: useIds[0]!, name: "web_search", input: { query: "rain" } },
  {
    type: "web_search_tool_result",
    tool_use_id: useIds[0]!,
    content: [{
      type: "web_search_result",
      url: page.url,
      title: page.url,
      encrypted_content: "ugw1.0",
      page_age: null,
    }],
  },
  { type: "server_tool_use", id: useIds[1]!, name: "code_execution", input: { code: "echo 1" } },
  {
    type: "code_execution_tool_result",
    tool_use_id: useIds[1]!,
    content: {
      type: "code_execution_result",
      stdout: "1\n",
      stderr: "",
      return_code: 0,
      content: [],
    },
  },
  { type: "mcp_tool_use", id: useIds[2]!, name: "f", server_name: "s", input: { x: 1 } },
  {
    type: "mcp_tool_result",
    tool_use_id: useIds[2]!,
    is_error: false,
    content: [{ type: "text", text: "ok" }],
  },
  { type: "text", text: "It rains." },
];

function responsesStream(): string {
  const response = { id: "resp_1", status: "in_progress", output: [] };
  const events: JsonObject[] = [
    { type: "response.created", response },
    ...output.flatMap((item, output_index): JsonObject[] => [
      {
        type: "response.output_item.added",
        output_index,
        item: { ...item, status: "in_progress", action: null, content: [] },
      },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: responsesBody },
  ];
  return messagesFrames(events.map((event) => ({ type: String(event["type"]), ...event })));
}

Deno.test("a Messages client gets hosted calls of a Responses model as blocks, whole and streamed", () => {
  const whole = readWhole("messages", convertedAnswer("responses", "messages", responsesBody));
  assertEquals(whole["content"], blocks);
  assert(isJsonObject(whole["usage"]));
  const used = { web_search_requests: 1, web_fetch_requests: 1 };
  assertEquals(whole["usage"]["server_tool_use"], used);
  const stream = readStreamed("responses", "messages", responsesStream());
  assertEquals(essence("messages", stream), essence("messages", whole));
  assert(isJsonObject(stream["usage"]));
  assertEquals(stream["usage"]["server_tool_use"], used);
});

Deno.test("a Chat client, whose style has no hosted calls, gets the answer without them", () => {
  for (
    const [from, body, transcript] of [
      ["messages", messagesBody, messagesStream(messagesContent)],
      ["responses", responsesBody, responsesStream()],
    ] as const
  ) {
    const whole = readWhole("chat", convertedAnswer(from, "chat", body));
    const stream = readStreamed(from, "chat", transcript);
    assertEquals(essence("chat", stream), essence("chat", whole));
    assert(!JSON.stringify(whole).includes("tool_calls"));
    assert(JSON.stringify(whole).includes("It rains."));
  }
});

const question = { role: "user", content: "And tomorrow?" };

Deno.test("searches of a Responses model return to it from a Messages client's history", () => {
  const messages = [{ role: "user", content: "Rain?" }, { role: "assistant", content: blocks }];
  const body = { model: "m", max_tokens: 100, messages: [...messages, question] };
  const { body: sent, dropped } = accepted("messages", "responses", body);
  const [, search, said] = list(sent["input"]);
  assertEquals(search, {
    id: "ws_0c7d",
    type: "web_search_call",
    status: "completed",
    action: { type: "search", query: "rain", queries: ["rain"] },
  });
  // What its vendor cannot take back is told in words, and named.
  assertEquals(
    said?.["content"],
    '[Ran code]\necho 1\nOutput:\n1\n\n\n[Called f of s with {"x":1}]\nok\n\nIt rains.',
  );
  assertEquals(dropped, [2, 3, 4, 5].map((i) => `messages.1.content.${i}`));
  // The Messages vendor ran none of it.
  const own = messagesContent.slice(0, 2);
  const native = (content: JsonObject[]) => ({ messages: [{ role: "assistant", content }] });
  assertEquals(withoutForeignBlocks(native([...own, ...blocks])), {
    messages: [{ role: "assistant", content: [...own, blocks[6]!] }],
  });
  assertEquals(withoutForeignBlocks(native(messagesContent)), undefined);
});

Deno.test("hosted calls of a history are told in words to models that did not make them", () => {
  const input = [{ role: "user", content: "Rain?" }, ...output, question];
  for (const to of ["chat", "messages"] as const) {
    const { body, dropped } = accepted("responses", to, { model: "m", input });
    const told = JSON.stringify(list(body["messages"])[1]?.["content"]);
    for (const words of ["Web search results:", page.url, "echo 1", "Called f of s", "It rains."]) {
      assert(told.includes(words), `${words} in ${told}`);
    }
    assertEquals(dropped, [1, 2, 3, 4].map((i) => `input.${i}`));
  }
});

Deno.test("a Responses vendor does not get back calls that a Messages model's provider ran", () => {
  const written = convertedAnswer("messages", "responses", messagesBody);
  const theirs = list(written["output"]);
  const body = { model: "m", input: [...theirs, ...output] };
  const message = theirs.filter(({ type }) => type === "message");
  assertEquals(withoutSealedReasoning(body), { ...body, input: [...message, ...output] });
});

const asksToSearch: Record<"messages" | "responses", JsonObject> = {
  messages: {
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ type: "web_search_20250305", name: "web_search" }],
  },
  responses: { model: "m", input: "Hi", tools: [{ type: "web_search" }] },
};

Deno.test("who asked for a search gets the sources as its results where the provider shows no search", () => {
  for (const to of ["messages", "responses"] as const) {
    for (const from of ["chat", "gemini", "messages", "responses"] as const) {
      if (from === to) continue;
      const body = asksToSearch[to];
      const { memory } = accepted(to, from, body, { extra_fields: ["web_search_options"] });
      const showsSearch = (text: string) =>
        /"type":"(?:server_tool_use|web_search_call)"/.test(text);
      for (const searches of [0, 1]) {
        const name = `${from} to ${to}, ${searches} searches`;
        const whole = convertedAnswer(from, to, answerOf(from, { searches }), memory);
        // The answers of Gemini have no pages here.
        const expected = from !== "gemini" && searches === 1;
        assertEquals(showsSearch(JSON.stringify(whole)), expected, name);
        const { text } = streamed(from, to, streamOf(from, { searches }), { memory });
        assertEquals(showsSearch(text), expected, name);
        const count = [
          ...JSON.stringify(whole).matchAll(/"web_search_tool_result"|"web_search_call"/g),
        ];
        assertEquals(count.length, expected ? 1 : 0, name);
        assertEquals(readStream(to, new TextEncoder().encode(text)).kind, "answer", name);
        readWhole(to, whole);
      }
    }
  }
});

Deno.test("sources of a Gemini answer are the results of a search for who asked for one", () => {
  const body: JsonObject = {
    candidates: [{
      content: { role: "model", parts: [{ text: "It rains." }] },
      finishReason: "STOP",
      groundingMetadata: {
        webSearchQueries: ["rain"],
        groundingChunks: [{ web: { uri: page.url, title: page.title } }],
        groundingSupports: [{ segment: { endIndex: 9 }, groundingChunkIndices: [0] }],
      },
    }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
  for (const to of ["messages", "responses"] as const) {
    const { memory } = accepted(to, "gemini", asksToSearch[to]);
    const kind = to === "messages" ? "web_search_tool_result" : "web_search_call";
    const whole = JSON.stringify(convertedAnswer("gemini", to, body, memory));
    const { text } = streamed("gemini", to, `data: ${JSON.stringify(body)}\n\n`, { memory });
    for (const shown of [whole, text]) {
      assert(shown.includes(kind) && shown.includes(page.url), shown);
    }
    // Who did not ask has the sources with the text alone.
    assert(!JSON.stringify(convertedAnswer("gemini", to, body)).includes(kind));
  }
});
