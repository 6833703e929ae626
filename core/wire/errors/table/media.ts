/** Errors of vendors of pictures, speech, videos and embeddings. */
import { coded, plain, type VendorErrors, weak, worded } from "./row.ts";

/** ElevenLabs. */
export const elevenlabs: VendorErrors = {
  vendor: "ElevenLabs",
  shape: "detail_object",
  source: "https://help.elevenlabs.io/hc/en-us/articles/19572237925521",
  rows: [
    coded("account", 401, "invalid_api_key", "Invalid API key"),
    coded(
      "account",
      401,
      "quota_exceeded",
      "This request exceeds your quota. You have 10 credits remaining, while 200 credits are required.",
    ),
    coded(
      "request",
      400,
      "max_character_limit_exceeded",
      "This request's text has 627 characters and exceeds the character limit of 333 characters",
    ),
    coded("missing", 404, "voice_not_found", "A voice for the voice_id x was not found."),
    coded(
      "account",
      401,
      "detected_unusual_activity",
      "Unusual activity detected. Free Tier usage disabled.",
    ),
    coded(
      "account",
      401,
      "needs_authorization",
      "Neither authorization header nor xi-api-key received",
    ),
    coded(
      "access",
      401,
      "missing_permissions",
      "The API key you used is missing the permission text_to_speech",
    ),
    coded(
      "access",
      400,
      "voice_limit_reached",
      "You have reached your maximum amount of custom voices (10 / 10).",
      { source: "https://github.com/receptron/mulmocast-app/issues/1466" },
    ),
    coded("access", 401, "only_for_creator+", "This feature needs the creator plan"),
    coded("rate", 429, "too_many_concurrent_requests", "Too many concurrent requests", {
      source: "https://www.skills.sh/jeremylongshore/claude-code-plugins/elevenlabs-rate-limits",
    }),
    coded(
      "capacity",
      429,
      "system_busy",
      "The system is experiencing heavy traffic, please try again",
      {
        source: "https://www.skills.sh/jeremylongshore/claude-code-plugins/elevenlabs-rate-limits",
      },
    ),
    coded("content", 400, "content_against_policy", "The content is against the policy", {
      source: "https://www.skills.sh/jeremylongshore/claude-code-plugins/elevenlabs-rate-limits",
    }),
  ],
};

/** Stability. */
export const stability: VendorErrors = {
  vendor: "Stability",
  shape: "named",
  source: "https://platform.stability.ai/docs/api-reference",
  rows: [
    coded(
      "content",
      403,
      "content_moderation",
      "Your request was flagged by our content moderation system, as a result your request was denied.",
    ),
    coded("content", 400, "invalid_prompts", "One or more prompts contains filtered words."),
    coded("account", 401, "unauthorized", "missing or invalid api key"),
    coded("account", 402, "payment_required", "You lack sufficient credits to make this request."),
    coded(
      "account",
      429,
      "insufficient_balance",
      "Your organization does not have enough balance to request this action",
    ),
    coded(
      "too_large",
      413,
      "payload_too_large",
      "body: payload cannot be larger than 10MiB in size",
    ),
    weak("broken", 500, "internal_error", "An unexpected server error has occurred"),
  ],
};

/** fal. */
export const fal: VendorErrors = {
  vendor: "fal",
  shape: "detail_list",
  source: "https://fal.ai/docs/model-apis/errors",
  rows: [
    coded(
      "content",
      422,
      "content_policy_violation",
      "The content was flagged by a content checker.",
    ),
    coded("timeout", 504, "generation_timeout", "Generation timeout"),
    coded("broken", 400, "downstream_service_error", "Downstream service error"),
    coded("unavailable", 503, "downstream_service_unavailable", "Downstream service unavailable"),
    coded("request", 422, "image_too_large", "The image is too large"),
    coded("request", 422, "no_media_generated", "No media was generated"),
    coded("request", 422, "file_download_error", "Failed to download the file"),
    worded(
      "account",
      403,
      /^User is locked\. Reason: Exhausted balance/i,
      "User is locked. Reason: Exhausted balance. Top up your balance at the dashboard.",
      {
        shape: "detail",
      },
    ),
    weak("broken", 500, "internal_server_error", "Internal server error"),
  ],
};

/** Black Forest Labs. */
export const bfl: VendorErrors = {
  vendor: "Black Forest Labs",
  shape: "detail",
  source: "https://docs.bfl.ai/api_integration/errors",
  rows: [
    plain("account", 402, "Insufficient credits"),
    plain("access", 403, "Not authenticated - Invalid Authentication"),
    coded(
      "content",
      200,
      "request moderated",
      "Your input was flagged by our content moderation system",
      {
        shape: "flat",
        more: { status: "Request Moderated", code: null },
      },
    ),
    coded(
      "content",
      200,
      "content moderated",
      "The generated output was flagged by our content moderation system",
      {
        shape: "flat",
        more: { status: "Content Moderated", code: null },
      },
    ),
    plain("rate", 429, "Too many requests"),
  ],
};

/** Runway. */
export const runway: VendorErrors = {
  vendor: "Runway",
  shape: "text",
  source: "https://docs.dev.runwayml.com/errors/errors/",
  rows: [
    worded(
      "account",
      400,
      /^You do not have enough credits/i,
      "You do not have enough credits to run this task.",
    ),
    plain("account", 401, "The API key is invalid"),
    coded("content", 400, "safety.input.text", "The prompt was rejected", {
      more: { code: "SAFETY.INPUT.TEXT" },
      source: "https://docs.dev.runwayml.com/errors/task-failures/",
    }),
    plain("rate", 429, "The daily task limit was reached"),
  ],
};

/** Kling. */
export const kling: VendorErrors = {
  vendor: "Kling",
  shape: "flat",
  source: "https://app.klingai.com/global/dev/document-api/apiReference/commonInfo",
  rows: [
    ...[1000, 1001, 1002, 1003, 1004].map((number) =>
      coded("account", 401, `#${number}`, "Authentication failed")
    ),
    ...[1100, 1101, 1102].map((number) =>
      coded("account", 429, `#${number}`, "Account balance not enough")
    ),
    coded("access", 403, "#1103", "The account has no permission for this resource"),
    ...[1200, 1201, 1202].map((number) =>
      coded("request", 400, `#${number}`, "The request parameters are illegal")
    ),
    coded("model", 404, "#1203", "The requested resource, such as the model, does not exist"),
    ...[1300, 1301].map((number) =>
      coded("content", 400, `#${number}`, "The request triggered the content security policy")
    ),
    ...[1302, 1303].map((number) =>
      coded("rate", 429, `#${number}`, "The request is too fast, over the rate limit")
    ),
    coded("access", 429, "#1304", "The request triggered the IP whitelist policy"),
    coded("broken", 500, "#5000", "Server internal error"),
    coded("unavailable", 503, "#5001", "Server temporarily unavailable"),
    coded("timeout", 504, "#5002", "Server internal timeout"),
  ],
};

/** Jina. */
export const jina: VendorErrors = {
  vendor: "Jina",
  shape: "detail",
  source: "https://github.com/jina-ai/node-DeepResearch/issues/21",
  rows: [
    worded(
      "account",
      402,
      /^(?:\[.{1,40}\] )?(?:Account balance not enough|Insufficient account balance)/i,
      "Account balance not enough to run this query, please recharge.",
    ),
    plain("account", 401, "Unauthorized access"),
    plain("rate", 429, "Rate limit exceeded"),
  ],
};

/** Voyage. */
export const voyage: VendorErrors = {
  vendor: "Voyage",
  shape: "detail",
  source: "https://docs.voyageai.com/docs/error-codes",
  rows: [
    plain("account", 401, "Provided API key is invalid."),
    worded(
      "rate",
      429,
      /^You have not yet added your payment method/i,
      "You have not yet added your payment method in the billing page and will have reduced rate limits of 3 RPM and 10K TPM.",
      {
        source: "https://docs.voyageai.com/docs/rate-limits",
      },
    ),
    worded(
      "request",
      400,
      /^Request to model '[\w.-]{1,60}' failed\. The max allowed tokens per submitted batch/i,
      "Request to model 'voyage-x' failed. The max allowed tokens per submitted batch is 120000. Your batch has 150000 tokens after truncation.",
    ),
  ],
};

/** Deepgram. */
export const deepgram: VendorErrors = {
  vendor: "Deepgram",
  shape: "err_code",
  source: "https://developers.deepgram.com/docs/errors",
  rows: [
    coded("account", 401, "invalid_auth", "Invalid credentials."),
    coded(
      "account",
      402,
      "asr_payment_required",
      "Project does not have enough credits for an ASR request and does not have an overage agreement.",
    ),
    coded(
      "access",
      403,
      "insufficient_permissions",
      "Project does not have access to the requested model.",
      {
        source: "https://github.com/orgs/deepgram/discussions/1599",
      },
    ),
    coded("rate", 429, "too_many_requests", "Too many requests. Please try again later"),
    plain("request", 400, "Bad Request: failed to process audio: corrupt or unsupported data"),
    coded(
      "timeout",
      504,
      "slow_upload",
      "Request upload is too slow. Make sure to send audio to Deepgram as fast as possible.",
    ),
  ],
};

/** AssemblyAI. */
export const assemblyai: VendorErrors = {
  vendor: "AssemblyAI",
  shape: "text",
  source: "https://assemblyai.com/docs/guides/common_errors_and_solutions",
  rows: [
    worded(
      "account",
      400,
      /^Your current account balance is (?:negative|\$)/i,
      "Your current account balance is negative. Please top up to continue using the API.",
    ),
    worded(
      "account",
      401,
      /^(?:Invalid API key|Authentication error)/i,
      "Authentication error, API token missing/invalid",
    ),
    worded(
      "request",
      400,
      /^(?:Download error|Transcoding failed|File does not appear to contain audio)/i,
      "Transcoding failed. File does not appear to contain audio.",
    ),
    worded(
      "access",
      400,
      /^(?:This|The) (?:feature|model) .{0,60}?(?:paid-only|requires you to add a credit card|is not available for this account)/i,
      "This feature is paid-only and requires you to add a credit card.",
    ),
  ],
};
