/** Schemas of lists of models, and of what the owner of a key may read: those of the fields that are answered. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { refusedFields } from "../usage_api/calls.ts";
import {
  count,
  dateTime,
  maybeText,
  objectSchema,
  propertiesOf,
  text,
} from "../../core/lib/json/schemas.ts";
import { balanceFields, sumFields } from "../usage_api/usage_api.ts";
import { receiptFields } from "../usage_api/receipt_json.ts";
import { ref } from "./operation.ts";

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

const sums = propertiesOf(sumFields);

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
    checked_at: dateTime,
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
  Receipt: objectSchema("What a call used and cost.", receiptFields),
  ReceiptList: list("Receipt", "A page of receipts."),
  RefusedCall: objectSchema(
    "A call that was refused before a provider was asked. It cost nothing.",
    refusedFields,
  ),
  Call: { anyOf: [ref("Receipt"), ref("RefusedCall")] },
  CallList: list("Call", "A page of calls."),
  Balance: objectSchema("The wallet.", balanceFields),
};

/** The schemas of this group. */
export const accountSchemas: JsonObject = { ...models, ...account };
