/**
 * Reads a Chat request into a conversation.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-request and docs/conversion.md#requests-chat-client-messages-model.
 *
 * - Folder `core/wire/chat/request/`: requests of the Chat style.
 * - In: requests of Chat clients, or conversations.
 * - Out: conversations, or requests for Chat servers; native requests without what the gateway wrote for other
 *   styles.
 * - Never: sends a request, or imports the folder of another style.
 */
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import {
  readChoices,
  readEndUser,
  readOutputFormat,
  readServiceTier,
  readTemperatureAndTopP,
} from "../../fields/common_fields.ts";
import type { Conversation, OutputFormat, Sampling } from "../../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalCount,
  optionalList,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { Warnings } from "../../contract/warnings.ts";
import { extrasOf, warnUnread } from "../../fields/field_table.ts";
import { decodeChatMessages } from "./decode_messages.ts";
import { decodeReasoning } from "./decode_reasoning.ts";
import { decodeChatTools } from "./decode_tools.ts";
import { chatFields } from "./known_fields.ts";
import { defined } from "../../../lib/base/defined.ts";

/** Reads a Chat request. */
export function decodeChatRequest(body: JsonObject): Conversation {
  refuseUncarried(body);
  const warnings = new Warnings();
  const reasoning = decodeReasoning(body, warnings);
  const output = decodeFormat(body);
  const maxTokens = optionalCount(body, "max_completion_tokens", "max_completion_tokens", 1) ??
    optionalCount(body, "max_tokens", "max_tokens", 1);
  const options = optionalObject(body, "stream_options", "stream_options");
  const tier = readServiceTier(body);
  const logprobs = decodeLogprobs(body, warnings);
  const messages = optionalList(body, "messages", "messages") ?? invalid("messages", "is required");
  warnUnread(body, chatFields, warnings);
  return {
    from: "chat",
    model: requiredString(body, "model", "model"),
    ...decodeChatMessages(messages, warnings),
    ...decodeChatTools(body, warnings),
    ...defined({ maxTokens }),
    sampling: decodeSampling(body),
    ...defined({ reasoning, output }),
    stream: optionalBoolean(body, "stream", "stream") ?? false,
    streamUsage: options?.include_usage === true,
    ...readEndUser(body),
    ...tier,
    ...logprobs,
    ...readChoices(body, "n", "n"),
    ...(asksForPictures(body.modalities) ? { pictures: { path: "modalities" } } : {}),
    extras: extrasOf(body, chatFields, "chat"),
    warnings: warnings.list(),
  };
}

/** Reads the request for log probabilities. The vendor refuses `top_logprobs` without `logprobs`. */
function decodeLogprobs(body: JsonObject, warnings: Warnings): Pick<Conversation, "logprobs"> {
  const top = optionalCount(body, "top_logprobs", "top_logprobs");
  if (optionalBoolean(body, "logprobs", "logprobs") !== true) {
    if (top !== undefined && top > 0) warnings.add("top_logprobs");
    return {};
  }
  return { logprobs: { path: "logprobs", ...defined({ top }) } };
}

/** Refuses what clients rely on and no other style has. */
function refuseUncarried(body: JsonObject): void {
  if ((optionalCount(body, "best_of", "best_of", 1) ?? 1) > 1) {
    refuse("best_of", "this model does not choose among answers");
  }
  const modalities = optionalList(body, "modalities", "modalities") ?? [];
  if (modalities.some((kind) => kind !== "text" && kind !== "image")) {
    refuse("modalities", "this model answers in text and pictures only");
  }
  if (optionalObject(body, "audio", "audio") !== undefined) {
    refuse("audio", "this model does not speak");
  }
}

function asksForPictures(modalities: Json | undefined): boolean {
  return Array.isArray(modalities) && modalities.includes("image");
}

function decodeSampling(body: JsonObject): Sampling {
  const shared = readTemperatureAndTopP(body);
  const topK = optionalCount(body, "top_k", "top_k");
  const stop = decodeStop(body.stop);
  return {
    ...shared,
    ...defined({ topK }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

function decodeStop(stop: Json | undefined): string[] {
  if (stop === undefined || stop === null) return [];
  const list = Array.isArray(stop) ? stop : [stop];
  return list.map((value) =>
    typeof value === "string" ? value : invalid("stop", "must be a string or a list of strings")
  );
}

function decodeFormat(body: JsonObject): OutputFormat | undefined {
  const path = "response_format";
  return readOutputFormat(
    optionalObject(body, path, path),
    path,
    (format) => decodeSchema(requiredObject(format.json_schema, `${path}.json_schema`), path),
  );
}

function decodeSchema(given: JsonObject, path: string): OutputFormat {
  const name = optionalString(given, "name", `${path}.json_schema.name`);
  const description = optionalString(given, "description", `${path}.json_schema.description`);
  const schema = optionalObject(given, "schema", `${path}.json_schema.schema`);
  const strict = optionalBoolean(given, "strict", `${path}.json_schema.strict`);
  if (schema === undefined) return { type: "json_object", path };
  return {
    type: "json_schema",
    path,
    schema,
    ...defined({ name, description, strict }),
    ...(strict === undefined ? {} : { strictPath: `${path}.json_schema.strict` }),
  };
}
