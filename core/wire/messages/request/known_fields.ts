/**
 * The fields of a Messages request: which of them, and which of their members, the decoder reads.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-request.
 */
import { isJsonObject, type Json } from "../../../lib/json/json.ts";
import { extra, type FieldTable } from "../../fields/field_table.ts";
import { isEmpty } from "../../fields/fields.ts";
import { byKind, each, object, read, silent, unread } from "../../fields/known_fields.ts";

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
