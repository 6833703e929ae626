/** Errors of Chinese clouds: Alibaba, Volcengine, Baidu, Tencent. */
import { coded, counting, type VendorErrors, weak, worded } from "./row.ts";

/** Alibaba Model Studio. */
export const alibaba: VendorErrors = {
  vendor: "Alibaba Model Studio",
  shape: "flat",
  source: "https://help.aliyun.com/en/model-studio/error-code",
  rows: [
    coded("account", 401, "invalidapikey", "Invalid API-key provided."),
    coded(
      "account",
      400,
      "arrearage",
      "Access denied, please make sure your account is in good standing.",
    ),
    worded(
      "account",
      400,
      /^Access denied(?:, please make sure your account is in good standing| due to (?:an )?overdue\b)/i,
      "Access denied, please make sure your account is in good standing.",
    ),
    coded("access", 403, "accessdenied", "Access denied."),
    coded("access", 403, "access_denied", "Access denied."),
    coded(
      "access",
      403,
      "accessdenied.unpurchased",
      "Access to model denied. Please make sure you are eligible for using the model.",
    ),
    coded("access", 403, "model.accessdenied", "Model access denied."),
    coded("access", 403, "workspace.accessdenied", "Workspace access denied."),
    coded(
      "account",
      403,
      "allocationquota.freetieronly",
      "The free tier of the model has been exhausted.",
    ),
    coded("model", 404, "modelnotfound", "The model qwen-x does not exist."),
    coded("content", 400, "datainspectionfailed", "Input data may contain inappropriate content."),
    coded(
      "content",
      400,
      "data_inspection_failed",
      "Output data may contain inappropriate content.",
    ),
    coded("rate", 429, "throttling", "Requests throttling triggered."),
    coded(
      "rate",
      429,
      "throttling.ratequota",
      "Requests rate limit exceeded, please try again later.",
    ),
    coded("rate", 429, "throttling.burstrate", "Request rate increased too quickly."),
    coded("account", 429, "throttling.allocationquota", "Free allocated quota exceeded.", {
      form: /^Free allocated quota exceeded/i,
      source: "https://help.aliyun.com/en/model-studio/error-code-start",
    }),
    coded(
      "rate",
      429,
      "throttling.allocationquota",
      "Allocated quota exceeded, please increase your quota limit.",
    ),
    coded("rate", 429, "limitrequests", "You exceeded your current requests list."),
    coded("timeout", 500, "requesttimeout", "Request timed out, please try again later."),
    coded("unavailable", 503, "modelunavailable", "Model is unavailable, please try again later."),
    coded(
      "unavailable",
      503,
      "modelservingerror",
      "Too many requests. Your requests are being throttled due to system capacity limits.",
    ),
    coded(
      "broken",
      500,
      "internalerror",
      "An internal error has occurred, please try again later.",
    ),
    worded(
      "rate",
      429,
      /^Coding Plan \w{1,12} (?:allocated )?quota (?:has been )?exceeded/i,
      "Coding Plan hour quota has been exceeded",
      { source: "https://github.com/diegosouzapw/OmniRoute/pull/2119" },
    ),
    worded(
      "capacity",
      500,
      /^An error occurred in model serving\. The error message it sent us is \[\{.{0,300}?"status_code":(?:429|503)\b/i,
      '<5000202> InternalError.Algo.ModelServingError.ModelServingUnknownError: An error occurred in model serving. The error message it sent us is [{"status_code":503,"status_name":"ServiceUnavailable"}]',
      { source: "https://github.com/QwenLM/qwen-code/issues/1641" },
    ),
    worded(
      "prompt",
      400,
      counting(String.raw`range of input length should be \[\d{1,9}, {most}\]`),
      "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    ),
    worded(
      "cap",
      400,
      /^Range of max_tokens should be/i,
      "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
    ),
    weak(
      "request",
      400,
      "invalidparameter",
      "Required parameter(s) missing or invalid, please check the request parameters.",
    ),
    weak(
      "request",
      400,
      "invalid_parameter_error",
      "parameter.enable_thinking must be set to false for non-streaming calls",
    ),
  ],
};

const arkId = "Request ID: 021718067849899d92fcbe0865fdffdd";

/** Volcengine Ark (Doubao). */
export const ark: VendorErrors = {
  vendor: "Volcengine Ark",
  shape: "openai",
  source: "https://www.volcengine.com/docs/82379/1099476",
  rows: [
    coded(
      "account",
      400,
      "invalidsubscription",
      "Your account (2100000000) does not have a valid coding plan subscription, or your subscription has expired.",
      { source: "https://www.volcengine.com/docs/82379/1299023" },
    ),
    coded(
      "access",
      403,
      "operationdenied.servicenotopen",
      "Operation is denied because the model service is unavailable, please activate the corresponding model service.",
      { source: "https://www.volcengine.com/docs/82379/1299023" },
    ),
    coded(
      "access",
      404,
      "unsupportedmodel",
      "The doubao-x model does not support the coding plan feature.",
      {
        form: /^The \S{1,100} model does not support the coding plan\b/i,
        source: "https://www.volcengine.com/docs/82379/1299023",
      },
    ),
    coded(
      "access",
      404,
      "invalidendpointormodel.modelidaccessdisabled",
      `Accessing the model via Model ID is not allowed for your account. Please use a custom endpoint ID instead. ${arkId}`,
      { source: "https://www.volcengine.com/docs/82379/1299023" },
    ),
    coded(
      "ability",
      400,
      "invalidparameter.unsupportedmodel",
      "The request failed because the selected model does not support the stream mode.",
      {
        form:
          /^The request failed because the selected model does not support (?:the )?(?<lacks>[\w ]{1,60})/i,
        source: "http://www.yayakq.cn/news/450500",
      },
    ),
    coded(
      "access",
      404,
      "modelnotopen",
      `Your account 2100000000 has not activated the model doubao-x. Please activate the model service in the Ark Console. ${arkId}`,
      { more: { type: "NotFound" } },
    ),
    coded(
      "model",
      404,
      "invalidendpointormodel.notfound",
      "The model or endpoint ep-20250101-abcde does not exist or you do not have access to it.",
    ),
    coded(
      "model",
      400,
      "invalidendpoint.closedendpoint",
      `The request targeted an endpoint that is currently closed or temporarily unavailable. ${arkId}`,
    ),
    coded(
      "model",
      404,
      "invalidendpoint.notfound",
      `The request targeted an endpoint that does not exist or is invalid. ${arkId}`,
    ),
    coded(
      "account",
      401,
      "authenticationerror",
      `The API key or AK/SK in the request is missing or invalid. ${arkId}`,
    ),
    coded(
      "account",
      403,
      "accountoverdueerror",
      `The request failed because your account has an overdue balance. ${arkId}`,
    ),
    ...[
      "inputtextriskdetection",
      "inputimageriskdetection",
      "outputtextriskdetection",
      "outputimageriskdetection",
      "sensitivecontentdetected",
      "inputtextsensitivecontentdetected",
      "inputimagesensitivecontentdetected",
      "inputvideosensitivecontentdetected",
      "outputtextsensitivecontentdetected",
      "outputimagesensitivecontentdetected",
      "outputvideosensitivecontentdetected",
    ].map((code) =>
      coded(
        "content",
        400,
        code,
        `The request failed because the input may contain sensitive information. ${arkId}`,
      )
    ),
    coded(
      "account",
      429,
      "quotaexceeded",
      `Your account has exceeded the free trial quota. ${arkId}`,
    ),
    coded(
      "account",
      429,
      "setlimitexceeded",
      `Your account has reached the set inference limit. ${arkId}`,
    ),
    ...[
      "modelaccountrpmratelimitexceeded",
      "modelaccounttpmratelimitexceeded",
      "modelaccountipmratelimitexceeded",
      "accountratelimitexceeded",
      "apiaccountrpmratelimitexceeded",
      "ratelimitexceeded.endpointrpmexceeded",
      "ratelimitexceeded.endpointtpmexceeded",
      "inflightbatchsizeexceeded",
    ].map((code) =>
      coded("rate", 429, code, `The requests per minute limit is exceeded. ${arkId}`)
    ),
    coded(
      "capacity",
      429,
      "serveroverloaded",
      `The service is currently unable to handle additional requests. ${arkId}`,
    ),
    coded("capacity", 429, "requestbursttoofast", `The traffic increased too fast. ${arkId}`),
    coded("unavailable", 429, "modelloadingerror", `The model is being loaded. ${arkId}`),
    coded(
      "broken",
      500,
      "internalserviceerror",
      `The service encountered an unexpected internal error. ${arkId}`,
    ),
    worded(
      "prompt",
      400,
      counting(
        String
          .raw`(?:total tokens of (?:image and )?(?:text|messages)|input length|(?:total )?input tokens?|messages?) (?:{used} )?exceeds? (?:the )?(?:max(?:imum)? )?(?:message |context |input )?(?:tokens|length|limit)(?:.{0,20}?{most})?`,
      ),
      `Total tokens of image and text exceed max message tokens. ${arkId}`,
      {
        more: { code: "InvalidParameter", type: "BadRequest" },
      },
    ),
    weak(
      "request",
      400,
      "missingparameter",
      `The request failed because it is missing one or multiple required parameters. ${arkId}`,
    ),
  ],
};

/** Baidu Qianfan. */
export const baidu: VendorErrors = {
  vendor: "Baidu Qianfan",
  shape: "openai",
  source: "https://cloud.baidu.com/doc/qianfan-api/s/rmwbl43x7",
  rows: [
    coded("account", 401, "invalid_iam_token", "IAM Certification failed"),
    coded("access", 401, "invalid_appid", "No permission to use the appid"),
    coded("access", 401, "invalid_model", "No permission to use the model", {
      form: /^No permission to use the model/i,
    }),
    coded("access", 401, "no_parameter_permission", "No permission for the parameter"),
    coded("prompt", 400, "tokens_too_long", "Prompt tokens too long"),
    coded("prompt", 400, "characters_too_long", "the max input characters is 516096"),
    coded("content", 400, "unsafe_request", "the content of image_url.url is unsafe"),
    coded("content", 400, "image_url_unsafe", "the content of image_url.url is unsafe"),
    coded("request", 400, "malformed_json", "Invalid Argument"),
    coded("request", 400, "invalid_messages", "the role of messages is invalid"),
    coded("rate", 429, "rpm_rate_limit_exceeded", "Rate limit reached for RPM"),
    coded("rate", 200, "#336501", "Rate limit reached for RPM", { shape: "flat" }),
    coded("rate", 200, "#336502", "Rate limit reached for TPM", { shape: "flat" }),
    coded("rate", 429, "tpm_rate_limit_exceeded", "Rate limit reached for TPM"),
    coded("account", 429, "billing_insufficient_balance", "Your account has insufficient balance", {
      source: "https://ai.baidu.com/ai-doc/AppBuilder/4m8sgh88y",
    }),
    ...([
      ["broken", 1, "Unknown error"],
      ["unavailable", 2, "Service temporarily unavailable"],
      ["model", 3, "Unsupported openapi method"],
      ["rate", 4, "Open api request limit reached"],
      ["account", 6, "No permission to access data"],
      ["account", 13, "Get service token failed"],
      ["account", 14, "IAM Certification failed"],
      ["account", 15, "app not exists or create failed"],
      ["account", 17, "Open api daily request limit reached"],
      ["rate", 18, "Open api qps request limit reached"],
      ["account", 19, "Open api total request limit reached"],
      ["account", 110, "Access token invalid or no longer valid"],
      ["account", 111, "Access token expired"],
      ["rate", 336501, "Rate limit reached for RPM"],
      ["rate", 336502, "Rate limit reached for TPM"],
    ] as const).map(([kind, number, says]) =>
      coded(kind, 200, `error_code#${number}`, says, {
        shape: "error_code",
        source: "https://ai.baidu.com/ai-doc/WENXINWORKSHOP/tlmyncueh",
      })
    ),
  ],
};

/** Tencent Hunyuan: errors come with status 200. */
export const tencent: VendorErrors = {
  vendor: "Tencent Hunyuan",
  shape: "response",
  source: "https://cloud.tencent.com/document/api/1729/101847",
  rows: [
    ...[
      "authfailure.invalidauthorization",
      "authfailure.invalidsecretid",
      "authfailure.secretidnotfound",
      "authfailure.signatureexpire",
      "authfailure.signaturefailure",
      "authfailure.tokenfailure",
      "authfailure.unauthorizedoperation",
    ].map((code) =>
      coded("account", 200, code, "The provided credentials could not be validated.")
    ),
    coded(
      "account",
      200,
      "failedoperation.resourcepackexhausted",
      "The resource pack is exhausted.",
    ),
    coded("account", 200, "resourceunavailable.inarrears", "The account is in arrears."),
    coded(
      "account",
      200,
      "failedoperation.servicestoparrears",
      "The service was stopped for arrears.",
    ),
    coded("access", 200, "failedoperation.servicenotactivated", "The service is not activated."),
    coded("access", 200, "ipnotinwhitelist", "The IP address is not in the whitelist."),
    coded(
      "rate",
      200,
      "requestlimitexceeded",
      "The number of requests exceeds the frequency limit.",
    ),
    coded("rate", 200, "limitexceeded", "Quota limit exceeded."),
    coded("timeout", 200, "failedoperation.enginerequesttimeout", "The engine timed out."),
    coded("broken", 200, "failedoperation.engineservererror", "The engine failed."),
    coded(
      "capacity",
      200,
      "failedoperation.engineserverlimitexceeded",
      "The engine is at its limit.",
    ),
    coded(
      "content",
      200,
      "operationdenied.textillegaldetected",
      "The text contains illegal content.",
    ),
    coded(
      "content",
      200,
      "operationdenied.imageillegaldetected",
      "The picture contains illegal content.",
    ),
    weak("request", 200, "invalidparametervalue", "The value of the parameter is wrong."),
    coded("request", 200, "invalidparametervalue.model", "The model is invalid."),
  ],
};
