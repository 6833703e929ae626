/** Reads what the parts of a model's content have in common in whole answers and in requests. */
import { idText, isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import type { ReasoningBlock, ToolCallBlock } from "../../conversation/mod.ts";
import { readCallSignature, readSignature } from "./thought_signatures.ts";

/** A block that a part of the model becomes. */
export type ModelBlock =
  | { readonly type: "text"; readonly path: string; readonly text: string }
  | ReasoningBlock
  | ToolCallBlock;

/** Members of a part that has a signature and nothing that it signs. */
const besidesSignature: ReadonlySet<string> = new Set([
  "thoughtSignature",
  "thought",
  "partMetadata",
]);

/**
 * Reads a part with text, a thought or a function call. The signature of a text follows it as reasoning without text,
 * that of a call comes before it. `undefined`: the part is of another kind.
 */
export function readModelPart(
  part: JsonObject,
  path: string,
  signer: string,
): ModelBlock[] | undefined {
  const { functionCall: call, text, thought, thoughtSignature } = part;
  if (isJsonObject(call)) {
    const proof = readCallSignature(thoughtSignature, signer);
    const signed: ModelBlock[] = proof === undefined
      ? []
      : [{ type: "reasoning", path, text: "", proof }];
    const { name, args } = call;
    // No tool can answer a call without a name.
    if (typeof name !== "string" || name === "") return [];
    return [...signed, {
      type: "tool_call",
      path,
      id: idText(call.id) ?? "",
      name,
      input: { kind: "object", value: isJsonObject(args) ? args : {} },
    }];
  }
  // A picture, code and what else a part may hold is read elsewhere; its signature has no meaning without it.
  const isSignature = thoughtSignature !== undefined &&
    Object.keys(part).every((name) => besidesSignature.has(name));
  if (typeof text !== "string" && !isSignature) return undefined;
  const said = typeof text === "string" ? text : "";
  const proof = readSignature(thoughtSignature, signer);
  if (thought === true) {
    if (said === "" && proof === undefined) return [];
    return [{ type: "reasoning", path, text: said, ...(proof === undefined ? {} : { proof }) }];
  }
  return [
    ...(said === "" ? [] : [{ type: "text" as const, path, text: said }]),
    ...(proof === undefined ? [] : [{ type: "reasoning" as const, path, text: "", proof }]),
  ];
}
