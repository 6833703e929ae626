/**
 * Schemas of messages of a Chat Completions request, as the vendor accepts them.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-messages and docs/internals/WIRE_FORMATS.md#chat-tools.
 */
import { z } from "zod";

const breakpoint = z.strictObject({ mode: z.literal("explicit") }).optional();

/** Names of functions, tools and output schemas. */
export const functionName = z.string().regex(
  /^[a-zA-Z0-9_-]{1,64}$/,
  "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' " +
    "of at most 64 characters",
);

const textPart = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});

/** An image by URL or as a data URL, in one of the four formats that the vendor decodes. */
export const imageAddress = z.string().regex(
  /^(https?:\/\/\S+|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2})$/,
  "expected an http(s) URL or a base64-encoded data URL of a png, jpeg, gif or webp image",
);

/** A file as a data URL. */
export const fileData = z.string().regex(
  /^data:[a-z0-9.+-]+\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/i,
  "expected a base64-encoded data URL",
);

const imagePart = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({
    url: imageAddress,
    detail: z.enum(["auto", "low", "high"]).optional(),
  }),
});

const audioPart = z.strictObject({
  type: z.literal("input_audio"),
  input_audio: z.strictObject({ data: z.string().min(1), format: z.enum(["wav", "mp3"]) }),
  prompt_cache_breakpoint: breakpoint,
});

const filePart = z.strictObject({
  type: z.literal("file"),
  file: z.union([
    z.strictObject({ file_data: fileData, filename: z.string().min(1) }),
    z.strictObject({ file_id: z.string().min(1) }),
  ]),
  prompt_cache_breakpoint: breakpoint,
});

const refusalPart = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });

function parts<Part extends z.ZodType>(part: Part) {
  return z.array(part).min(1, "empty array. Expected an array with minimum length 1");
}

const textContent = z.union([z.string(), parts(textPart)]);

const participantName = z.string().regex(
  /^[^\s<|\\/>]{1,64}$/,
  "string does not match pattern '^[^\\s<|\\\\/>]+$'",
).optional();

const callId = z.string().min(1, "empty string").max(
  40,
  "string too long. Expected a string with maximum length 40",
);

/** Whether a text is a JSON object: servers parse the arguments of earlier calls for the template of the prompt. */
function isJsonText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Arguments of a function call. */
export const callArguments = z.string().refine(isJsonText, "expected arguments in valid JSON");

const toolCall = z.discriminatedUnion("type", [
  z.strictObject({
    id: callId,
    type: z.literal("function"),
    function: z.strictObject({ name: functionName, arguments: callArguments }),
  }),
  z.strictObject({
    id: callId,
    type: z.literal("custom"),
    custom: z.strictObject({ name: functionName, input: z.string() }),
  }),
]);

const assistantMessage = z.strictObject({
  role: z.literal("assistant"),
  content: z.union([
    z.string(),
    parts(z.discriminatedUnion("type", [textPart, refusalPart])),
  ]).nullable().optional(),
  refusal: z.string().nullable().optional(),
  tool_calls: parts(toolCall).optional(),
  audio: z.strictObject({ id: z.string() }).nullable().optional(),
  name: participantName,
  function_call: z.strictObject({ name: functionName, arguments: callArguments })
    .nullable().optional(),
  // Not in the vendor's request schema, but a reply sent back as it came is accepted.
  annotations: z.array(z.looseObject({})).optional(),
}).check((context) => {
  const { content, refusal, tool_calls, audio, function_call } = context.value;
  const carriers = [content, refusal, tool_calls, audio, function_call];
  if (carriers.some((carrier) => carrier !== undefined && carrier !== null)) return;
  context.issues.push({
    code: "custom",
    path: ["content"],
    message: "expected a string or an array of objects, but got null instead",
    input: content,
  });
});

export const chatMessage = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("developer"), content: textContent, name: participantName }),
  z.strictObject({ role: z.literal("system"), content: textContent, name: participantName }),
  z.strictObject({
    role: z.literal("user"),
    content: z.union([
      z.string(),
      parts(z.discriminatedUnion("type", [textPart, imagePart, audioPart, filePart])),
    ]),
    name: participantName,
  }),
  assistantMessage,
  z.strictObject({
    role: z.literal("tool"),
    content: textContent,
    tool_call_id: z.string().min(1),
    // A field of the old functions, no longer documented: libraries still send it and the vendor accepts it.
    name: z.string().optional(),
  }),
  z.strictObject({
    role: z.literal("function"),
    content: z.string().nullable(),
    name: functionName,
  }),
]);

export type ChatMessage = z.infer<typeof chatMessage>;
