import type {
  ConversionOptions,
  ProviderStyle,
  RouteCapabilities,
} from "../../core/wire/contract/contract.ts";

/** Routes of each style that differ from its defaults in ways that change the body. */
export const routes: Record<ProviderStyle, RouteCapabilities[]> = {
  messages: [
    {},
    { thinking: "budget", efforts: [], mid_system: true },
    { thinking: "none", structured: "tool", sampling: "fixed", cache_marks: "none" },
    { structured: "none", strict_tools: false, tool_choice_required: false },
  ],
  chat: [
    {},
    { max_tokens_field: "max_tokens", text_parts: false, tool_id: "alnum9", efforts: [] },
    { system_role: "developer", cache_marks: "breakpoint", sampling: "fixed" },
    { structured: "json_object", custom_tools: true, effort_with_tools: "none" },
    { structured: "none", parallel_flag: false, tool_choice_required: false, stop_max: 0 },
  ],
  // Pictures by URL are fetched before the conversion where a route takes only data.
  gemini: [
    { images: "url" },
    { images: "url", thinking: "budget", sampling: "fixed" },
    { images: "url", thinking: "none", structured: "json_object", tool_choice_required: false },
    { images: "url", structured: "none", extra_fields: ["service_tier"] },
  ],
  converse: [
    { prefill: "plain" },
    { prefill: "plain", structured: "tool", reasoning_field: "reasoningConfig" },
    {
      prefill: "plain",
      structured: "none",
      reasoning_field: "reasoning_effort",
      extra_fields: ["inferenceConfig.topK", "service_tier", "seed"],
    },
    {
      prefill: "plain",
      reasoning_field: "thinking",
      strict_tools: true,
      cache_marks: "cache_point",
      extra_fields: ["top_k"],
    },
    { prefill: "plain", reasoning_field: "thinking", thinking: "adaptive", sampling: "fixed" },
    { prefill: "plain", tool_choice_required: false, tool_id: "alnum9", stop_max: 0 },
  ],
  responses: [
    {},
    { efforts: [], custom_tools: false, system_role: "developer" },
    { cache_marks: "breakpoint", sampling: "fixed", structured: "json_object" },
  ],
};

/** What the gateway fetches before it converts, for routes that take only data. */
export function fetchedFor(to: ProviderStyle): Pick<ConversionOptions, "documents"> {
  if (to !== "converse") return {};
  return {
    documents: {
      get: (_url, kind) => ({
        mediaType: kind === "picture" ? "image/png" : "application/pdf",
        base64: "aGk=",
      }),
    },
  };
}
