/** Errors of the Gemini API, and of Vertex AI. */
import { coded, counting, type VendorErrors, weak, worded } from "./row.ts";

const errorInfo = (reason: string) => ({
  details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason }],
});

/** The Gemini API. */
export const gemini: VendorErrors = {
  vendor: "Gemini API",
  shape: "google",
  source: "https://ai.google.dev/gemini-api/docs/troubleshooting",
  rows: [
    coded("account", 400, "api_key_invalid", "API key not valid. Please pass a valid API key.", {
      more: { status: "INVALID_ARGUMENT", ...errorInfo("API_KEY_INVALID") },
    }),
    coded("account", 400, "api_key_expired", "API key expired. Please renew the API key.", {
      more: { status: "INVALID_ARGUMENT", ...errorInfo("API_KEY_EXPIRED") },
    }),
    coded("account", 403, "api_key_service_blocked", "Requests to this API are blocked.", {
      more: { status: "PERMISSION_DENIED", ...errorInfo("API_KEY_SERVICE_BLOCKED") },
      source: "https://cloud.google.com/docs/authentication/api-keys",
    }),
    coded("account", 403, "billing_disabled", "This API method requires billing to be enabled.", {
      more: { status: "PERMISSION_DENIED", ...errorInfo("BILLING_DISABLED") },
    }),
    coded(
      "account",
      403,
      "consumer_suspended",
      "Consumer 'project_number:12' has been suspended.",
      {
        more: { status: "PERMISSION_DENIED", ...errorInfo("CONSUMER_SUSPENDED") },
      },
    ),
    coded("account", 403, "consumer_invalid", "The consumer is invalid", {
      more: { status: "PERMISSION_DENIED", ...errorInfo("CONSUMER_INVALID") },
    }),
    coded("account", 403, "service_disabled", "Generative Language API has not been used before", {
      more: { status: "PERMISSION_DENIED", ...errorInfo("SERVICE_DISABLED") },
    }),
    worded(
      "account",
      400,
      /^API key (?:not valid|expired|not found)/i,
      "API key not valid. Please pass a valid API key.",
    ),
    worded(
      "account",
      403,
      /^Your API key was reported as leaked/i,
      "Your API key was reported as leaked. Please use another API key.",
    ),
    worded(
      "account",
      403,
      /^Method doesn't allow unregistered callers/i,
      "Method doesn't allow unregistered callers (callers without established identity).",
    ),
    worded(
      "access",
      400,
      /^(?:User location is not supported|Gemini API free tier is not available in your country)/i,
      "User location is not supported for the API use.",
      {
        more: { status: "FAILED_PRECONDITION" },
        source: "https://github.com/google-gemini/gemini-cli/issues/24641",
      },
    ),
    ...["resource_exhausted", "ratelimitexceeded", "unavailable"].map((code) =>
      coded("capacity", 429, code, "No capacity available for model gemini-x on the server", {
        form: /^No capacity available for model\b/i,
        more: { status: code.toUpperCase() },
        source: "https://github.com/google-gemini/gemini-cli/issues/27548",
      })
    ),
    coded("rate", 429, "ratelimitexceeded", "Your quota will reset after 8h44m7s.", {
      more: { status: "RESOURCE_EXHAUSTED" },
      source: "https://github.com/google-gemini/gemini-cli/issues/13004",
    }),
    coded(
      "account",
      403,
      "permission_denied",
      "Permission denied: Consumer 'api_key:x' has been suspended.",
      {
        form: /^(?:Permission denied: )?Consumer '[^']{1,200}' has been suspended/i,
        more: { status: "PERMISSION_DENIED" },
        source: "https://github.com/snailyp/gemini-balance/issues/382",
      },
    ),
    coded("capacity", 429, "model_capacity_exhausted", "No capacity available for model gemini-x", {
      more: { status: "RESOURCE_EXHAUSTED", ...errorInfo("MODEL_CAPACITY_EXHAUSTED") },
      source: "https://github.com/decolua/9router/issues/1106",
    }),
    coded(
      "rate",
      429,
      "resource_exhausted",
      "You exceeded your current quota, please check your plan and billing details.",
      {
        more: {
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "21s" }],
        },
      },
    ),
    coded("unavailable", 503, "unavailable", "The model is overloaded. Please try again later.", {
      more: { status: "UNAVAILABLE" },
    }),
    coded(
      "timeout",
      504,
      "deadline_exceeded",
      "Deadline expired before operation could complete.",
      {
        more: { status: "DEADLINE_EXCEEDED" },
      },
    ),
    weak("request", 400, "invalid_argument", "Invalid JSON payload received.", {
      more: { status: "INVALID_ARGUMENT" },
    }),
    weak("account", 401, "unauthenticated", "Request had invalid authentication credentials.", {
      more: { status: "UNAUTHENTICATED" },
    }),
    weak("access", 403, "permission_denied", "The caller does not have permission", {
      more: { status: "PERMISSION_DENIED" },
    }),
    weak("broken", 500, "internal", "An internal error has occurred.", {
      more: { status: "INTERNAL" },
    }),
    worded(
      "model",
      404,
      /^models?\/[\w.:-]{1,100} is not found/i,
      "models/gemini-x is not found for API version v1beta, or is not supported for generateContent.",
      { more: { status: "NOT_FOUND" } },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`input token count \(?{used}\)? exceeds the maximum number of tokens allowed \(?{most}`,
      ),
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      {
        more: { status: "INVALID_ARGUMENT" },
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    worded(
      "content",
      400,
      /^(?:The prompt could not be submitted\. )?This prompt contains (?:sensitive|prohibited) words/i,
      "The prompt could not be submitted. This prompt contains sensitive words that violate the practices.",
      { more: { status: "INVALID_ARGUMENT" } },
    ),
    worded(
      "ability",
      400,
      /^(?<lacks>Function calling(?: mode `?\w{1,12}`?)?|Audio input modality|Image input modality|Video input modality|Developer instruction|JSON mode|Thinking|Code execution|Search Grounding|Penalty|Logprobs) is not (?:enabled|supported) for/i,
      "Function calling is not enabled for models/gemma-x",
      {
        more: { status: "INVALID_ARGUMENT" },
        source: "https://github.com/BerriAI/litellm/issues/10313",
      },
    ),
  ],
};

/** Vertex AI. */
export const vertex: VendorErrors = {
  vendor: "Vertex AI",
  shape: "google",
  source: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors",
  rows: [
    worded(
      "model",
      404,
      /^Publisher Model .{0,300}? (?:was |is )?not found/i,
      "Publisher Model `projects/acme/locations/us-central1/publishers/google/models/gemini-x` was not found or your project does not have access to it.",
      { more: { status: "NOT_FOUND" } },
    ),
    worded(
      "access",
      400,
      /^(?:Project|Organization|Consumer|User) \S{1,120} is not allowed to use Publisher Model/i,
      "Project `123456789012` is not allowed to use Publisher Model `projects/acme/locations/global/publishers/x/models/y`",
      { more: { status: "FAILED_PRECONDITION" } },
    ),
    worded(
      "access",
      400,
      /^(?:Publisher |The |Requested )?model \S{1,200} is (?:not servable in region|not supported in (?:the|this) region)/i,
      "Publisher Model `projects/acme/models/claude-x` is not servable in region us-central1.",
      {
        more: { status: "FAILED_PRECONDITION" },
      },
    ),
    worded(
      "access",
      400,
      /^Organization Policy constraint/i,
      "Organization Policy constraint constraints/vertexai.allowedModels violated for `projects/12`",
      { more: { status: "FAILED_PRECONDITION" } },
    ),
    coded(
      "access",
      403,
      "iam_permission_denied",
      "Permission 'aiplatform.endpoints.predict' denied",
      {
        more: { status: "PERMISSION_DENIED", ...errorInfo("IAM_PERMISSION_DENIED") },
      },
    ),
    coded(
      "account",
      401,
      "access_token_expired",
      "Request had invalid authentication credentials.",
      {
        more: { status: "UNAUTHENTICATED", ...errorInfo("ACCESS_TOKEN_EXPIRED") },
      },
    ),
    coded("account", 401, "credentials_missing", "Request is missing required authentication.", {
      more: { status: "UNAUTHENTICATED", ...errorInfo("CREDENTIALS_MISSING") },
    }),
    coded("rate", 429, "rate_limit_exceeded", "Quota exceeded for aiplatform.googleapis.com", {
      more: { status: "RESOURCE_EXHAUSTED", ...errorInfo("RATE_LIMIT_EXCEEDED") },
    }),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`unable to submit request because the input token count is {used} but (?:the )?model only supports up to {most}`,
      ),
      "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.",
      { more: { status: "INVALID_ARGUMENT" } },
    ),
    worded(
      "cap",
      400,
      /^Unable to submit request because it has a maxOutputTokens value of/i,
      "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 65537 (exclusive).",
      { more: { status: "INVALID_ARGUMENT" } },
    ),
  ],
};
