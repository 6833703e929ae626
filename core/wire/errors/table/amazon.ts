/** Errors of Amazon Bedrock: exceptions with a name, in answers and within streams. */
import { coded, type VendorErrors, weak, worded } from "./row.ts";

const key =
  /^[^'"`:]{0,200}?(?:api key|bearer token|security token|authentication failed|signature)/i;

const model =
  /^(?:[^'"`]{0,160}?(?:model identifier is invalid|on-demand throughput|not authorized to invoke|access to the model|not supported (?:in|for) (?:this|your)|unsupported (?:countr(?:y|ies)|regions?)|end of its life|action doesn.t support the model|unsupported for streaming)|operation not allowed)/i;

/** Amazon Bedrock. */
export const bedrock: VendorErrors = {
  vendor: "Amazon Bedrock",
  shape: "anthropic",
  source:
    "https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html",
  rows: [
    coded("rate", 429, "throttlingexception", "Too many tokens, please wait before trying again."),
    coded("rate", 429, "toomanyrequestsexception", "Too many requests"),
    coded("rate", 400, "servicequotaexceededexception", "Your request exceeds the service quota"),
    coded("unavailable", 429, "modelnotreadyexception", "The model is not ready for inference"),
    coded("unavailable", 503, "serviceunavailableexception", "The service is unavailable"),
    coded("timeout", 408, "modeltimeoutexception", "The model took too long to answer"),
    coded("broken", 424, "modelerrorexception", "The model failed while processing the request"),
    coded("broken", 424, "modelstreamerrorexception", "The model failed within the stream"),
    coded("broken", 500, "internalserverexception", "The system has an unexpected error"),
    coded("broken", 500, "internalfailure", "The system has an unexpected error"),
    coded("model", 404, "resourcenotfoundexception", "Could not resolve the foundation model"),
    coded(
      "account",
      403,
      "accessdeniedexception",
      "Authentication failed: Please make sure your API Key is valid.",
      { form: key },
    ),
    coded(
      "access",
      403,
      "accessdeniedexception",
      "You don't have access to the model with the specified model ID.",
      { source: "https://github.com/strands-agents/harness-sdk/issues/38" },
    ),
    ...[
      "unrecognizedclientexception",
      "invalidsignatureexception",
      "signaturedoesnotmatch",
      "expiredtokenexception",
      "expiredtoken",
      "invalidclienttokenid",
      "incompletesignature",
      "incompletesignatureexception",
      "missingauthenticationtoken",
      "missingauthenticationtokenexception",
      "requestexpired",
      "optinrequired",
    ].map((code) =>
      coded("account", 403, code, "The security token included in the request is invalid.")
    ),
    coded(
      "access",
      400,
      "validationexception",
      "Invocation of model ID x with on-demand throughput isn't supported. Retry your request with the ID or ARN of an inference profile.",
      { form: model, source: "https://github.com/anthropics/claude-code/issues/1466" },
    ),
    coded(
      "ability",
      400,
      "validationexception",
      "This model doesn't support tool use in streaming mode.",
      {
        form: /^This model doesn.t support (?:the )?(?<lacks>[\w ]{1,60})/i,
      },
    ),
    coded(
      "cap",
      400,
      "validationexception",
      "The maximum tokens you requested exceeds the model limit of 4096.",
      {
        form: /^The maximum tokens you requested exceeds? the model limit/i,
        source: "https://github.com/RooCodeInc/Roo-Code/issues/248",
      },
    ),
    coded(
      "prompt",
      400,
      "validationexception",
      "Input is too long for requested model.",
      {
        form: /^Input is too long for requested model/i,
        source: "https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts",
      },
    ),
    coded(
      "content",
      400,
      "validationexception",
      "This request has been blocked by our content filters.",
      { form: /^This request has been blocked by our content filters/i },
    ),
    coded(
      "too_large",
      400,
      "validationexception",
      "1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000",
      {
        form:
          /^1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to \d/i,
        source: "https://github.com/langchain-ai/langchain-aws/issues/419",
      },
    ),
    coded(
      "content",
      400,
      "validationexception",
      "invalid_prompts: One or more prompts contains filtered words.",
      {
        form: /^invalid_prompts\b/i,
        source: "https://github.com/epam/ai-dial-adapter-bedrock/issues/128",
      },
    ),
    ...["validationexception", "resourcenotfoundexception"].map((code) =>
      coded(
        "access",
        400,
        code,
        "You have not filled out the required use-case form for this model.",
        {
          form:
            /^(?:You have not filled out the required use-case form|Model use case details have not been submitted)/i,
          source: "https://github.com/truefoundry/models/pull/934",
        },
      )
    ),
    weak("request", 400, "validationexception", "max_tokens: must be at least 1"),
    // Servers in front of it leave the name of the exception out.
    worded(
      "rate",
      429,
      /^Too many (?:tokens|requests)(?: per \w{1,10})?, please wait before trying again/i,
      "Too many tokens per day, please wait before trying again.",
      { source: "https://github.com/anthropics/claude-code/issues/1466" },
    ),
    worded(
      "access",
      400,
      /^(?:You have not filled out the required use-case form|Model use case details have not been submitted|Access to Anthropic models is not allowed from unsupported)/i,
      "Access to Anthropic models is not allowed from unsupported countries, regions, or territories.",
      { source: "https://github.com/aws-samples/generative-bi-using-rag/issues/361" },
    ),
    worded(
      "access",
      400,
      /^(?:Operation not allowed\.?$|Invocation of model ID \S{1,200} with on-demand throughput|Your account is not authorized to invoke this API operation|data retention mode \S{1,40} is not available for this model)/i,
      "Operation not allowed",
      { source: "https://github.com/langgenius/dify/issues/7488" },
    ),
    worded(
      "access",
      403,
      /^User: arn:\S{1,300} is not authorized to perform\b/i,
      "User: arn:aws:sts::123456789012:assumed-role/x/y is not authorized to perform: bedrock:InvokeModel",
      { source: "https://github.com/posit-dev/positron/issues/10683" },
    ),
    worded(
      "access",
      403,
      /^Model access is denied due to/i,
      "Model access is denied due to IAM user or service role is not authorized to perform the required AWS Marketplace actions",
      {
        source:
          "https://github.com/ministryofjustice/modernisation-platform-environments/pull/18323",
      },
    ),
  ],
};
