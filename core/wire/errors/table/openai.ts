/** Errors of OpenAI, and of its models at Azure. */
import { coded, counting, type VendorErrors, weak, worded } from "./row.ts";

const codes = "https://developers.openai.com/docs/guides/error-codes";

/** OpenAI. Many other servers copy these codes and texts. */
export const openai: VendorErrors = {
  vendor: "OpenAI",
  shape: "openai",
  source: codes,
  rows: [
    coded("account", 401, "invalid_api_key", "Incorrect API key provided: sk-proj-abc123."),
    worded(
      "account",
      401,
      /^Incorrect API key provided/i,
      "Incorrect API key provided: sk-abc12345",
    ),
    worded(
      "account",
      401,
      /^You must be a member of an organization/i,
      "You must be a member of an organization to use the API",
    ),
    coded("account", 401, "ip_not_authorized", "IP not authorized"),
    worded(
      "account",
      401,
      /^You have insufficient permissions for this operation/i,
      "You have insufficient permissions for this operation. Missing scopes: model.request",
    ),
    coded(
      "access",
      403,
      "unsupported_country_region_territory",
      "Country, region, or territory not supported",
    ),
    worded(
      "access",
      403,
      /^Country, region, or territory not supported/i,
      "Country, region, or territory not supported",
    ),
    coded(
      "account",
      429,
      "insufficient_quota",
      "You exceeded your current quota, please check your plan and billing details.",
    ),
    worded(
      "account",
      429,
      /^You exceeded your current quota/i,
      "You exceeded your current quota, please check your plan and billing details.",
    ),
    coded("account", 429, "credit_balance_exhausted", "Your credit balance is exhausted"),
    coded("account", 429, "organization_spend_limit_exceeded", "Organization spend limit reached"),
    coded("account", 429, "project_spend_limit_exceeded", "Project spend limit reached"),
    coded("account", 429, "organization_usage_limit_exceeded", "Organization usage limit reached"),
    coded("account", 400, "billing_hard_limit_reached", "Billing hard limit has been reached"),
    coded(
      "account",
      429,
      "billing_not_active",
      "Your account is not active, please check your billing details on our website.",
    ),
    worded(
      "account",
      429,
      /^Your account (?:\S{1,80} )?(?:<\S{1,80}> )?is (?:suspended|not active|disabled|deactivated|blocked)/i,
      "Your account is not active, please check your billing details on our website.",
    ),
    coded("account", 401, "account_deactivated", "The OpenAI account has been deactivated."),
    worded(
      "beyond_rate",
      429,
      /^Request too large for [\w .:/()`-]{1,300}? on (?:\w{1,10} )?tokens per min(?:ute)? \(/i,
      "Request too large for gpt-x (for limit gpt-x) in organization org-abc123 on tokens per min (TPM): Limit 30000, Requested 37313.",
      { source: "https://github.com/continuedev/continue/issues/11717" },
    ),
    coded(
      "ability",
      400,
      "unsupported_value",
      "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.",
      {
        form: /^Unsupported value: '(?<lacks>stream)' does not support true/i,
        source: "https://github.com/animalnots/BetterChatGPT-PLUS/issues/62",
      },
    ),
    worded(
      "access",
      400,
      /^Your organization must be verified/i,
      "Your organization must be verified to stream this model. Please go to the settings.",
      {
        more: { param: "stream", code: "unsupported_value" },
      },
    ),
    worded(
      "access",
      403,
      /^Project .{1,80} does not have access to model/i,
      "Project `proj_abc123` does not have access to model `gpt-x`",
    ),
    coded(
      "model",
      404,
      "model_not_found",
      "The model `gpt-x` does not exist or you do not have access to it.",
    ),
    worded(
      "model",
      404,
      /^(?:the )?(?:requested |specified )?(?:models?|publisher model|deployment)\b|^(?:unknown|invalid|unsupported|no such) model\b/i,
      "The requested model 'gpt-x' does not exist.",
      { only: 404 },
    ),
    coded(
      "beyond_rate",
      429,
      "rate_limit_exceeded",
      "Request too large for gpt-x in organization org-abc123 on tokens per min (TPM): Limit 30000, Requested 40000.",
      { form: /^Request too large for /i, more: { type: "tokens" } },
    ),
    coded(
      "rate",
      429,
      "rate_limit_exceeded",
      "Rate limit reached for gpt-x in organization org-abc123 on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.",
      { more: { type: "requests" } },
    ),
    coded("rate", 429, "rate_limit_error", "Slow down: the rate of requests grows too fast"),
    coded("rate", 429, "slow_down", "Slow down", { more: { type: "rate_limit_error" } }),
    coded("rate", 429, "requests", "Rate limit reached for requests"),
    coded("rate", 429, "tokens", "Rate limit reached for tokens"),
    coded(
      "content",
      400,
      "content_policy_violation",
      "Your request was rejected as a result of our safety system.",
    ),
    coded(
      "content",
      400,
      "moderation_blocked",
      "Your request was rejected by the safety system. safety_violations=[sexual].",
    ),
    coded(
      "content",
      400,
      "invalid_prompt",
      "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
      {
        form: /^(?:Invalid prompt: )?your prompt was flagged/i,
        source: "https://github.com/openai/codex/issues/7250",
      },
    ),
    weak("request", 400, "invalid_prompt", "Invalid prompt: text is missing"),
    worded(
      "content",
      400,
      /^Your (?:request|input image|prompt|input)\b.{0,40} (?:was rejected (?:as a result of|by) (?:our|the) safety|may contain content that is not allowed)/i,
      "Your input image may contain content that is not allowed by our safety system.",
      { source: "https://portkey.ai/error-library/content-violation-error-10069" },
    ),
    coded(
      "prompt",
      400,
      "context_length_exceeded",
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:this (?:model|endpoint)'s |model's )?maximum context length (?:is|of) {most} tokens.{0,60}?(?:resulted in|requested(?: about| a total of)?) {used} tokens(?!.{0,20}\([^)]{0,120}(?:completion|output))`,
      ),
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:input tokens )?exceed the configured limit of {most} tokens.{0,40}?resulted in {used} tokens`,
      ),
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    ),
    worded(
      "cap",
      400,
      counting(
        String
          .raw`(?:this (?:model|endpoint)'s )?maximum context length is {most} tokens.{0,120}?\({used} (?:in the messages|of text input|in your prompt)(?:, {more} (?:of tool input|in the functions))?[^)]{0,120}?{cap} (?:in|for) the (?:completion|output)\)`,
      ),
      "This model's maximum context length is 4097 tokens, however you requested 4500 tokens (500 in the messages, 4000 in the completion).",
    ),
    worded(
      "cap",
      400,
      /^(?:['"`]?max_tokens['"`]? or )?['"`]?max_(?:completion_|output_)?tokens['"`]? is too large: \d[\d,]{0,14}\. This model supports at most/i,
      "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    ),
    worded(
      "ability",
      400,
      /^Invalid content type\. (?<lacks>image_url|input_audio|file)\b.{0,20} is only supported by certain models/i,
      "Invalid content type. image_url is only supported by certain models.",
    ),
    coded("capacity", 503, "server_is_overloaded", "The server is overloaded"),
    worded(
      "capacity",
      503,
      /^(?:that model|the engine|the server|the model|this model|our servers?) (?:is|are) (?:currently |temporarily )?(?:overloaded|busy|at capacity|experiencing high)/i,
      "The engine is currently overloaded, please try again later",
    ),
    weak("broken", 500, "server_error", "The server had an error while processing your request"),
    weak("request", 400, "invalid_request_error", "Invalid value for 'temperature'"),
    weak("request", 400, "invalid_request", "The request is malformed"),
    weak("request", 400, "bad_request", "The request is malformed"),
    worded(
      "access",
      400,
      /^Invalid service_tier argument: The requested service tier is not allowed for this project/i,
      "Invalid service_tier argument: The requested service tier is not allowed for this project.",
      { source: "https://www.developersdigest.tech/errors/api/openai-api" },
    ),
    coded("timeout", 408, "request_timeout", "Request timed out"),
    coded("timeout", 504, "timeout", "Request timed out"),
  ],
};

/** Azure OpenAI and Azure AI Foundry. */
export const azure: VendorErrors = {
  vendor: "Azure OpenAI",
  shape: "openai",
  source: "https://learn.microsoft.com/en-us/azure/ai-services/openai/concepts/content-filter",
  rows: [
    coded(
      "content",
      400,
      "content_filter",
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      { more: { innererror: { code: "ResponsibleAIPolicyViolation" } } },
    ),
    coded("content", 400, "responsibleaipolicyviolation", "The prompt was filtered", {
      more: { code: null, innererror: { code: "ResponsibleAIPolicyViolation" } },
    }),
    coded("content", 400, "contentfilter", "The image was filtered by the content policy"),
    coded(
      "model",
      404,
      "deploymentnotfound",
      "The API deployment for this resource does not exist.",
      {
        source: "https://learn.microsoft.com/en-us/azure/ai-services/openai/reference",
      },
    ),
    coded(
      "model",
      400,
      "operationnotsupported",
      "The chatCompletion operation does not work with the specified model, gpt-x.",
      { source: "https://learn.microsoft.com/en-us/azure/ai-services/openai/reference" },
    ),
    coded("model", 400, "unknown_model", "Unknown model: gpt-x"),
    coded("model", 400, "unavailable_model", "Unavailable model: gpt-x"),
    coded("model", 410, "modeldeprecated", "The model is deprecated"),
    coded("unavailable", 503, "nocapacity", "The resource has no capacity at the moment"),
    coded(
      "account",
      401,
      "permissiondenied",
      "The principal `8f3c1d2e-0000-4000-8000-123456789abc` lacks the required data action",
      {
        source:
          "https://learn.microsoft.com/en-us/azure/ai-services/openai/how-to/role-based-access-control",
      },
    ),
    worded(
      "account",
      401,
      /^Access denied due to invalid subscription key/i,
      "Access denied due to invalid subscription key or wrong API endpoint.",
      {
        source: "https://learn.microsoft.com/en-us/azure/ai-services/openai/reference",
      },
    ),
    worded(
      "rate",
      429,
      /^Requests to the .{1,200}? have exceeded /i,
      "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-06-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 20 seconds.",
      { source: "https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits" },
    ),
    coded("rate", 429, "toomanyrequests", "Too many requests", {
      source: "https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits",
    }),
  ],
};
