/** Finds pictures in a chat request: only models with the Vision label accept them. */
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";

const imageTypes: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);

function inContent(content: Outline | undefined, path: string): string | undefined {
  if (!Array.isArray(content)) return undefined;
  for (const [i, part] of content.entries()) {
    if (!isJsonObject(part)) continue;
    if (imageTypes.has(part["type"])) return `${path}.${i}`;
    // Pictures inside tool results are one level deeper, in both styles that have them.
    const nested = part["content"] ?? part["output"];
    const found = Array.isArray(nested) ? inContent(nested, `${path}.${i}.content`) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Finds the path of the first picture; `undefined` if there is none. Reads only the types of parts, not their
 * contents.
 *
 * @example
 * ```ts
 * import { firstImagePath } from "./image_inputs.ts";
 * const content = [{ type: "text", text: "What is this?" }, { type: "image_url", image_url: { url: "https://x" } }];
 * const path = firstImagePath({ messages: [{ role: "user", content }] });
 * if (path !== "messages.0.content.1") throw new Error(path);
 * ```
 */
export function firstImagePath(body: OutlineObject): string | undefined {
  for (const field of ["messages", "input"]) {
    const list = body[field];
    if (!Array.isArray(list)) continue;
    for (const [i, item] of list.entries()) {
      if (!isJsonObject(item)) continue;
      const found = inContent(item["content"] ?? item["output"], `${field}.${i}.content`);
      if (found !== undefined) return found;
    }
  }
  return inGeminiContents(body["contents"]);
}

function inGeminiContents(contents: Outline | undefined): string | undefined {
  const list = Array.isArray(contents) ? contents : [contents];
  for (const [i, content] of list.entries()) {
    const parts = isJsonObject(content) ? content["parts"] : undefined;
    const found = Array.isArray(parts) ? inParts(parts, `contents.${i}.parts`) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function inParts(parts: readonly Outline[], path: string): string | undefined {
  for (const [i, part] of parts.entries()) {
    if (!isJsonObject(part)) continue;
    if (isImageFile(part["inlineData"]) || isImageFile(part["fileData"])) return `${path}.${i}`;
    const result = part["functionResponse"];
    const nested = isJsonObject(result) ? result["parts"] : undefined;
    const found = Array.isArray(nested)
      ? inParts(nested, `${path}.${i}.functionResponse.parts`)
      : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isImageFile(file: Outline | undefined): boolean {
  const type = isJsonObject(file) ? file["mimeType"] : undefined;
  return typeof type === "string" && /^image\//i.test(type);
}
