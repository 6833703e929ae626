/** Vendors and hosts of China and Vietnam. */
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import {
  compatibleChat,
  compatibleMessages,
  type CreditSource,
  type Preset,
  type ProviderCredit,
  reasoningChat,
} from "./preset.ts";

/** `GET /user/balance` of DeepSeek: an entry for each currency, its amount as text. */
function readBalanceInfos(answer: Json): readonly ProviderCredit[] {
  const infos = isJsonObject(answer) ? answer["balance_infos"] : undefined;
  if (!Array.isArray(infos)) return [];
  return infos.filter(isJsonObject).map(({ currency, total_balance }) => ({
    currency: String(currency),
    amount: Number(total_balance),
  }));
}

/** `GET /v1/users/me/balance` of Moonshot, whose currency is that of the site. */
function moonshotCredit(currency: string): CreditSource {
  return {
    path: "/v1/users/me/balance",
    read(answer) {
      const data = isJsonObject(answer) ? answer["data"] : undefined;
      return isJsonObject(data) ? [{ currency, amount: Number(data["available_balance"]) }] : [];
    },
  };
}

const moonshot = {
  title: "Moonshot AI (Kimi)",
  baseUrl: "https://api.moonshot.ai",
  styles: ["chat", "messages"],
  paths: { messages: "/anthropic/v1/messages" },
  facts: {
    chat: { ...reasoningChat, shared_fields: ["prompt_cache_key"] },
    messages: compatibleMessages,
  },
  credit: moonshotCredit("USD"),
  source: "https://platform.moonshot.ai/docs/api/chat",
  note: "Usage of streams is in the last choice; cached tokens beside the sums.",
} as const satisfies Preset;

const glm = {
  title: "Z.AI (GLM)",
  baseUrl: "https://api.z.ai",
  styles: ["chat", "messages"],
  paths: { chat: "/api/paas/v4/chat/completions", messages: "/api/anthropic/v1/messages" },
  facts: {
    chat: {
      ...reasoningChat,
      structured: "json_object",
      tool_choice_required: false,
      thinking_switch: "thinking",
    },
    messages: compatibleMessages,
  },
  source: "https://docs.z.ai/api-reference/llm/chat-completion",
} as const satisfies Preset;

const qwen = {
  title: "Alibaba Model Studio (Qwen)",
  baseUrl: "https://dashscope-intl.aliyuncs.com",
  styles: ["chat", "messages", "responses"],
  paths: {
    chat: "/compatible-mode/v1/chat/completions",
    messages: "/apps/anthropic/v1/messages",
    responses: "/compatible-mode/v1/responses",
  },
  facts: {
    chat: { ...compatibleChat, cache_marks: "cache_control", thinking_switch: "enable_thinking" },
    messages: compatibleMessages,
  },
  source: "https://www.alibabacloud.com/help/en/model-studio/anthropic-api-messages",
} as const satisfies Preset;

const minimax = {
  title: "MiniMax",
  baseUrl: "https://api.minimax.io",
  styles: ["messages", "chat", "responses"],
  paths: { messages: "/anthropic/v1/messages" },
  facts: {
    chat: { ...compatibleChat, think_tags: "pair" },
    messages: compatibleMessages,
  },
  source: "https://platform.minimax.io/docs/api-reference/text-anthropic-api",
  note: "Errors of the Chat style come in a 200, in `base_resp`.",
} as const satisfies Preset;

const siliconflow = {
  title: "SiliconFlow",
  baseUrl: "https://api.siliconflow.com",
  styles: ["chat", "messages"],
  facts: {
    chat: { ...reasoningChat, thinking_switch: "enable_thinking" },
    messages: compatibleMessages,
  },
  source: "https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions",
} as const satisfies Preset;

/** The presets of China and Vietnam by name. */
export const asianPresets = {
  deepseek: {
    title: "DeepSeek",
    baseUrl: "https://api.deepseek.com",
    styles: ["chat", "messages"],
    paths: { chat: "/chat/completions", messages: "/anthropic/v1/messages" },
    facts: {
      chat: {
        ...reasoningChat,
        text_parts: false,
        structured: "json_object",
        efforts: ["low", "high", "max"],
        thinking_switch: "thinking",
      },
      messages: { ...compatibleMessages, images: "none" },
    },
    credit: { path: "/user/balance", read: readBalanceInfos },
    source: "https://api-docs.deepseek.com/guides/anthropic_api",
    note: "Comments and empty lines as keep-alives, before whole answers too.",
  },
  moonshot,
  "moonshot-cn": {
    ...moonshot,
    baseUrl: "https://api.moonshot.cn",
    credit: moonshotCredit("CNY"),
  },
  zai: glm,
  zhipu: { ...glm, title: "Zhipu (GLM)", baseUrl: "https://open.bigmodel.cn" },
  qwen,
  "qwen-cn": { ...qwen, baseUrl: "https://dashscope.aliyuncs.com" },
  minimax,
  "minimax-cn": { ...minimax, baseUrl: "https://api.minimaxi.com" },
  siliconflow,
  "siliconflow-cn": { ...siliconflow, baseUrl: "https://api.siliconflow.cn" },
  volcengine: {
    title: "Volcengine Ark (Doubao)",
    baseUrl: "https://ark.cn-beijing.volces.com/api",
    styles: ["chat", "messages", "responses"],
    paths: {
      chat: "/v3/chat/completions",
      messages: "/compatible/v1/messages",
      responses: "/v3/responses",
    },
    facts: {
      chat: { ...reasoningChat, thinking_switch: "thinking" },
      messages: compatibleMessages,
    },
    source: "https://www.volcengine.com/docs/82379/2160841",
  },
  stepfun: {
    title: "StepFun",
    baseUrl: "https://api.stepfun.com",
    styles: ["chat", "messages", "responses"],
    facts: {
      chat: { ...compatibleChat, reasoning_replay: "reasoning" },
      messages: compatibleMessages,
    },
    source: "https://platform.stepfun.com/docs/zh/api-reference/chat/chat-completion-create",
  },
  modelscope: {
    title: "ModelScope",
    baseUrl: "https://api-inference.modelscope.cn",
    styles: ["chat"],
    facts: { chat: compatibleChat },
    source: "https://modelscope.cn/docs/model-service/API-Inference/intro",
  },
  xiaomi: {
    title: "Xiaomi MiMo",
    baseUrl: "https://api.xiaomimimo.com",
    styles: ["chat", "messages"],
    paths: { messages: "/anthropic/v1/messages" },
    facts: { chat: compatibleChat, messages: compatibleMessages },
    source: "https://platform.xiaomimimo.com/static/docs/api/chat/openai-api.md",
  },
  greennode: {
    title: "GreenNode (VNG Cloud)",
    baseUrl: "https://maas-llm-aiplatform-hcm.api.vngcloud.vn",
    styles: ["chat", "messages"],
    facts: { chat: compatibleChat, messages: compatibleMessages },
    source: "https://docs.vngcloud.vn/vng-cloud-document/ai-stack/agent-base/ai-coding",
  },
  fpt: {
    title: "FPT AI Marketplace",
    baseUrl: "https://mkp-api.fptcloud.com",
    styles: ["chat"],
    paths: { chat: "/chat/completions" },
    facts: { chat: compatibleChat },
    source: "https://github.com/fpt-corp/ai-marketplace",
  },
} satisfies Readonly<Record<string, Preset>>;
