/**
 * Carries foreign reasoning through a Messages client.
 *
 * A Messages client gives a thinking block back only with its `signature`, untouched. Reasoning that came from
 * another style has no such signature, but a proof of its own (an encrypted item, an entry of `reasoning_details`) or
 * none. The proof is sealed into a signature with our own prefix, so that a later request can be told apart from one
 * signed by a Messages vendor, and the proof goes back to who made it and to nobody else.
 */
import { GatewayError } from "../errors.ts";
import { parseExactly } from "../lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../lib/json/json.ts";
import { JsonCount } from "../lib/json/json_bounds.ts";
import { decodeBase64Url, encodeBase64Url, stringifyExactly } from "../lib/runtime/mod.ts";
import type { ReasoningProof } from "./conversation/mod.ts";

/** Values that every sealed proof of reasoning may have: one has a dozen fields. */
const sealedValues = 32;

/**
 * Characters of a proof that allow one more value: one or a few fields hold the text, and a request can carry
 * many proofs.
 */
const sealedCharsPerValue = 32;

/** Every signature of ours begins with this; no vendor's base64 holds a dot. */
export const sealPrefix = "ugw1.";

/**
 * Marks reasoning that has no proof at all, and sources and search results that the Messages vendor did not find: where
 * the style asks for its encrypted words.
 */
export const unsealedMark = `${sealPrefix}0`;

/**
 * Writes a proof as a `signature`. A signature proof of a Messages vendor is not sealed but used as it is.
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

/** The proof inside a signature: `undefined` when it had none, `foreign` when the signature is not ours. */
export function unsealProof(signature: string): ReasoningProof | undefined | "foreign" {
  if (!signature.startsWith(sealPrefix)) return "foreign";
  if (signature === unsealedMark) return undefined;
  const bytes = decodeBase64Url(signature.slice(sealPrefix.length));
  // Cut or changed by a client, or made up: worth no more than reasoning without a proof.
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
