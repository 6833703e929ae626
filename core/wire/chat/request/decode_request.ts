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
  readDisplay,
  readEffort,
  readEndUser,
  readOutputFormat,
  readServiceTier,
  readTemperatureAndTopP,
} from "../../fields/common_fields.ts";
import type {
  Conversation,
  Effort,
  OutputFormat,
  ReasoningRequest,
  Sampling,
} from "../../conversation/mod.ts";
import {
  invalid,
  isEmpty,
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
  textOr,
  unread,
  warnUnread,
} from "../../fields/field_table.ts";
import { decodeChatMessages } from "./decode_messages.ts";
import { decodeChatTools } from "./decode_tools.ts";
import { defined } from "../../../lib/base/defined.ts";

// Reads how much a Chat client wants the model to think, in the three forms that clients of this style use.

/**
 * Reads the vendor's `reasoning_effort`, the aggregators' `reasoning` and other vendors' `thinking` into one request.
 * Contradictions are named: to switch thinking off wins, and then the aggregators' form.
 */
function decodeReasoning(
  body: JsonObject,
  warnings: Warnings,
): ReasoningRequest | undefined {
  const forms = [readReasoning(body, warnings), readThinking(body, warnings)]
    .filter((form) => form !== undefined);
  const [main, ...others] = forms.filter(asksToThink);
  for (const other of others) warnings.add(other.path);
  const display = forms.find((form) => form.display !== undefined)?.display;
  for (const form of forms) {
    if (form.display !== undefined && form.display !== display) warnings.add(form.display.path);
  }
  const path = "reasoning_effort";
  const effort = readEffort(optionalString(body, path, path), path);
  if (main === undefined && effort === undefined) {
    // Options for showing thinking do not switch it on.
    if (display !== undefined) warnings.add(display.path);
    return undefined;
  }
  const shown = display === undefined ? {} : { display };
  if (effort === undefined) return main === undefined ? undefined : { ...main, ...shown };
  if (main === undefined) return { effort, path, ...shown };
  warnOfContradictions(main, effort, warnings);
  return { ...main, ...shown, effort, effortPath: path };
}

function asksToThink({ mode, effort, budgetTokens }: ReasoningRequest): boolean {
  return mode !== undefined || effort !== undefined || budgetTokens !== undefined;
}

function warnOfContradictions(main: ReasoningRequest, effort: Effort, warnings: Warnings): void {
  if (main.effort !== undefined && main.effort !== effort) warnings.add(`${main.path}.effort`);
  if (main.mode === "off" && effort !== "none") warnings.add("reasoning_effort");
  if (main.mode !== undefined && main.mode !== "off" && effort === "none") warnings.add(main.path);
}

/** Reads the form of aggregators. */
function readReasoning(body: JsonObject, warnings: Warnings): ReasoningRequest | undefined {
  const path = "reasoning";
  const reasoning = optionalObject(body, path, path);
  if (reasoning === undefined) return undefined;
  const effort = readEffort(
    optionalString(reasoning, "effort", `${path}.effort`),
    `${path}.effort`,
  );
  const budgetTokens = optionalCount(reasoning, "max_tokens", `${path}.max_tokens`, 1);
  const says = effort !== undefined || budgetTokens !== undefined;
  const enabled = optionalBoolean(reasoning, "enabled", `${path}.enabled`);
  if (says && enabled === false) warnings.add(`${path}.enabled`);
  const mode = budgetTokens !== undefined
    ? "on"
    : enabled === true
    ? "adaptive"
    : enabled === false && !says
    ? "off"
    : undefined;
  return {
    ...defined({ mode, effort, budgetTokens }),
    ...readDisplay(reasoning, "summary", path),
    path,
  };
}

const modes: ReadonlyMap<string, "off" | "adaptive"> = new Map([
  ["disabled", "off"],
  ["enabled", "adaptive"],
  ["adaptive", "adaptive"],
]);

/** Reads the form of the Messages vendor, which several vendors of this style share. */
function readThinking(body: JsonObject, warnings: Warnings): ReasoningRequest | undefined {
  const path = "thinking";
  const thinking = optionalObject(body, path, path);
  if (thinking === undefined || isEmpty(thinking)) return undefined;
  const mode = typeof thinking.type === "string" ? modes.get(thinking.type) : undefined;
  if (mode === undefined) {
    warnings.add(path);
    return undefined;
  }
  const display = readDisplay(thinking, "display", path);
  if (mode === "off") return { mode, ...display, path };
  const budgetTokens = optionalCount(thinking, "budget_tokens", `${path}.budget_tokens`, 1);
  return budgetTokens === undefined
    ? { mode, ...display, path }
    : { mode: thinking.type === "enabled" ? "on" : mode, budgetTokens, ...display, path };
}

// The fields of a Chat request: which of them, and which of their members, the decoder reads.
//
// See docs/internals/WIRE_FORMATS.md#chat-request.

const isFalse = (value: Json) => value === false;

/** The two members for cache marks that clients send: the vendor's, and that of other gateways. */
const marks = {
  cache_control: object({
    type: unread((value) => value === "ephemeral"),
    ttl: unread((value) => value === "5m" || value === "1h"),
  }),
  prompt_cache_breakpoint: object({ mode: unread((value) => value === "explicit") }),
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
