/**
 * The fields of a Responses request: which of them, and which of their members, the decoder reads.
 *
 * See docs/internals/WIRE_FORMATS.md#responses.
 */
import type { Json } from "../../../lib/json/json.ts";
import {
  byKind,
  each,
  extra,
  type FieldCheck,
  type FieldTable,
  object,
  read,
  silent,
  unread,
} from "../../fields/field_table.ts";
import { isEmpty } from "../../fields/fields.ts";

// Values of `include` that have a meaning in other styles.

/** The value of `include` for reasoning that the client can send back. */
export const encryptedReasoning = "reasoning.encrypted_content";

/** Values of `include` for results of searches and of code, which other styles send by default. */
export const searchSources = "web_search_call.action.sources";
/** The value of `include` for the outputs of hosted code. */
export const codeOutputs = "code_interpreter_call.outputs";

/** The value of `include` for log probabilities of the text. */
export const textLogprobs = "message.output_text.logprobs";

/** Whether every converted answer fulfils a value of `include`. */
export function isMet(entry: Json): boolean {
  return entry === encryptedReasoning || entry === textLogprobs || entry === searchSources ||
    entry === codeOutputs;
}

const isFalse = (value: Json) => value === false;

const prompt_cache_breakpoint = object({ mode: unread((value) => value === "explicit") });

const text = object({
  type: read,
  text: read,
  prompt_cache_breakpoint,
  // Of an earlier answer: its sources and log probabilities.
  annotations: silent,
  logprobs: silent,
});

const part = byKind("type", {
  text,
  input_text: text,
  output_text: text,
  refusal: object({ type: read, refusal: read }),
  input_image: object({
    type: read,
    image_url: read,
    file_id: read,
    detail: read,
    prompt_cache_breakpoint,
  }),
  input_audio: object({
    type: read,
    input_audio: object({ data: read, format: read }),
    prompt_cache_breakpoint,
  }),
  input_file: object({
    type: read,
    filename: read,
    file_data: read,
    file_url: read,
    file_id: read,
    prompt_cache_breakpoint,
  }),
});

/** Members of stored items: their ids and status have no meaning at another vendor. */
const stored = { type: read, id: silent, status: silent };

const called = { call_id: read, name: read, namespace: read };

const output = object({ ...stored, call_id: read, output: each(part) });

/** The encoders report a tool of another type as one entry. */
function toolsOf(defer_loading: FieldCheck): FieldCheck {
  const declaration = { type: read, name: read, description: read, defer_loading };
  const ownTools = {
    function: object({ ...declaration, parameters: read, strict: read }),
    custom: object({
      ...declaration,
      format: object({ type: read, syntax: read, definition: read }),
    }),
  };
  return each(byKind("type", {
    ...ownTools,
    tool_search: object({
      type: read,
      execution: read,
      description: read,
      parameters: read,
    }),
    namespace: object({ ...declaration, tools: each(byKind("type", ownTools)) }),
  }));
}

/** Tools of the request: those that only a search would load are offered at once. */
const tools = toolsOf(unread(isFalse));

/** Tools that a search found or the client added are loaded. */
const loadedTools = toolsOf(silent);

/** The encoders report an item of another type as one entry. */
const item = byKind("type", {
  message: object({ ...stored, role: read, content: each(part) }),
  function_call: object({ ...stored, ...called, arguments: read }),
  custom_tool_call: object({ ...stored, ...called, input: read }),
  function_call_output: output,
  custom_tool_call_output: output,
  tool_search_call: object({ ...stored, call_id: read, execution: read, arguments: read }),
  tool_search_output: object({ ...stored, call_id: read, execution: read, tools: loadedTools }),
  additional_tools: object({ ...stored, role: silent, tools: loadedTools }),
  reasoning: object({ ...stored, summary: read, content: read, encrypted_content: read }),
  configuration_update: object({ ...stored, reasoning: object({ effort: read }) }),
}, "message");

const namedTool = object({ type: read, name: read, namespace: read });

const toolChoice = byKind("type", {
  function: namedTool,
  custom: namedTool,
  allowed_tools: object({
    type: read,
    mode: read,
    tools: each(
      byKind("type", { function: namedTool, custom: namedTool, namespace: namedTool }),
    ),
  }),
}, "function");

/** The end user: other styles that have one use a field of their own. */
const endUser = extra(() => true);

/** A member of `text` here, a field of its own in Chat. */
export const verbosity = extra((value) => value === "medium");

/** Every field of the style. */
export const responsesFields = {
  model: read,
  input: each(item),
  tools,
  tool_choice: toolChoice,
  text: object({
    format: object({ type: read, name: read, description: read, schema: read, strict: read }),
    verbosity: read,
  }),
  reasoning: object({ effort: read, summary: read, generate_summary: read }),
  stream_options: object({ include_obfuscation: unread(isFalse) }),
  instructions: read,
  max_output_tokens: read,
  temperature: read,
  top_p: read,
  top_logprobs: read,
  stream: read,
  parallel_tool_calls: read,
  include: read,
  service_tier: read,
  store: read,
  background: read,
  previous_response_id: read,
  conversation: read,
  prompt: read,
  max_tool_calls: extra(),
  truncation: extra((value) => value === "disabled"),
  verbosity,
  metadata: extra(isEmpty),
  client_metadata: extra(isEmpty),
  context_management: extra(isEmpty),
  user: endUser,
  safety_identifier: endUser,
  prompt_cache_key: extra(),
  prompt_cache_options: extra(isEmpty),
  prompt_cache_retention: extra(),
  moderation: extra(),
} satisfies FieldTable;
