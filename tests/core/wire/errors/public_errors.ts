/**
 * Errors from public reports and documentation that no row of the table was made for, with the kind that a person gave
 * them before they were read by the gateway. They show how well the table generalises.
 */
import type { Json } from "../../../../core/lib/json/json.ts";
import type { ErrorKind } from "../../../../core/wire/errors/table/kinds.ts";

/** One error: what it means, the status (`undefined`: within a success or a stream), its body, and where it was seen. */
export type PublicError = readonly [
  kind: ErrorKind,
  status: number | undefined,
  body: Json,
  source: string,
];

const oai = (message: string, more: Record<string, Json> = {}): Json => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...more },
});
const google = (code: number, message: string, status: string): Json => ({
  error: { code, message, status },
});
const aws = (status: string, message: string): Json => ({
  type: "error",
  error: { status, message },
});
const tencent = (Code: string, Message: string): Json => ({
  Response: { Error: { Code, Message }, RequestId: "ed93f3cb-f35e-473f-b9f3-0d451b8b79c6" },
});

const gh = (path: string) => `https://github.com/${path}`;
const overflow = gh("earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts");
const baiduOld = "https://ai.baidu.com/ai-doc/WENXINWORKSHOP/tlmyncueh";
const baiduNew = "https://cloud.baidu.com/doc/qianfan-api/s/rmwbl43x7";
const tencentPage = "https://cloud.tencent.com/document/api/1729/101847";
const novita = "https://novita.ai/docs/api-reference/basic-error-code";
const huawei =
  "https://support.huaweicloud.com/intl/en-us/usermanual-maas-modelarts/maas-modelarts-0080.html";
const zai = "https://docs.bigmodel.cn/cn/api/api-code";
const kimiCode = "https://www.kimi.com/code/docs/en/kimi-code/error-reference.html";
const kimi = "https://platform.kimi.ai/docs/api/errors";
const aliyun = "https://help.aliyun.com/en/model-studio/error-code-start";
const aliyunPlan = "https://www.alibabacloud.com/help/pt-br/model-studio/coding-plan-faq";
const newApi = gh("QuantumNous/new-api/pull/6794");
const denied = "The caller does not have permission to execute the specified operation";

export const publicErrors: readonly PublicError[] = [
  // xAI
  ["account", 403, {
    code: denied,
    error:
      "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/481c7584-ab46-4974-b86b-a4978384e229.",
  }, gh("continuedev/continue/issues/12670")],
  ["account", 403, {
    code: denied,
    error:
      "Your newly created teams doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/c853730f-fe0f-4537-b8a2-0e6e33c8342d.",
  }, gh("griptape-ai/griptape-nodes-engine/issues/1079")],
  ["account", 429, {
    code: "Some resource has been exhausted",
    error:
      "Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.",
  }, gh("continuedev/continue/issues/10373")],
  ["account", 403, {
    code: "permission-denied",
    error:
      "You have run out of credits or need a Grok subscription. Add credits at https://grok.com/?_s=usage or upgrade at https://grok.com/supergrok.",
  }, gh("Wei-Shaw/sub2api/issues/4069")],
  ["account", 403, {
    code: "personal-team-blocked:spending-limit",
    error: "You have run out of credits or need a Grok subscription.",
  }, gh("NousResearch/hermes-agent/issues/26847")],
  [
    "content",
    403,
    { code: "permission-denied", error: "Content violates usage guidelines. " },
    gh("Wei-Shaw/sub2api/pull/5359"),
  ],
  // OpenAI
  [
    "cap",
    400,
    oai(
      "This model's maximum context length is 8192 tokens. However, you requested 8256 tokens (64 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
      { param: "messages", code: "context_length_exceeded" },
    ),
    gh("ChatGPTNextWeb/NextChat/issues/3195"),
  ],
  ["account", 429, {
    error: {
      message: "You exceeded your current quota, please check your plan and billing details.",
      type: "insufficient_quota",
      param: null,
      code: null,
    },
  }, gh("GaiZhenbiao/ChuanhuChatGPT/issues/792")],
  [
    "access",
    400,
    oai(
      "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.",
      { param: "reasoning.summary", code: "unsupported_value" },
    ),
    gh("continuedev/continue/issues/9067"),
  ],
  [
    "access",
    404,
    oai(
      "Your organization must be verified to use the model `gpt-5`. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.",
    ),
    gh("openai/openai-go/issues/565"),
  ],
  [
    "prompt",
    400,
    oai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8202 tokens. Please reduce the length of the messages.",
      { code: "context_length_exceeded" },
    ),
    gh("dimagi/open-chat-studio/issues/463"),
  ],
  [
    "access",
    400,
    oai(
      "Invalid service_tier argument: The requested service tier is not allowed for this project.",
      { param: "service_tier" },
    ),
    "https://www.developersdigest.tech/errors/api/openai-api",
  ],
  [
    "content",
    400,
    oai(
      "Your request was rejected as a result of our safety system. Your prompt may contain text that is not allowed by our safety system.",
    ),
    gh("RanFeng/clipsketch-ai/issues/6"),
  ],
  ["capacity", undefined, {
    error: {
      message: "Our servers are currently overloaded. Please try again later.",
      type: "service_unavailable_error",
      code: "server_is_overloaded",
    },
  }, gh("QuantumNous/new-api/issues/7399")],
  [
    "broken",
    500,
    oai("The server had an error while processing your request"),
    "https://docs.wandb.ai/inference/api-reference/errors",
  ],
  [
    "cap",
    400,
    oai(
      "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.",
      { param: "max_tokens", code: "invalid_value" },
    ),
    gh("tailcallhq/forgecode/issues/1185"),
  ],
  // Servers in its style
  [
    "prompt",
    400,
    oai("Input length (265330) exceeds model's maximum context length (262144)."),
    overflow,
  ],
  [
    "prompt",
    400,
    oai("Input length 300000 exceeds the maximum allowed input length of 262144 tokens."),
    overflow,
  ],
  [
    "prompt",
    400,
    { error: "prompt too long; exceeded max context length by 1234 tokens" },
    overflow,
  ],
  ["prompt", 400, oai("Please reduce the length of the messages or completion."), overflow],
  [
    "prompt",
    400,
    oai("The input (140000 tokens) is longer than the model's context length (131072 tokens)."),
    overflow,
  ],
  ["prompt", undefined, {
    base_resp: { status_code: 2013, status_msg: "invalid params, context window exceeds limit" },
  }, overflow],
  ["prompt", 400, oai("invalid params, context window exceeds limit (2013)"), overflow],
  ["prompt", 400, {
    detail: "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)",
  }, gh("0xBakeer/inference-atlas/pull/186")],
  [
    "prompt",
    400,
    oai(
      "prompt_too_long: tokenized VLM text prompt has 20771 tokens, max prompt/context tokens is 20119",
    ),
    gh("jjang-ai/vmlx/issues/254"),
  ],
  ["prompt", 400, {
    object: "error",
    message:
      "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
    type: "BadRequestError",
    code: 400,
  }, gh("vllm-project/vllm/issues/12165")],
  ["prompt", 400, {
    object: "error",
    message: "Input prompt (2664 tokens) is too long and exceeds limit of 2048",
    type: "BadRequestError",
    code: 400,
  }, gh("vllm-project/vllm/issues/525")],
  ["cap", 400, {
    object: "error",
    message:
      "This model's maximum context length is 16384 tokens. However, you requested 22946 tokens (12946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    type: "BadRequestError",
    code: 400,
  }, gh("vllm-project/vllm/issues/20409")],
  ["prompt", 400, {
    object: "error",
    message:
      "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)",
    type: "BadRequestError",
    code: 400,
  }, gh("earendil-works/pi/issues/5930")],
  [
    "prompt",
    400,
    oai(
      "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.",
    ),
    gh("cline/cline/issues/3664"),
  ],
  [
    "model",
    400,
    oai(
      'Invalid model identifier "qwen3-coder-30b-a3b". Please specify a valid downloaded model (e.g., qwen/qwen3.6-35b-a3b@q4_k_m).',
    ),
    gh("continuedev/continue/issues/12757"),
  ],
  [
    "request",
    400,
    oai("At most 4 image(s) may be provided in one request."),
    "https://developer.mittwald.de/docs/v2/platform/aihosting/api-endpoints/errors",
  ],
  [
    "prompt",
    400,
    oai("max_tokens must be at least 1, got -512."),
    "https://developer.mittwald.de/docs/v2/platform/aihosting/api-endpoints/errors",
  ],
  [
    "cap",
    416,
    oai("max_completion_tokens is limited for this model"),
    gh("scaleway/docs-content/pull/4858"),
  ],
  ["cap", 400, {
    error: {
      message: "Param Incorrect",
      type: "upstream_error",
      param:
        "max_tokens is too large: 1048576. This model supports at most 131072 completion tokens, whereas you provided 1048576.",
      code: "400",
    },
  }, gh("AQBot-Desktop/AQBot/issues/93")],
  // OpenRouter
  ["ability", 404, {
    error: {
      message:
        "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
      code: 404,
    },
  }, gh("zed-industries/zed/issues/36094")],
  ["ability", 404, {
    error: {
      message:
        'No endpoints found that support tool use. Try disabling "question". To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection',
      code: 404,
    },
  }, gh("Kilo-Org/kilocode/issues/9006")],
  ["afford", 402, {
    error: {
      message:
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
      code: 402,
      metadata: { provider_name: null },
    },
    user_id: "user_3D0IVsejFIV6kOYwkxFE9nKiq0g",
  }, gh("Gitlawb/openclaude/issues/1125")],
  ["afford", 402, {
    error: {
      message:
        "Prompt tokens limit exceeded: 230799 > 91442. To increase, visit https://openrouter.ai/settings/keys and create a key with a higher monthly limit",
      code: 402,
    },
  }, gh("anomalyco/opencode/issues/12219")],
  ["model", 400, {
    error: { message: "deepseek-r1t-chimera:free is not a valid model ID", code: 400 },
  }, gh("continuedev/continue/issues/10322")],
  ["rate", 429, {
    error: {
      message: "Provider returned error",
      code: 429,
      metadata: { raw: "", provider_name: "X" },
    },
  }, gh("continuedev/continue/issues/11250")],
  // Together, SambaNova, Mistral, Groq, W&B
  ["model", 400, {
    id: "okkMWzu",
    error: {
      message:
        "The dedicated endpoint for mistralai/Mixtral-8x22B-Instruct-v0.1 is not running. Please visit https://api.together.ai/models to start the endpoint.",
      type: "invalid_request_error",
      param: null,
      code: "dedicated_endpoint_not_running",
    },
  }, gh("HeyPuter/puter/issues/3168")],
  [
    "cap",
    403,
    oai(
      "Input token count + max_tokens parameter must be less than the context length of the model being queried.",
    ),
    "https://docs.together.ai/docs/error-codes",
  ],
  ["request", 400, {
    error: {
      message:
        "Error from provider(sambanova,DeepSeek-V3.1: 400): Unable to tokenize message with status code 400 for model DeepSeek-V3.1: Invalid 'content' type. Expected one of: ['str'], got list.",
      type: "api_error",
      code: "provider_response_error",
    },
  }, gh("musistudio/claude-code-router/issues/965")],
  ["request", 422, {
    detail: [{
      type: "extra_forbidden",
      loc: ["body", "store"],
      msg: "Extra inputs are not permitted",
      input: false,
    }],
  }, gh("Gitlawb/openclaude/issues/739")],
  ["model", 400, {
    object: "error",
    message: "Invalid model: ",
    type: "invalid_model",
    param: null,
    code: "1500",
  }, gh("tmc/langchaingo/issues/1233")],
  ["access", 403, "Forbidden", gh("continuedev/continue/issues/10866")],
  [
    "model",
    404,
    oai("The model `llama3.1-405b` does not exist or you do not have access to it."),
    gh("continuedev/continue/issues/10832"),
  ],
  ["rate", 429, {
    message: "Tokens per minute limit exceeded - too many tokens processed.",
    type: "too_many_tokens_error",
    param: "quota",
    code: "token_quota_exceeded",
  }, gh("continuedev/continue/issues/9800")],
  // Google
  [
    "access",
    400,
    google(
      400,
      "Project `*********` is not allowed to use Publisher Model `projects/acme-m8/locations/asia-southeast1/publishers/anthropic/models/claude-3-sonnet@20240229`",
      "FAILED_PRECONDITION",
    ),
    gh("yym68686/uni-api/issues/41"),
  ],
  [
    "rate",
    429,
    google(
      429,
      "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-claude-3-5-sonnet. Please submit a quota increase request.",
      "RESOURCE_EXHAUSTED",
    ),
    gh("cline/cline/issues/651"),
  ],
  [
    "rate",
    429,
    google(429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"),
    gh("nguyenphutrong/quotio/issues/203"),
  ],
  [
    "rate",
    429,
    google(
      429,
      "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus",
      "RESOURCE_EXHAUSTED",
    ),
    gh("GoogleCloudPlatform/stable-diffusion-on-gcp/issues/12"),
  ],
  ["rate", 429, {
    error: {
      message:
        'litellm.RateLimitError: litellm.RateLimitError: VertexAIException - {\n  "error": {\n    "code": 429,\n    "message": "Quota exceeded",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n',
      type: null,
      param: null,
      code: "429",
    },
  }, gh("BerriAI/litellm/issues/6589")],
  ["rate", undefined, {
    error: {
      message:
        '{\n  "error": {\n    "code": 429,\n    "message": "You exceeded your current quota, please check your plan and billing details. Please retry in 29.085631241s.",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n',
      code: 429,
      status: "Too Many Requests",
    },
  }, gh("continuedev/continue/issues/9608")],
  ["model", undefined, {
    error: {
      message:
        '{\n  "error": {\n    "code": 404,\n    "message": "models/gemini-pro is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",\n    "status": "NOT_FOUND"\n  }\n}\n',
      code: 404,
      status: "Not Found",
    },
  }, gh("continuedev/continue/issues/9939")],
  [
    "model",
    400,
    oai("unknown provider for model gemini-3-pro-high"),
    gh("nguyenphutrong/quotio/issues/203"),
  ],
  [
    "ability",
    400,
    google(400, "Code execution is not enabled for models/gemma-3-27b-it", "INVALID_ARGUMENT"),
    gh("snailyp/gemini-balance/issues/337"),
  ],
  [
    "ability",
    400,
    google(
      400,
      "Function calling mode `ANY` is not enabled for api version v1beta",
      "INVALID_ARGUMENT",
    ),
    gh("google-gemini/deprecated-generative-ai-js/issues/241"),
  ],
  [
    "request",
    400,
    google(
      400,
      "Function calling with a response mime type: 'application/json' is unsupported",
      "INVALID_ARGUMENT",
    ),
    gh("Simpleyyt/ai-manus/issues/101"),
  ],
  [
    "request",
    400,
    google(400, "Request contains an invalid argument.", "INVALID_ARGUMENT"),
    gh("microsoft/autogen/issues/6069"),
  ],
  ["access", 400, {
    error: {
      message:
        '{\n "error": {\n "code": 400,\n "message": "User location is not supported for the API use.",\n "status": "FAILED_PRECONDITION"\n }\n}\n',
      code: 400,
      status: "Bad Request",
    },
  }, gh("google-gemini/gemini-cli/issues/24641")],
  [
    "prompt",
    400,
    google(
      400,
      "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
      "INVALID_ARGUMENT",
    ),
    overflow,
  ],
  // Bedrock
  [
    "access",
    400,
    aws("ValidationException", "The provided model identifier is invalid."),
    gh("strands-agents/harness-sdk/issues/38"),
  ],
  [
    "rate",
    429,
    aws(
      "ThrottlingException",
      "Too many requests, please wait before trying again. You have sent too many requests.",
    ),
    gh("ministryofjustice/analytical-platform/issues/6601"),
  ],
  [
    "access",
    403,
    aws("AccessDeniedException", "You don't have access to the model with the specified model ID."),
    gh("gaiin-platform/amplify-genai-backend/issues/62"),
  ],
  ["access", 400, {
    error: {
      message:
        'litellm.APIConnectionError: BedrockException - {"message":"Model access is denied due to IAM user or service role is not authorized to perform the required AWS Marketplace actions (aws-marketplace:ViewSubscriptions, aws-marketplace:Subscribe) to enable access to this model."}',
      type: null,
      param: null,
      code: "400",
    },
  }, gh("ministryofjustice/modernisation-platform-environments/pull/18323")],
  [
    "access",
    403,
    aws("MPAgreementBeingCreated", "AWS Marketplace agreement is being created"),
    "https://www.developersdigest.tech/errors/api/openai-api/403-country-region-territory-not-supported",
  ],
  // Ark, Alibaba, Moonshot, Z.AI, MiniMax
  ["cap", 400, {
    error: {
      code: "InvalidParameter",
      message:
        "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead. Request id: 0217752964393142fa50af54af66c5cfb922304bfd59ea286af93",
      param: "max_completion_tokens",
      type: "BadRequest",
    },
  }, gh("Gitlawb/openclaude/issues/331")],
  ["access", 403, {
    error: {
      code: "AccessDenied",
      message:
        "The request failed because you do not have access to the requested resource. Request ID: 02",
      type: "Forbidden",
    },
  }, "https://volcengine.com/docs/82379/1299023"],
  ["request", 400, {
    error: {
      code: "InvalidParameter",
      message:
        "The parameter instructions specified in the request are not valid: caching is not supported for instructions. Request id: 02",
      type: "BadRequest",
    },
  }, "https://www.volcengine.com/docs/82379/1099476"],
  [
    "account",
    401,
    { code: "InvalidApiKey", message: "invalid access token or token expired" },
    aliyunPlan,
  ],
  ["model", 400, oai("model 'qwen-x' is not supported"), aliyunPlan],
  ["prompt", 400, {
    code: "InvalidParameter",
    message: "Range of input length should be [1, 129024]",
  }, aliyunPlan],
  ["account", 429, {
    code: "Throttling.AllocationQuota",
    message: "Free allocated quota exceeded.",
  }, aliyun],
  ["request", 400, {
    code: "InvalidParameter",
    message:
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
  }, "https://alibabacloud.com/help/tc/model-studio/developer-reference/error-code"],
  ["request", 400, {
    code: "BadRequest.EmptyInput",
    message: "Required input parameter missing from request.",
  }, "https://alibabacloud.com/help/tc/model-studio/developer-reference/error-code"],
  [
    "account",
    401,
    oai("The API Key appears to be invalid or may have expired", {
      type: "invalid_authentication_error",
    }),
    kimiCode,
  ],
  ["account", 402, oai("We're unable to verify your membership benefits at this time"), kimiCode],
  ["access", 403, oai("Access terminated", { type: "access_terminated_error" }), kimiCode],
  [
    "account",
    429,
    oai("You've reached your usage limit for this period", {
      type: "exceeded_current_quota_error",
    }),
    kimiCode,
  ],
  ["request", 400, oai("Invalid purpose: only 'file-extract' accepted"), kimi],
  ["request", 400, oai("File size is zero, please confirm and re-upload the file"), kimi],
  [
    "prompt",
    400,
    oai("Invalid request: Your request exceeded model token limit: 262144 (requested: 313014)"),
    gh("MoonshotAI/kimi-cli/issues/2011"),
  ],
  ["request", 400, {
    error: {
      code: "1215",
      message: "max_tokens and max_new_tokens cannot be set at the same time",
    },
  }, zai],
  ["content", 400, { error: { code: "1300", message: "API call blocked by policy" } }, zai],
  ["account", 429, {
    error: { code: "1120", message: "Unable to access your account, please try again later" },
  }, zai],
  [
    "access",
    434,
    { error: { code: "434", message: "No API permission, the API is in beta" } },
    "https://docs.z.ai/api-reference/api-code",
  ],
  [
    "broken",
    undefined,
    { base_resp: { status_code: 1000, status_msg: "unknown error" } },
    "https://platform.minimax.io/docs/api-reference/errorcode",
  ],
  ["prompt", 400, {
    code: 20015,
    message: "length of prompt_tokens (57535) must be less than max_seq_len (32768)",
    data: null,
  }, gh("langgenius/dify/issues/19394")],
  // DeepSeek
  ["account", 402, {
    error: {
      message: "Insufficient Balance",
      type: "unknown_error",
      param: null,
      code: "invalid_request_error",
    },
  }, gh("openakita/openakita/issues/514")],
  ["content", 400, { detail: "Content Exists Risk" }, gh("deepseek-ai/DeepSeek-V2/issues/30")],
  // Baidu
  ["broken", undefined, { error_code: 1, error_msg: "Unknown error" }, baiduOld],
  [
    "unavailable",
    undefined,
    { error_code: 2, error_msg: "Service temporarily unavailable" },
    baiduOld,
  ],
  ["model", undefined, { error_code: 3, error_msg: "Unsupported openapi method" }, baiduOld],
  ["rate", undefined, { error_code: 4, error_msg: "Open api request limit reached" }, baiduOld],
  [
    "account",
    undefined,
    { error_code: 19, error_msg: "Open api total request limit reached" },
    baiduOld,
  ],
  [
    "account",
    undefined,
    { error_code: 15, error_msg: "app not exists or create failed" },
    baiduOld,
  ],
  [
    "rate",
    undefined,
    { code: 336501, msg: "Rate limit reached for RPM" },
    "https://ai.baidu.com/ai-doc/WENXINWORKSHOP/hlzic283e",
  ],
  [
    "request",
    400,
    oai("the image width and height are not within the allowed range", {
      code: "invalid_image_url",
    }),
    baiduNew,
  ],
  [
    "request",
    400,
    oai("prompt is invalid, please check parameter", { code: "invalid_image_generation_prompt" }),
    baiduNew,
  ],
  [
    "rate",
    429,
    { code: "RATE_LIMIT_TOTAL_QPS", message: "Total API QPS limit exceeded" },
    "https://ai.baidu.com/ai-doc/AppBuilder/4m8sgh88y",
  ],
  ["account", 429, {
    code: "QUOTA_USER_DAILY_FREE",
    message: "Daily free quota per user for AI Search exceeded",
  }, "https://ai.baidu.com/ai-doc/AppBuilder/4m8sgh88y"],
  // Tencent
  ["model", undefined, tencent("ActionOffline", "This API has been deprecated."), tencentPage],
  ["broken", undefined, tencent("InternalError", "Internal error."), tencentPage],
  ["request", undefined, tencent("InvalidParameter", "The parameter is wrong."), tencentPage],
  ["request", undefined, tencent("MissingParameter", "A parameter is missing."), tencentPage],
  [
    "rate",
    undefined,
    tencent(
      "RequestLimitExceeded.GlobalRegionUinLimitExceeded",
      "The main account exceeds the frequency limit.",
    ),
    tencentPage,
  ],
  [
    "rate",
    undefined,
    tencent("RequestLimitExceeded.IPLimitExceeded", "The IP address exceeds the frequency limit."),
    tencentPage,
  ],
  [
    "access",
    undefined,
    tencent("IpInBlacklist", "The IP address is in the blacklist."),
    tencentPage,
  ],
  ["account", undefined, tencent("AuthFailure.MFAFailure", "MFA failed."), tencentPage],
  // Novita, Huawei
  ["request", 400, {
    code: 400,
    reason: "INVALID_IMAGE_SIZE",
    message: "Image width or height exceeds limit",
  }, novita],
  ["missing", 404, { code: 404, reason: "TASK_NOT_FOUND", message: "Task not found" }, novita],
  ["model", 404, { code: 404, reason: "API_NOT_FOUND", message: "API not found" }, novita],
  [
    "rate",
    429,
    { code: 429, reason: "RATE_LIMIT_EXCEEDED", message: "Rate limit exceeded" },
    novita,
  ],
  [
    "account",
    400,
    { code: 400, reason: "MISSING_API_KEY", message: "API Key not provided" },
    novita,
  ],
  ["access", 403, {
    code: 403,
    reason: "FEATURE_NOT_ALLOWED",
    message: "No permission to upload model",
  }, novita],
  [
    "account",
    403,
    { code: 403, reason: "INVALID_API_KEY", message: "API Key validation failed" },
    novita,
  ],
  ["request", 400, { error_code: "ModelArts.81001", error_msg: "Invalid request body." }, huawei],
  ["account", 400, {
    error_code: "ModelArts.81002",
    error_msg: "Failed to get the authorization header.",
  }, huawei],
  ["rate", 429, {
    error_code: "ModelArts.81103",
    error_msg: "Too many requests. exceeded rate limit is 10000 tokens per minute.",
  }, huawei],
  ["missing", 404, { error_code: "ModelArts.81108", error_msg: "Task 7 does not exist" }, huawei],
  // Resellers
  [
    "capacity",
    429,
    oai("当前分组上游负载已饱和，请稍后再试 (request id: 20250423020142736330894dLoIRrS6)", {
      type: "new_api_error",
    }),
    gh("QuantumNous/new-api/issues/991"),
  ],
  ["model", undefined, {
    error: {
      message:
        "type invalid_request_error, code model_not_found, message The model: `gpt-4` does not exist",
      type: "one_api_error",
    },
  }, gh("songquanpeng/one-api/issues/90")],
  [
    "unavailable",
    503,
    oai("No available channel for model gpt-4o under group default (distributor)", {
      type: "new_api_error",
    }),
    newApi,
  ],
  [
    "account",
    403,
    oai("用户额度不足", { code: "insufficient_user_quota", type: "new_api_error" }),
    newApi,
  ],
  [
    "timeout",
    524,
    "<!DOCTYPE html><title>524: A timeout occurred</title>",
    gh("QuantumNous/new-api/issues/5113"),
  ],
  [
    "unavailable",
    503,
    oai("No available upstream candidate.", { code: "no_available_candidate" }),
    gh("tbphp/gpt-load/issues/528"),
  ],
  [
    "account",
    429,
    oai("Quota is used up", { code: "upstream_quota_exhausted" }),
    gh("chenyme/grok2api/pull/795"),
  ],
  [
    "rate",
    429,
    oai("Accounts are cooling down", { code: "upstream_cooling" }),
    gh("chenyme/grok2api/pull/795"),
  ],
  [
    "model",
    404,
    { error: "model “gemini-3.1-pro-preview” not found" },
    gh("nexu-io/nexu/issues/631"),
  ],
  ["model", 404, {
    code: "not_found",
    message:
      "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
    status: 404,
  }, gh("junjiem/dify-plugin-agent-mcp_sse/issues/6")],
  // Others
  [
    "access",
    403,
    { error: "The supplied token is not authorized to perform this operation" },
    gh("Kaggle/kaggle-benchmarks/issues/44"),
  ],
  ["request", 400, {
    errors: [{
      code: "invalid_input_argument",
      message:
        'Invalid input argument for Model \'mistralai/mistral-medium-2505\': \n{"object":"error","message":"","type":"BadRequestError","param":null,"code":400}',
      more_info: "https://cloud.ibm.com/apidocs/watsonx-ai#text-chat",
    }],
    trace: "d0137e9fd349b8f42bdee3ad5fb3be54",
    status_code: 400,
  }, gh("spring-ai-community/spring-ai-watsonx-ai/issues/19")],
  ["account", 402, { message: "You have no quota" }, gh("github/copilot-cli/issues/2063")],
  ["prompt", 413, {
    error: {
      code: "tokens_limit_reached",
      message: "Request body too large for o1-mini model. Max size: 4000 tokens.",
    },
  }, gh("Aider-AI/aider/issues/2296")],
  ["account", 402, {
    type: "error",
    error: {
      type: "insufficient_funds_error",
      message: "Insufficient funds. Required: 120 credits",
    },
  }, "https://docs.ltx.video/errors"],
  ["account", 401, {
    errors: [{
      code: "invalidApiKey",
      message: "Invalid API key. Get one at https://runware.ai/signup",
      parameter: "apiKey",
      taskType: "authentication",
    }],
  }, "https://runware.ai/docs/models-api/errors"],
  ["account", 401, {
    status_code: 401,
    error_type: "unauthenticated",
    message: "Incorrect API key provided. You can get an API key at https://console.soniox.com",
    request_id: "3d37a3bd-5078-47ee-a369-b204e3bbedda",
  }, "https://soniox.com/docs/api-reference/errors"],
  ["rate", 429, {
    error_code: "concurrency_limited",
    title: "Too many concurrent requests",
    message: "You have exceeded your plan's concurrency limit.",
    request_id: "550e8400-e29b-41d4-a716-446655440000",
  }, "https://docs.cartesia.ai/ja-jp/use-the-api/api-errors"],
  [
    "account",
    403,
    { error: { code: "insufficient_credits", message: "No remaining credits" } },
    "https://docs.warp.dev/factories/api-and-sdk/troubleshooting/errors/insufficient-credits/",
  ],
  [
    "account",
    402,
    { detail: "Account balance not enough to run this query, please recharge" },
    gh("jina-ai/node-DeepResearch/issues/21"),
  ],
  ["request", 400, {
    category: "INVALID_JSON",
    message: "Invalid JSON submitted.",
    details: "Json deserialize error: missing field `xxx` at line 7 column 1",
    request_id: "uuid",
  }, "https://developers.deepgram.com/docs/errors.md"],
  ["content", 400, {
    error: {
      message:
        "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID b68e1d8f-31a3-4a04-aa41-bf442d857ccd. safety_violations=[sexual].",
      code: "moderation_blocked",
      type: "image_generation_user_error",
      param: null,
    },
  }, gh("ucx0204/CarrotMangaTranslator/issues/122")],
  ["content", undefined, {
    status: "failed",
    error: {
      code: "content_policy_violation",
      message: "Content policy violation.\nYour request was blocked by safety filters...",
    },
  }, "https://docs.evolink.ai/es/api-manual/task-management/error-codes"],
  ["model", 404, {
    error: {
      message: "model not found: openai/does-not-exist",
      type: "not_found_error",
      code: 404,
      request_id: "9f4dc8fb8841f0b0cc67612b6ef54fb7",
    },
  }, "https://developers.wpengine.com/docs/ai/api/errors.md"],
  ["cap", 400, {
    type: "error",
    error: {
      type: "invalid_request_error",
      message:
        "input length and `max_tokens` exceed context limit: 86888 + 119866 > 204648, decrease input length or `max_tokens` and try again",
    },
  }, gh("stackblitz/bolt.new/issues/7422")],
  // Wordings of Bedrock, as servers in front of it repeat them.
  [
    "rate",
    429,
    { message: "Too many tokens per day, please wait before trying again." },
    gh(
      "Ivy-Interactive/Ivy-Tendril/issues/1756",
    ),
  ],
  ["rate", 429, {
    error: {
      message:
        'litellm.RateLimitError: BedrockException - {"message":"Too many tokens, please wait before trying again."}',
      type: "throttling_error",
      code: "429",
    },
  }, gh("anthropics/claude-code/issues/236")],
  [
    "rate",
    undefined,
    { message: "Too many requests, please wait before trying again." },
    gh(
      "BerriAI/litellm/issues/589",
    ),
  ],
  ["access", 400, { message: "Operation not allowed" }, gh("kirodotdev/Kiro/issues/11191")],
  [
    "access",
    400,
    { message: "Your account is not authorized to invoke this API operation." },
    gh(
      "aws-samples/amazon-bedrock-audio-summarizer/issues/3",
    ),
  ],
  [
    "access",
    400,
    google(
      400,
      "Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio.",
      "FAILED_PRECONDITION",
    ),
    "https://ai.google.dev/gemini-api/docs/troubleshooting",
  ],
  ["content", 403, {
    error: {
      message: "sensitive words detected",
      type: "security_violation",
      code: "sensitive_word_detected",
    },
  }, gh("14790897/MiqroForge-Desktop/pull/1027")],
  ["content", 400, oai("Content Exists Risk"), gh("NousResearch/hermes-agent/pull/115233")],
  ["content", 422, { detail: "Request Moderated" }, "https://docs.bfl.ai/integration_guidelines"],
  [
    "content",
    451,
    { code: 20015, message: "The content contains sensitive words" },
    gh(
      "14790897/MiqroForge-Desktop/pull/1027",
    ),
  ],
  ["prompt", 422, { detail: "Prompt has too many tokens: 300000 (max 262144)" }, overflow],
  // Of 215 collected later, forms that the list lacked
  ["account", 400, {
    error: {
      message:
        '{\n  "error": {\n    "code": 400,\n    "message": "API key expired. Please renew the API key.",\n    "status": "INVALID_ARGUMENT",\n    "details": [\n      {\n        "@type": "type.googleapis.com/google.rpc.ErrorInfo",\n        "reason": "API_KEY_INVALID",\n        "domain": "googleapis.com",\n        "metadata": {\n          "service": "generativelanguage.googleapis.com"\n        }\n      }\n    ]\n  }\n}\n',
      code: 400,
      status: "Bad Request",
    },
  }, gh("continuedev/continue/issues/11336")],
  ["rate", 429, {
    error: {
      message:
        '{\n "error": {\n  "code": 429,\n  "message": "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/rate-limit. \\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count, limit: 2000000, model: gemini-3.1-pro\\nPlease retry in 3.564818218s.",\n  "status": "RESOURCE_EXHAUSTED",\n  "details": [\n   {\n    "@type": "type.googleapis.com/google.rpc.QuotaFailure",\n    "violations": [\n     {\n      "quotaMetric": "generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count",\n      "quotaId": "GenerateContentPaidTierInputTokensPerModelPerMinute"\n     }\n    ]\n   },\n   {\n    "@type": "type.googleapis.com/google.rpc.RetryInfo",\n    "retryDelay": "3s"\n   }\n  ]\n }\n}\n',
      code: 429,
      status: "Too Many Requests",
    },
  }, gh("microsoft/vscode/issues/303628")],
  ["rate", 429, {
    error: {
      message:
        "Error from provider (Z.ai): Weekly/Monthly Limit Exhausted.\nYour limit will reset at 2026-06-25 02:06:16",
    },
  }, gh("anomalyco/opencode/issues/33029")],
  [
    "rate",
    429,
    { error: { message: "Coding Plan hour quota has been exceeded" } },
    gh("diegosouzapw/OmniRoute/pull/2119"),
  ],
  [
    "access",
    403,
    {
      error: {
        code: "OperationDenied.ServiceNotOpen",
        message:
          "Operation is denied because the model service is unavailable, please go to the Volcano Ark console activation management page to activate the corresponding model service, or submit a work order to contact us.",
        param: "",
        type: "Forbidden",
      },
    },
    "https://wry-manatee-359.convex.site/api/v1/download?slug=volcano-engine:references/extracted_pages/page_468.txt",
  ],
  ["content", 400, {
    error: {
      code: "SensitiveContentDetected.SevereViolation",
      message:
        "The request failed because the input text may contain severe violation information.",
      param: "",
      type: "BadRequest",
    },
  }, "https://www.volcengine.com/docs/82379/1299023"],
  ["rate", undefined, {
    Response: {
      Error: {
        Code: "RequestLimitExceeded",
        Message: "您当前每秒请求 `6` 次，超过了每秒频率上限 `5`，请稍后重试。",
      },
      RequestId: "bc0e30fe-037b-48ce-85a7-0376e0cff672",
    },
  }, gh("SUSYUSTC/MathTranslate/issues/21")],
  [
    "rate",
    429,
    { message: "Tokens per minute limit exceeded - too many tokens processed." },
    gh("continuedev/continue/issues/9800"),
  ],
  [
    "capacity",
    429,
    { error: { message: "Model busy, retry later" } },
    gh("truefoundry/models/pull/862"),
  ],
  ["request", 400, {
    error: {
      message: "Provider returned error",
      code: 400,
      metadata: {
        raw:
          '{"error": {"code": "400", "message": "Param Incorrect", "param": "messages[2] assistant content must contain at least one part", "type": ""}}',
        provider_name: "Xiaomi",
      },
    },
    user_id: "user_x",
  }, gh("farion1231/cc-switch/issues/464")],
  ["request", 400, {
    error: {
      message: "Provider returned error",
      code: 400,
      metadata: {
        raw:
          '{"type": "error", "error": {"type": "invalid_request_error", "message": "x-anthropic-billing-header is a reserved keyword and may not be used in the system prompt."}, "request_id": "req_011CXR3vCFq4XACkb1mdp1xh"}',
        provider_name: "Anthropic",
      },
    },
    user_id: "user_x",
  }, gh("farion1231/cc-switch/issues/761")],
  ["unavailable", 503, {
    error: {
      message: "Provider returned error",
      code: 503,
      metadata: {
        raw: {
          error: {
            type: "Service Unavailable",
            code: "no_available_workers",
            message: "No available workers (all circuits open or unhealthy)",
          },
        },
        provider_name: "Morph",
        is_byok: false,
      },
    },
  }, gh("truefoundry/models/pull/868")],
  ["account", 429, {
    error: {
      message: "Insufficient balance or no resource package. Please recharge.",
      type: "AI_APICallError",
      param: {
        error: "Insufficient balance or no resource package. Please recharge.",
        statusCode: 429,
        name: "AI_APICallError",
        message: "Insufficient balance or no resource package. Please recharge.",
        url: "https://api.z.ai/api/paas/v4/chat/completions",
        isRetryable: true,
        type: "AI_APICallError",
      },
    },
  }, gh("vercel/ai/issues/9290")],
  ["access", 403, {
    error: {
      message: "Forbidden – key(abc123) not authorized to access the requested model.",
      type: "Aihubmix_api_error",
    },
  }, "https://docs.aihubmix.com/cn/FAQs/HTTP-Codes"],
  ["rate", 429, {
    error: { message: "All antigravity accounts have exhausted their quota (reset after 5m)" },
  }, gh("diegosouzapw/OmniRoute/pull/9387")],
  ["access", 403, {
    code: "003001",
    message:
      "This account is not allowed to access this endpoint. Please contact Snowflake support.",
    request_id: "…",
    error_code: "003001",
  }, gh("vllm-project/semantic-router/issues/3608")],
  ["request", 400, {
    error: {
      message:
        "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
      type: "invalid_message",
      code: 400,
    },
  }, gh("serac-labs/serac/issues/53")],
  [
    "account",
    402,
    { message: "Account balance not enough to run this query, please recharge" },
    gh("jina-ai/node-DeepResearch/issues/21"),
  ],
  ["prompt", 500, {
    error: { code: 500, message: "Context size has been exceeded.", type: "server_error" },
  }, gh("ggml-org/llama.cpp/issues/19774")],
];

/** Texts about a prompt beyond the window, each with its two numbers in words of its own. */
export const countedPrompts: readonly (readonly [text: string, used: number, most: number])[] = [
  ["Prompt too long: 32799 tokens exceeds max context window of 32768 tokens", 32799, 32768],
  [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens (8000 in the messages, 1001 in the functions). Please reduce the length of the messages or functions.",
    9001,
    8192,
  ],
  [
    "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 139326. Try using a shorter prompt, or enable prompt truncating.",
    139326,
    128000,
  ],
  [
    "Invalid input argument for Model: the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
    9000,
    8192,
  ],
  ["Prompt length 9000 exceeds context window 8192", 9000, 8192],
  ["Prompt length 40000 is greater than max_seq_len 32768", 40000, 32768],
  ["requested input length 40000 exceeds maximum input length 32767", 40000, 32767],
  ["Input length 40,000 exceeds maximum allowed token length 32,768", 40000, 32768],
  ["Prompt has too many tokens: 300000 (max 262144)", 300000, 262144],
];
