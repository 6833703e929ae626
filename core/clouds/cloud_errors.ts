/** Refusals of clouds, read into statuses and bodies that the gateway understands of every provider. */
import type { Cloud } from "../catalog/entries/cloud_schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { bedrockError } from "./bedrock_errors.ts";
import { type CloudError, cloudError } from "./cloud_error.ts";

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
