/** How often a provider ran its tools, read alike from whole answers, native streams and converted ones. */
import { assertEquals } from "../../../support/assert.ts";
import type { ToolUses } from "../../../../core/billing/usage/hosted_tools.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { answerOf, type HostedAnswer, streamOf } from "../../../support/hosted_answers.ts";

const context = {
  clientModel: "m",
  requestId: "req_1",
  clientWantsUsage: true,
  nowSeconds: 1,
};

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];

const cases: readonly (readonly [name: string, Style, HostedAnswer, ToolUses | undefined])[] = [
  [
    "Messages: the vendor's count, which leaves a failed search out",
    "messages",
    { searches: 3, failed: 1, usage: { server_tool_use: { web_search_requests: 2 } } },
    { web_search: 2 },
  ],
  ["Messages: results where a server reports no count", "messages", { searches: 2, failed: 1 }, {
    web_search: 1,
  }],
  ["Messages: none", "messages", {}, {}],
  ["Chat: an aggregator's count", "chat", {
    searches: 1,
    usage: { server_tool_use: { web_search_requests: 4 } },
  }, { web_search: 4 }],
  ["Chat: counts by kind of search", "chat", {
    usage: { server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1 } },
  }, { web_search: 3 }],
  ["Chat: queries", "chat", { usage: { num_search_queries: 5 } }, { web_search: 5 }],
  ["Chat: sources show one search", "chat", { searches: 2 }, { web_search: 1 }],
  ["Chat: a count of none", "chat", { usage: { server_tool_use: { web_search_requests: 0 } } }, {}],
  ["Chat: nothing tells", "chat", {}, undefined],
  ["Chat: nonsense tells nothing", "chat", {
    usage: { server_tool_use: { web_search_requests: -2 }, num_search_queries: "9" },
  }, undefined],
  ["Responses: searches, not the pages that they open", "responses", { searches: 2, pages: 3 }, {
    web_search: 2,
  }],
  ["Responses: a failed search is not billed", "responses", { searches: 2, failed: 1 }, {
    web_search: 1,
  }],
  ["Responses: a code interpreter by its container", "responses", { codeRuns: 3 }, {
    code_execution: 1,
  }],
  ["Gemini: queries that are not empty", "gemini", { searches: 2, failed: 1 }, { web_search: 1 }],
  ["Gemini: code and pages", "gemini", { codeRuns: 2, pages: 3 }, {
    code_execution: 2,
    web_fetch: 3,
  }],
  ["Gemini: none", "gemini", {}, {}],
];

function whole(style: Style, body: JsonObject): ToolUses | undefined {
  return readAnswer(style, body).toolUses;
}

for (const [name, style, answer, expected] of cases) {
  Deno.test(`tool uses: ${name}`, () => {
    assertEquals(whole(style, answerOf(style, answer)), expected, "whole");
    const bytes = new TextEncoder().encode(streamOf(style, answer));
    for (const client of styles) {
      const pipe = client === style
        ? createNativePipe(style, { ...context, injectedUsage: false })
        : createConvertingPipe(style, client, context, {});
      for (const byte of bytes) pipe.push(Uint8Array.of(byte));
      pipe.end();
      assertEquals(pipe.reading.state, "completed");
      assertEquals(pipe.reading.toolUses, expected, `streamed to ${client}`);
    }
  });
}
