/** Servers that operators run themselves. `baseUrl` of the provider says where, unless it is this machine. */
import { compatibleChat, compatibleMessages, type Preset } from "./preset.ts";

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
    source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
  },
  "lm-studio": {
    title: "LM Studio",
    baseUrl: "http://127.0.0.1:1234",
    styles: ["chat", "responses"],
    facts: { chat: { ...compatibleChat, images: "base64" } },
    timeouts: nearby,
    isKeyless: true,
    source: "https://lmstudio.ai/docs/developer/openai-compat/chat-completions",
  },
} satisfies Readonly<Record<string, Preset>>;
