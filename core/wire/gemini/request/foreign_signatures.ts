/**
 * Removes from a native Gemini request the signatures that the gateway wrote for models of other styles: the vendor
 * refuses signatures that it did not make. Callers search the bytes for {@linkcode wrappedPrefix} and
 * {@linkcode unsignedCall} first.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { skippedSignature, unsignedCall, wrappedPrefix } from "../answer/thought_signatures.ts";

/**
 * Returns the contents without such signatures; `undefined` if there are none. A call gets the signature that the vendor
 * documents for calls of other models, or none for models that check none.
 *
 * @param checksSignatures whether the model refuses calls without a signature
 *
 * @example
 * ```ts
 * import { withoutForeignSignatures } from "./foreign_signatures.ts";
 * const part = { functionCall: { name: "f", args: {} }, thoughtSignature: "dWd3MS4w" };
 * const [turn] = withoutForeignSignatures([{ role: "model", parts: [part] }], true) ?? [];
 * if (!JSON.stringify(turn).includes("skip_thought_signature_validator")) throw new Error("kept");
 * ```
 */
export function withoutForeignSignatures(
  contents: Json | undefined,
  checksSignatures: boolean,
): readonly Json[] | undefined {
  if (!Array.isArray(contents)) return undefined;
  const kept = contents.map((content) => withOwnParts(content, checksSignatures));
  return kept.every((content, i) => content === contents[i]) ? undefined : kept;
}

function withOwnParts(content: Json, checksSignatures: boolean): Json {
  if (!isJsonObject(content) || !Array.isArray(content["parts"])) return content;
  const { parts } = content;
  const own = parts.flatMap((part) => {
    const kept = isJsonObject(part) ? ownPart(part, checksSignatures) : part;
    return kept === undefined ? [] : [kept];
  });
  return own.length === parts.length && own.every((part, i) => part === parts[i])
    ? content
    : { ...content, parts: own };
}

function ownPart(part: JsonObject, checksSignatures: boolean): JsonObject | undefined {
  const name = part["thoughtSignature"] === undefined ? "thought_signature" : "thoughtSignature";
  const { [name]: signature, ...rest } = part;
  if (typeof signature !== "string") return part;
  if (signature !== unsignedCall && !signature.startsWith(wrappedPrefix)) return part;
  const isCall = rest["functionCall"] !== undefined || rest["function_call"] !== undefined;
  if (isCall) return checksSignatures ? { ...rest, thoughtSignature: skippedSignature } : rest;
  return rest["text"] === "" ? undefined : rest;
}
