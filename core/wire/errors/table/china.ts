/** Errors of Chinese vendors that have no codes of a cloud: Moonshot, Z.AI, MiniMax, StepFun, SiliconFlow, Baichuan, 01.AI. */
import { coded, counting, plain, type VendorErrors, weak, worded } from "./row.ts";

/** Moonshot (Kimi). */
export const moonshot: VendorErrors = {
  vendor: "Moonshot",
  shape: "openai",
  source: "https://platform.kimi.ai/docs/api/errors",
  rows: [
    coded("account", 401, "invalid_authentication_error", "Invalid Authentication"),
    coded("account", 401, "incorrect_api_key_error", "Incorrect API key provided"),
    coded(
      "account",
      429,
      "exceeded_current_quota_error",
      "Your account org-abc123 <ak-abc123> is suspended, please check your plan and billing details",
    ),
    coded("access", 403, "permission_denied_error", "The API you are accessing is not open"),
    coded(
      "rate",
      429,
      "rate_limit_reached_error",
      "Your account org-abc123 request reached max RPM: 3, please try again after 1 seconds",
    ),
    coded(
      "capacity",
      429,
      "engine_overloaded_error",
      "The engine is currently overloaded, please try again later",
    ),
    coded(
      "model",
      404,
      "resource_not_found_error",
      "Not found the model kimi-x or Permission denied",
    ),
    worded(
      "prompt",
      400,
      counting(String.raw`(?:request )?exceeded model token limit ?: {most} \(requested: {used}\)`),
      "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
      {
        source: "https://github.com/MoonshotAI/kimi-cli/issues/2011",
      },
    ),
    worded(
      "prompt",
      400,
      /^(?:Your )?(?:request )?exceeded model token limit/i,
      "Invalid request: Your request exceeded model token limit : 262144",
    ),
    worded("prompt", 400, /^Input token length too long/i, "Input token length too long"),
    worded(
      "account",
      403,
      /^You've reached your usage limit for this (?:billing cycle|period)/i,
      "You've reached your usage limit for this billing cycle.",
      {
        source: "https://www.kimi.com/code/docs/en/kimi-code/error-reference.html",
      },
    ),
    worded(
      "access",
      403,
      /^Kimi For Coding is currently only available/i,
      "Kimi For Coding is currently only available for Coding Agents",
      {
        source: "https://www.kimi.com/code/docs/en/kimi-code/error-reference.html",
      },
    ),
    worded(
      "rate",
      429,
      /^We're receiving too many requests/i,
      "We're receiving too many requests at the moment.",
      {
        source: "https://www.kimi.com/code/docs/en/kimi-code/error-reference.html",
      },
    ),
  ],
};

/** Z.AI and BigModel (Zhipu). */
export const zai: VendorErrors = {
  vendor: "Z.AI",
  shape: "openai",
  source: "https://docs.bigmodel.cn/cn/api/api-code",
  rows: [
    ...["1000", "1001", "1002", "1003", "1004"].map((code) =>
      coded("account", 401, code, "Authentication Failed")
    ),
    ...["1110", "1111", "1112", "1121"].map((code) =>
      coded("account", 429, code, "Your account is inactive")
    ),
    coded("account", 429, "1113", "Insufficient balance or no resource package. Please recharge."),
    coded("request", 400, "1210", "Invalid API parameter, please check the documentation."),
    coded("model", 400, "1211", "Unknown Model, please check the model code."),
    coded("ability", 400, "1212", "The current model does not support the SSE method"),
    coded("request", 400, "1213", "The messages parameter was not received properly"),
    coded(
      "request",
      400,
      "1214",
      "The messages parameter is illegal. Please check the documentation.",
    ),
    coded("access", 403, "1220", "You do not have permission to access glm-x"),
    coded("model", 400, "1221", "The API glm-x has been taken offline"),
    coded("model", 400, "1222", "The API glm-x does not exist"),
    coded("broken", 500, "1230", "API call process error"),
    coded("broken", 500, "1234", "Network error, error id: 20250101abcdef, please contact support"),
    coded("prompt", 400, "1261", "Prompt exceeds max length"),
    coded(
      "account",
      429,
      "rate_limit_error",
      "[1313][Your account's current usage pattern does not comply with the Fair Usage Policy]",
      {
        form: /^\[1313\]\[/,
        shape: "anthropic",
        source: "https://github.com/zai-org/GLM-5/issues/77",
      },
    ),
    coded("content", 400, "1300", "The call was blocked by a policy"),
    coded("account", 429, "1120", "Unable to access your account, please try again later"),
    coded(
      "content",
      400,
      "1301",
      "The system has detected potentially unsafe or sensitive content in the input or generation.",
    ),
    ...["1302", "1303"].map((code) =>
      coded("rate", 429, code, "High concurrency usage of this API, please reduce concurrency")
    ),
    coded("account", 429, "1304", "The daily call limit of this API has been reached"),
    ...["1305", "1312"].map((code) =>
      coded(
        "capacity",
        429,
        code,
        "The model has too much traffic at the moment, please try again later",
      )
    ),
    ...["1308", "1310"].map((code) =>
      coded(
        "account",
        429,
        code,
        "Usage limit reached for 5 hour. Your limit will reset at 2026-01-01 00:00:00",
      )
    ),
    coded("account", 429, "1309", "Your GLM Coding Plan package has expired"),
    coded("access", 429, "1311", "The current subscription plan does not include glm-x"),
    coded("account", 429, "1313", "Your account's usage does not comply with the fair use policy"),
  ],
};

/** MiniMax: errors come with status 200, as numbers in `base_resp`. */
export const minimax: VendorErrors = {
  vendor: "MiniMax",
  shape: "base_resp",
  source: "https://platform.minimax.io/docs/api-reference/errorcode",
  rows: [
    coded("timeout", 200, "base_resp#1001", "request timeout"),
    coded("rate", 200, "base_resp#1002", "rate limit"),
    coded("account", 200, "base_resp#1004", "not authorized"),
    coded("account", 200, "base_resp#1008", "insufficient balance"),
    coded("broken", 200, "base_resp#1024", "internal error"),
    coded("content", 200, "base_resp#1026", "input new_sensitive"),
    coded("content", 200, "base_resp#1027", "output new_sensitive"),
    coded("broken", 200, "base_resp#1033", "system error"),
    coded("rate", 200, "base_resp#1039", "token limit"),
    coded("rate", 200, "base_resp#1041", "conn limit"),
    coded("request", 200, "base_resp#1042", "invisible character ratio limit"),
    coded("request", 200, "base_resp#1043", "The asr similarity check failed"),
    coded("request", 200, "base_resp#1044", "clone prompt similarity check failed"),
    coded("prompt", 200, "base_resp#2013", "invalid params, context window exceeds limit", {
      form: /^context window exceeds limit/i,
      source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
    }),
    coded("request", 200, "base_resp#2013", "invalid params"),
    coded("request", 200, "base_resp#20132", "invalid samples or voice_id"),
    coded("request", 200, "base_resp#2037", "voice duration too short"),
    coded("request", 200, "base_resp#2039", "voice clone voice id duplicate"),
    coded("access", 200, "base_resp#2042", "You don't have access to this voice_id"),
    coded("rate", 200, "base_resp#2045", "rate growth limit"),
    coded("account", 200, "base_resp#2049", "invalid api key"),
    coded("account", 200, "base_resp#2056", "usage limit exceeded"),
  ],
};

/** StepFun. */
export const stepfun: VendorErrors = {
  vendor: "StepFun",
  shape: "openai",
  source: "https://platform.stepfun.com/docs/zh/api-reference/error-codes",
  rows: [
    coded("account", 401, "invalid_api_key", "Incorrect API key provided"),
    plain("account", 402, "Insufficient balance"),
    plain("rate", 429, "Rate limit exceeded"),
    plain("content", 451, "The content may be risky", { more: { type: "censorship_blocked" } }),
    coded(
      "content",
      451,
      "censorship_blocked",
      "the content you provided or machine outputted is blocked.",
    ),
  ],
};

/** SiliconFlow. */
export const siliconflow: VendorErrors = {
  vendor: "SiliconFlow",
  shape: "flat",
  source: "https://docs.siliconflow.cn/en/faqs/error-codecopy",
  rows: [
    coded("model", 400, "#20012", "Model does not exist. Please check it carefully."),
    coded(
      "prompt",
      400,
      "#20015",
      "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
      {
        form: counting(
          String.raw`length of prompt_tokens \({used}\) must be less than max_seq_len \({most}\)`,
        ),
        source: "https://github.com/chatboxai/chatbox/issues/2060",
      },
    ),
    weak("request", 400, "#20015", "The parameter is invalid. Please check again."),
    coded(
      "cap",
      400,
      "#20018",
      "max_total_tokens (40000) must be less than or equal to max_seq_len (32768)",
      {
        form: /^max_total_tokens/i,
        source: "https://github.com/chatboxai/chatbox/issues/2060",
      },
    ),
    coded("account", 403, "#30001", "Sorry, your account balance is insufficient"),
    coded("account", 403, "#30003", "Model disabled."),
    coded(
      "account",
      403,
      "#30011",
      "The selected model requires paid balance. Your paid balance is insufficient.",
      { source: "https://github.com/FoundationAgents/OpenManus/issues/438" },
    ),
    coded("capacity", 503, "#50508", "System is too busy now. Please try again later.", {
      source: "https://github.com/coze-dev/coze-studio/issues/801",
    }),
    coded("rate", 429, "#50603", "System is too busy now. Please try again later."),
    coded("capacity", 503, "#50505", "Model service overloaded. Please try again later."),
    coded("timeout", 504, "#50501", "The request timed out"),
    coded(
      "ability",
      400,
      "#20041",
      "The model is not a VLM (Vision Language Model). Please use text-only prompts.",
    ),
    coded("ability", 400, "#20037", "Function call is not supported for this model."),
  ],
};

/** Baichuan. */
export const baichuan: VendorErrors = {
  vendor: "Baichuan",
  shape: "openai",
  source: "https://platform.baichuan-ai.com/docs/api",
  rows: [
    coded("account", 401, "invalid_api_key", "invalid api key"),
    plain("rate", 429, "rate limit exceeded"),
    coded("content", 400, "content_filter", "the content is filtered"),
  ],
};

/** 01.AI. */
export const yi: VendorErrors = {
  vendor: "01.AI",
  shape: "openai",
  source: "https://platform.lingyiwanwu.com/docs",
  rows: [
    plain("account", 401, "Invalid Authentication"),
    plain("model", 404, "The model does not exist", { more: { param: "model" } }),
    plain("rate", 429, "Too many requests"),
    plain("prompt", 400, "input length is too long", { more: { code: "context_length_exceeded" } }),
  ],
};
