/** Chat: four styles, and counting tokens. */
import { ref, text } from "../../core/lib/json/schemas.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { inputItemRows } from "../api/chat/kept_responses.ts";
import { answerHeaders } from "../http/own_headers.ts";
import { rowLimitSchema } from "../http/query.ts";
import type { ExampleModels } from "./example_models.ts";
import { bodyErrors, callErrors, chatErrors } from "./error_answers.ts";
import {
  callParameters,
  costHeaderNames,
  costParameter,
  routeParameter,
  strictParameter,
} from "./headers.ts";
import {
  inHeader,
  inPath,
  inQuery,
  jsonAnswer,
  oneOf,
  type Operation,
  type OperationAnswer,
} from "./operation.ts";

const eventStream = { "text/event-stream": ref("EventStream") };

const chatParameters = [...callParameters, routeParameter, strictParameter, costParameter];

function chatAnswer(schema: string): OperationAnswer {
  return {
    description: "The answer, whole or as events.",
    content: { "application/json": ref(schema), ...eventStream },
    headers: costHeaderNames,
  };
}

const versionParameter = inHeader(
  "anthropic-version",
  "Version of the style; optional.",
  { example: "2023-06-01" },
);

const responseId = inPath("id", "Id of the response.", {
  schema: text,
  example: "resp_0123456789",
});

/** The model in the path of the Gemini style. */
const geminiModel = (models: ExampleModels) =>
  inPath("model", "Id or alias of a model.", { example: models.chat });

function hello(): JsonObject[] {
  return [{ role: "user", content: "Hello!" }];
}

/** The operations of this group. */
export function chatOperations(models: ExampleModels): readonly Operation[] {
  return [
    {
      id: "createMessage",
      tag: "Chat",
      method: "post",
      path: "/v1/messages",
      summary: "Messages",
      description:
        "Answers in the Messages style. `stream: true` gives events, with a `ping` every 15 " +
        "seconds of silence.",
      parameters: [...chatParameters, versionParameter],
      body: {
        schema: ref("MessagesRequest"),
        example: { model: models.chat, max_tokens: 1024, messages: hello() },
      },
      answers: [chatAnswer("Message")],
      errorStyle: "messages",
      errors: [...chatErrors, "thread_unsupported", "mcp_server_failed"],
    },
    {
      id: "createChatCompletion",
      tag: "Chat",
      method: "post",
      path: "/v1/chat/completions",
      summary: "Chat Completions",
      description:
        "Answers in the Chat Completions style. `stream: true` gives events, with a comment line " +
        "every 15 seconds of silence.",
      parameters: chatParameters,
      body: {
        schema: ref("ChatCompletionRequest"),
        example: { model: models.chat, max_tokens: 1024, messages: hello() },
      },
      answers: [chatAnswer("ChatCompletion")],
      errorStyle: "chat",
      errors: chatErrors,
    },
    {
      id: "createResponse",
      tag: "Chat",
      method: "post",
      path: "/v1/responses",
      summary: "Responses",
      description:
        "Answers in the Responses style. `previous_response_id` continues a response of the last hour; older ones, " +
        "and those of other accounts, are unknown.",
      parameters: chatParameters,
      body: {
        schema: ref("ResponsesRequest"),
        example: { model: models.chat, max_output_tokens: 1024, input: "Hello!" },
      },
      answers: [chatAnswer("Response")],
      errorStyle: "chat",
      errors: [...chatErrors, "previous_response_not_found", "mcp_server_failed"],
    },
    {
      id: "getResponse",
      tag: "Chat",
      method: "get",
      path: "/v1/responses/{id}",
      summary: "Read a kept response",
      description:
        "The response as it was answered, free of charge. It is kept in memory for an hour, unless `store` was `false`.",
      parameters: [responseId],
      answers: [jsonAnswer("The response.", "Response")],
      errorStyle: "chat",
      errors: [...callErrors, "invalid_request", "not_found"],
    },
    {
      id: "deleteResponse",
      tag: "Chat",
      method: "delete",
      path: "/v1/responses/{id}",
      summary: "Remove a kept response",
      description:
        "Removes a response, free of charge. Later responses of the conversation keep the items that led to them.",
      parameters: [responseId],
      answers: [jsonAnswer("It is removed.", "ResponseDeleted")],
      errorStyle: "chat",
      errors: [...callErrors, "not_found"],
    },
    {
      id: "listResponseInputItems",
      tag: "Chat",
      method: "get",
      path: "/v1/responses/{id}/input_items",
      summary: "Input of a kept response",
      description:
        "The items that led to a response, those of the turns that it continues included, the last first. Free of " +
        "charge.",
      parameters: [
        responseId,
        inQuery("limit", "Items of one page.", { schema: rowLimitSchema(inputItemRows) }),
        inQuery("after", "Id of the item before the first one.", { schema: text }),
        inQuery("order", "By place in the conversation.", {
          schema: { enum: ["asc", "desc"], default: "desc" },
        }),
      ],
      answers: [jsonAnswer("A page of items.", "ResponseInputItemList")],
      errorStyle: "chat",
      errors: [...callErrors, "invalid_request", "not_found"],
    },
    ...geminiOperations(models),
    {
      id: "countMessageTokens",
      tag: "Chat",
      method: "post",
      path: "/v1/messages/count_tokens",
      summary: "Count tokens",
      description:
        "Counts the tokens of a prompt, free of charge. `x-gateway-estimate: true` says that the " +
        "gateway counted, not the provider.",
      parameters: [versionParameter],
      body: {
        schema: ref("MessagesTokenCountRequest"),
        example: { model: models.chat, messages: hello() },
      },
      answers: [jsonAnswer("The count.", "MessagesTokenCount", [answerHeaders.estimate])],
      errorStyle: "messages",
      errors: [...bodyErrors, "context_length_exceeded"],
    },
    {
      id: "countResponseTokens",
      tag: "Chat",
      method: "post",
      path: "/v1/responses/input_tokens",
      summary: "Count tokens of a Responses request",
      description:
        "Counts the tokens of a prompt, free of charge. `x-gateway-estimate: true` says that the " +
        "gateway counted, not the provider.",
      body: {
        schema: ref("ResponsesRequest"),
        example: { model: models.chat, input: "Hello!" },
      },
      answers: [jsonAnswer("The count.", "ResponsesTokenCount", [answerHeaders.estimate])],
      errorStyle: "chat",
      errors: [...bodyErrors, "context_length_exceeded", "previous_response_not_found"],
    },
    {
      id: "compactResponse",
      tag: "Chat",
      method: "post",
      path: "/v1/responses/compact",
      summary: "Compact a conversation",
      description:
        "Replaces a long conversation by items that mean the same to its model, where a provider of " +
        "the model offers this; for others the gateway asks the model. Billed like a call of `/v1/responses`. " +
        "Send all items of `output` as the beginning of the next `input`.",
      body: {
        schema: ref("ResponsesRequest"),
        example: { model: models.chat, input: [{ role: "user", content: "Hello!" }] },
      },
      answers: [jsonAnswer("The compacted conversation.", "CompactedResponse", costHeaderNames)],
      errorStyle: "chat",
      errors: [...chatErrors, "not_found", "previous_response_not_found"],
    },
  ];
}

function geminiOperations(models: ExampleModels): readonly Operation[] {
  const contents: JsonObject[] = [{ role: "user", parts: [{ text: "Hello!" }] }];
  const common = {
    tag: "Chat",
    method: "post",
    errorStyle: "gemini",
    body: {
      schema: ref("GenerateContentRequest"),
      example: { contents, generationConfig: { maxOutputTokens: 1024 } },
    },
  } as const;
  return [
    {
      ...common,
      id: "generateContent",
      path: "/v1beta/models/{model}:generateContent",
      summary: "Gemini",
      description:
        "Answers in the Gemini style. The key may also be the query parameter `key`; `/v1` is " +
        "accepted in place of `/v1beta`.",
      parameters: [geminiModel(models), ...chatParameters],
      answers: [jsonAnswer("The answer.", "GenerateContentResponse", costHeaderNames)],
      errors: chatErrors,
    },
    {
      ...common,
      id: "streamGenerateContent",
      path: "/v1beta/models/{model}:streamGenerateContent",
      summary: "Gemini, streamed",
      description: "The same as events with `alt=sse`, and otherwise as one JSON list.",
      parameters: [
        geminiModel(models),
        inQuery("alt", "`sse`: server-sent events.", {
          schema: oneOf(["sse", "json"]),
        }),
        ...chatParameters,
      ],
      answers: [{
        description: "The pieces of the answer.",
        content: { ...eventStream, "application/json": ref("GenerateContentStream") },
      }],
      errors: chatErrors,
    },
    {
      ...common,
      body: { schema: ref("GenerateContentRequest"), example: { contents } },
      id: "countContentTokens",
      path: "/v1beta/models/{model}:countTokens",
      summary: "Count tokens, Gemini",
      description: "Estimates the tokens of a prompt, free of charge.",
      parameters: [geminiModel(models)],
      answers: [jsonAnswer("The count.", "GeminiTokenCount", [answerHeaders.estimate])],
      errors: [...bodyErrors, "conversion_refused"],
    },
    {
      id: "listGeminiModels",
      tag: "Models",
      method: "get",
      path: "/v1beta/models",
      summary: "List of chat models, Gemini",
      description: "The chat models that the key may use, in the Gemini style.",
      parameters: [
        inQuery("pageSize", "Rows of a page.", {
          schema: { type: "integer", minimum: 1, maximum: 999_999 },
        }),
        inQuery("pageToken", "`nextPageToken` of the page before.", {
          schema: { type: "string", pattern: "^\\d{1,6}$" },
        }),
      ],
      answers: [jsonAnswer("A page of models.", "GeminiModelList")],
      errorStyle: "gemini",
      errors: [...callErrors, "invalid_request"],
    },
    {
      id: "getGeminiModel",
      tag: "Models",
      method: "get",
      path: "/v1beta/models/{model}",
      summary: "One chat model, Gemini",
      description: "One model in the Gemini style.",
      parameters: [geminiModel(models)],
      answers: [jsonAnswer("The model.", "GeminiModel")],
      errorStyle: "gemini",
      errors: [...callErrors, "model_not_found"],
    },
  ];
}
