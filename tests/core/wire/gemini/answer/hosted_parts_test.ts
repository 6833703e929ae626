/** Tools that a Gemini model's vendor runs beside functions: their calls and results reach every client. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { isJsonObject, type JsonObject } from "../../../../../core/lib/json/json.ts";
import type { Style } from "../../../../../core/wire/contract/contract.ts";
import { readAnswer } from "../../../../../core/wire/mod.ts";
import { essence, list, readStream, readWhole } from "../../../../conformance/clients.ts";
import { accepted, convertedAnswer } from "../../conversion/converting.ts";
import { streamed } from "../../conversion/streaming.ts";

const clients = ["messages", "chat", "responses"] as const satisfies readonly Style[];

const read = "https://a.example/rain";
const unread = "https://a.example/none";

function search(id: string, ...queries: string[]): JsonObject {
  return { toolCall: { toolType: "GOOGLE_SEARCH_WEB", args: { queries }, id } };
}

function searched(id: string, response: JsonObject = { search_suggestions: "<div>" }): JsonObject {
  return { toolResponse: { toolType: "GOOGLE_SEARCH_WEB", response, id } };
}

function fetching(id: string, ...urls: string[]): JsonObject {
  return { toolCall: { toolType: "URL_CONTEXT", args: { urls }, id } };
}

function fetched(id: string): JsonObject {
  const status = "URL_RETRIEVAL_STATUS";
  const url_metadata = [
    { retrieved_url: read, url_retrieval_status: `${status}_SUCCESS` },
    { retrieved_url: unread, url_retrieval_status: `${status}_ERROR` },
  ];
  return { toolResponse: { toolType: "URL_CONTEXT", response: { url_metadata }, id } };
}

const call = { functionCall: { id: "f1", name: "f", args: { a: 1 } } };
const said = { text: "It rains." };
const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12 };

function answerOf(parts: readonly JsonObject[]): JsonObject {
  const content = { role: "model", parts: [...parts] };
  return { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
}

/** One part an event, and the end by itself. */
function streamOf(parts: readonly JsonObject[]): string {
  const chunks = [
    ...parts.map((part) => ({ candidates: [{ content: { role: "model", parts: [part] } }] })),
    { candidates: [{ finishReason: "STOP" }], usageMetadata },
  ];
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
}

/** The hosted calls that a Responses client gets: each with its subject and outcome. */
function itemsOf(answer: JsonObject): unknown[] {
  return list(answer["output"]).filter(({ type }) => type === "web_search_call")
    .map(({ action, status }) => {
      const { query, url } = isJsonObject(action) ? action : {};
      return [query ?? url, status];
    });
}

const cases: readonly (readonly [string, readonly JsonObject[], unknown[]])[] = [
  ["a search and its result", [search("c1", "rain"), searched("c1"), said], [
    ["rain", "completed"],
  ]],
  ["several queries of one call", [search("c1", "rain", "sun"), searched("c1"), said], [
    ["rain", "completed"],
    ["sun", "completed"],
  ]],
  ["parallel calls, answered in another order", [
    search("c1", "rain"),
    search("c2", "sun"),
    searched("c2", { error: "quota" }),
    searched("c1"),
    said,
  ], [["rain", "completed"], ["sun", "failed"]]],
  ["ids of which one begins with the other", [
    search("c1", "rain"),
    search("c12", "sun"),
    searched("c1", { error: "quota" }),
    searched("c12"),
    said,
  ], [["rain", "failed"], ["sun", "completed"]]],
  ["pages, of which one could not be read", [fetching("c1", read, unread), fetched("c1"), said], [
    [read, "completed"],
    [unread, "failed"],
  ]],
  ["no result, and a function's call after it", [search("c1", "rain"), call], [
    ["rain", "completed"],
  ]],
  ["a signature on the call", [
    { ...search("c1", "rain"), thoughtSignature: "c2lnbmVk" },
    searched("c1"),
    said,
    call,
  ], [["rain", "completed"]]],
  ["results of nothing, and calls without their subject", [
    searched("c9"),
    search("c1"),
    { toolCall: { toolType: "GOOGLE_SEARCH_WEB", id: "c2" } },
    { toolCall: { toolType: "FILE_SEARCH", args: { query: "a" }, id: "c3" } },
    { toolCall: {} },
    { toolResponse: {} },
    said,
  ], []],
];

for (const [name, parts, expected] of cases) {
  Deno.test(`${name}: every client gets it, whole and streamed alike`, () => {
    for (const client of clients) {
      const whole = readWhole(client, convertedAnswer("gemini", client, answerOf(parts)));
      const { text } = streamed("gemini", client, streamOf(parts));
      const outcome = readStream(client, new TextEncoder().encode(text));
      assert(outcome.kind === "answer", `${client} ${JSON.stringify(outcome)}`);
      assertEquals(essence(client, outcome.answer), essence(client, whole), client);
      if (client === "responses") assertEquals(itemsOf(whole), expected);
      const written = JSON.stringify(whole);
      assertEquals(written.includes("It rains."), parts.includes(said), written);
      assertEquals(written.includes('"f1"'), parts.includes(call), written);
      assert(!written.includes("toolCall") && !written.includes("GOOGLE_SEARCH"), written);
    }
  });
}

Deno.test("a Messages client gets searches with their outcome, and their number in usage", () => {
  const parts = [search("c1", "rain", "sun"), searched("c1"), said];
  const whole = convertedAnswer("gemini", "messages", answerOf(parts));
  const blocks = list(whole["content"]).map(({ type, input }) => [type, input ?? null]);
  assertEquals(blocks, [
    ["server_tool_use", { query: "rain" }],
    ["web_search_tool_result", null],
    ["server_tool_use", { query: "sun" }],
    ["web_search_tool_result", null],
    ["text", null],
  ]);
  assert(JSON.stringify(whole["usage"]).includes('"web_search_requests":2'));
});

Deno.test("uses of tools are counted by the parts where nothing else tells, and never twice", () => {
  const parts = [
    search("c1", "rain", "sun"),
    searched("c1"),
    fetching("c2", read, unread),
    fetched("c2"),
    said,
  ];
  const answer = answerOf(parts);
  const uses = { web_search: 2, web_fetch: 1 };
  assertEquals(readAnswer("gemini", answer).toolUses, uses);
  for (const client of clients) {
    assertEquals(streamed("gemini", client, streamOf(parts)).reading.toolUses, uses);
  }
  const [candidate] = list(answer["candidates"]);
  const told = {
    ...answer,
    candidates: [{
      ...candidate,
      groundingMetadata: { webSearchQueries: ["rain", "sun"] },
      urlContextMetadata: {
        urlMetadata: [{
          retrievedUrl: read,
          urlRetrievalStatus: "URL_RETRIEVAL_STATUS_SUCCESS",
        }],
      },
    }],
  };
  assertEquals(readAnswer("gemini", told).toolUses, uses);
});

Deno.test("calls of a history are told in words to other models, and named", () => {
  for (const snake of [false, true]) {
    const parts = [search("c1", "rain"), searched("c1"), fetching("c2", read), fetched("c2"), said];
    const contents = [
      { role: "user", parts: [{ text: "Rain?" }] },
      { role: "model", parts },
      { role: "user", parts: [{ text: "And tomorrow?" }] },
    ];
    const text = JSON.stringify({ model: "m", contents });
    const body: JsonObject = JSON.parse(
      snake
        ? text.replaceAll("toolCall", "tool_call").replaceAll("toolResponse", "tool_response")
          .replaceAll("toolType", "tool_type")
        : text,
    );
    for (const client of [...clients, "converse"] as const) {
      const { body: sent, dropped } = accepted("gemini", client, body);
      const written = JSON.stringify(sent);
      assert(written.includes("[Searched the web for: rain]"), written);
      assert(written.includes(`[Fetched ${read}]`), written);
      assertEquals(dropped, [0, 1, 2, 3].map((i) => `contents.1.parts.${i}`), client);
    }
  }
});
