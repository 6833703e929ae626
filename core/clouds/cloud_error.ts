/** A refusal of a cloud, in statuses and bodies that the gateway understands of every provider. */
import type { JsonObject } from "../lib/json/json.ts";

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
export function cloudError(kind: CloudError["kind"], message: string): CloudError {
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
