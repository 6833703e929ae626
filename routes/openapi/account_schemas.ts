/** Schemas of lists of models, and of what the owner of a key may read. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { ref } from "./operation.ts";

const text: JsonObject = { type: "string" };
const maybeText: JsonObject = { type: ["string", "null"] };
const count: JsonObject = { type: "integer", minimum: 0 };
const vnd: JsonObject = {
  type: "string",
  pattern: "^-?\\d+(\\.\\d+)?$",
  description: "An exact amount in VND.",
};

function object(
  description: string,
  required: readonly string[],
  properties: JsonObject,
): JsonObject {
  return { type: "object", description, required: [...required], properties };
}

function list(name: string, description: string): JsonObject {
  return object(description, ["data"], {
    object: { const: "list" },
    data: { type: "array", items: ref(name) },
    has_more: { type: "boolean" },
    first_id: maybeText,
    last_id: maybeText,
  });
}

const sums: JsonObject = {
  calls: count,
  failed_calls: count,
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  units: count,
  cost_vnd: vnd,
  refunded_vnd: vnd,
};

const models: JsonObject = {
  Model: object("A model with its price.", ["id", "kind", "price"], {
    id: text,
    object: text,
    type: text,
    created: { type: "integer" },
    created_at: text,
    owned_by: text,
    display_name: text,
    kind: {
      type: "string",
      description: "`chat`, `image`, `speech`, `video`, `embedding`, `transcription` …",
    },
    family: text,
    context_window: { type: "integer", description: "Tokens of prompt and answer together." },
    max_output_tokens: { type: "integer" },
    vision: { type: "boolean", description: "Whether it takes pictures." },
    aliases: { type: "array", items: text },
    alias_of: { type: "string", description: "The model that this alias names." },
    price: object("VND by the unit; the members depend on the unit.", ["unit"], { unit: text }),
    list_price: { description: "The same price in the unit in which the vendor publishes it." },
  }),
  ModelList: list("Model", "Models and aliases."),
  GeminiModel: object("A chat model in the Gemini style.", ["name", "displayName"], {
    name: text,
    version: text,
    displayName: text,
    inputTokenLimit: count,
    outputTokenLimit: count,
    supportedGenerationMethods: { type: "array", items: text },
  }),
  GeminiModelList: object("A page of chat models.", ["models"], {
    models: { type: "array", items: ref("GeminiModel") },
    nextPageToken: text,
  }),
  Status: object("How each model does.", ["object", "maintenance", "checked_at", "models"], {
    object: { const: "status" },
    maintenance: { type: "boolean" },
    checked_at: { type: "string", format: "date-time" },
    models: {
      type: "array",
      items: object("A model.", ["id", "kind", "status", "first_output_ms", "uptime_24h"], {
        id: text,
        kind: text,
        status: { type: "string", enum: ["up", "degraded", "down"] },
        first_output_ms: object("Milliseconds to the first output.", ["p50", "p95"], {
          p50: { type: ["number", "null"] },
          p95: { type: ["number", "null"] },
        }),
        uptime_24h: { type: ["number", "null"], description: "1 is always." },
      }),
    },
  }),
};

const account: JsonObject = {
  Usage: object("Sums of calls.", ["object", "from", "to", "group_by", "total", "data"], {
    object: { const: "usage" },
    from: { type: "string", format: "date" },
    to: { type: "string", format: "date" },
    time_zone: text,
    group_by: text,
    total: { type: "object", properties: sums },
    data: {
      type: "array",
      items: { type: "object", properties: { day: text, key: text, model: text, ...sums } },
    },
  }),
  Receipt: object(
    "What a call used and cost.",
    ["object", "request_id", "model", "status", "outcome", "cost_vnd"],
    {
      object: { const: "receipt" },
      request_id: text,
      key_id: text,
      key_name: maybeText,
      started_at: { type: "string", format: "date-time" },
      kind: text,
      model: text,
      mapped_from: maybeText,
      style: text,
      region: maybeText,
      answered_in: maybeText,
      status: { type: "integer" },
      outcome: text,
      error: {
        type: ["object", "null"],
        properties: { type: text, code: text, message: text },
        description:
          "Why a call failed, in the gateway's words; null for a call that was answered.",
      },
      ended_by: {
        type: ["object", "null"],
        properties: { code: text, message: text },
        description:
          "What ended a stream that was not whole: `call_timeout`, `upstream_timeout`, `insufficient_balance` …; null for other calls.",
      },
      stream: { type: "boolean" },
      latency_ms: { type: "number" },
      first_output_ms: { type: ["number", "null"] },
      usage: { type: ["object", "null"] },
      estimated: { type: "boolean" },
      units: { type: "number" },
      catalog_version: {
        type: ["integer", "null"],
        description: "The version of the catalogue whose price and routes the call had.",
      },
      price: { type: "object" },
      service_tier: {
        type: ["string", "null"],
        description: "The tier of service whose factor the price contains.",
      },
      hosted_tools: {
        type: "array",
        items: { type: "object" },
        description:
          "Tools that the provider ran for a fee: `tool`, `uses`, `vnd_per_use`, `cost_vnd`.",
      },
      cost_vnd: vnd,
      shortfall_vnd: vnd,
      refunded_vnd: vnd,
      refunded_at: maybeText,
      attempts: { type: "array", items: { type: "object" } },
    },
  ),
  ReceiptList: list("Receipt", "A page of receipts."),
  RefusedCall: object(
    "A call that was refused before a provider was asked. It cost nothing.",
    ["object", "request_id", "key_id", "started_at", "status", "error", "latency_ms"],
    {
      object: { const: "refused_call" },
      request_id: text,
      key_id: text,
      started_at: { type: "string", format: "date-time" },
      endpoint: maybeText,
      model: maybeText,
      status: { type: "integer" },
      error: { type: "object", properties: { type: text, code: text, message: text } },
      latency_ms: { type: "number" },
      left_out: { ...count, description: "Refused calls before this one that are not listed." },
    },
  ),
  Call: { anyOf: [ref("Receipt"), ref("RefusedCall")] },
  CallList: list("Call", "A page of calls."),
  Balance: object("The wallet.", ["object", "currency", "balance_vnd", "owed_vnd"], {
    object: { const: "balance" },
    currency: { const: "VND" },
    balance_vnd: vnd,
    owed_vnd: vnd,
    reserved_vnd: vnd,
  }),
};

/** The schemas of this group. */
export const accountSchemas: JsonObject = { ...models, ...account };
