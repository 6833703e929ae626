/**
 * Reads and writes reasoning items: their text, and the proof for their signer.
 *
 * An item of a Responses vendor has `encrypted_content`, which only that organisation can read. An item that this
 * gateway writes for reasoning of another style has a sealed proof in the same field, so that the proof returns to its
 * signer and the item can be recognized before a native call.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ReasoningBlock, ReasoningProof } from "../../conversation/mod.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { sealPrefix, unsealProof } from "../../fields/reasoning_seal.ts";
import { hashHex } from "../../../lib/hash/short_hash.ts";
import { isForeignHostedItem } from "./hosted_items.ts";

/** The separator between the parts of a summary in one text. */
export const summaryBreak = "\n\n";

/** Text and proof of a reasoning item, as members of a block. */
export interface ItemReading {
  readonly text: string;
  readonly proof?: ReasoningProof;
}

/**
 * Reads an item. `signer` is the signer of items without a seal.
 *
 * @example
 * ```ts
 * import { readItemProof } from "./reasoning_item.ts";
 * const { text, proof } = readItemProof({
 *   type: "reasoning",
 *   id: "rs_1",
 *   summary: [{ type: "summary_text", text: "Hm." }],
 *   encrypted_content: "gAAA",
 * }, "responses");
 * if (text !== "Hm." || proof?.kind !== "item" || proof.id !== "rs_1") throw new Error("not read");
 * ```
 */
export function readItemProof(item: JsonObject, signer: string): ItemReading {
  const summary = texts(item["summary"]);
  const text = (summary.length > 0 ? summary : texts(item["content"])).join(summaryBreak);
  const encrypted = item["encrypted_content"];
  if (typeof encrypted !== "string" || encrypted === "") return { text };
  const sealed = unsealProof(encrypted);
  if (sealed === undefined) return { text };
  if (sealed !== "foreign") return { text, proof: sealed };
  const id = item["id"];
  return {
    text,
    proof: {
      kind: "item",
      signer,
      ...(typeof id === "string" ? { id } : {}),
      encryptedContent: encrypted,
      ...(summary.length > 1 ? { summary } : {}),
    },
  };
}

function texts(parts: Json | undefined): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part) =>
    isJsonObject(part) && typeof part["text"] === "string" ? [part["text"]] : []
  );
}

/** Writes the item for the upstream that signed the reasoning; `undefined` for any other, which cannot read it. */
export function replayItem(
  block: ReasoningBlock,
  capabilities: ResolvedCapabilities,
): JsonObject | undefined {
  const { proof, text } = block;
  if (proof?.kind !== "item" || proof.signer !== capabilities.reasoning_signer) return undefined;
  const { id, encryptedContent, summary } = proof;
  if (encryptedContent === undefined) return undefined;
  return {
    type: "reasoning",
    // The vendor requires its own id. If the client lost it, the item gets a stable one.
    id: id ?? `rs_${hashHex(encryptedContent)}`,
    summary: summaryParts(summary ?? (text === "" ? [] : [text])),
    encrypted_content: encryptedContent,
  };
}

/** Writes the parts of a reasoning summary. */
export function summaryParts(summary: readonly string[]): JsonObject[] {
  return summary.map((text) => ({ type: "summary_text", text }));
}

/**
 * Removes from a native Responses call what its vendor never made: reasoning with a seal of the
 * gateway, and calls of hosted tools that another provider ran.
 */
export function withoutSealedReasoning(body: JsonObject): JsonObject | undefined {
  const input = body["input"];
  if (!Array.isArray(input) || !input.some(isSealed)) return undefined;
  return { ...body, input: input.filter((item) => !isSealed(item)) };
}

function isSealed(item: Json): boolean {
  if (isForeignHostedItem(item)) return true;
  if (!isJsonObject(item) || item["type"] !== "reasoning") return false;
  const encrypted = item["encrypted_content"];
  return typeof encrypted === "string" && encrypted.startsWith(sealPrefix);
}
