/**
 * Schemas of content blocks of a Messages request. Like the vendor, they refuse unknown fields at every level
 * (docs/internals/WIRE_FORMATS.md#messages-content-blocks).
 */
import { z } from "zod";

/** A cache mark: at most four per request, none on thinking. */
export const cacheControl = z.strictObject({
  type: z.literal("ephemeral"),
  ttl: z.enum(["5m", "1h"]).optional(),
}).nullable().optional();

const base64 = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/, "not base64");
const httpsUrl = z.string().regex(/^https:\/\//, "Only HTTPS URLs are supported");

const citationsSwitch = z.strictObject({ enabled: z.boolean().optional() }).nullable().optional();

export const textBlock = z.strictObject({
  type: z.literal("text"),
  text: z.string().min(1, "text content blocks must be non-empty")
    .regex(/\S/, "text content blocks must contain non-whitespace text"),
  cache_control: cacheControl,
  citations: z.array(z.looseObject({ type: z.string() })).nullable().optional(),
});

const imageBlock = z.strictObject({
  type: z.literal("image"),
  source: z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("base64"),
      media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      data: base64,
    }),
    z.strictObject({ type: z.literal("url"), url: httpsUrl }),
    z.strictObject({ type: z.literal("file"), file_id: z.string().min(1) }),
  ]),
  cache_control: cacheControl,
  transformations: z.strictObject({ oversized_image: z.enum(["downsize", "error"]).optional() })
    .nullable().optional(),
});

const documentSource = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("base64"),
    media_type: z.literal("application/pdf"),
    data: base64,
  }),
  z.strictObject({
    type: z.literal("text"),
    media_type: z.literal("text/plain"),
    data: z.string().min(1),
  }),
  z.strictObject({
    type: z.literal("content"),
    content: z.union([
      z.string().min(1),
      z.array(z.discriminatedUnion("type", [textBlock, imageBlock])).min(1),
    ]),
  }),
  z.strictObject({ type: z.literal("url"), url: httpsUrl }),
  z.strictObject({ type: z.literal("file"), file_id: z.string().min(1) }),
]);

const documentBlock = z.strictObject({
  type: z.literal("document"),
  source: documentSource,
  title: z.string().nullable().optional(),
  context: z.string().nullable().optional(),
  citations: citationsSwitch,
  cache_control: cacheControl,
});

const searchResultBlock = z.strictObject({
  type: z.literal("search_result"),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock).min(1),
  citations: citationsSwitch,
  cache_control: cacheControl,
});

const thinkingBlock = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  // The vendor verifies the signature. All of its own are base64, which catches invented ones here.
  signature: z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/, "Invalid `signature` in `thinking` block"),
});

const redactedThinkingBlock = z.strictObject({
  type: z.literal("redacted_thinking"),
  data: z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/, "Invalid `data` in `redacted_thinking` block"),
});

const caller = z.looseObject({ type: z.string() }).nullable().optional();

const toolId = z.string().regex(
  /^[a-zA-Z0-9_-]+$/,
  "String should match pattern '^[a-zA-Z0-9_-]+$'",
);

/** Names of tools: older documentation says up to 64 characters, newer clients send up to 128. */
export const toolName = z.string().regex(
  /^[a-zA-Z0-9_-]{1,128}$/,
  "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
);

const jsonObject = z.record(z.string(), z.json());

const toolUseBlock = z.strictObject({
  type: z.literal("tool_use"),
  id: toolId,
  name: toolName,
  input: jsonObject,
  caller,
  cache_control: cacheControl,
  toolset_name: z.string().nullable().optional(),
});

const toolReference = z.strictObject({
  type: z.literal("tool_reference"),
  tool_name: toolName,
  cache_control: cacheControl,
});

const toolResultPart = z.discriminatedUnion("type", [
  textBlock,
  imageBlock,
  documentBlock,
  searchResultBlock,
  toolReference,
  z.looseObject({ type: z.literal("browser_state") }),
]);

const toolResultBlock = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: toolId,
  content: z.union([z.string(), z.array(toolResultPart)]).optional(),
  is_error: z.boolean().nullable().optional(),
  cache_control: cacheControl,
  toolset_name: z.string().nullable().optional(),
}).check((context) => {
  const { content, is_error } = context.value;
  if (is_error !== true) return;
  const message = content === undefined || content.length === 0
    ? "content cannot be empty if `is_error` is true"
    : typeof content !== "string" && content.some((part) => part.type !== "text")
    ? 'all content must be type "text" if "is_error" is true'
    : undefined;
  if (message !== undefined) {
    context.issues.push({ code: "custom", path: ["content"], message, input: content });
  }
});

const serverToolUseBlock = z.strictObject({
  type: z.literal("server_tool_use"),
  id: z.string().regex(/^srvtoolu_[a-zA-Z0-9_]+$/),
  name: z.enum([
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
  ]),
  input: jsonObject,
  caller,
  cache_control: cacheControl,
});

const serverToolResultBlock = z.strictObject({
  type: z.enum([
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
  ]),
  tool_use_id: z.string().regex(/^srvtoolu_[a-zA-Z0-9_]+$/),
  content: z.union([
    z.array(z.looseObject({ type: z.string() })),
    z.looseObject({ type: z.string() }),
  ]),
  caller,
  cache_control: cacheControl,
});

const mcpUseBlock = z.strictObject({
  type: z.literal("mcp_tool_use"),
  id: toolId,
  name: z.string().min(1),
  server_name: z.string().min(1),
  input: jsonObject,
  cache_control: cacheControl,
});

const mcpResultBlock = z.strictObject({
  type: z.literal("mcp_tool_result"),
  tool_use_id: toolId,
  is_error: z.boolean().optional(),
  content: z.union([z.string(), z.array(textBlock)]).optional(),
  cache_control: cacheControl,
});

const containerUploadBlock = z.strictObject({
  type: z.literal("container_upload"),
  file_id: z.string().min(1),
  cache_control: cacheControl,
});

export const userBlock = z.discriminatedUnion("type", [
  textBlock,
  imageBlock,
  documentBlock,
  searchResultBlock,
  toolResultBlock,
  containerUploadBlock,
]);

export const assistantBlock = z.discriminatedUnion("type", [
  textBlock,
  thinkingBlock,
  redactedThinkingBlock,
  toolUseBlock,
  serverToolUseBlock,
  serverToolResultBlock,
  mcpUseBlock,
  mcpResultBlock,
  containerUploadBlock,
]);

export type UserBlock = z.infer<typeof userBlock>;
export type AssistantBlock = z.infer<typeof assistantBlock>;
