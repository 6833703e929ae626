/** Answers of providers that ran their own tools, in the shapes of the vendors, whole and streamed. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import type { Style } from "../../core/wire/contract/contract.ts";

/** What the provider did for an answer. */
export interface HostedAnswer {
  /** Searches, of which the last `failed` failed. */
  readonly searches?: number;
  readonly failed?: number;
  /** Pages that were opened. */
  readonly pages?: number;
  /** Runs of code, in one container. */
  readonly codeRuns?: number;
  /** Members of `usage` beside its tokens. */
  readonly usage?: JsonObject;
  /** Members of the answer itself. */
  readonly more?: JsonObject;
}

const text = "Hanoi is the capital.";
const times = (count: number | undefined) => Array.from({ length: count ?? 0 }, (_, i) => i);

function messagesBlocks({ searches = 0, failed = 0 }: HostedAnswer): JsonObject[] {
  const blocks = times(searches).flatMap((i): JsonObject[] => [
    { type: "server_tool_use", id: `srvtoolu_${i}`, name: "web_search", input: { query: "hanoi" } },
    {
      type: "web_search_tool_result",
      tool_use_id: `srvtoolu_${i}`,
      content: i >= searches - failed
        ? { type: "web_search_tool_result_error", error_code: "unavailable" }
        : [{
          type: "web_search_result",
          url: "https://example.com",
          title: "T",
          encrypted_content: "e",
          page_age: null,
        }],
    },
  ]);
  return [...blocks, { type: "text", text }];
}

function responsesItems(answer: HostedAnswer): JsonObject[] {
  const { searches = 0, failed = 0, pages, codeRuns } = answer;
  const search = (id: string, status: string, action: JsonObject): JsonObject => ({
    id,
    type: "web_search_call",
    status,
    action,
  });
  return [
    ...times(searches).map((i) =>
      search(`ws_${i}`, i >= searches - failed ? "failed" : "completed", {
        type: "search",
        query: "hanoi",
        queries: ["hanoi"],
      })
    ),
    ...times(pages).map((i) =>
      search(`wp_${i}`, "completed", { type: "open_page", url: "https://example.com" })
    ),
    ...times(codeRuns).map((i): JsonObject => ({
      id: `ci_${i}`,
      type: "code_interpreter_call",
      status: "completed",
      code: "1",
      container_id: "cntr_1",
      outputs: [],
    })),
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
    },
  ];
}

function responsesBody(answer: HostedAnswer): JsonObject {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    error: null,
    incomplete_details: null,
    output: responsesItems(answer),
    usage: { input_tokens: 10, output_tokens: 20, total_tokens: 30, ...answer.usage },
    ...answer.more,
  };
}

function chatAnnotations({ searches }: HostedAnswer): JsonObject[] {
  return times(searches).map((): JsonObject => ({
    type: "url_citation",
    url_citation: { url: "https://example.com", title: "T", start_index: 0, end_index: 5 },
  }));
}

const chatUsage = ({ usage }: HostedAnswer): JsonObject => ({
  prompt_tokens: 10,
  completion_tokens: 20,
  total_tokens: 30,
  ...usage,
});

function geminiBody(answer: HostedAnswer): JsonObject {
  const { searches = 0, failed = 0, pages = 0, codeRuns } = answer;
  const queries = times(searches).map((i) => i >= searches - failed ? "" : "hanoi");
  return {
    candidates: [{
      index: 0,
      content: {
        role: "model",
        parts: [
          ...times(codeRuns).flatMap((): JsonObject[] => [
            { executableCode: { language: "PYTHON", code: "1" } },
            { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
          ]),
          { text },
        ],
      },
      finishReason: "STOP",
      ...(searches > 0 && { groundingMetadata: { webSearchQueries: queries } }),
      ...(pages > 0 && {
        urlContextMetadata: {
          urlMetadata: [
            ...times(pages).map((i) => ({
              retrievedUrl: `https://example.com/${i}`,
              urlRetrievalStatus: "URL_RETRIEVAL_STATUS_SUCCESS",
            })),
            { retrievedUrl: "https://x", urlRetrievalStatus: "URL_RETRIEVAL_STATUS_ERROR" },
          ],
        },
      }),
    }],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: 20,
      totalTokenCount: 30,
      ...answer.usage,
    },
    modelVersion: "m",
    responseId: "r",
    ...answer.more,
  };
}

/** The body of a whole answer. */
export function answerOf(style: Style, answer: HostedAnswer): JsonObject {
  switch (style) {
    case "messages":
      return {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: messagesBlocks(answer),
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 20, ...answer.usage },
        ...answer.more,
      };
    case "chat":
      return {
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [{
          index: 0,
          message: { role: "assistant", content: text, annotations: chatAnnotations(answer) },
          finish_reason: "stop",
        }],
        usage: chatUsage(answer),
        ...answer.more,
      };
    case "responses":
      return responsesBody(answer);
    case "gemini":
      return geminiBody(answer);
  }
}

const event = (name: string, body: object) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...body })}\n\n`;
const data = (body: object) => `data: ${JSON.stringify(body)}\n\n`;

function messagesStream(answer: HostedAnswer): string {
  const { content: _, usage, ...head } = answerOf("messages", answer);
  const blocks = messagesBlocks(answer).map((block, index) => {
    const isText = block["type"] === "text";
    return event("content_block_start", {
      index,
      content_block: isText ? { type: "text", text: "" } : block,
    }) +
      (isText ? event("content_block_delta", { index, delta: { type: "text_delta", text } }) : "") +
      event("content_block_stop", { index });
  });
  const first = { input_tokens: 10, output_tokens: 1 };
  return event("message_start", {
    message: { ...head, content: [], stop_reason: null, usage: first },
  }) + blocks.join("") +
    event("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage }) +
    event("message_stop", {});
}

function chatStream(answer: HostedAnswer): string {
  const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...answer.more };
  const delta = (delta: object, finish_reason: string | null) =>
    data({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  const annotations = chatAnnotations(answer);
  return delta({ role: "assistant", content: text }, null) +
    (annotations.length === 0 ? "" : delta({ annotations }, null)) + delta({}, "stop") +
    data({ ...head, choices: [], usage: chatUsage(answer) }) + "data: [DONE]\n\n";
}

function responsesStream(answer: HostedAnswer): string {
  const body = responsesBody(answer);
  let number = 0;
  const numbered = (name: string, more: object) =>
    event(name, { sequence_number: number++, ...more });
  const open = { ...body, status: "in_progress", output: [], usage: null };
  const items = responsesItems(answer).map((item, at) =>
    numbered("response.output_item.added", {
      output_index: at,
      item: item["type"] === "message"
        ? { ...item, status: "in_progress", content: [] }
        : { ...item, status: "in_progress" },
    }) +
    (item["type"] === "message"
      ? numbered("response.output_text.delta", {
        output_index: at,
        item_id: "msg_1",
        content_index: 0,
        delta: text,
        logprobs: [],
      })
      : "") +
    numbered("response.output_item.done", { output_index: at, item })
  );
  return numbered("response.created", { response: open }) + items.join("") +
    numbered("response.completed", { response: body });
}

/** The text of a streamed answer. */
export function streamOf(style: Style, answer: HostedAnswer): string {
  switch (style) {
    case "messages":
      return messagesStream(answer);
    case "chat":
      return chatStream(answer);
    case "responses":
      return responsesStream(answer);
    case "gemini":
      return data(geminiBody(answer));
  }
}

/** The style of a request, by its path at a provider. */
export function styleOf(path: string): Style {
  if (path.startsWith("/v1beta")) return "gemini";
  if (path.startsWith("/v1/messages")) return "messages";
  return path.startsWith("/v1/responses") ? "responses" : "chat";
}

/** An answer that says something, then calls functions. */
export function calling(
  style: Style,
  calls: readonly [name: string, args: JsonObject][],
): JsonObject {
  const text = "Let me look.";
  switch (style) {
    case "messages":
      return {
        ...answerOf(style, {}),
        content: [
          { type: "text", text },
          ...calls.map(([name, input], i) => ({ type: "tool_use", id: `toolu_${i}`, name, input })),
        ],
        stop_reason: "tool_use",
      };
    case "chat":
      return {
        ...answerOf(style, {}),
        choices: [{
          index: 0,
          message: {
            role: "assistant",
            content: text,
            tool_calls: calls.map(([name, args], i) => ({
              id: `call_${i}`,
              type: "function",
              function: { name, arguments: JSON.stringify(args) },
            })),
          },
          finish_reason: "tool_calls",
        }],
      };
    case "responses":
      return {
        ...answerOf(style, {}),
        output: [
          {
            id: "msg_0",
            type: "message",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
          },
          ...calls.map(([name, args], i) => ({
            id: `fc_${i}`,
            type: "function_call",
            call_id: `call_${i}`,
            name,
            arguments: JSON.stringify(args),
            status: "completed",
          })),
        ],
      };
    case "gemini":
      return {
        ...answerOf(style, {}),
        candidates: [{
          index: 0,
          content: {
            role: "model",
            parts: [{ text }, ...calls.map(([name, args]) => ({ functionCall: { name, args } }))],
          },
          finishReason: "STOP",
        }],
      };
  }
}
