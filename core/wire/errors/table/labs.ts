/** Errors of laboratories with an API of their own: xAI, Mistral, Cohere, AI21, DeepSeek, Perplexity. */
import { coded, counting, plain, type VendorErrors, weak, worded } from "./row.ts";

/** xAI: one code means both that the account lacks a right and that a filter refused the content. */
export const xai: VendorErrors = {
  vendor: "xAI",
  shape: "text",
  source: "https://docs.x.ai/docs/key-information/debugging",
  rows: [
    worded(
      "content",
      403,
      /^Content violates usage guidelines/i,
      "Content violates usage guidelines. Team: 00000000, API key ID: 0000, Model: grok-x, Failed check: SAFETY_CHECK_TYPE_BIO",
      {
        more: { code: "The caller does not have permission to execute the specified operation" },
        source: "https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267",
      },
    ),
    worded(
      "content",
      400,
      /^Generated (?:image|video) rejected by content moderation/i,
      "Generated image rejected by content moderation.",
      { more: { code: "Client specified an invalid argument" } },
    ),
    worded(
      "account",
      403,
      /^Your (?:newly created )?teams? (?:.{1,80} )?(?:doesn't have any credits|has either used all available credits|has used all)/i,
      "Your newly created team doesn't have any credits yet. You can purchase credits on the console.",
      {
        more: { code: "The caller does not have permission to execute the specified operation" },
        source: "https://github.com/continuedev/continue/issues/12670",
      },
    ),
    worded(
      "account",
      400,
      /^Incorrect API key provided/i,
      "Incorrect API key provided: xa***12. You can obtain an API key from the console.",
      { more: { code: "Client specified an invalid argument" } },
    ),
    worded(
      "access",
      403,
      /^Access to the .{1,40} endpoint is denied/i,
      "Access to the chat endpoint is denied.",
      {
        more: { code: "permission-denied" },
        source: "https://github.com/Wei-Shaw/sub2api/pull/5359",
      },
    ),
    worded(
      "model",
      404,
      /^The model [\w.-]{1,80} does not exist or your team/i,
      "The model grok-x does not exist or your team 8f3c1d2e-0000-4000-8000-123456789abc does not have access to it.",
      { more: { code: "Some requested entity was not found" } },
    ),
    coded(
      "account",
      429,
      "some resource has been exhausted",
      "Your team 8f3c1d2e-0000-4000-8000-123456789abc has either used all available credits or reached its monthly spending limit.",
      {
        form: /^Your team \S{1,80} has either used all available credits/i,
        more: { code: "Some resource has been exhausted" },
        source: "https://github.com/continuedev/continue/issues/10373",
      },
    ),
    coded(
      "rate",
      429,
      "some resource has been exhausted",
      "Too many requests for team 8f3c1d2e-0000-4000-8000-123456789abc and model grok-x.",
      { more: { code: "Some resource has been exhausted" } },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:this model's )?maximum prompt length is {most} but the request contains {used} tokens`,
      ),
      "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
      {
        more: { code: "Client specified an invalid argument" },
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
  ],
};

/** Mistral. */
export const mistral: VendorErrors = {
  vendor: "Mistral",
  shape: "flat",
  source: "https://docs.mistral.ai/api",
  rows: [
    plain("account", 401, "Unauthorized", { shape: "detail" }),
    coded("model", 400, "invalid_model", "Invalid model: mistral-x"),
    coded("rate", 429, "rate_limited", "Rate limit exceeded"),
    // Z.AI uses the number for a refused content.
    coded("rate", 429, "1300", "Rate limit exceeded", {
      form: /^Rate limit exceeded/i,
      more: { type: "rate_limited" },
      source: "https://github.com/raycast/extensions/issues/31107",
    }),
    coded(
      "rate",
      429,
      "service_tier_capacity_exceeded",
      "Service tier capacity exceeded for this model.",
      {
        more: { code: null, type: "service_tier_capacity_exceeded" },
      },
    ),
    worded(
      "rate",
      429,
      /^Service tier capacity exceeded\b/i,
      "Service tier capacity exceeded for this model.",
      { source: "https://github.com/continuedev/continue/issues/6185" },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`prompt contains {used} tokens.{0,60}?too large for model with {most} maximum context length`,
      ),
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      {
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    worded(
      "request",
      422,
      /^Extra inputs are not permitted/i,
      "Extra inputs are not permitted",
      { shape: "detail_list" },
    ),
    worded(
      "request",
      400,
      /^Expected last role (?:User or Tool|user or tool)/i,
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    ),
    coded("unavailable", 503, "service_unavailable", "Service unavailable."),
    worded(
      "ability",
      400,
      /^(?<lacks>Image input|Image content|Function calling|Audio input) is not (?:enabled|supported) for this model/i,
      "Function calling is not enabled for this model",
    ),
  ],
};

/** Cohere. */
export const cohere: VendorErrors = {
  vendor: "Cohere",
  shape: "flat",
  source: "https://docs.cohere.com/reference/errors",
  rows: [
    worded("account", 401, /^invalid api token/i, "invalid api token"),
    worded(
      "account",
      402,
      /^Please add or update your payment method/i,
      "Please add or update your payment method",
    ),
    worded(
      "rate",
      429,
      /^You are (?:using a Trial key|past the per minute request limit)/i,
      "You are using a Trial key, which is limited to 10 API calls / minute.",
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`too many tokens: (?:total number of tokens in the prompt|size limit exceeded).{0,60}?(?:exceeded by|by) {over} tokens.{0,80}?(?:limit for this model is|limit is|limit of) {most}`,
      ),
      "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.",
    ),
    worded(
      "cap",
      400,
      /^too many tokens: max tokens must be less than or equal to/i,
      "too many tokens: max tokens must be less than or equal to 4096, the maximum output length for this model",
      { source: "https://docs.cohere.com/v2/reference/chat" },
    ),
    worded("prompt", 400, /^too many tokens\b/i, "too many tokens: the prompt does not fit"),
    worded(
      "model",
      404,
      /^model ['"`]?[\w.-]{1,80}['"`]? (?:was )?not found/i,
      "model 'command-x' not found",
    ),
    worded(
      "ability",
      400,
      /^(?<lacks>tools|image inputs?|response_format|json_schema) (?:are|is) not supported (?:with|by|for) (?:the )?(?:this )?model/i,
      "tools are not supported with this model",
    ),
    worded("timeout", 499, /^request cancelled/i, "request cancelled"),
  ],
};

/** AI21. */
export const ai21: VendorErrors = {
  vendor: "AI21",
  shape: "detail",
  source: "https://docs.ai21.com/reference",
  rows: [
    plain("account", 401, "Forbidden: Bad or missing API token."),
    plain("rate", 429, "Too many requests"),
    plain("request", 422, "Unprocessable Entity"),
  ],
};

/** DeepSeek. */
export const deepseek: VendorErrors = {
  vendor: "DeepSeek",
  shape: "openai",
  source: "https://api-docs.deepseek.com/quick_start/error_codes",
  rows: [
    worded("account", 402, /^Insufficient Balance/i, "Insufficient Balance", {
      more: { code: "invalid_request_error", type: "unknown_error" },
    }),
    coded("account", 402, "insufficient_balance", "Insufficient Balance"),
    worded(
      "account",
      401,
      /^Authentication Fails/i,
      "Authentication Fails, Your api key: ****1234 is invalid",
    ),
    worded("model", 400, /^Model Not Exist/i, "Model Not Exist"),
    worded(
      "cap",
      400,
      /^Invalid max_tokens value/i,
      "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    ),
    worded(
      "ability",
      400,
      /^[\w.-]{1,60} does not support (?<lacks>Function Calling|this tool_choice|Json Output)/i,
      "deepseek-reasoner does not support Function Calling",
    ),
    worded("content", 400, /^Content Exists Risk/i, "Content Exists Risk", {
      source: "https://github.com/666ghj/BettaFish/issues/108",
    }),
    plain("unavailable", 503, "Server Overloaded"),
  ],
};

/** Perplexity. */
export const perplexity: VendorErrors = {
  vendor: "Perplexity",
  shape: "openai",
  source: "https://docs.perplexity.ai/guides/error-handling",
  rows: [
    coded(
      "model",
      400,
      "invalid_model",
      "Invalid model 'sonar-x'. Permitted models can be found in the documentation.",
    ),
    coded(
      "request",
      400,
      "invalid_message",
      "After the (optional) system message(s), user and assistant roles should be alternating.",
    ),
    plain("account", 401, "Authorization required"),
    coded(
      "rate",
      429,
      "request_rate_limit_exceeded",
      "Request rate limit exceeded, please try again later.",
    ),
    weak("request", 422, "invalid_parameter", "The parameter is invalid"),
  ],
};
