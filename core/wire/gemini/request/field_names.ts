/**
 * Brings the fields of a request into one form: the vendor accepts `generationConfig` and `generation_config` alike, and
 * its own examples use both. It also accepts a single value in place of a list, which some libraries always send.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";
import { invalid } from "../../fields/fields.ts";
import { skippedSignature, unsignedCall, wrappedPrefix } from "../answer/thought_signatures.ts";

// Removes from a native Gemini request the signatures that the gateway wrote for models of other styles: the vendor
// refuses signatures that it did not make. Callers search the bytes for {@linkcode wrappedPrefix} and
// {@linkcode unsignedCall} first.

/**
 * Returns the contents without such signatures; `undefined` if there are none. A call gets the signature that the vendor
 * documents for calls of other models, or none for models that check none.
 *
 * @param checksSignatures whether the model refuses calls without a signature
 *
 * @example
 * ```ts
 * import { withoutForeignSignatures } from "./field_names.ts";
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

/** Members whose value is the client's own JSON: names inside it are not fields. */
const free: ReadonlySet<string> = new Set([
  "args",
  "response",
  "parametersJsonSchema",
  "responseJsonSchema",
  "labels",
  "partMetadata",
  "default",
  "example",
  "enum",
]);

/** Names of several words, as the vendor's reference writes them. */
const referenceNames = [
  "systemInstruction",
  "toolConfig",
  "generationConfig",
  "safetySettings",
  "cachedContent",
  "serviceTier",
  "inlineData",
  "fileData",
  "mimeType",
  "displayName",
  "fileUri",
  "thoughtSignature",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
  "toolType",
  "videoMetadata",
  "mediaResolution",
  "partMetadata",
  "willContinue",
  "functionDeclarations",
  "parametersJsonSchema",
  "responseJsonSchema",
  "googleSearch",
  "googleSearchRetrieval",
  "urlContext",
  "codeExecution",
  "googleMaps",
  "computerUse",
  "fileSearch",
  "enterpriseWebSearch",
  "mcpServers",
  "functionCallingConfig",
  "allowedFunctionNames",
  "streamFunctionCallArguments",
  "retrievalConfig",
  "includeServerSideToolInvocations",
  "topP",
  "topK",
  "maxOutputTokens",
  "stopSequences",
  "candidateCount",
  "responseMimeType",
  "responseSchema",
  "presencePenalty",
  "frequencyPenalty",
  "responseLogprobs",
  "responseModalities",
  "thinkingConfig",
  "includeThoughts",
  "thinkingBudget",
  "thinkingLevel",
  "speechConfig",
  "imageConfig",
  "enableEnhancedCivicAnswers",
  "anyOf",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
  "propertyOrdering",
  "generateContentRequest",
] as const;

/** Fields that hold a list. `contents` is not among them: its decoder knows more forms of it. */
const lists: ReadonlySet<string> = new Set([
  "parts",
  "tools",
  "functionDeclarations",
  "allowedFunctionNames",
  "stopSequences",
  "responseModalities",
  "safetySettings",
  "required",
  "anyOf",
]);

const byOtherForm: ReadonlyMap<string, string> = new Map(
  referenceNames.map((
    name,
  ) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
);

/**
 * Returns the request with all known field names as the vendor's reference writes them, and lists where it has lists; the
 * request itself if it has no others.
 *
 * @throws {GatewayError} `invalid_request` if a field is there in both forms
 *
 * @example
 * ```ts
 * import { withReferenceNames } from "./field_names.ts";
 * const named = withReferenceNames({ generation_config: { top_k: 4 }, tools: { google_search: {} } });
 * if (JSON.stringify(named) !== '{"generationConfig":{"topK":4},"tools":[{"googleSearch":{}}]}') {
 *   throw new Error(JSON.stringify(named));
 * }
 * ```
 */
export function withReferenceNames(body: JsonObject): JsonObject {
  return object(body, "", 0, false);
}

function object(from: JsonObject, path: string, depth: number, areNames: boolean): JsonObject {
  const entries = Object.entries(from);
  let changed = false;
  const out = new Map<string, Json>();
  for (const [given, value] of entries) {
    if (value === undefined) continue;
    const name = areNames ? given : byOtherForm.get(given) ?? given;
    if (out.has(name)) invalid(path + name, `is there twice, also as ${given}`);
    const inside = free.has(name) && !areNames ? value : inList(
      name,
      areNames,
      named(value, `${path}${name}.`, depth + 1, name === "properties" && !areNames),
    );
    changed ||= name !== given || inside !== value;
    out.set(name, inside);
  }
  return changed ? Object.fromEntries(out) : from;
}

/** Puts a single value of a field of {@linkcode lists} into a list. `null` counts as absent. */
function inList(name: string, isOwnName: boolean, value: Json): Json {
  const isSingle = !isOwnName && lists.has(name) && value !== null && !Array.isArray(value);
  return isSingle ? [value] : value;
}

function named(value: Json, path: string, depth: number, areNames: boolean): Json {
  if (depth > maxJsonDepth) return value;
  if (Array.isArray(value)) {
    const items = value.map((item, i) => named(item, `${path}${i}.`, depth + 1, false));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  return isJsonObject(value) ? object(value, path, depth, areNames) : value;
}
