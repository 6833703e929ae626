/**
 * Reads a Messages request into a conversation.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-request and docs/conversion.md#requests-messages-client-chat-model.
 *
 * - Folder `core/wire/messages/request/`: requests of the Messages style.
 * - In: requests of Messages clients, or conversations.
 * - Out: conversations, or requests for Messages servers; native requests without blocks that their vendor did not
 *   make.
 * - Never: sends a request, or imports the folder of another style.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { readDisplay, readTemperatureAndTopP } from "../../fields/common_fields.ts";
import type {
  Block,
  Conversation,
  Effort,
  Extra,
  OutputFormat,
  ReasoningRequest,
  Sampling,
  TextBlock,
  Tool,
  Turn,
} from "../../conversation/mod.ts";
import {
  invalid,
  isEmpty,
  oneOf,
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
import {
  byKind,
  each,
  extra,
  extrasOf,
  type FieldTable,
  object,
  read,
  silent,
  unread,
  warnUnread,
} from "../../fields/field_table.ts";
import { withoutBillingLine } from "./billing_line.ts";
import { decodeCache, decodeContent, decodeText, sinceCompaction } from "./decode_blocks.ts";
import {
  decodeToolChoice,
  decodeTools,
  isAppliedChange,
  type LoadedTools,
  loadedTools,
} from "./decode_tools.ts";
import { defined } from "../../../lib/base/defined.ts";

// The fields of a Messages request: which of them, and which of their members, the decoder reads.
//
// See docs/internals/WIRE_FORMATS.md#messages-request.

const mark = object({ type: read, ttl: read });
const citations = object({ enabled: read });

/** The sources of an earlier answer, which add nothing to its text. */
const earlierSources = silent;

const text = object({ type: read, text: read, citations: earlierSources, cache_control: mark });

const media = {
  type: read,
  media_type: read,
  data: read,
  url: read,
  file_id: read,
};

const image = object({ type: read, source: object(media), cache_control: mark });

const document = object({
  type: read,
  source: object({ ...media, content: each(byKind("type", { text, image })) }),
  title: read,
  context: read,
  citations,
  cache_control: mark,
});

const searchResult = object({
  type: read,
  source: read,
  title: read,
  // One text at the other side: its parts cannot have marks of their own.
  content: each(object({ type: read, text: read })),
  citations,
  cache_control: mark,
});

/** Blocks that a tool result may contain. The encoders report any other as one entry. */
const plain = {
  text,
  image,
  document,
  search_result: searchResult,
  tool_reference: object({ type: read, tool_name: read, cache_control: mark }),
};

const tool = byKind("type", {
  custom: object({
    type: read,
    name: read,
    description: read,
    input_schema: read,
    strict: read,
    cache_control: mark,
    allowed_callers: read,
    // Decides whether the tool is offered at all.
    defer_loading: read,
    // How the vendor streams the tool; examples beside a schema that says the same.
    eager_input_streaming: silent,
    input_examples: silent,
  }),
}, "custom");

/** Whether the model itself made a call, as in every other style. */
function isDirect(caller: Json): boolean {
  return isJsonObject(caller) && caller.type === "direct";
}

/** A tool that an instruction adds or removes. */
const changedTool = byKind("type", {
  tool_reference: object({ type: read, name: read }),
  tool_definition: object({ type: read, definition: tool }),
}, "tool_reference");

const block = byKind("type", {
  ...plain,
  thinking: object({ type: read, thinking: read, signature: read }),
  redacted_thinking: object({ type: read, data: read }),
  tool_use: object({
    type: read,
    id: read,
    name: read,
    input: read,
    caller: unread(isDirect),
    cache_control: mark,
  }),
  tool_addition: object({ type: read, tool: changedTool }),
  tool_removal: object({ type: read, tool: changedTool }),
  tool_result: object({
    type: read,
    tool_use_id: read,
    content: each(byKind("type", plain)),
    is_error: read,
    cache_control: mark,
  }),
});

const format = object({ type: read, schema: read });

/** Fields of headers that some libraries send in the body. Headers are not carried to another style. */
const headerField = extra(() => true);

/** Every field of the style, and those that clients have added to it. */
export const messagesFields = {
  model: read,
  max_tokens: read,
  system: each(text),
  messages: each(object({ role: read, content: each(block) })),
  tools: each(tool),
  tool_choice: object({ type: read, name: read, disable_parallel_tool_use: read }),
  thinking: object({ type: read, budget_tokens: read, display: read }),
  output_config: object({ effort: read, format }),
  output_format: format,
  metadata: object({ user_id: read }),
  cache_control: mark,
  stop_sequences: read,
  stream: read,
  temperature: read,
  top_p: read,
  top_k: read,
  service_tier: read,
  // An answer without these would not be what the client asked for.
  container: extra(undefined, "refuse"),
  mcp_servers: extra(isEmpty, "refuse"),
  fallbacks: extra(isEmpty),
  inference_geo: extra(),
  context_management: extra(),
  betas: headerField,
  user_profile_id: headerField,
} satisfies FieldTable;

/** Reads a Messages request. */
export function decodeMessagesRequest(body: JsonObject): Conversation {
  const warnings = new Warnings();
  const maxTokens = optionalCount(body, "max_tokens", "max_tokens") ??
    invalid("max_tokens", "is required");
  if (maxTokens === 0) {
    refuse("max_tokens", "0 only warms a prompt cache, which this model's provider does not offer");
  }
  const cache = decodeCache(body, "").cache;
  const format = decodeFormat(body, warnings);
  const reasoning = decodeReasoning(body);
  warnUnread(body, messagesFields, warnings);
  const servers = optionalList(body, "mcp_servers", "mcp_servers") ?? [];
  const loaded = loadedTools(body);
  const tools = decodeTools(loaded.tools, servers);
  warnOfBetweenTools(body, tools, warnings);
  const turns = sinceCompaction(decodeTurns(body, loaded), warnings);
  return {
    from: "messages",
    model: requiredString(body, "model", "model"),
    system: decodeSystem(body.system),
    turns,
    tools,
    ...decodeToolChoice(body),
    maxTokens,
    sampling: decodeSampling(body),
    ...defined({ reasoning, output: format }),
    stream: optionalBoolean(body, "stream", "stream") ?? false,
    streamUsage: true,
    ...decodeEndUser(body),
    ...decodeTier(body),
    ...defined({ automaticCache: cache }),
    extras: decodeExtras(body, tools),
    warnings: warnings.list(),
  };
}

function decodeSystem(system: Json | undefined): TextBlock[] {
  if (system === undefined || system === null || system === "") return [];
  if (typeof system === "string") {
    return withText([{ type: "text", text: withoutBillingLine(system), path: "system" }]);
  }
  if (!Array.isArray(system)) invalid("system", "must be a string or a list of text blocks");
  return withText(system.map((value, i) => {
    const given = requiredObject(value, `system.${i}`);
    if ((given.type ?? "text") !== "text") invalid(`system.${i}.type`, "must be text");
    const block = decodeText(given, `system.${i}`);
    return { ...block, text: withoutBillingLine(block.text) };
  }));
}

function withText(blocks: readonly TextBlock[]): TextBlock[] {
  return blocks.filter((block) => block.text.trim() !== "");
}

function decodeTurns(body: JsonObject, { names }: LoadedTools): Turn[] {
  const messages = optionalList(body, "messages", "messages") ?? invalid("messages", "is required");
  return messages.map((value, i) => {
    const path = `messages.${i}`;
    const message = requiredObject(value, path);
    const role = oneOf(
      requiredString(message, "role", `${path}.role`),
      ["user", "assistant", "system"],
      `${path}.role`,
    );
    const blocks = decodeContent(message.content, `${path}.content`)
      .filter((block) => block.type !== "foreign" || !isAppliedChange(block.raw, names));
    for (const block of blocks) requireRole(role, block);
    return { role, path, blocks };
  });
}

/** Refuses blocks that the vendor takes from another role only. Leaves blocks that only the vendor knows to it. */
function requireRole(role: Turn["role"], block: Block): void {
  if (block.type === "text" || block.type === "foreign") return;
  const { path } = block;
  if (role === "system") invalid(path, "system messages hold only text");
  if (role !== "user") return;
  if (block.type === "tool_call") {
    invalid(path, "`tool_use` blocks can only be in `assistant` messages");
  }
  if (block.type === "reasoning") {
    invalid(path, "`thinking` blocks can only be in `assistant` messages");
  }
}

function decodeSampling(body: JsonObject): Sampling {
  const shared = readTemperatureAndTopP(body);
  const topK = optionalCount(body, "top_k", "top_k");
  const stop = optionalList(body, "stop_sequences", "stop_sequences");
  return {
    ...shared,
    ...defined({ topK }),
    ...(stop === undefined || stop.length === 0 ? {} : { stop: stop.map(stopSequence) }),
  };
}

function stopSequence(value: Json, i: number): string {
  return typeof value === "string" ? value : invalid(`stop_sequences.${i}`, "must be a string");
}

const efforts = ["low", "medium", "high", "xhigh", "max"] as const satisfies readonly Effort[];

function decodeReasoning(body: JsonObject): ReasoningRequest | undefined {
  const config = optionalObject(body, "output_config", "output_config") ?? {};
  const word = optionalString(config, "effort", "output_config.effort");
  const effort = word === undefined ? undefined : oneOf(word, efforts, "output_config.effort");
  const path = "thinking";
  const thinking = optionalObject(body, path, path);
  const withEffort = effort === undefined ? {} : { effort, effortPath: "output_config.effort" };
  if (thinking === undefined) {
    return effort === undefined ? undefined : { effort, path: "output_config.effort" };
  }
  const shared = { ...withEffort, ...readDisplay(thinking, "display", path), path };
  switch (thinking.type) {
    case "disabled":
      return { mode: "off", ...shared };
    case "adaptive":
      return { mode: "adaptive", ...shared };
    case "between_tools":
      return { mode: "off", ...shared };
    case "enabled":
      return {
        mode: "on",
        budgetTokens: optionalCount(thinking, "budget_tokens", "thinking.budget_tokens", 1) ??
          invalid("thinking.budget_tokens", "is required"),
        ...shared,
      };
    default:
      return invalid("thinking.type", "must be one of enabled, disabled, adaptive, between_tools");
  }
}

/** Other vendors cannot keep thinking to the places between calls, and switch it off. */
function warnOfBetweenTools(
  { thinking }: JsonObject,
  tools: readonly Tool[],
  warnings: Warnings,
): void {
  if (!isJsonObject(thinking) || thinking.type !== "between_tools") return;
  if (tools.length > 0 || typeof thinking.display === "string") warnings.add("thinking");
}

function decodeFormat(body: JsonObject, warnings: Warnings): OutputFormat | undefined {
  const config = optionalObject(body, "output_config", "output_config");
  const isNewer = config?.format !== undefined && config.format !== null;
  // The older field has the same meaning; beside the newer one it is ignored.
  if (isNewer && isJsonObject(body.output_format)) warnings.add("output_format");
  const [format, path] = isNewer
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

/** Keeps the other fields as extras; MCP servers that were read as hosted tools are not among them. */
function decodeExtras(body: JsonObject, tools: readonly Tool[]): Extra[] {
  const mcpIsRead = tools.some((tool) => tool.type === "hosted" && tool.kind === "mcp");
  const extras = extrasOf(body, messagesFields, "messages");
  return mcpIsRead ? extras.filter(({ path }) => path !== "mcp_servers") : extras;
}
