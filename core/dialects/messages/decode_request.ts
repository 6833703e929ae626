/** Reads a Messages request into a conversation (wire notes, tables A and B). */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { readTemperatureAndTopP } from "../common_fields.ts";
import type {
  Conversation,
  Effort,
  Extra,
  OutputFormat,
  ReasoningWish,
  Sampling,
  TextBlock,
  Turn,
} from "../conversation/mod.ts";
import {
  invalid,
  oneOf,
  optionalBoolean,
  optionalCount,
  optionalList,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../fields.ts";
import { Notes } from "../notes.ts";
import { decodeCache, decodeContent, decodeText } from "./decode_blocks.ts";
import { decodeToolChoice, decodeTools } from "./decode_tools.ts";

/** Fields that are read below, by name. Anything else becomes an extra. */
const known = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "thinking",
  "output_config",
  "output_format",
  "tools",
  "tool_choice",
  "metadata",
  "service_tier",
  "cache_control",
]);

/** The client relies on these: an answer without them would not be what was asked for. */
const refused = new Set(["container", "mcp_servers"]);
/** Sent by SDKs in the body, meant for a header that we do not forward to another style. */
const ignored = new Set(["betas", "user_profile_id"]);

export function decodeMessagesRequest(body: JsonObject): Conversation {
  const notes = new Notes();
  const maxTokens = optionalCount(body, "max_tokens", "max_tokens") ??
    invalid("max_tokens", "is required");
  if (maxTokens === 0) {
    refuse("max_tokens", "0 only warms a prompt cache, which this model's provider does not offer");
  }
  const cache = decodeCache(body, "").cache;
  const format = decodeFormat(body);
  const reasoning = decodeReasoning(body, notes);
  return {
    from: "messages",
    model: requiredString(body, "model", "model"),
    system: decodeSystem(body.system),
    turns: decodeTurns(body),
    tools: decodeTools(optionalList(body, "tools", "tools") ?? []),
    ...decodeToolChoice(body),
    maxTokens,
    sampling: decodeSampling(body),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(format === undefined ? {} : { output: format }),
    stream: optionalBoolean(body, "stream", "stream") ?? false,
    streamUsage: true,
    ...decodeEndUser(body),
    ...decodeTier(body),
    ...(cache === undefined ? {} : { automaticCache: cache }),
    extras: decodeExtras(body),
    notes: notes.list(),
  };
}

function decodeSystem(system: Json | undefined): TextBlock[] {
  if (system === undefined || system === null || system === "") return [];
  if (typeof system === "string") return [{ type: "text", text: system, path: "system" }];
  if (!Array.isArray(system)) invalid("system", "must be a string or a list of text blocks");
  return system
    .map((block, i) => decodeText(requiredObject(block, `system.${i}`), `system.${i}`))
    .filter((block) => block.text.trim() !== "");
}

function decodeTurns(body: JsonObject): Turn[] {
  const messages = optionalList(body, "messages", "messages") ?? invalid("messages", "is required");
  return messages.map((value, i) => {
    const path = `messages.${i}`;
    const message = requiredObject(value, path);
    const role = oneOf(
      requiredString(message, "role", `${path}.role`),
      ["user", "assistant", "system"],
      `${path}.role`,
    );
    return { role, path, blocks: decodeContent(message.content, `${path}.content`) };
  });
}

function decodeSampling(body: JsonObject): Sampling {
  const shared = readTemperatureAndTopP(body);
  const topK = optionalCount(body, "top_k", "top_k");
  const stop = optionalList(body, "stop_sequences", "stop_sequences");
  return {
    ...shared,
    ...(topK === undefined ? {} : { topK }),
    ...(stop === undefined || stop.length === 0 ? {} : { stop: stop.map(stopSequence) }),
  };
}

function stopSequence(value: Json, i: number): string {
  return typeof value === "string" ? value : invalid(`stop_sequences.${i}`, "must be a string");
}

const efforts = ["low", "medium", "high", "xhigh", "max"] as const satisfies readonly Effort[];

function decodeReasoning(body: JsonObject, notes: Notes): ReasoningWish | undefined {
  const config = optionalObject(body, "output_config", "output_config") ?? {};
  for (const key of Object.keys(config)) {
    if (key !== "effort" && key !== "format") notes.add(`output_config.${key}`);
  }
  const word = optionalString(config, "effort", "output_config.effort");
  const effort = word === undefined ? undefined : oneOf(word, efforts, "output_config.effort");
  const thinking = optionalObject(body, "thinking", "thinking");
  const withEffort = effort === undefined ? {} : { effort };
  if (thinking === undefined) {
    return effort === undefined ? undefined : { effort, path: "output_config.effort" };
  }
  const display = optionalString(thinking, "display", "thinking.display");
  const shared = { ...withEffort, ...(display === undefined ? {} : { display }), path: "thinking" };
  switch (thinking.type) {
    case "disabled":
      return { mode: "off", ...shared };
    case "adaptive":
      return { mode: "adaptive", ...shared };
    case "enabled":
      return {
        mode: "on",
        budgetTokens: optionalCount(thinking, "budget_tokens", "thinking.budget_tokens", 1) ??
          invalid("thinking.budget_tokens", "is required"),
        ...shared,
      };
    default:
      return invalid("thinking.type", "must be one of enabled, disabled, adaptive");
  }
}

function decodeFormat(body: JsonObject): OutputFormat | undefined {
  const config = optionalObject(body, "output_config", "output_config");
  const [format, path] = config?.format !== undefined && config.format !== null
    ? [config.format, "output_config.format"]
    : [body.output_format, "output_format"];
  if (format === undefined || format === null) return undefined;
  if (!isJsonObject(format) || format.type !== "json_schema") {
    return invalid(`${path}.type`, "must be json_schema");
  }
  const schema = requiredObject(format.schema, `${path}.schema`);
  return { type: "json_schema", schema, path };
}

function decodeEndUser(body: JsonObject): Pick<Conversation, "endUser"> {
  const metadata = optionalObject(body, "metadata", "metadata");
  if (metadata === undefined) return {};
  const path = "metadata.user_id";
  const id = optionalString(metadata, "user_id", path);
  return id === undefined ? {} : { endUser: { id, path } };
}

function decodeTier(body: JsonObject): Pick<Conversation, "serviceTier"> {
  const path = "service_tier";
  const tier = optionalString(body, path, path);
  if (tier === undefined) return {};
  const words = { auto: "auto", standard_only: "default" } as const;
  return {
    serviceTier: { tier: words[oneOf(tier, ["auto", "standard_only"], path)], path },
  };
}

function decodeExtras(body: JsonObject): Extra[] {
  const extras: Extra[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name) || ignored.has(name) || value === undefined || value === null) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    extras.push({ name, path: name, value, otherwise: refused.has(name) ? "refuse" : "note" });
  }
  return extras;
}
