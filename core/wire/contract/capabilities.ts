/**
 * Capabilities of one route that conversion must know: which fields its model takes, and in which form.
 *
 * Capabilities are data in `gateway.json` (`routes[].capabilities`), never branches per vendor. Every capability has a default by style:
 * what the vendor that defined the style takes today. A route says only where it differs.
 */
import { z } from "zod";
import type { ProviderStyle } from "./style.ts";

/**
 * Fields that Chat and Responses, which one vendor defined, share beyond those of every style. Logprobs and verbosity
 * are written differently in each; the others have the same name and values.
 */
const sharedFields = [
  "logprobs",
  "metadata",
  "moderation",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "user",
  "verbosity",
] as const;

const effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** The schema of `routes[].capabilities`. Unknown capabilities are refused: a misspelt one would silently do nothing. */
export const routeCapabilitiesSchema = z.strictObject({
  /** Chat: the field that caps output. OpenAI and Azure: `max_completion_tokens`; most other servers: `max_tokens`. */
  max_tokens_field: z.enum(["max_completion_tokens", "max_tokens"]),
  /** Most output tokens the route gives; a larger bound in a request is lowered. Absent: the model's own limit. */
  max_output: z.int().positive(),
  /** Chat: role of instructions. `developer` for o-series and GPT-5+, `system` everywhere else. */
  system_role: z.enum(["system", "developer"]),
  /** Chat: system and tool messages may be lists of text parts. `false`: texts are joined by an empty line. */
  text_parts: z.boolean(),
  /** `fixed`: the model refuses temperature and top_p other than 1, and top_k. */
  sampling: z.enum(["full", "fixed"]),
  /** The model refuses temperature together with top_p: top_p is dropped. */
  temp_top_p_exclusive: z.boolean(),
  /** Messages: how thinking is asked for. Gemini: by level (`adaptive`, Gemini 3 and later) or by budget. */
  thinking: z.enum(["none", "budget", "adaptive"]),
  /**
   * Fewest and most tokens of a budget for thinking. Absent: Gemini decides by itself above what all of its models
   * take; the others are bounded by the limit of output.
   */
  thinking_budget_min: z.int().min(0),
  thinking_budget_max: z.int().positive(),
  /**
   * Way to switch thinking off: in the usual way of the style, at Messages by `between_tools`, or not at all (`no`):
   * the model then gets the lowest budget or effort.
   */
  thinking_off: z.enum(["disabled", "between_tools", "no"]),
  /**
   * Converse: the model's own field that asks for reasoning. `reasoningConfig`: Nova 2; `reasoning_effort`: gpt-oss;
   * `thinking`: Claude, in the form that `thinking` says.
   */
  reasoning_field: z.enum(["none", "reasoningConfig", "reasoning_effort", "thinking"]),
  /** Levels of effort that the route takes (`reasoning_effort`, `output_config.effort`). Empty: it has no such field. */
  efforts: z.array(effort),
  /**
   * Chat: the field that switches thinking off where no level of effort does: `thinking` (`{"type": "disabled"}`),
   * `reasoning` (`{"enabled": false}`) or `enable_thinking` (`false`).
   */
  thinking_switch: z.enum(["none", "thinking", "reasoning", "enable_thinking"]),
  /** Chat: `none` sends effort `none` whenever tools are sent (GPT-5.4+ refuse both together). */
  effort_with_tools: z.enum(["any", "none"]),
  /** Structured output: by the style's own field, through a forced tool, as any JSON object, or only by an instruction. */
  structured: z.enum(["format", "tool", "json_object", "none"]),
  /** Tools may have `strict`. */
  strict_tools: z.boolean(),
  /** A tool call can be forced (`required`, `any`). */
  tool_choice_required: z.boolean(),
  /** Several tool calls can be switched off. */
  parallel_flag: z.boolean(),
  /**
   * Chat: tool calls of native answers that break the style's contract (one index for several calls, or none; arguments
   * that are objects) are repaired. `false`: their bytes pass unchanged.
   */
  repair_calls: z.boolean(),
  /**
   * Gemini: hosted tools beside functions. `invocations`: with `includeServerSideToolInvocations`; `plain`: without, as
   * Vertex AI takes them; `no`: hosted tools are dropped and named, as for every model up to 2.5.
   */
  mixed_tools: z.enum(["invocations", "plain", "no"]),
  /** Chat: tools that take free text. `false`: sent as a function with one text field and unwrapped on the way back. */
  custom_tools: z.boolean(),
  /**
   * Form of tool call ids: any, at most 40 characters, exactly nine of `[a-zA-Z0-9]`, only `[a-zA-Z0-9_-]`, or at most 64
   * of these.
   */
  tool_id: z.enum(["any", "max40", "alnum9", "word", "word64"]),
  tool_name_max: z.int().min(16).max(256),
  /** The first character of a tool's name: any legal one, or no digit and no hyphen (Gemini). */
  tool_name_start: z.enum(["any", "letter"]),
  /** Images: by URL or data, only as data, or not at all. */
  images: z.enum(["url", "base64", "none"]),
  /** Chat and Gemini: the model gives several answers per call (`n`, `candidateCount`). */
  choices: z.boolean(),
  /** Chat and Gemini: sound can be sent. */
  audio: z.boolean(),
  /** Documents (PDF) can be sent. */
  files: z.boolean(),
  /** Most stop sequences; 0: the field is refused. */
  stop_max: z.int().min(0).max(1024),
  /** Chat: `stream_options.include_usage` is known. */
  include_usage: z.boolean(),
  /** Messages: `role: "system"` inside `messages` is known (Opus 4.8 and later). */
  mid_system: z.boolean(),
  /**
   * A trailing assistant message: refused (`no`), sent as it is (`plain`: Messages models before 4.6 continue it,
   * Chat models begin a new answer), or with the server's switch to continue it.
   */
  prefill: z.enum(["no", "plain", "prefix", "continue_final_message"]),
  /**
   * Cache marks: none, `cache_control` on blocks, OpenAI's `prompt_cache_breakpoint` (GPT-5.6+), or `cachePoint` after
   * blocks (Converse).
   */
  cache_marks: z.enum(["none", "cache_control", "breakpoint", "cache_point"]),
  /** Messages: the gateway places cache marks for clients whose style has none, or who set none. */
  auto_cache: z.boolean(),
  /**
   * Messages: the vendor reads the line that Claude Code has before its instructions for the accounting. `false`: it is
   * taken out, since it would be text of the prompt that differs between conversations.
   */
  billing_line: z.boolean(),
  /** Chat: the form in which the route wants earlier reasoning back. */
  reasoning_replay: z.enum(["none", "reasoning_content", "reasoning", "details", "extra_content"]),
  /**
   * The server leaves the model's thinking in the text of its answer: between `<think>` and `</think>` (`pair`), or
   * before `</think>` alone because the opening tag is part of the prompt (`close`).
   */
  think_tags: z.enum(["none", "pair", "close"]),
  /** Name of the signer of this route's reasoning proofs; proofs of other signers are not sent to it. */
  reasoning_signer: z.string().min(1).max(64),
  /** Chat: content of an assistant message that holds only tool calls. */
  tool_call_content: z.enum(["null", "empty"]),
  /** Text in place of an empty tool result, for servers that refuse `""`. */
  empty_tool_result: z.string().max(64),
  /**
   * Chat and Responses: which of the fields that the two share the route takes. The conversion carries them unchanged;
   * servers of other vendors often refuse some.
   */
  shared_fields: z.array(z.enum(sharedFields)),
  /**
   * Fields beyond the common ones that the route knows: `top_k`, `seed`, `web_search_options` …, and for Messages
   * clients `service_tier`, `user` or `safety_identifier`.
   */
  extra_fields: z.array(z.string().max(64)),
}).partial();

/** The capabilities that an operator wrote for a route. */
export type RouteCapabilities = Readonly<z.infer<typeof routeCapabilitiesSchema>>;

/** Figures of a model, which have no default. */
type Figure = "max_output" | "thinking_budget_min" | "thinking_budget_max";

/** The route capabilities, each with a value; figures are apart. */
type Filled = {
  readonly [Name in Exclude<keyof RouteCapabilities, Figure>]-?: ReadonlyValue<
    NonNullable<RouteCapabilities[Name]>
  >;
};
type ReadonlyValue<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value;
/** Capabilities of a route, with the style's defaults where the operator wrote none. */
export type ResolvedCapabilities = Filled & Pick<RouteCapabilities, Figure>;

const common = {
  max_tokens_field: "max_completion_tokens",
  system_role: "system",
  text_parts: true,
  sampling: "full",
  temp_top_p_exclusive: false,
  thinking: "adaptive",
  thinking_off: "disabled",
  reasoning_field: "none",
  efforts: ["low", "medium", "high"],
  thinking_switch: "none",
  effort_with_tools: "any",
  structured: "format",
  strict_tools: true,
  tool_choice_required: true,
  parallel_flag: true,
  repair_calls: true,
  mixed_tools: "invocations",
  custom_tools: false,
  tool_id: "any",
  tool_name_max: 64,
  tool_name_start: "any",
  images: "url",
  choices: true,
  audio: true,
  files: true,
  stop_max: 4,
  include_usage: true,
  mid_system: false,
  prefill: "plain",
  cache_marks: "none",
  auto_cache: true,
  billing_line: true,
  reasoning_replay: "none",
  think_tags: "none",
  tool_call_content: "null",
  empty_tool_result: "",
  shared_fields: sharedFields,
  extra_fields: [],
} as const satisfies Partial<ResolvedCapabilities>;

const defaults: Readonly<Record<ProviderStyle, ResolvedCapabilities>> = {
  messages: {
    ...common,
    // Fields of another vendor.
    shared_fields: [],
    temp_top_p_exclusive: true,
    tool_id: "word",
    tool_name_max: 128,
    stop_max: 1024,
    cache_marks: "cache_control",
    reasoning_signer: "messages",
  },
  chat: {
    ...common,
    // The vendor takes metadata here only for answers that it stores, and nothing is stored for this gateway.
    shared_fields: sharedFields.filter((field) => field !== "metadata"),
    tool_id: "max40",
    reasoning_signer: "chat",
  },
  responses: {
    ...common,
    custom_tools: true,
    stop_max: 0,
    mid_system: true,
    reasoning_signer: "responses",
  },
  gemini: {
    ...common,
    // The others are fields of other vendors.
    shared_fields: ["logprobs"],
    extra_fields: ["seed", "presence_penalty", "frequency_penalty"],
    // Addresses of the public web are taken by newer models only.
    images: "base64",
    strict_tools: false,
    parallel_flag: false,
    tool_name_start: "letter",
    stop_max: 5,
    reasoning_signer: "google",
  },
  // What all models behind it take; facts of a route say what its model takes beyond that.
  converse: {
    ...common,
    shared_fields: [],
    thinking: "budget",
    images: "base64",
    strict_tools: false,
    parallel_flag: false,
    prefill: "no",
    tool_id: "word64",
    // Empty results are refused.
    empty_tool_result: "(no output)",
    reasoning_signer: "bedrock",
  },
};

/**
 * Fills the gaps of a route's capabilities with the defaults of its style.
 *
 * @example
 * ```ts
 * import { resolveCapabilities } from "./capabilities.ts";
 * const capabilities = resolveCapabilities("chat", { max_tokens_field: "max_tokens" });
 * if (capabilities.max_tokens_field !== "max_tokens" || capabilities.stop_max !== 4) throw new Error("wrong defaults");
 * ```
 */
export function resolveCapabilities(
  style: ProviderStyle,
  capabilities: RouteCapabilities,
): ResolvedCapabilities {
  const given = Object.fromEntries(
    Object.entries(capabilities).filter(([, value]) => value !== undefined),
  );
  return { ...defaults[style], ...given };
}
