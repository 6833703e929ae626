/** Schemas of input items of a Responses request, as the vendor accepts them. */
import { z } from "zod";
import { callArguments, fileData, functionName, imageAddress } from "./chat_messages.ts";

/** The id of an item, whose prefix the vendor checks. */
function itemId(prefix: string) {
  return z.string().regex(
    new RegExp(`^${prefix}[a-zA-Z0-9_-]*$`),
    `Expected an ID that begins with '${prefix}'`,
  ).max(64, "string too long. Expected a string with maximum length 64").nullable().optional();
}

const callId = z.string().min(1, "empty string").max(
  64,
  "string too long. Expected a string with maximum length 64",
);

const status = z.enum(["in_progress", "completed", "incomplete"]).nullable().optional();

const inputText = z.strictObject({
  type: z.literal("input_text"),
  text: z.string(),
  prompt_cache_breakpoint: z.strictObject({ mode: z.literal("explicit") }).optional(),
});
const inputImage = z.strictObject({
  type: z.literal("input_image"),
  image_url: imageAddress.nullable().optional(),
  file_id: z.string().nullable().optional(),
  detail: z.enum(["auto", "low", "high", "original"]).nullable().optional(),
}).refine(
  ({ image_url, file_id }) => typeof image_url === "string" || typeof file_id === "string",
  "one of image_url and file_id is required",
);
const inputFile = z.strictObject({
  type: z.literal("input_file"),
  file_data: fileData.optional(),
  file_id: z.string().nullable().optional(),
  file_url: z.string().regex(/^https?:\/\//).optional(),
  filename: z.string().optional(),
}).refine(
  ({ file_data, file_id, file_url }) => Boolean(file_data ?? file_id ?? file_url),
  "one of file_data, file_id and file_url is required",
).refine(
  ({ file_data, filename }) => file_data === undefined || filename !== undefined,
  "filename is required with file_data",
);
const inputAudio = z.strictObject({
  type: z.literal("input_audio"),
  input_audio: z.strictObject({ data: z.string(), format: z.enum(["wav", "mp3"]) }),
});

const inputPart = z.discriminatedUnion("type", [inputText, inputImage, inputFile, inputAudio]);

const outputPart = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("output_text"),
    text: z.string(),
    annotations: z.array(z.looseObject({ type: z.string() })).optional(),
    logprobs: z.array(z.looseObject({})).nullable().optional(),
  }),
  z.strictObject({ type: z.literal("refusal"), refusal: z.string() }),
]);

const messageType = z.literal("message").optional();

const messageItem = z.discriminatedUnion("role", [
  z.strictObject({
    type: messageType,
    role: z.enum(["user", "system", "developer"]),
    // Codex gives every item of its history an id of its own making.
    id: itemId("msg"),
    content: z.union([z.string(), z.array(inputPart)]),
    status,
  }),
  z.strictObject({
    type: messageType,
    role: z.literal("assistant"),
    id: itemId("msg"),
    content: z.union([z.string(), z.array(outputPart)]),
    status,
    phase: z.enum(["commentary", "final_answer"]).nullable().optional(),
  }),
]);

const toolOutput = z.union([
  z.string(),
  z.array(z.discriminatedUnion("type", [inputText, inputImage, inputFile])),
]);

const reasoningItem = z.strictObject({
  type: z.literal("reasoning"),
  id: itemId("rs").unwrap().unwrap(),
  summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal("reasoning_text"), text: z.string() }))
    .nullable().optional(),
  encrypted_content: z.string().min(1).nullable().optional(),
  status,
});

const typedItem = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("function_call"),
    id: itemId("fc"),
    call_id: callId,
    name: functionName,
    arguments: callArguments,
    status,
    namespace: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal("function_call_output"),
    id: itemId("fc"),
    call_id: callId,
    output: toolOutput,
    status,
  }),
  z.strictObject({
    type: z.literal("custom_tool_call"),
    id: itemId("ctc"),
    call_id: callId,
    name: functionName,
    input: z.string(),
    status,
    namespace: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal("custom_tool_call_output"),
    id: itemId("ctc"),
    call_id: callId,
    output: toolOutput,
    status,
  }),
  reasoningItem,
  z.strictObject({ type: z.literal("item_reference"), id: z.string().min(1) }),
  // Items of hosted tools and similar ones, which the gateway passes through: only their types are checked.
  z.looseObject({
    type: z.enum([
      "web_search_call",
      "file_search_call",
      "computer_call",
      "computer_call_output",
      "code_interpreter_call",
      "image_generation_call",
      "local_shell_call",
      "local_shell_call_output",
      "shell_call",
      "shell_call_output",
      "apply_patch_call",
      "apply_patch_call_output",
      "mcp_list_tools",
      "mcp_approval_request",
      "mcp_approval_response",
      "mcp_call",
      "tool_search_call",
      "tool_search_output",
      "additional_tools",
      "compaction",
      "compaction_trigger",
      "configuration_update",
    ]),
  }),
]);

export const inputItem = z.union([messageItem, typedItem]);

export type InputItem = z.infer<typeof inputItem>;
