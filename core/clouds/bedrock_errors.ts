/** Errors of Bedrock: exceptions with a name, in answers and within streams. */
import { type CloudError, cloudError } from "./cloud_error.ts";

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
