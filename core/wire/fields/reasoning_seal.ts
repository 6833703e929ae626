/**
 * Carries reasoning of other styles through a Messages client.
 *
 * A Messages client sends a thinking block back only with its `signature`, unchanged. Reasoning from another style has
 * no such signature, but a proof of its own (an encrypted item, an entry of `reasoning_details`) or none. This module
 * wraps the proof in a signature with the gateway's own prefix. A later request then shows that no Messages vendor
 * signed it, and the proof returns to its signer only.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { parseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { JsonCount } from "../../lib/errors/json_bounds.ts";
import { decodeBase64Url, encodeBase64Url, stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ReasoningProof } from "../conversation/mod.ts";

/** Values that every sealed proof of reasoning may have: one has a dozen fields. */
const sealedValues = 32;

/**
 * Characters of a proof per value allowed: one or a few fields hold most of its text, and a request can have many
 * proofs.
 */
const sealedCharsPerValue = 32;

/** The beginning of every signature that the gateway makes; base64 of vendors has no dot. */
export const sealPrefix = "ugw1.";

/**
 * The value of required encrypted fields for reasoning without a proof, and for sources and search results that the
 * Messages vendor did not find.
 */
export const unsealedMark = `${sealPrefix}0`;

/** The beginning of a text of the gateway's own where the style has encrypted content: a summary, which any model reads. */
const sealedTextPrefix = `${sealPrefix}t.`;

/** Writes a text as encrypted content, so that the client sends it back unchanged. */
export function writeSealedText(text: string): string {
  return sealedTextPrefix + encodeBase64Url(new TextEncoder().encode(text));
}

/**
 * Reads such a text; `undefined` for what the gateway did not write.
 *
 * @example
 * ```ts
 * import { readSealedText, writeSealedText } from "./reasoning_seal.ts";
 * if (readSealedText(writeSealedText("Tóm tắt")) !== "Tóm tắt") throw new Error("lost");
 * if (readSealedText("gAAAAAB") !== undefined) throw new Error("not ours");
 * ```
 */
export function readSealedText(content: Json | undefined): string | undefined {
  if (typeof content !== "string" || !content.startsWith(sealedTextPrefix)) return undefined;
  const bytes = decodeBase64Url(content.slice(sealedTextPrefix.length));
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

/** Introduces a summary to a model that takes it as plain text. */
export function toldSummary(summary: string): string {
  return `Summary of the conversation so far:\n\n${summary}`;
}

/**
 * Writes a proof as a `signature`. A signature of a Messages vendor is used unchanged.
 *
 * @example
 * ```ts
 * import { sealProof, unsealProof } from "./reasoning_seal.ts";
 * const proof = { kind: "item", signer: "responses", id: "rs_1", encryptedContent: "gAAA" } as const;
 * const back = unsealProof(sealProof(proof));
 * if (JSON.stringify(back) !== JSON.stringify(proof)) throw new Error("lost");
 * if (unsealProof("EqQBCkgIAR") !== "foreign") throw new Error("not ours");
 * ```
 */
export function sealProof(proof: ReasoningProof | undefined): string {
  return proof === undefined
    ? unsealedMark
    : sealPrefix + encodeBase64Url(new TextEncoder().encode(stringifyExactly(proof)));
}

/** Reads the proof inside a signature: `undefined` if it has none, `foreign` if the gateway did not make the signature. */
export function unsealProof(signature: string): ReasoningProof | undefined | "foreign" {
  if (!signature.startsWith(sealPrefix)) return "foreign";
  if (signature === unsealedMark) return undefined;
  const bytes = decodeBase64Url(signature.slice(sealPrefix.length));
  // Cut, changed or invented by a client: treated as reasoning without a proof.
  if (bytes === undefined) return undefined;
  const text = new TextDecoder().decode(bytes);
  try {
    new JsonCount(sealedValues + text.length / sealedCharsPerValue).addText(text);
    const value = parseExactly(text);
    return isJsonObject(value) ? readProof(value) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof GatewayError) return undefined;
    throw error;
  }
}

function readProof(value: JsonObject): ReasoningProof | undefined {
  const { kind, signer, id, encryptedContent, summary, detail, signature, data } = value;
  if (typeof signer !== "string") return undefined;
  if (kind === "signature" && typeof signature === "string") return { kind, signer, signature };
  if (kind === "redacted" && typeof data === "string") return { kind, signer, data };
  if (kind === "detail" && isJsonObject(detail)) return { kind, signer, detail };
  if (kind !== "item") return undefined;
  return {
    kind,
    signer,
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof encryptedContent === "string" ? { encryptedContent } : {}),
    ...(Array.isArray(summary) && summary.every((part) => typeof part === "string")
      ? { summary }
      : {}),
  };
}
