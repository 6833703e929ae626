/** Errors of hosts of open models. */
import { coded, counting, plain, type VendorErrors, weak, worded } from "./row.ts";

/** Groq. */
export const groq: VendorErrors = {
  vendor: "Groq",
  shape: "openai",
  source: "https://console.groq.com/docs/errors",
  rows: [
    coded(
      "beyond_rate",
      413,
      "rate_limit_exceeded",
      "Request too large for model `llama-x` in organization `org_01abc` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
      {
        form: /^Request too large for /i,
        more: { type: "tokens" },
      },
    ),
    coded(
      "account",
      400,
      "organization_restricted",
      "Organization has been restricted. Please reach out to support if you believe this was in error.",
      {
        source: "https://kerlig.com/help/groq/troubleshooting",
      },
    ),
    coded("capacity", 498, "over_capacity", "The model is at capacity"),
    coded(
      "access",
      403,
      "model_permission_blocked_org",
      "The model `x` is blocked at the organization level.",
      {
        source: "https://console.groq.com/docs/model-permissions",
      },
    ),
    coded(
      "access",
      403,
      "model_permission_blocked_project",
      "The model `x` is blocked at the project level.",
      {
        source: "https://console.groq.com/docs/model-permissions",
      },
    ),
    coded("access", 400, "model_terms_required", "The model `x` requires terms acceptance."),
    coded(
      "model",
      400,
      "model_decommissioned",
      "The model `x` has been decommissioned and is no longer supported.",
      {
        source: "https://console.groq.com/docs/deprecations",
      },
    ),
    coded(
      "request",
      400,
      "tool_use_failed",
      "Failed to call a function. Please adjust your prompt.",
      {
        more: { failed_generation: "<function=f>" },
        source: "https://console.groq.com/docs/tool-use",
      },
    ),
    coded(
      "request",
      400,
      "json_validate_failed",
      "Failed to generate JSON. Please adjust your prompt.",
      {
        source: "https://console.groq.com/docs/structured-outputs",
      },
    ),
    coded("too_large", 413, "request_too_large", "Request Entity Too Large"),
    coded("account", 400, "blocked_api_access", "API access has been blocked", {
      source: "https://console.groq.com/docs/spend-limits",
    }),
  ],
};

/** Together. */
export const together: VendorErrors = {
  vendor: "Together",
  shape: "openai",
  source: "https://docs.together.ai/docs/error-codes",
  rows: [
    worded(
      "cap",
      422,
      counting(
        String
          .raw`${"`"}inputs${"`"} tokens \+ ${"`"}max_new_tokens${"`"} must be <= {most}\. Given: {used} ${"`"}inputs${"`"} tokens and {cap}`,
      ),
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 500 `inputs` tokens and 8192 `max_new_tokens`",
    ),
    coded("account", 401, "invalid_api_key", "Invalid API key provided."),
    plain("account", 402, "You have reached the maximum allowed monthly spending limit."),
    coded(
      "model",
      404,
      "model_not_available",
      "Unable to access model x. Please visit the model page.",
    ),
    worded(
      "model",
      400,
      /^Unable to access (?:non-serverless )?model/i,
      "Unable to access non-serverless model x. Please create an endpoint.",
    ),
    coded(
      "rate",
      429,
      "model_rate_limit",
      "You have reached the rate limit specific to this model x.",
      {
        source: "https://docs.together.ai/docs/rate-limits",
      },
    ),
    coded("unavailable", 503, "model_overloaded", "The model is overloaded"),
  ],
};

/** Fireworks. */
export const fireworks: VendorErrors = {
  vendor: "Fireworks",
  shape: "openai",
  source: "https://docs.fireworks.ai/guides/inference-error-codes",
  rows: [
    worded(
      "account",
      412,
      /^Account [\w.-]{1,80} is (?:suspended|disabled|not active)/i,
      "Account acme-prod is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.",
      { more: { type: "invalid_request_error", code: "invalid_request_error" } },
    ),
    plain("access", 412, "The LoRA model failed to load"),
    plain("access", 403, "Unauthorized"),
    worded(
      "model",
      404,
      /^Model not found, inaccessible, and\/or not deployed/i,
      "Model not found, inaccessible, and/or not deployed",
      {
        more: { code: "NOT_FOUND" },
      },
    ),
    worded(
      "prompt",
      400,
      counting(String.raw`prompt is too long: {used}, model maximum context length: {most}`),
      "The prompt is too long: 140000, model maximum context length: 131071",
    ),
    plain("rate", 429, "Rate limit exceeded, please try again later"),
    plain("account", 402, "The account is not on a paid plan"),
  ],
};

/** DeepInfra. */
export const deepinfra: VendorErrors = {
  vendor: "DeepInfra",
  shape: "detail",
  source: "https://deepinfra.com/docs/advanced/rate-limits",
  rows: [
    worded(
      "account",
      402,
      /^You need (?:a )?positive balance\b/i,
      "You need positive balance to do inference. Please add balance manually or setup top-up",
      { source: "https://github.com/zebbern/no-cost-ai/issues/24" },
    ),
    worded(
      "account",
      402,
      /^(?:inference prohibited|insufficient balance)/i,
      "inference prohibited, please enter a payment method",
    ),
    plain("account", 401, "User is not authenticated"),
    coded("rate", 429, "rate_limited", "Rate limited", { shape: "openai" }),
    coded("capacity", 429, "engine_overloaded", "Model busy, retry later", { shape: "openai" }),
    worded("capacity", 429, /^Model busy, retry later/i, "Model busy, retry later", {
      shape: "openai",
    }),
  ],
};

/** Novita. */
export const novita: VendorErrors = {
  vendor: "Novita",
  shape: "flat",
  source: "https://novita.ai/docs/api-reference/basic-error-code",
  rows: [
    coded("account", 403, "not_enough_balance", "not enough balance", {
      more: { reason: "NOT_ENOUGH_BALANCE" },
    }),
    coded("account", 400, "billing_balance_not_enough", "Insufficient balance"),
    coded("account", 403, "billing_auth_failed", "Billing service authentication failed"),
    coded("account", 401, "failed_to_auth", "Authentication failed"),
    coded("access", 403, "need_real_name_verify", "Enterprise verification not completed"),
    coded("access", 403, "api_not_allowed", "No permission to use this API"),
    coded("content", 400, "illegal_prompt", "Prompt contains inappropriate content"),
    coded("content", 400, "illegal_image_content", "Image contains inappropriate content"),
    coded("broken", 500, "billing_failed", "Billing service error"),
    weak("request", 400, "invalid_request_body", "Request body format error"),
  ],
};

/** Hyperbolic. */
export const hyperbolic: VendorErrors = {
  vendor: "Hyperbolic",
  shape: "detail",
  source: "https://docs.hyperbolic.xyz/docs",
  rows: [
    worded(
      "account",
      402,
      /^(?:Not enough|Insufficient) (?:funds|credits?)/i,
      "Insufficient funds. Please add credits.",
    ),
    plain("account", 401, "Invalid API key"),
    plain("rate", 429, "Too many requests"),
  ],
};

/** Cerebras. */
export const cerebras: VendorErrors = {
  vendor: "Cerebras",
  shape: "flat",
  source: "https://inference-docs.cerebras.ai/support/error",
  rows: [
    worded(
      "rate",
      429,
      /^(?:Tokens|Requests) per (?:second|minute|hour|day) limit exceeded/i,
      "Tokens per minute limit exceeded - too many tokens processed.",
      { source: "https://github.com/continuedev/continue/issues/9800" },
    ),
    coded("account", 401, "wrong_api_key", "Wrong API Key", { more: { param: "api_key" } }),
    coded(
      "rate",
      429,
      "token_quota_exceeded",
      "Tokens per minute limit exceeded - too many tokens processed.",
      {
        source: "https://github.com/continuedev/continue/issues/9800",
      },
    ),
    coded(
      "rate",
      429,
      "request_quota_exceeded",
      "Requests per second limit exceeded - too many requests sent.",
      {
        source: "https://github.com/continuedev/continue/issues/9800",
      },
    ),
    coded(
      "capacity",
      429,
      "queue_exceeded",
      "We're experiencing high traffic right now! Please try again soon.",
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`please reduce the length of the messages or completion\. Current length is {used} while limit is {most}`,
      ),
      "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
      { more: { code: "context_length_exceeded" } },
    ),
    plain("account", 402, "Payment required to access this resource."),
  ],
};

/** SambaNova. */
export const sambanova: VendorErrors = {
  vendor: "SambaNova",
  shape: "openai",
  source: "https://docs.sambanova.ai/docs/en/get-started/overview",
  rows: [
    plain("rate", 429, "Rate limit exceeded"),
    worded(
      "ability",
      400,
      /^Model does not support (?<lacks>function calling|image input|embeddings)/i,
      "Model does not support function calling",
    ),
    coded("model", 404, "model_not_found", "Model not found"),
    plain("unavailable", 503, "Unexpected error, the model is unavailable"),
  ],
};

/** NVIDIA NIM. */
export const nvidia: VendorErrors = {
  vendor: "NVIDIA NIM",
  shape: "problem",
  source: "https://docs.api.nvidia.com/nim/reference/llm-apis",
  rows: [
    plain("account", 401, "Authentication failed"),
    worded("account", 403, /^Authorization failed\.?$/i, "Authorization failed", {
      source: "https://github.com/dmMaze/BallonsTranslator/issues/1233",
    }),
    worded(
      "account",
      402,
      /^Account .{1,80}: Cloud credits expired/i,
      "Account '0a1b2c': Cloud credits expired - Please contact NVIDIA representatives",
    ),
    worded(
      "model",
      404,
      /^(?:Function (?:id )?.{1,120}: )?Not found for account/i,
      "Function '8f3c1d2e-0000-4000-8000-123456789abc': Not found for account 'acme0'",
    ),
    plain("rate", 429, "Too Many Requests"),
    worded(
      "capacity",
      503,
      /^ResourceExhausted: Worker local total request limit reached/i,
      "ResourceExhausted: Worker local total request limit reached (17/16)",
    ),
  ],
};

/** Nebius. */
export const nebius: VendorErrors = {
  vendor: "Nebius",
  shape: "detail",
  source: "https://docs.tokenfactory.nebius.com/",
  rows: [
    plain("account", 401, "Couldn't verify the provided credentials"),
    worded("model", 404, /^The model .{1,120} does not exist/i, "The model `x` does not exist."),
    plain("account", 402, "Insufficient funds"),
  ],
};

/** Lambda. */
export const lambda: VendorErrors = {
  vendor: "Lambda",
  shape: "openai",
  source: "https://docs.lambda.ai/public-cloud/lambda-inference-api/",
  rows: [
    coded("account", 403, "global/invalid-api-key", "API key was invalid, expired, or deleted."),
    coded("account", 403, "global/account-inactive", "Your account is inactive."),
    coded("model", 400, "global/object-does-not-exist", "Specified model does not exist."),
  ],
};

/** Featherless. */
export const featherless: VendorErrors = {
  vendor: "Featherless",
  shape: "openai",
  source: "https://featherless.ai/docs/api-reference-error-codes",
  rows: [
    worded(
      "unavailable",
      400,
      /^(?:This )?Model (?:x |.{1,100} )?is (?:cold|not ready for inference|loading)/i,
      "This model is cold / not ready for inference",
      { more: { code: "model_not_ready" } },
    ),
    coded("unavailable", 400, "model_not_ready", "The model is not ready for inference"),
    worded(
      "access",
      403,
      /^(?:The model|Model) .{0,80}? ?is gated/i,
      "The model x is gated and you need to agree to its license",
    ),
    worded(
      "rate",
      429,
      /^Concurrency limit exceeded/i,
      "Concurrency limit exceeded: you have 4 units in use",
    ),
    plain("unavailable", 503, "Service Temporarily Unavailable / No valid Executor"),
  ],
};

/** Chutes. */
export const chutes: VendorErrors = {
  vendor: "Chutes",
  shape: "detail",
  source: "https://chutes.ai/docs",
  rows: [
    worded(
      "account",
      402,
      /^(?:Quota exceeded and account balance|Account balance)/i,
      "Quota exceeded and account balance is $0.0, please pay with fiat or send tao",
    ),
    worded(
      "capacity",
      429,
      /^(?:Infrastructure is at maximum capacity|Too many requests for chute)/i,
      "Infrastructure is at maximum capacity, try again later",
    ),
    worded(
      "model",
      404,
      /^(?:No matching chute found|model not found)/i,
      "No matching chute found!",
    ),
    worded(
      "unavailable",
      503,
      /^No instances available/i,
      "No instances available (yet) for chute_id='8f3c1d2e-0000-4000-8000-123456789abc'",
    ),
  ],
};

/** Weights & Biases (CoreWeave). */
export const wandb: VendorErrors = {
  vendor: "W&B Inference",
  shape: "openai",
  source: "https://docs.wandb.ai/inference/api-reference/errors",
  rows: [
    worded(
      "access",
      403,
      /^The inference gateway is not enabled for your organization/i,
      "The inference gateway is not enabled for your organization",
    ),
    worded("rate", 429, /^Concurrency limit reached/i, "Concurrency limit reached for requests"),
  ],
};

/** Huawei ModelArts. */
export const modelarts: VendorErrors = {
  vendor: "Huawei ModelArts",
  shape: "error_code",
  source:
    "https://support.huaweicloud.com/intl/en-us/usermanual-maas-modelarts/maas-modelarts-0080.html",
  rows: [
    coded("account", 401, "modelarts.81005", "The free quota has been used up."),
    coded("account", 401, "modelarts.81006", "The resource is frozen."),
    coded("content", 403, "modelarts.81011", "May contain sensitive content"),
    coded("model", 404, "modelarts.81009", "Invalid model."),
    coded(
      "rate",
      429,
      "modelarts.81101",
      "Too many requests, exceeded rate limit is 30 times per minute.",
    ),
  ],
};
