/** Schemas of chat requests, generated, and of chat answers. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { chatFields } from "../../core/wire/chat/request/known_fields.ts";
import { geminiFields } from "../../core/wire/gemini/request/known_fields.ts";
import { maxChoices } from "../../core/wire/contract/limits.ts";
import { messagesFields } from "../../core/wire/messages/request/known_fields.ts";
import { responsesFields } from "../../core/wire/responses/request/known_fields.ts";
import { chatRequest } from "../../sandbox/vendor_validators/openai/chat_schema.ts";
import { geminiRequest } from "../../sandbox/vendor_validators/google/gemini_schema.ts";
import { messagesRequest } from "../../sandbox/vendor_validators/anthropic/messages_schema.ts";
import { responsesRequest } from "../../sandbox/vendor_validators/openai/responses_schema.ts";
import { ref } from "./operation.ts";
import { requestSchema } from "./vendor_schema.ts";

/** Fields that more than one style has. */
const shared = {
  model: "Id or alias of a model. Any other name is served by the default premium model.",
  stream: "`true`: the answer comes as events, while the model writes it.",
  temperature: "How freely the model chooses among likely words.",
  top_p: "Share of the likely words that the model chooses among.",
  top_k: "Number of likely words that the model chooses among.",
  tools: "Functions that the model may call. Tools that the provider runs must be offered.",
  tool_choice: "Whether the model must, may or must not call a tool.",
  parallel_tool_calls: "Whether several tools may be called at once.",
  service_tier: "Only tiers that cost nothing extra.",
  metadata: "Kept by nobody here; passed to models whose vendor takes it.",
  user: "A stable name of your end user.",
  store: "Nothing is stored; `true` is named in `x-gateway-conversion`.",
} as const;

const choices: JsonObject = {
  anyOf: [{ type: "integer", minimum: 1, maximum: maxChoices }, { type: "null" }],
};

const requests: JsonObject = {
  MessagesRequest: requestSchema(messagesRequest, messagesFields, {
    description: "A request of the Messages style.",
    without: [],
    descriptions: {
      ...shared,
      max_tokens: "Most tokens of the answer.",
      messages: "The conversation so far. Nothing is stored: send all of it with each call.",
      system: "Instructions for the whole conversation.",
      stop_sequences: "Texts at which the answer ends.",
      thinking: "Whether, and how much, the model thinks before it answers.",
      output_config: "Effort of the answer, and the JSON schema that it must match.",
      cache_control: "Marks the prompt up to its end for the provider's cache.",
    },
  }),
  ChatCompletionRequest: requestSchema(chatRequest, chatFields, {
    description: "A request of the Chat Completions style.",
    without: ["audio"],
    descriptions: {
      ...shared,
      messages: "The conversation so far. Nothing is stored: send all of it with each call.",
      max_completion_tokens: "Most tokens of the answer, reasoning included.",
      max_tokens: "The older name of `max_completion_tokens`.",
      n: "Number of answers; each is charged.",
      stop: "Texts at which the answer ends.",
      stream_options: "`include_usage: true` adds the token counts as the last event.",
      response_format: "Plain text, any JSON, or JSON that matches a schema.",
      reasoning_effort: "How much the model thinks before it answers.",
      extra_body: "Fields for servers that merge them; none that decides the cost.",
    },
    overrides: { n: choices, best_of: choices },
  }),
  ResponsesRequest: requestSchema(responsesRequest, responsesFields, {
    description: "A request of the Responses style.",
    without: ["background", "conversation", "previous_response_id", "prompt"],
    descriptions: {
      ...shared,
      input: "A text, or the items of the conversation so far. Send all of it with each call.",
      instructions: "Instructions for the whole conversation.",
      max_output_tokens: "Most tokens of the answer, reasoning included.",
      text: "Format of the answer: plain text, or JSON that matches a schema.",
      reasoning: "How much the model thinks, and whether it summarises that.",
      include: "What the answer has in addition, such as `reasoning.encrypted_content`.",
    },
  }),
  GenerateContentRequest: requestSchema(geminiRequest, geminiFields, {
    description: "A request of the Gemini style; names in snake case are accepted, too.",
    without: ["model", "stream", "cachedContent"],
    descriptions: {
      contents: "The conversation so far. Nothing is stored: send all of it with each call.",
      systemInstruction: "Instructions for the whole conversation.",
      tools: shared.tools,
      generationConfig: "Length, sampling, thinking and format of the answer.",
    },
  }),
};

const count: JsonObject = { type: "integer", minimum: 0 };
const text: JsonObject = { type: "string" };

const answers: JsonObject = {
  Message: {
    type: "object",
    description: "An answer of the Messages style.",
    required: ["id", "type", "role", "model", "content", "stop_reason", "usage"],
    properties: {
      id: text,
      type: { const: "message" },
      role: { const: "assistant" },
      model: { type: "string", description: "The name that you sent." },
      content: {
        type: "array",
        description: "Blocks of type `text`, `thinking`, `tool_use` and others.",
        items: { type: "object", required: ["type"], properties: { type: text, text } },
      },
      stop_reason: { type: ["string", "null"] },
      stop_sequence: { type: ["string", "null"] },
      usage: {
        type: "object",
        required: ["input_tokens", "output_tokens"],
        properties: { input_tokens: count, output_tokens: count },
      },
    },
  },
  ChatCompletion: {
    type: "object",
    description: "An answer of the Chat Completions style.",
    required: ["id", "object", "created", "model", "choices"],
    properties: {
      id: text,
      object: { const: "chat.completion" },
      created: { type: "integer" },
      model: { type: "string", description: "The name that you sent." },
      choices: {
        type: "array",
        items: {
          type: "object",
          required: ["index", "message", "finish_reason"],
          properties: {
            index: count,
            message: {
              type: "object",
              required: ["role"],
              properties: {
                role: { const: "assistant" },
                content: { type: ["string", "null"] },
                tool_calls: { type: "array", items: { type: "object" } },
                reasoning_content: { type: ["string", "null"] },
              },
            },
            finish_reason: { type: ["string", "null"] },
          },
        },
      },
      usage: {
        type: "object",
        required: ["prompt_tokens", "completion_tokens", "total_tokens"],
        properties: { prompt_tokens: count, completion_tokens: count, total_tokens: count },
      },
    },
  },
  Response: {
    type: "object",
    description: "An answer of the Responses style.",
    required: ["id", "object", "status", "model", "output"],
    properties: {
      id: text,
      object: { const: "response" },
      status: text,
      model: { type: "string", description: "The name that you sent." },
      output: {
        type: "array",
        description: "Items of type `message`, `reasoning`, `function_call` and others.",
        items: { type: "object", required: ["type"], properties: { type: text } },
      },
      usage: {
        type: ["object", "null"],
        properties: { input_tokens: count, output_tokens: count, total_tokens: count },
      },
    },
  },
  GenerateContentResponse: {
    type: "object",
    description: "An answer of the Gemini style, or a piece of one in a stream.",
    properties: {
      candidates: {
        type: "array",
        items: {
          type: "object",
          properties: {
            content: {
              type: "object",
              properties: {
                role: text,
                parts: { type: "array", items: { type: "object", properties: { text } } },
              },
            },
            finishReason: text,
          },
        },
      },
      usageMetadata: {
        type: "object",
        properties: { promptTokenCount: count, candidatesTokenCount: count },
      },
      modelVersion: { type: "string", description: "The name that you sent." },
    },
  },
  GenerateContentStream: {
    type: "array",
    description: "The pieces of a stream as one list.",
    items: ref("GenerateContentResponse"),
  },
  MessagesTokenCount: {
    type: "object",
    required: ["input_tokens"],
    properties: { input_tokens: count },
  },
  ResponsesTokenCount: {
    type: "object",
    required: ["object", "input_tokens"],
    properties: { object: { const: "response.input_tokens" }, input_tokens: count },
  },
  CompactedResponse: {
    type: "object",
    description: "A compacted conversation.",
    required: ["id", "object", "output", "usage"],
    properties: {
      id: text,
      object: { const: "response.compaction" },
      created_at: count,
      output: {
        type: "array",
        description: "Messages of the user, and an item of type `compaction`.",
        items: { type: "object", required: ["type"], properties: { type: text } },
      },
      usage: {
        type: "object",
        properties: { input_tokens: count, output_tokens: count, total_tokens: count },
      },
    },
  },
  GeminiTokenCount: {
    type: "object",
    required: ["totalTokens"],
    properties: { totalTokens: count },
  },
  EventStream: {
    description: "Server-sent events in the form of the style. A stream that breaks ends with an " +
      "error event, never with a regular end.",
  },
};

/** The schemas of this group. */
export const chatSchemas: JsonObject = { ...requests, ...answers };
