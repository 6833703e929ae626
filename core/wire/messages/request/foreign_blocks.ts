/**
 * Removes from a native Messages request what models of other styles left in the history: the vendor refuses proofs that
 * it did not make. This gateway wrote all such parts, with {@linkcode sealPrefix} or {@linkcode hostedIdMark}; callers
 * search the bytes for these first.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { sealPrefix } from "../../fields/reasoning_seal.ts";
import { isForeignHosted } from "../answer/hosted_calls.ts";

/**
 * Returns the body without thinking that the vendor did not sign, hosted calls that it did not run, and sources that its
 * search did not find. `undefined` if there are none, so that the bytes can pass unchanged.
 */
export function withoutForeignBlocks(body: JsonObject): JsonObject | undefined {
  const messages = body["messages"];
  if (!Array.isArray(messages)) return undefined;
  let changed = false;
  const kept: Json[] = [];
  for (const message of messages) {
    const content = isJsonObject(message) ? message["content"] : undefined;
    if (!isJsonObject(message) || !Array.isArray(content)) {
      kept.push(message);
      continue;
    }
    const rest = content.filter((block) => !isForeign(block)).map(withOwnSources);
    if (rest.length === content.length && rest.every((block, i) => block === content[i])) {
      kept.push(message);
      continue;
    }
    changed = true;
    if (rest.length > 0) kept.push({ ...message, content: rest });
  }
  return changed ? { ...body, messages: kept } : undefined;
}

function isSealed(value: Json | undefined): boolean {
  return typeof value === "string" && value.startsWith(sealPrefix);
}

function isForeign(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  if (block["type"] === "thinking") return isSealed(block["signature"]);
  return block["type"] !== "tool_result" && block["type"] !== "tool_use" && isForeignHosted(block);
}

function withOwnSources(block: Json): Json {
  if (!isJsonObject(block) || block["type"] !== "text") return block;
  const { citations, ...rest } = block;
  if (!Array.isArray(citations)) return block;
  const own = citations.filter((one) => !isJsonObject(one) || !isSealed(one["encrypted_index"]));
  if (own.length === citations.length) return block;
  return own.length === 0 ? rest : { ...rest, citations: own };
}
