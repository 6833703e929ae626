/**
 * Rows for what many vendors write alike, each in words of its own. They come after the rows of single vendors. Codes are
 * never the client's, so that a part of one decides; texts decide by their beginning, up to the first quoted word.
 */
import { coded, counting, type VendorErrors, worded } from "./row.ts";

const family = (codes: RegExp) => ({ codes });

/** Codes and texts of any vendor. */
export const families: VendorErrors = {
  vendor: "any vendor",
  shape: "openai",
  source: "https://docs.litellm.ai/docs/exception_mapping",
  rows: [
    coded(
      "account",
      403,
      "insufficient_user_quota",
      "No quota is left",
      family(
        /(?:insufficient|not_?enough|no|exhausted)_?(?:\w{1,20}_)?(?:credits?|balance|quota|funds?)\b|(?:insufficient|not_?enough)_?(?:credits?|balance|quota|funds?)|(?:credits?|balance|quota|funds?)_?(?:exhausted|insufficient|depleted|used_?up)|arrears?\b|overdue|payment_?required|billing_/,
      ),
    ),
    coded(
      "account",
      400,
      "missing_api_key",
      "API Key not provided",
      family(
        /(?:invalid|missing|incorrect|wrong|expired|revoked|disabled)_?(?:api_?)?(?:key|token|credentials?|auth\w*)$|unauthenticated|^authfailure\b|^auth(?:entication|orization)?_?(?:error|failed|failure)$/,
      ),
    ),
    coded(
      "rate",
      429,
      "concurrency_limited",
      "You have exceeded your plan's concurrency limit.",
      family(
        /rate_?limit|too_?many_?(?:concurrent_?)?requests|concurrency_?(?:limit|exceed)|throttl|^request_?limit_?exceeded|_cooling$|_qps$/,
      ),
    ),
    coded(
      "capacity",
      503,
      "upstream_saturated",
      "All are busy",
      family(/over_?load|saturated|over_?capacity|no_?capacity|system_?busy|server_?busy/),
    ),
    coded(
      "content",
      400,
      "blocked_by_safety",
      "The content was refused",
      family(
        /content_?(?:policy|filter|moderat|violation)|moderation|(?:^|[._])safety|sensitive_?(?:content|word)|risk_?detection|nsfw|illegal_?(?:prompt|content|detected)/,
      ),
    ),
    coded(
      "prompt",
      400,
      "prompt_too_long",
      "It does not fit",
      family(
        /context_?(?:length|window|size)|(?:prompt|input|tokens?|context)_?too_?(?:long|large|many)/,
      ),
    ),
    coded(
      "model",
      400,
      "dedicated_endpoint_not_running",
      "The dedicated endpoint for x/y is not running.",
      family(
        /(?:model|deployment|endpoint|engine|api)_?(?:is_?)?not_?(?:found|supported|available|running|deployed|exist)|unknown_?model|model_?(?:unavailable|deprecated|decommissioned)|^actionoffline/,
      ),
    ),
    coded(
      "access",
      403,
      "ipinblacklist",
      "The IP address is in the blacklist.",
      family(/^ip(?:in|not)/),
    ),
    worded(
      "account",
      403,
      /^(?:sorry, )?(?:you|your (?:newly created )?(?:team|account|organi[sz]ation|api key|project|workspace)s?)\b[^'"`:]{0,90}?(?:run out of|doesn.t have any|does not have (?:enough|any)|(?:have|has) (?:either )?(?:used (?:up )?all|no\b|exceeded|depleted|exhausted|reached)|lacks?)[^'"`:]{0,50}?(?:credits?|balance|funds|quota|spending limit|usage limit)\b/i,
      "You have run out of credits or need a subscription.",
      { source: "https://github.com/Wei-Shaw/sub2api/issues/4069" },
    ),
    worded(
      "account",
      403,
      /^(?:sorry, )?(?:account )?(?:no (?:remaining )?|insufficient |not enough |low )(?:account |api |[A-Z]{3} (?:or \w{1,12} )?)?(?:credits?|balance|funds|quota)\b/i,
      "Insufficient funds. Required: 120 credits",
      { source: "https://docs.ltx.video/errors" },
    ),
    worded(
      "account",
      403,
      /^(?:sorry, )?(?:(?:the|this|your) )?(?:user|(?:account|api key|organi[sz]ation|team|workspace)(?: [\w@.-]{1,80})?) (?:(?:has been|is|was) )?(?:temporarily )?(?:suspended|banned|locked|deactivated|frozen)\b/i,
      "User is locked. Reason: Admin lock.",
      { source: "https://github.com/fal-ai/fal/issues/1168" },
    ),
    worded(
      "account",
      400,
      /^(?:missing|no|invalid|failed to get the|unable to verify the) (?:\w{1,20} ){0,2}(?:authorization header|api key|credentials|access token)\b/i,
      "Failed to get the authorization header.",
      {
        source:
          "https://support.huaweicloud.com/intl/en-us/usermanual-maas-modelarts/maas-modelarts-0080.html",
      },
    ),
    worded(
      "content",
      400,
      /^(?:sorry, )?(?:the |your |this )?(?:\w{1,12} )?(?:request|input|prompt|content|text|image|message|output|response|generation)s?\b[^'"`:]{0,60}?(?:\b(?:flagged (?:by|as|for|because)|moderated)\b|\b(?:blocked|rejected|refused|filtered|violat\w{1,5})\b[^'"`:]{0,60}?\b(?:safety|moderation|(?:usage|content) polic(?:y|ies)|usage guidelines|content filter|high risk)|\bcontains?\b[^'"`:]{0,30}?\b(?:sensitive|prohibited|inappropriate|unsafe|harmful) (?:words?|content|information|material)\b)/i,
      "Request Moderated",
      { source: "https://docs.bfl.ai/integration_guidelines" },
    ),
    worded(
      "account",
      403,
      /^[^'"`:]{0,8}(?:余额|额度)(?:不足|已用)|^[^'"`:]{0,12}(?:已欠费|已欠费停服)/,
      "用户额度不足",
      {
        source: "https://github.com/QuantumNous/new-api/pull/6794",
      },
    ),
    worded(
      "capacity",
      429,
      /^[^'"`:]{0,20}(?:负载已饱和|过载|服务繁忙|访问量过大)/,
      "当前分组上游负载已饱和，请稍后再试",
      {
        source: "https://github.com/QuantumNous/new-api/issues/991",
      },
    ),
    worded(
      "rate",
      429,
      /^[^'"`:]{0,20}(?:频率(?:过高|超限)|触发限流|请求过快)/,
      "请求频率过高，请稍后再试",
      {
        source: "https://docs.bigmodel.cn/cn/api/api-code",
      },
    ),
    worded(
      "model",
      400,
      /^(?:the )?(?:requested )?model:? ?[('"`“]?[\w./:@-]{1,150}['"`”)]?,? (?:is )?(?:currently )?(?:not (?:supported|found|available|a valid model)|does not exist|unavailable|deprecated|has been (?:retired|removed|decommissioned))/i,
      "model 'qwen-x' is not supported",
      { source: "https://www.alibabacloud.com/help/pt-br/model-studio/coding-plan-faq" },
    ),
    worded(
      "model",
      400,
      /^(?:unknown|no) (?:provider|channel)s? (?:found )?for (?:the )?model\b/i,
      "unknown provider for model gemini-x",
      {
        source: "https://github.com/nguyenphutrong/quotio/issues/203",
      },
    ),
    worded(
      "model",
      404,
      /^(?:the requested url\b|(?:api|url|path|route|endpoint)\b.{0,60} (?:was )?not found|404 page not found|cannot post\b)/i,
      "The requested URL was not found on the server.",
      { only: 404, source: "https://github.com/junjiem/dify-plugin-agent-mcp_sse/issues/6" },
    ),
    worded(
      "prompt",
      400,
      /^max_(?:completion_|output_|new_)?tokens must be at least 1, got -\d/i,
      "max_tokens must be at least 1, got -512.",
      { source: "https://developer.mittwald.de/docs/v2/platform/aihosting/api-endpoints/errors" },
    ),
    worded(
      "cap",
      400,
      /^(?:the )?(?:parameter )?['"`]?max_(?:completion_|output_|new_)?tokens['"`]? (?:specified in the request )?(?:is|are) (?:limited|not valid: integer above)|^input token count \+ max_tokens/i,
      "max_completion_tokens is limited for this model",
      { source: "https://github.com/scaleway/docs-content/pull/4858" },
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:prompt_too_long: )?(?:tokenized )?(?:\w{1,12} )?(?:text )?(?:input |prompt |context )*\(?(?:has )?{used} tokens?\)? (?:is too long and exceeds limit of|.{0,40}?max.{0,30}? is|exceeds (?:the )?(?:max_seq_len|max_model_len|limit|maximum)(?: of)?) {most}`,
      ),
      "Input prompt (2664 tokens) is too long and exceeds limit of 2048",
      { source: "https://github.com/vllm-project/vllm/issues/525" },
    ),
    worded(
      "prompt",
      400,
      /^(?:the |your )?(?:prompt(?: is|_)?[ _]?too[ _]long|prompt exceeds max length|input is too long|input (?:length .{0,30})?exceeds the (?:context window|maximum allowed)|context (?:window|length) exceed|(?:this (?:model|endpoint)'s )?maximum (?:context|prompt) length|range of input length should be|input token count \(|input tokens exceed|too many input tokens|requested token count exceeds|exceeded model token limit|please reduce the length of the messages)/i,
      "Please reduce the length of the messages or completion.",
      {
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
  ],
};
