/** Vendors of models, at their own endpoints. */
import {
  compatibleChat,
  compatibleMessages,
  type FilledPlaces,
  ownServer,
  type Preset,
} from "./preset.ts";

// Clouds, by their own forms of requests.

/** Pictures and documents by URL are fetched only at the vendor's own endpoint. */
const hostedMessages = { images: "base64" } as const;

const bedrock = {
  title: "AWS Bedrock",
  baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
  places: ["region"],
  auth: ({ region = "" }: FilledPlaces) => ({ kind: "aws", region, service: "bedrock" }),
  cloud: () => ({ name: "bedrock" }),
  styles: ["messages", "converse", "chat"],
  facts: { messages: hostedMessages, chat: { shared_fields: [] } },
  source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
  note: "The variable holds `ACCESS_KEY_ID:SECRET_ACCESS_KEY`.",
} as const satisfies Preset;

/** The clouds' presets by name. */
export const cloudPresets = {
  azure: {
    title: "Azure OpenAI, v1 path",
    baseUrl: "https://{resource}.openai.azure.com/openai",
    places: ["resource"],
    auth: "api-key",
    styles: ["chat", "responses"],
    source: "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    note: "Routes name deployments.",
  },
  "azure-deployments": {
    title: "Azure OpenAI, deployments path",
    baseUrl: "https://{resource}.openai.azure.com",
    places: ["resource"],
    auth: "api-key",
    cloud: () => ({ name: "azure", apiVersion: "2024-10-21" }),
    styles: ["chat", "images", "speech", "embeddings", "transcriptions"],
    source: "https://learn.microsoft.com/azure/ai-foundry/openai/reference",
    note: "Routes name deployments; filter results come in chunks without choices.",
  },
  "azure-messages": {
    title: "Azure AI Foundry, Messages style",
    baseUrl: "https://{resource}.services.ai.azure.com/anthropic",
    places: ["resource"],
    auth: "api-key",
    styles: ["messages"],
    source:
      "https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude",
  },
  vertex: {
    title: "Google Vertex AI",
    baseUrl: "https://{region}-aiplatform.googleapis.com",
    places: ["project", "region"],
    auth: { kind: "google", scope: "https://www.googleapis.com/auth/cloud-platform" },
    cloud: ({ project = "", region = "" }: FilledPlaces) => ({
      name: "vertex",
      project,
      location: region,
    }),
    styles: ["messages", "gemini", "chat"],
    facts: {
      messages: hostedMessages,
      chat: { shared_fields: [], reasoning_replay: "extra_content" },
      gemini: { mixed_tools: "plain" },
    },
    countTokens: true,
    source:
      "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude",
    note: "The variable holds the JSON key of a service account.",
  },
  bedrock,
  "bedrock-key": {
    ...bedrock,
    title: "AWS Bedrock, API key",
    auth: "bearer",
    note: "With an API key of Bedrock.",
  },
} satisfies Readonly<Record<string, Preset>>;

// Servers that operators run themselves. `baseUrl` of the provider says where, unless it is this machine.

/** On the same machine or network, a connection opens at once or not at all. */
const nearby = { connectMs: 1_000 };

/** The presets of local servers by name. */
export const localPresets = {
  vllm: {
    title: "vLLM",
    baseUrl: "http://127.0.0.1:8000",
    styles: ["chat", "messages", "responses"],
    facts: {
      chat: { ...compatibleChat, prefill: "continue_final_message", reasoning_replay: "reasoning" },
      messages: compatibleMessages,
    },
    timeouts: nearby,
    isKeyless: true,
    dataPolicy: ownServer,
    source: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server/",
    note: "Errors within streams are events with `error`.",
  },
  sglang: {
    title: "SGLang",
    baseUrl: "http://127.0.0.1:30000",
    styles: ["chat"],
    facts: {
      chat: { ...compatibleChat, prefill: "continue_final_message" },
    },
    timeouts: nearby,
    isKeyless: true,
    dataPolicy: ownServer,
    source: "https://docs.sglang.ai/basic_usage/openai_api_completions.html",
  },
  ollama: {
    title: "Ollama",
    baseUrl: "http://127.0.0.1:11434",
    styles: ["chat", "messages", "responses"],
    facts: {
      chat: { ...compatibleChat, images: "base64", tool_choice_required: false },
      messages: { ...compatibleMessages, images: "base64" },
    },
    timeouts: nearby,
    isKeyless: true,
    source: "https://docs.ollama.com/api/openai-compatibility",
    note: "Tool calls come whole, in one chunk.",
  },
  "llama-cpp": {
    title: "llama.cpp",
    baseUrl: "http://127.0.0.1:8080",
    styles: ["chat", "messages"],
    facts: { chat: { ...compatibleChat, images: "base64" }, messages: compatibleMessages },
    timeouts: nearby,
    isKeyless: true,
    dataPolicy: ownServer,
    source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
  },
  "lm-studio": {
    title: "LM Studio",
    baseUrl: "http://127.0.0.1:1234",
    styles: ["chat", "responses"],
    facts: { chat: { ...compatibleChat, images: "base64" } },
    timeouts: nearby,
    isKeyless: true,
    dataPolicy: ownServer,
    source: "https://lmstudio.ai/docs/developer/openai-compat/chat-completions",
  },
} satisfies Readonly<Record<string, Preset>>;

/** The vendors' presets by name. */
export const vendorPresets = {
  openai: {
    title: "OpenAI",
    baseUrl: "https://api.openai.com",
    styles: ["responses", "chat", "images", "speech", "embeddings", "transcriptions"],
    facts: { chat: { reasoning_replay: "none" } },
    countTokens: true,
    compactResponses: true,
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
    facts: {
      chat: { ...compatibleChat, tool_id: "alnum9", prefill: "prefix", reasoning_replay: "none" },
    },
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
    facts: {
      chat: {
        shared_fields: ["service_tier", "user"],
        text_parts: false,
        reasoning_replay: "none",
      },
    },
    source: "https://console.groq.com/docs/openai",
    note: "Usage of streams also in `x_groq`.",
  },
  cerebras: {
    title: "Cerebras",
    baseUrl: "https://api.cerebras.ai",
    styles: ["chat"],
    facts: { chat: { shared_fields: ["prompt_cache_key", "user"], reasoning_replay: "none" } },
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
