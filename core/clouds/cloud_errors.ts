/** Refusals of clouds, read into statuses and bodies that the gateway understands of every provider. */
import type { Cloud } from "../catalog/entries/cloud_schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../lib/json/json.ts";

// A refusal of a cloud, in statuses and bodies that the gateway understands of every provider.

/** What a refusal is about, with the status and the name of the error that say so. */
const meanings = {
  /** The credential rests, another one is tried. */
  credential: { status: 401, type: "authentication_error" },
  /** The model is not to be had with this account, in this region or under this name: the next route. */
  model: { status: 404, type: "model_not_found" },
  rate_limit: { status: 429, type: "rate_limit_error" },
  unavailable: { status: 503, type: "service_unavailable_error" },
  timeout: { status: 504, type: "timeout_error" },
  failed: { status: 502, type: "api_error" },
  /** The caller's mistake. */
  invalid: { status: 400, type: "invalid_request_error" },
} as const;

/** A refusal in a form that every style's reader knows. */
export interface CloudError {
  readonly kind: keyof typeof meanings;
  readonly status: number;
  readonly body: JsonObject;
}

/** Texts that would show the operator's project, account or resource. */
const privateKinds: ReadonlySet<CloudError["kind"]> = new Set([
  "credential",
  "model",
  "rate_limit",
]);

/** Makes a refusal. */
function cloudError(kind: CloudError["kind"], message: string): CloudError {
  const { status, type } = meanings[kind];
  const text = privateKinds.has(kind) ? privateText(kind) : message;
  return { kind, status, body: { type: "error", error: { type, message: text } } };
}

function privateText(kind: CloudError["kind"]): string {
  return kind === "rate_limit"
    ? "The provider of this model limits the rate of calls"
    : kind === "model"
    ? "This model is not available at the provider"
    : "";
}

// Errors of Bedrock: exceptions with a name, in answers and within streams.

/** Exceptions about the credential itself, by any of its models: it rests. */
const aboutCredential =
  /^(?:UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch|ExpiredToken|InvalidClientTokenId|IncompleteSignature|MissingAuthenticationToken|RequestExpired|OptInRequired)/;

/** What an `AccessDeniedException` says about a key, and not about a model. */
const saysKey = /api key|bearer token|security token|authentication failed|signature/i;

/** What a `ValidationException` says if the operator named a model that is not to be had. */
const saysModel =
  /model identifier is invalid|on-demand throughput|not authorized to invoke|access to the model|not supported (?:in|for) (?:this|your)|unsupported (?:country|region)|end of its life|^operation not allowed|action doesn.t support the model|unsupported for streaming/i;

const byName: readonly (readonly [RegExp, CloudError["kind"]])[] = [
  [/^Throttling|^TooManyRequests|^ServiceQuotaExceeded/, "rate_limit"],
  [/^ModelNotReady|^ServiceUnavailable/, "unavailable"],
  [/^ModelTimeout/, "timeout"],
  [/^ModelError|^ModelStreamError|^InternalServer|^InternalFailure/, "failed"],
  [/^ResourceNotFound/, "model"],
];

/**
 * Reads an exception.
 *
 * @param status of the answer; 500 for an exception within a stream
 * @param name e.g. `ThrottlingException`, in any case of its first letter
 */
export function bedrockError(status: number, name: string, message: string): CloudError {
  const type = name.slice(0, 1).toUpperCase() + name.slice(1);
  if (aboutCredential.test(type)) return cloudError("credential", message);
  const kind = byName.find(([pattern]) => pattern.test(type))?.[1];
  if (kind !== undefined) return cloudError(kind, message);
  if (/^AccessDenied/.test(type) || status === 403) {
    return cloudError(saysKey.test(message) ? "credential" : "model", message);
  }
  if (status === 401) return cloudError("credential", message);
  if (/^Validation/.test(type) || status === 400) {
    return cloudError(saysModel.test(message) ? "model" : "invalid", message);
  }
  return status === 429 ? cloudError("rate_limit", message) : cloudError("failed", message);
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Azure: deployments that do not exist, and operations that the deployed model does not offer. */
const azureModelCodes: ReadonlySet<string> = new Set([
  "DeploymentNotFound",
  "OperationNotSupported",
  "unknown_model",
  "unavailable_model",
  "ModelDeprecated",
]);

function azureError(error: JsonObject): CloudError | undefined {
  const code = textOf(error["code"]);
  if (azureModelCodes.has(code)) return cloudError("model", "");
  return code === "NoCapacity" ? cloudError("unavailable", "") : undefined;
}

/** Google: what `FAILED_PRECONDITION` and `INVALID_ARGUMENT` say if the project may not use the model here. */
const googleModelText =
  /not allowed to use Publisher Model|Publisher Model .{0,300}not found|not servable in region|location is not supported|not supported in (?:the|this) region/is;

function vertexError(status: number, error: JsonObject): CloudError | undefined {
  const name = textOf(error["status"]);
  const message = textOf(error["message"]);
  if (status === 404 || googleModelText.test(message)) return cloudError("model", message);
  if (name === "RESOURCE_EXHAUSTED" || status === 429) return cloudError("rate_limit", message);
  if (name === "UNAUTHENTICATED") return cloudError("credential", message);
  return undefined;
}

function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/**
 * Reads a refusal of a cloud; `undefined` if status and body already say what it is.
 *
 * @param header a header of the answer by lower-case name
 */
export function readCloudError(
  cloud: Cloud,
  status: number,
  text: string,
  header: (name: string) => string | undefined,
): CloudError | undefined {
  const parsed = parse(text);
  // Google sends the error of a stream as a list.
  const body = Array.isArray(parsed) ? parsed[0] : parsed;
  const object = isJsonObject(body) ? body : {};
  const error = isJsonObject(object["error"]) ? object["error"] : object;
  switch (cloud.name) {
    case "azure":
      return azureError(error);
    case "vertex":
      return vertexError(status, error);
    case "bedrock": {
      const type = header("x-amzn-errortype") ?? textOf(object["__type"]).split("#").at(-1) ?? "";
      // Without a name the body may already be an error of the style (the paths under `/openai/`).
      if (type === "" && isJsonObject(object["error"])) return undefined;
      const message = textOf(object["message"]) || textOf(object["Message"]);
      return bedrockError(status, type.split(":")[0] ?? "", message);
    }
  }
}
