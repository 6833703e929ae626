/** Errors of aggregators, proxies and data platforms. */
import { coded, counting, plain, type VendorErrors, weak, worded } from "./row.ts";

/** OpenRouter. */
export const openrouter: VendorErrors = {
  vendor: "OpenRouter",
  shape: "google",
  source: "https://openrouter.ai/docs/api/reference/errors-and-debugging",
  rows: [
    worded(
      "content",
      403,
      /^[\w-]{1,40}\/[\w.:-]{1,80} requires moderation on /i,
      'x/y requires moderation on Vendor. Your input was flagged for "sexual". No credits were charged.',
      {
        more: { metadata: { reasons: ["sexual"], flagged_input: "…", provider_name: "Vendor" } },
      },
    ),
    worded(
      "content",
      403,
      /^Your chosen model requires moderation and your input was flagged/i,
      "Your chosen model requires moderation and your input was flagged",
    ),
    worded("content", 403, /^Your input was flagged/i, "Your input was flagged for violence"),
    worded(
      "account",
      403,
      /^Key limit exceeded/i,
      "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",
    ),
    worded(
      "account",
      402,
      /^This request requires more credits.{0,120}? can only afford 0\b/i,
      "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 0.",
      { source: "https://github.com/anomalyco/opencode/issues/12219" },
    ),
    worded(
      "timeout",
      504,
      /^Upstream idle timeout exceeded/i,
      "Upstream idle timeout exceeded",
      { source: "https://github.com/archestra-ai/archestra/pull/5511" },
    ),
    worded(
      "afford",
      402,
      /^This request requires more credits/i,
      "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1024.",
      {
        source: "https://github.com/continuedev/continue/issues/11154",
      },
    ),
    worded(
      "afford",
      402,
      /^Prompt tokens limit exceeded: \d/i,
      "Prompt tokens limit exceeded: 12000 > 8000. To increase, visit the settings and upgrade.",
      {
        source: "https://github.com/anomalyco/opencode/issues/12219",
      },
    ),
    worded(
      "account",
      402,
      /^Insufficient credits/i,
      "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
    ),
    coded("account", 402, "payment_required", "The account has insufficient credits"),
    worded(
      "account",
      401,
      /^(?:No auth credentials found|User not found|No cookie auth credentials found)/i,
      "No auth credentials found",
    ),
    worded(
      "ability",
      404,
      /^No endpoints found that (?:can )?(?:support|handle) (?:the )?(?:provided )?(?<lacks>[\w' -]{1,60})/i,
      "No endpoints found that support tool use. To learn more about provider routing, see the docs",
      {
        source: "https://github.com/evalstate/fast-agent/issues/122",
      },
    ),
    worded(
      "ability",
      404,
      /^No endpoints found that (?:can )?(?:support|handle) (?:the )?(?:provided )?(?<lacks>[\w' -]{1,60})/i,
      "No endpoints found that support image input",
      {
        source: "https://github.com/JohnnyZ93/oai-compatible-copilot/issues/229",
      },
    ),
    worded(
      "access",
      404,
      /^No endpoints (?:found|available) matching your (?:data policy|guardrail|privacy)/i,
      "No endpoints found matching your data policy. Enable prompt training here: https://openrouter.ai/settings/privacy",
      {
        source: "https://github.com/ShamanicArts/Flow.Launcher.Plugin.AI-Assistant/issues/2",
      },
    ),
    worded(
      "model",
      404,
      /^No (?:allowed |available )?(?:endpoints|providers|models?)\b/i,
      "No allowed providers are available for the selected model.",
    ),
    worded(
      "model",
      400,
      /^[\w~][\w.~-]{0,60}(?:[/:][\w.:-]{1,80})? is not a valid model ID/i,
      "x/y is not a valid model ID",
    ),
    worded("rate", 429, /^Rate limit exceeded: /i, "Rate limit exceeded: free-models-per-min.", {
      more: { metadata: { headers: { "X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0" } } },
    }),
    worded(
      "rate",
      429,
      /^[\w-]{1,40}\/[\w.:-]{1,80} is temporarily rate-limited upstream/i,
      "x/y:free is temporarily rate-limited upstream. Please retry shortly.",
      {
        more: { metadata: { provider_name: "Vendor" } },
      },
    ),
    worded(
      "cap",
      400,
      counting(
        String
          .raw`(?:this (?:model|endpoint)'s )?maximum context length is {most} tokens.{0,120}?\({used} of text input(?:, {more} of tool input)?[^)]{0,120}?{cap} in the output\)`,
      ),
      "This endpoint's maximum context length is 262144 tokens. However, you requested about 284283 tokens (8963 of text input, 13176 of tool input, 262144 in the output). Please reduce the length of either one.",
      {
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    coded("prompt", 400, "token_limit_exceeded", "Token limit exceeded", {
      source: "https://www.developersdigest.tech/errors/api/openrouter",
    }),
    plain("broken", 502, "Provider returned error"),
    worded(
      "unavailable",
      503,
      /^(?:There (?:is|are) no available model provider|No instances available)/i,
      "There is no available model provider that meets your routing requirements",
    ),
  ],
};

/** LiteLLM's proxy. */
export const litellm: VendorErrors = {
  vendor: "LiteLLM proxy",
  shape: "openai",
  source: "https://docs.litellm.ai/docs/exception_mapping",
  rows: [
    coded(
      "account",
      400,
      "budget_exceeded",
      "Budget has been exceeded! Current cost: 10.2, Max budget: 10.0",
      {
        source: "https://docs.litellm.ai/docs/proxy/users",
      },
    ),
    coded(
      "access",
      401,
      "key_model_access_denied",
      "key not allowed to access model. This key can only access models=['x'].",
    ),
    coded("access", 401, "team_model_access_denied", "team not allowed to access model."),
    coded(
      "account",
      401,
      "token_not_found_in_db",
      "Authentication Error, Invalid proxy server token passed.",
    ),
    coded("account", 400, "expired_key", "Authentication Error - Expired Key."),
    worded(
      "account",
      400,
      /^(?:Budget has been exceeded!|No deployments available - crossed budget\b|ExceededBudget: |Exceeded budget for (?:provider|deployment|tag)\b)/i,
      "litellm.BadRequestError: OpenAIException - Budget has been exceeded! Current cost: 14.2, Max budget: 100.",
      { source: "https://github.com/BerriAI/litellm/issues/14144" },
    ),
    worded(
      "unavailable",
      429,
      /^No deployments available for selected model/i,
      "No deployments available for selected model, Try again in 5 seconds.",
    ),
  ],
};

/** Vercel AI Gateway. */
export const vercel: VendorErrors = {
  vendor: "Vercel AI Gateway",
  shape: "openai",
  source: "https://vercel.com/docs/ai-gateway/pricing",
  rows: [
    coded(
      "account",
      403,
      "customer_verification_required",
      "AI Gateway requires a valid credit card on file to service requests.",
      { source: "https://github.com/arlanrakh/talk-to-girlfriend-ai/issues/6" },
    ),
    worded(
      "account",
      429,
      /^(?:AI Gateway requires a valid credit card|Free credits temporarily have restricted access)/i,
      "Free credits temporarily have restricted access due to abuse.",
      { source: "https://github.com/Aider-AI/aider/pull/4495" },
    ),
  ],
};

const needsMore =
  /^(?:token quota is not enough, token remain quota|预扣费额度失败, 用户剩余额度): [^\d\s-]?(?!0(?:\.0*)?(?:[^\d.]|$))\d/i;

/** New API and the relays that are built of it. */
export const newApi: VendorErrors = {
  vendor: "New API",
  shape: "openai",
  source: "https://docs.newapi.ai",
  rows: [
    ...["insufficient_user_quota", "pre_consume_token_quota_failed"].map((code) =>
      coded(
        "afford",
        403,
        code,
        "预扣费额度失败, 用户剩余额度: ＄2.533620, 需要预扣费额度: ＄2.627750",
        { form: needsMore, source: "https://github.com/clacky-ai/openclacky/issues/100" },
      )
    ),
    coded("account", 403, "pre_consume_token_quota_failed", "token quota is not enough"),
    worded(
      "afford",
      403,
      needsMore,
      "token quota is not enough, token remain quota: ＄0.142328, need quota: ＄0.161646",
      { source: "https://github.com/millylee/anyrouter-check-in/issues/2" },
    ),
    worded(
      "account",
      403,
      /^(?:(?:token|user) quota is not enough|预扣费额度失败)/i,
      "user quota is not enough",
      { source: "https://github.com/popjane/free_chatgpt_api/issues/76" },
    ),
    worded(
      "model",
      503,
      /^当前分组 \S{1,60} 下对于模型 .{0,100}无可用渠道/,
      "当前分组 default 下对于模型 gpt-x 无可用渠道",
      { source: "https://github.com/songquanpeng/one-api/issues/2308" },
    ),
    worded(
      "access",
      403,
      /^Forbidden – key\(\w{1,20}\) (?:not authorized to access|allowed only from)\b/i,
      "Forbidden – key(abc123) not authorized to access the requested model.",
      { source: "https://docs.aihubmix.com/cn/FAQs/HTTP-Codes" },
    ),
    worded(
      "model",
      503,
      /^Incorrect model ID\b/i,
      "Incorrect model ID. Please request to view the model page or you do not have permission to use this model",
      { source: "https://docs.aihubmix.com/cn/FAQs/HTTP-Codes" },
    ),
  ],
};

/** GitHub Copilot. */
export const copilot: VendorErrors = {
  vendor: "GitHub Copilot",
  shape: "openai",
  source: "https://docs.github.com/en/copilot/concepts/rate-limits",
  rows: [
    coded("account", 402, "quota_exceeded", "You have no quota", {
      source: "https://github.com/github/copilot-cli/issues/730",
    }),
    coded("rate", 429, "rate_limited", "Sorry, you have exceeded your Copilot token usage.", {
      source: "https://github.com/github/copilot-cli/issues/793",
    }),
    coded("model", 400, "model_not_supported", "The requested model is not supported.", {
      source: "https://github.com/ericc-ch/copilot-api/issues/125",
    }),
    coded(
      "prompt",
      400,
      "model_max_prompt_tokens_exceeded",
      "prompt token count of 140000 exceeds the limit of 128000",
      {
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    worded(
      "prompt",
      400,
      counting(String.raw`prompt token count of {used} exceeds the limit of {most}`),
      "prompt token count of 140000 exceeds the limit of 128000",
      {
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    coded(
      "model",
      400,
      "unsupported_api_for_model",
      "model x is not accessible via the /chat/completions endpoint",
      {
        source: "https://github.com/mnfst/llm-gateway/issues/1849",
      },
    ),
    weak(
      "request",
      400,
      "invalid_request_body",
      "Unsupported parameter: 'max_tokens' is not supported with this model.",
      {
        source: "https://github.com/mnfst/llm-gateway/issues/1849",
      },
    ),
  ],
};

/** GitHub Models. */
export const githubModels: VendorErrors = {
  vendor: "GitHub Models",
  shape: "openai",
  source: "https://docs.github.com/en/github-models/use-github-models/prototyping-with-ai-models",
  rows: [
    coded(
      "rate",
      429,
      "ratelimitreached",
      "Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 3600 seconds before retrying.",
    ),
    coded(
      "prompt",
      413,
      "tokens_limit_reached",
      "Request body too large for gpt-x model. Max size: 8000 tokens.",
      {
        source: "https://github.com/Aider-AI/aider/issues/2296",
      },
    ),
    coded("access", 403, "no_access", "No access to model: x"),
  ],
};

/** Hugging Face. */
export const huggingface: VendorErrors = {
  vendor: "Hugging Face",
  shape: "text",
  source: "https://huggingface.co/docs/inference-providers/index",
  rows: [
    worded(
      "account",
      402,
      /^You have (?:exceeded|reached|depleted) your (?:monthly )?included credits/i,
      "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO.",
    ),
    worded(
      "account",
      401,
      /^(?:Invalid (?:username or password|credentials)|Authorization header is (?:correct|invalid))/i,
      "Invalid username or password.",
    ),
    worded(
      "unavailable",
      503,
      /^Model [\w./-]{1,120} is currently loading/i,
      "Model x/y is currently loading",
      {
        more: { estimated_time: 20.5 },
      },
    ),
    worded(
      "access",
      403,
      /^(?:Model|Access to model) .{1,120}? (?:requires you to be granted access|is restricted)/i,
      "Access to model x/y is restricted. You must be authenticated to access it.",
    ),
    worded(
      "model",
      400,
      /^The requested model .{1,120} is not (?:supported|a chat model)/i,
      "The requested model 'x/y' is not supported by any provider you have enabled.",
      {
        more: { code: "model_not_supported", type: "invalid_request_error" },
      },
    ),
  ],
};

/** Cloudflare Workers AI. */
export const cloudflare: VendorErrors = {
  vendor: "Cloudflare Workers AI",
  shape: "errors",
  source: "https://developers.cloudflare.com/workers-ai/platform/errors/",
  rows: [
    coded("model", 400, "errors#5007", "No such model @cf/x/y or task"),
    coded("model", 404, "errors#3042", "The model name is invalid"),
    coded("request", 400, "errors#5004", "Invalid data type for base64 input: x"),
    coded("request", 400, "errors#5006", "must have required property 'prompt'"),
    coded("access", 403, "errors#5018", "The account is not allowed to access this model"),
    coded("access", 403, "errors#5016", "User has not agreed to the model terms"),
    coded("account", 403, "errors#3023", "Service unavailable for account"),
    coded("access", 403, "errors#3041", "The account is not allowed to access this model"),
    coded("ability", 405, "errors#5005", "The model x does not support LoRa inference"),
    coded("too_large", 413, "errors#3006", "Request is too large"),
    coded("timeout", 408, "errors#3007", "Request timeout"),
    coded("timeout", 408, "errors#3008", "Request was aborted"),
    coded(
      "account",
      429,
      "errors#3036",
      "You have used up your daily free allocation of 10,000 neurons.",
    ),
    coded("capacity", 429, "errors#3040", "No more data centers to forward the request to"),
    coded("account", 401, "errors#10000", "Authentication error"),
    // The account's id in the route's address is wrong.
    ...[7000, 7003].map((number) =>
      coded(
        "access",
        404,
        `errors#${number}`,
        "Could not route to the account, perhaps your object identifier is invalid?",
        { source: "https://github.com/anomalyco/opencode/issues/23773" },
      )
    ),
  ],
};

/** Replicate. */
export const replicate: VendorErrors = {
  vendor: "Replicate",
  shape: "problem",
  source: "https://replicate.com/docs/reference/http",
  rows: [
    plain("account", 401, "You did not pass a valid authentication token"),
    worded(
      "account",
      402,
      /^(?:You have insufficient credit|Free time limit reached|Monthly spend limit reached)/i,
      "You have insufficient credit to run this model.",
    ),
    worded(
      "rate",
      429,
      /^Request was throttled/i,
      "Request was throttled. Expected available in 1 second.",
    ),
    worded(
      "content",
      422,
      /^NSFW content detected/i,
      "NSFW content detected. Try running it again, or try a different prompt.",
    ),
  ],
};

/** Databricks. */
export const databricks: VendorErrors = {
  vendor: "Databricks",
  shape: "flat",
  source: "https://docs.databricks.com/aws/en/machine-learning/model-serving/model-serving-limits",
  rows: [
    coded(
      "rate",
      429,
      "request_limit_exceeded",
      "REQUEST_LIMIT_EXCEEDED: Exceeded workspace output tokens per minute rate limit for x.",
      {
        more: { error_code: "REQUEST_LIMIT_EXCEEDED" },
      },
    ),
    coded(
      "model",
      404,
      "endpoint_not_found",
      "The given endpoint does not exist, please retry after checking the specified model.",
      {
        more: { error_code: "ENDPOINT_NOT_FOUND" },
      },
    ),
    coded("model", 404, "resource_does_not_exist", "Endpoint with name 'x' does not exist.", {
      more: { error_code: "RESOURCE_DOES_NOT_EXIST" },
    }),
    coded("unavailable", 503, "temporarily_unavailable", "The service is temporarily unavailable", {
      more: { error_code: "TEMPORARILY_UNAVAILABLE" },
    }),
    weak(
      "request",
      400,
      "invalid_parameter_value",
      "INVALID_PARAMETER_VALUE: Unsupported parameter",
      {
        more: { error_code: "INVALID_PARAMETER_VALUE" },
      },
    ),
    weak("request", 400, "badrequesterror", "The request is invalid"),
  ],
};

/** Snowflake Cortex. */
export const snowflake: VendorErrors = {
  vendor: "Snowflake Cortex",
  shape: "flat",
  source: "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
  rows: [
    coded("access", 403, "003001", "This account is not allowed to access this endpoint.", {
      more: { error_code: "003001" },
      source: "https://github.com/vllm-project/semantic-router/issues/3608",
    }),
    coded("account", 401, "390303", "Invalid OAuth access token.", {
      more: { error_code: "390303" },
    }),
    coded("account", 401, "390144", "JWT token is invalid.", { more: { error_code: "390144" } }),
    coded("rate", 429, "390142", "too many requests", { more: { error_code: "390142" } }),
    worded(
      "access",
      400,
      /^(?:The )?model ['"`]?[\w.-]{1,80}['"`]? is (?:unavailable|not available) in (?:your|this) region/i,
      "model 'claude-x' is unavailable in your region",
      {
        source: "https://github.com/Snowflake-Labs/sfquickstarts/issues/1759",
      },
    ),
    worded("model", 400, /^unknown model\b/i, 'unknown model "llama-x"', {
      source: "https://github.com/Snowflake-Labs/sfquickstarts/issues/1807",
    }),
    worded(
      "prompt",
      400,
      counting(String.raw`max tokens of {most} exceeded`),
      "max tokens of 200000 exceeded",
      {
        source: "https://github.com/posit-dev/positron/issues/11737",
      },
    ),
  ],
};

/** IBM watsonx. */
export const watsonx: VendorErrors = {
  vendor: "watsonx",
  shape: "errors",
  source: "https://cloud.ibm.com/apidocs/watsonx-ai",
  rows: [
    coded(
      "account",
      401,
      "authentication_token_expired",
      "Failed to authenticate the request due to an expired token",
    ),
    coded(
      "account",
      403,
      "token_quota_reached",
      "This token quota for this instance has been reached.",
    ),
    coded(
      "model",
      404,
      "model_not_supported",
      "Model 'x/y' is not supported for this environment.",
      { more: {} },
    ),
    coded("rate", 429, "rate_limit_reached_requests", "The number of requests exceeds the limit"),
    coded(
      "account",
      400,
      "no_associated_service_instance_error",
      "project_id 8f3c1d2e-0000-4000-8000-123456789abc is not associated with a WML instance",
    ),
    coded(
      "ability",
      400,
      "invalid_input_argument",
      `Invalid input argument for Model 'x/y': "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`,
      {
        form: /^"auto" tool choice requires\b/i,
        source: "https://github.com/langflow-ai/langflow/pull/7818",
      },
    ),
    coded(
      "access",
      403,
      "cse_check_failed",
      "CSE Check failed: can not call public host with a private WML instance",
      { source: "https://github.com/langchain-ai/langchain-ibm/issues/45" },
    ),
    coded(
      "prompt",
      400,
      "invalid_input_argument",
      "Invalid input argument for Model 'x': the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
      {
        form: counting(
          String
            .raw`(?:Invalid input argument for Model .{1,80}?: )?(?:the )?number of input tokens {used} cannot exceed the total tokens limit {most}`,
        ),
      },
    ),
  ],
};
