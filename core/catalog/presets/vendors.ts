/** Vendors of models, at their own endpoints. */
import { compatibleChat, type Preset } from "./preset.ts";

/** The vendors' presets by name. */
export const vendorPresets = {
  openai: {
    title: "OpenAI",
    baseUrl: "https://api.openai.com",
    styles: ["responses", "chat", "images", "speech", "embeddings", "transcriptions"],
    source: "https://platform.openai.com/docs/api-reference",
  },
  anthropic: {
    title: "Anthropic",
    baseUrl: "https://api.anthropic.com",
    auth: "x-api-key",
    styles: ["messages"],
    countTokens: true,
    source: "https://platform.claude.com/docs/en/api/overview",
  },
  gemini: {
    title: "Google Gemini API",
    baseUrl: "https://generativelanguage.googleapis.com",
    auth: "x-goog-api-key",
    styles: ["gemini"],
    countTokens: true,
    source: "https://ai.google.dev/api/generate-content",
  },
  google: {
    title: "Google Gemini API, Chat style",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    styles: ["chat"],
    paths: { chat: "/chat/completions" },
    facts: { chat: { shared_fields: [], reasoning_replay: "extra_content" } },
    source: "https://ai.google.dev/gemini-api/docs/openai",
    note: "Thought signatures travel in `extra_content` of tool calls.",
  },
  mistral: {
    title: "Mistral AI",
    baseUrl: "https://api.mistral.ai",
    styles: ["chat"],
    facts: { chat: { ...compatibleChat, tool_id: "alnum9", prefill: "prefix" } },
    source: "https://docs.mistral.ai/api",
    note: "Tool call ids have nine characters; usage comes with the finish reason.",
  },
  xai: {
    title: "xAI",
    baseUrl: "https://api.x.ai",
    styles: ["chat", "responses"],
    facts: { chat: { shared_fields: [] } },
    source: "https://docs.x.ai/docs/api-reference",
  },
  groq: {
    title: "Groq",
    baseUrl: "https://api.groq.com/openai",
    styles: ["chat", "responses"],
    facts: { chat: { shared_fields: ["service_tier", "user"] } },
    source: "https://console.groq.com/docs/openai",
    note: "Usage of streams also in `x_groq`.",
  },
  cerebras: {
    title: "Cerebras",
    baseUrl: "https://api.cerebras.ai",
    styles: ["chat"],
    facts: { chat: { shared_fields: ["prompt_cache_key", "user"] } },
    source: "https://inference-docs.cerebras.ai/resources/openai",
  },
  sambanova: {
    title: "SambaNova",
    baseUrl: "https://api.sambanova.ai",
    styles: ["chat"],
    facts: { chat: compatibleChat },
    source: "https://docs.sambanova.ai/docs",
  },
  cohere: {
    title: "Cohere",
    baseUrl: "https://api.cohere.ai/compatibility",
    styles: ["chat"],
    facts: { chat: { ...compatibleChat, efforts: ["none", "high"] } },
    source: "https://docs.cohere.com/docs/compatibility-api",
  },
  nvidia: {
    title: "NVIDIA NIM",
    baseUrl: "https://integrate.api.nvidia.com",
    styles: ["chat"],
    facts: { chat: { ...compatibleChat, parallel_flag: false, strict_tools: false } },
    source: "https://docs.api.nvidia.com/nim/reference/llm-apis",
    note: "Schemas of models are closed: unknown fields are refused.",
  },
} satisfies Readonly<Record<string, Preset>>;
