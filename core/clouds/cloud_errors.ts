/** Brings exceptions of Bedrock into the plain form of errors; the table of errors says what they mean. */
import { isJsonObject, type Json, type JsonObject } from "../lib/json/json.ts";

/**
 * Writes an exception as an error of which every style's reader knows the shape. Its name stands where clients of the
 * style do not get it.
 *
 * @param name e.g. `ThrottlingException`, perhaps with a namespace before it and an address behind it
 */
export function plainException(name: string, message: string): JsonObject {
  const status = name.split("#").at(-1)?.split(":")[0] ?? "";
  return { type: "error", error: { status, message } };
}

/**
 * Reads the body of a refusal by Bedrock; `undefined` if it is already an error of the style, as on the paths under
 * `/openai/`.
 *
 * @param header a header of the answer by lower-case name
 *
 * @example
 * ```ts
 * import { readException } from "./cloud_errors.ts";
 * const name = (header: string) => header === "x-amzn-errortype" ? "ThrottlingException:http://a" : undefined;
 * const text = JSON.stringify(readException('{"message":"Slow down"}', name));
 * if (text !== '{"type":"error","error":{"status":"ThrottlingException","message":"Slow down"}}') throw new Error(text);
 * ```
 */
export function readException(
  text: string,
  header: (name: string) => string | undefined,
): JsonObject | undefined {
  const body = parsed(text);
  const object = isJsonObject(body) ? body : {};
  const name = header("x-amzn-errortype") ?? textOf(object["__type"]);
  if (name === "" && isJsonObject(object["error"])) return undefined;
  return plainException(name, textOf(object["message"]) || textOf(object["Message"]));
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
