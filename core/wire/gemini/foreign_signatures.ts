/**
 * Removes from a native Gemini request the signatures that the gateway wrote for models of other styles: the vendor
 * refuses signatures that it did not make. Callers search the bytes for {@linkcode wrappedPrefix} first.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { skippedSignature, wrappedPrefix } from "./thought_signatures.ts";

/**
 * Returns the contents without such signatures; `undefined` if there are none. A call gets the signature that the vendor
 * documents for calls of other models.
 *
 * @example
 * ```ts
 * import { withoutForeignSignatures } from "./foreign_signatures.ts";
 * const part = { functionCall: { name: "f", args: {} }, thoughtSignature: "dWd3MS4w" };
 * const [turn] = withoutForeignSignatures([{ role: "model", parts: [part] }]) ?? [];
 * if (!JSON.stringify(turn).includes("skip_thought_signature_validator")) throw new Error("kept");
 * ```
 */
export function withoutForeignSignatures(contents: Json | undefined): readonly Json[] | undefined {
  if (!Array.isArray(contents)) return undefined;
  const kept = contents.map(withOwnParts);
  return kept.every((content, i) => content === contents[i]) ? undefined : kept;
}

function withOwnParts(content: Json): Json {
  if (!isJsonObject(content) || !Array.isArray(content["parts"])) return content;
  const { parts } = content;
  const own = parts.flatMap((part) => {
    const kept = isJsonObject(part) ? ownPart(part) : part;
    return kept === undefined ? [] : [kept];
  });
  return own.length === parts.length && own.every((part, i) => part === parts[i])
    ? content
    : { ...content, parts: own };
}

function ownPart(part: JsonObject): JsonObject | undefined {
  const name = part["thoughtSignature"] === undefined ? "thought_signature" : "thoughtSignature";
  const { [name]: signature, ...rest } = part;
  if (typeof signature !== "string" || !signature.startsWith(wrappedPrefix)) return part;
  const isCall = rest["functionCall"] !== undefined || rest["function_call"] !== undefined;
  if (isCall) return { ...rest, thoughtSignature: skippedSignature };
  return rest["text"] === "" ? undefined : rest;
}
