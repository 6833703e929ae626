/** Schemas of chat requests, generated, and of chat answers. */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { count, objectSchema, ref, text, writtenSchema } from "../../core/lib/json/schemas.ts";
import { chatFields } from "../../core/wire/chat/request/decode_request.ts";
import { geminiFields } from "../../core/wire/gemini/request/decode_request.ts";
import { chatAnswerMembers } from "../../core/wire/chat/answer/encode_answer.ts";
import { geminiAnswerMembers } from "../../core/wire/gemini/answer/encode_answer.ts";
import { messageMembers } from "../../core/wire/messages/answer/encode_answer.ts";
import {
  responseMembers,
  responsesUsageSchema,
} from "../../core/wire/responses/answer/response_object.ts";
import { maxChoices } from "../../core/wire/contract/limits.ts";
import { messagesFields } from "../../core/wire/messages/request/decode_request.ts";
import { responsesFields } from "../../core/wire/responses/request/known_fields.ts";
import { chatRequest } from "../../sandbox/vendor_validators/openai/chat_schema.ts";
import { geminiRequest } from "../../sandbox/vendor_validators/google/gemini_schema.ts";
import { messagesRequest } from "../../sandbox/vendor_validators/anthropic/messages_schema.ts";
import { responsesRequest } from "../../sandbox/vendor_validators/openai/responses_schema.ts";
import {
  gatewaySchemas,
  modelsSchema,
  providerSchemas,
} from "../../core/calls/request/route_preferences.ts";
import { countFields } from "../api/chat/count_tokens.ts";
import { inputItemFields, removedFields } from "../api/chat/kept_responses.ts";
import { z } from "zod";
import type { FieldTable } from "../../core/wire/fields/field_table.ts";

// Makes the schema of a chat request from the zod schema that the strict sandbox validates it with, and from the table
// of fields that the decoder reads. The gateway takes more than its vendor: unknown fields are allowed everywhere.

/** Additions of a style to its schema. */
export interface RequestSchemaOptions {
  readonly description: string;
  /** Fields that no route takes: the gateway always refuses them, or reads them elsewhere. */
  readonly without: readonly string[];
  readonly descriptions: Readonly<Record<string, string>>;
  /** Members that replace those of a field's schema. */
  readonly overrides?: Readonly<Record<string, JsonObject>>;
  /** Members that are the gateway's own. */
  readonly own?: JsonObject;
}

/**
 * Returns the JSON Schema of a request.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { extra } from "../../core/wire/fields/field_table.ts";
 * import { read } from "../../core/wire/fields/field_table.ts";
 * import { requestSchema } from "./chat_schemas.ts";
 * const schema = requestSchema(z.strictObject({ model: z.string() }), { model: read, seed: extra() }, {
 *   description: "A request.",
 *   without: [],
 *   descriptions: { model: "The model." },
 * });
 * const expected = { model: { description: "The model.", type: "string" }, seed: {} };
 * if (JSON.stringify(schema["properties"]) !== JSON.stringify(expected)) throw new Error(JSON.stringify(schema));
 * ```
 */
export function requestSchema(
  schema: z.ZodType,
  table: FieldTable,
  { description, without, descriptions, overrides = {}, own = {} }: RequestSchemaOptions,
): JsonObject {
  const whole = plain(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  const read = isJsonObject(whole["properties"]) ? whole["properties"] : {};
  const names = [...Object.keys(read), ...Object.keys(table).filter((name) => !(name in read))];
  const properties: JsonObject = {};
  for (const name of names) {
    if (without.includes(name)) continue;
    const member = read[name];
    const said = descriptions[name];
    properties[name] = {
      ...(said === undefined ? {} : { description: said }),
      ...(isJsonObject(member) ? member : {}),
      ...overrides[name],
    };
  }
  const required = Array.isArray(whole["required"]) ? whole["required"] : [];
  return {
    type: "object",
    description,
    required: required.filter((name) => typeof name !== "string" || !without.includes(name)),
    properties: { ...properties, ...own },
  };
}

/** Copies what zod wrote as plain JSON, without its bans of unknown members. */
function plain(written: unknown): JsonObject {
  const copied: unknown = JSON.parse(JSON.stringify(written));
  if (!isJsonObject(copied)) throw new TypeError("zod writes schemas as objects");
  const open = withoutBans(copied);
  return isJsonObject(open) ? open : {};
}

function withoutBans(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutBans);
  if (!isJsonObject(value)) return value;
  // The only recursive schema is the one of any JSON value.
  if (typeof value["$ref"] === "string") return {};
  const copy: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    const isNoise = name === "$schema" || name === "$defs" || name === "propertyNames" ||
      (name === "additionalProperties" && (member === false || isEmptyObject(member)));
    if (!isNoise && member !== undefined) copy[name] = withoutBans(member);
  }
  return copy;
}

function isEmptyObject(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

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

/** Members by which a caller has a say in the route, or calls a preset; no provider gets them. */
const routeMembers: JsonObject = {
  preset: {
    type: ["string", "null"],
    description:
      "A preset of your organisation, as `name` or `name@3`: called with `model`, or with its own model where there is none.",
  },
  models: modelsSchema,
  provider: ref("RoutePreferences"),
  providerOptions: {
    type: "object",
    description: "The same as clients of Vercel's gateway say it.",
    properties: {
      gateway: {
        type: "object",
        properties: { models: modelsSchema, ...gatewaySchemas },
      },
    },
  },
};

const fallbacks: JsonObject = {
  type: "array",
  description: "`models` as LiteLLM's clients say it: names, or objects with a `model`.",
  items: {
    anyOf: [{ type: "string" }, {
      type: "object",
      required: ["model"],
      properties: { model: { type: "string" } },
    }],
  },
};

const choices: JsonObject = {
  anyOf: [{ type: "integer", minimum: 1, maximum: maxChoices }, { type: "null" }],
};

const requests: JsonObject = {
  RoutePreferences: {
    type: "object",
    description: "Which providers may serve a call, in which order and up to which price.",
    additionalProperties: false,
    properties: providerSchemas,
  },
  MessagesRequest: requestSchema(messagesRequest, messagesFields, {
    description: "A request of the Messages style.",
    without: [],
    own: routeMembers,
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
    own: { ...routeMembers, fallbacks },
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
    without: ["background", "conversation", "prompt"],
    own: { ...routeMembers, fallbacks },
    descriptions: {
      ...shared,
      input:
        "A text, or the items of the conversation so far; with `previous_response_id` those that are new.",
      previous_response_id:
        "The response that the request continues. It is kept in memory for an hour; `instructions` and `tools` of it " +
        "are not carried over.",
      store:
        "`false`: nothing is kept of the response. Providers store nothing; `true` is named in `x-gateway-conversion`.",
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
    own: routeMembers,
    descriptions: {
      contents: "The conversation so far. Nothing is stored: send all of it with each call.",
      systemInstruction: "Instructions for the whole conversation.",
      tools: shared.tools,
      generationConfig: "Length, sampling, thinking and format of the answer.",
    },
  }),
};

const answers: JsonObject = {
  Message: writtenSchema("An answer of the Messages style.", messageMembers, [
    "id",
    "type",
    "role",
    "model",
    "content",
    "stop_reason",
    "usage",
  ]),
  ChatCompletion: writtenSchema("An answer of the Chat Completions style.", chatAnswerMembers, [
    "id",
    "object",
    "created",
    "model",
    "choices",
  ]),
  Response: writtenSchema("An answer of the Responses style.", responseMembers, [
    "id",
    "object",
    "status",
    "model",
    "output",
  ]),
  GenerateContentResponse: writtenSchema(
    "An answer of the Gemini style, or a piece of one in a stream.",
    geminiAnswerMembers,
    [],
  ),
  GenerateContentStream: {
    type: "array",
    description: "The pieces of a stream as one list.",
    items: ref("GenerateContentResponse"),
  },
  MessagesTokenCount: objectSchema("Prompt tokens.", countFields.messages),
  ResponsesTokenCount: objectSchema("Prompt tokens.", countFields.responses),
  GeminiTokenCount: objectSchema("Prompt tokens.", countFields.gemini),
  ResponseDeleted: objectSchema("The response that was removed.", removedFields),
  ResponseInputItem: {
    type: "object",
    description: "An item as it was sent; a message has all its members.",
    required: ["id"],
    properties: { id: text, type: text },
    additionalProperties: true,
  },
  ResponseInputItemList: objectSchema("The input of a response.", inputItemFields),
  CompactedResponse: {
    type: "object",
    description: "A compacted conversation.",
    required: ["id", "object", "output", "usage"],
    properties: {
      id: text,
      object: { const: "response.compaction" },
      created_at: count,
      output: {
        ...responseMembers.output,
        description: "Messages of the user, and an item of type `compaction`.",
      },
      usage: responsesUsageSchema,
    },
  },
  EventStream: {
    description: "Server-sent events in the form of the style. A stream that breaks ends with an " +
      "error event, never with a regular end.",
  },
};

/** The schemas of this group. */
export const chatSchemas: JsonObject = { ...requests, ...answers };
