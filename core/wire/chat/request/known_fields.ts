/**
 * The fields of a Chat request: which of them, and which of their members, the decoder reads.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-request.
 */
import type { Json } from "../../../lib/json/json.ts";
import { byKind, each, object, read, silent, textOr, unread } from "../../fields/known_fields.ts";
import { extra, type FieldTable } from "../../fields/field_table.ts";
import { isEmpty } from "../../fields/fields.ts";

const isFalse = (value: Json) => value === false;

/** The two members for cache marks that clients send: the vendor's, and that of other gateways. */
const marks = {
  cache_control: object({
    type: read,
    ttl: unread((value) => value === "5m" || value === "1h"),
  }),
  prompt_cache_breakpoint: object({ mode: read }),
};

const documentUrl = { type: read, document_name: read, ...marks };

const part = byKind("type", {
  text: object({ type: read, text: read, ...marks }),
  refusal: object({ type: read, refusal: read, ...marks }),
  image_url: object({
    type: read,
    // Some clients write the URL itself instead of the object around it.
    image_url: textOr(object({ url: read, detail: read })),
    ...marks,
  }),
  input_audio: object({
    type: read,
    input_audio: object({ data: read, format: read }),
    ...marks,
  }),
  file: object({
    type: read,
    file: object({ file_data: read, file_url: read, filename: read, file_id: read }),
    ...marks,
  }),
  document_url: object({ ...documentUrl, document_url: textOr(object({ url: read })) }),
  file_url: object({ ...documentUrl, file_url: textOr(object({ url: read })) }),
  thinking: object({ type: read, thinking: read, closed: silent, signature: silent }),
});

/** The fields of every message. */
const shared = {
  role: read,
  content: each(part),
  // Distinguishes participants with one role; no other style has it.
  name: silent,
  cache_control: marks.cache_control,
};

const functionCall = object({ name: read, arguments: read, parsed_arguments: silent });

const call = object({
  id: read,
  type: read,
  function: functionCall,
  custom: object({ name: read, input: read }),
  // Libraries leave the index of a streamed call here.
  index: silent,
  // A thought signature: proofs go to their signer only.
  extra_content: silent,
});

const assistant = object({
  ...shared,
  refusal: read,
  tool_calls: each(call),
  function_call: functionCall,
  audio: object({}),
  // Reasoning goes back only to routes that want it, and as reasoning.
  reasoning_content: read,
  reasoning: read,
  reasoning_details: read,
  thinking_blocks: read,
  extra_content: silent,
  // Of an earlier answer: its sources, the text as libraries parsed it, and the switch with which some servers
  // continue it.
  annotations: silent,
  parsed: silent,
  prefix: silent,
});

const message = byKind("role", {
  system: object(shared),
  developer: object(shared),
  user: object(shared),
  assistant,
  tool: object({ ...shared, tool_call_id: read }),
  function: object(shared),
});

const declaration = {
  name: read,
  description: read,
  parameters: read,
  strict: read,
  cache_control: marks.cache_control,
};

/** The encoders report a tool of another kind as one entry. */
const tool = byKind("type", {
  function: object({
    type: read,
    function: object(declaration),
    cache_control: marks.cache_control,
  }),
  custom: object({
    type: read,
    custom: object({
      name: read,
      description: read,
      format: object({
        type: read,
        syntax: read,
        definition: read,
        grammar: object({ syntax: read, definition: read }),
      }),
    }),
  }),
}, "function");

const named = object({ name: read });
const namedTool = object({ type: read, name: read, function: named, custom: named });

const toolChoice = byKind("type", {
  function: namedTool,
  custom: namedTool,
  allowed_tools: object({
    type: read,
    allowed_tools: object({
      mode: read,
      tools: each(byKind("type", { function: namedTool, custom: namedTool }, "function")),
    }),
  }),
}, "function");

const isZero = (value: Json) => value === 0;

/** The end user: other styles that have one use a field of their own. */
const endUser = extra(() => true);

/** Every field of the style, and those that clients and other servers have added to it. */
export const chatFields = {
  model: read,
  messages: each(message),
  tools: each(tool),
  tool_choice: toolChoice,
  parallel_tool_calls: read,
  functions: each(object(declaration)),
  function_call: textOr(named),
  web_search_options: read,
  response_format: object({
    type: read,
    json_schema: object({ name: read, description: read, schema: read, strict: read }),
  }),
  stream: read,
  stream_options: object({ include_usage: read, include_obfuscation: unread(isFalse) }),
  max_completion_tokens: read,
  max_tokens: read,
  temperature: read,
  top_p: read,
  top_k: read,
  stop: read,
  n: read,
  best_of: read,
  logprobs: read,
  top_logprobs: read,
  modalities: read,
  audio: read,
  reasoning_effort: read,
  reasoning: object({
    effort: read,
    max_tokens: read,
    enabled: read,
    summary: read,
    exclude: unread(isFalse),
  }),
  thinking: object({ type: read, budget_tokens: read, display: read }),
  service_tier: read,
  frequency_penalty: extra(isZero),
  presence_penalty: extra(isZero),
  logit_bias: extra(isEmpty),
  seed: extra(),
  verbosity: extra(),
  prediction: extra(),
  store: extra(isFalse),
  metadata: extra(isEmpty),
  user: endUser,
  safety_identifier: endUser,
  prompt_cache_key: extra(),
  prompt_cache_options: extra(isEmpty),
  prompt_cache_retention: extra(),
  moderation: extra(),
  extra_body: extra(isEmpty),
} satisfies FieldTable;
