/**
 * Carries thought signatures, which the vendor puts on the part that they belong to.
 *
 * The signature of a call has the form that Chat servers of the same vendor give it (`extra_content`), so that it may
 * return by either style. The signature of a text or a thought is kept apart from it: clients of other styles move all
 * reasoning to the beginning of a turn, and a text's signature must not end up on a call.
 *
 * See docs/internals/WIRE_FORMATS.md#thought-signatures.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ReasoningBlock, ReasoningProof } from "../../conversation/mod.ts";
import { encodeBase64 } from "../../../lib/runtime/built_ins.ts";
import { decodeBase64Text } from "../../content/citations.ts";
import { sealPrefix, sealProof, unsealProof } from "../../fields/reasoning_seal.ts";
import { defined } from "../../../lib/base/defined.ts";

/** The signer of thought signatures. */
export const google = "google";

/**
 * The signature for calls that another model made, or whose signature the client lost. The vendor documents it for this
 * use: newer models refuse a call of the running turn without any.
 */
export const skippedSignature = "skip_thought_signature_validator";

/**
 * The signature for calls of other models in answers: the same bytes in the standard alphabet of base64. Libraries of
 * several languages read signatures with it, and fail at the underscores of the documented form.
 */
export const unsignedCall = skippedSignature.replaceAll("_", "/");

/** The proof of a call by its part's `thoughtSignature`; `undefined` without one. */
export function readCallSignature(
  signature: Json | undefined,
  signer: string,
): ReasoningProof | undefined {
  const known = readSignature(signature, signer);
  if (known?.kind !== "signature" || known.signer !== signer) return known;
  return {
    kind: "detail",
    signer,
    detail: { extra_content: { google: { thought_signature: known.signature } } },
  };
}

/** The proof of a text or a thought by its part's `thoughtSignature`: the vendor's own, or one that the gateway sealed. */
export function readSignature(
  signature: Json | undefined,
  signer: string,
): ReasoningProof | undefined {
  if (typeof signature !== "string" || signature === "") return undefined;
  if (signature === skippedSignature || signature === unsignedCall) return undefined;
  const sealed = unsealProof(unwrapped(signature));
  return sealed === "foreign" ? { kind: "signature", signer, signature } : sealed;
}

/**
 * Whether a proof without text belongs to the thought before it. The vendor's own is of the part that it came with; a
 * proof that the gateway sealed is of a thought, whichever part holds it.
 */
export function provesThought({ text, proof }: ReasoningBlock): boolean {
  return text === "" && proof !== undefined && proof.signer !== google;
}

/** Returns the signature inside a proof if `signer` made it; `call`: for a part with a call. */
export function signatureOf(
  proof: ReasoningProof | undefined,
  signer: string,
  call: boolean,
): string | undefined {
  if (proof === undefined || proof.signer !== signer) return undefined;
  if (!call) return proof.kind === "signature" ? proof.signature : undefined;
  if (proof.kind !== "detail") return undefined;
  const { extra_content } = proof.detail;
  const holder = isJsonObject(extra_content) ? extra_content.google : undefined;
  const signature = isJsonObject(holder) ? holder.thought_signature : undefined;
  return typeof signature === "string" ? signature : undefined;
}

/**
 * Writes the `thoughtSignature` for a client of this style: the vendor's own unchanged, any other sealed. The member
 * holds bytes, which some libraries decode and encode again, so the seal is written as base64.
 */
function clientSignature(proof: ReasoningProof): string {
  return signatureOf(proof, google, true) ?? signatureOf(proof, google, false) ??
    encodeBase64(new TextEncoder().encode(sealProof(proof)));
}

/** The beginning of every seal in base64, whatever follows it. */
export const wrappedPrefix = "dWd3MS";

/** Returns the seal inside a signature of the gateway; any other signature stays. */
function unwrapped(signature: string): string {
  if (!signature.startsWith(wrappedPrefix)) return signature;
  const seal = decodeBase64Text(signature);
  return seal?.startsWith(sealPrefix) === true ? seal : signature;
}

/**
 * Places the proof of reasoning for a client of this style. On a call that follows directly it survives clients that
 * leave thoughts out of their history, as the vendor's own agent does. Otherwise a part without text holds it.
 */
export class PartSignatures {
  #kept: { readonly proof: ReasoningProof; readonly isThought: boolean } | undefined;
  #isFirstCall = true;

  /** Keeps a proof until the next part is known. */
  keep(proof: ReasoningProof, isThought: boolean): void {
    this.#kept = { proof, isThought };
  }

  /**
   * Writes a call, with the proof that waits for it. The first call of an answer has a signature in any case: newer models
   * of the vendor refuse the history without one, should the conversation go on there.
   */
  call(functionCall: JsonObject): JsonObject[] {
    const kept = this.#kept;
    const before = kept !== undefined && isOfText(kept.proof) ? this.release() : [];
    const proof = this.#kept?.proof;
    this.#kept = undefined;
    const signature = proof !== undefined
      ? clientSignature(proof)
      : this.#isFirstCall
      ? unsignedCall
      : undefined;
    this.#isFirstCall = false;
    return [...before, { functionCall, ...defined({ thoughtSignature: signature }) }];
  }

  /** Writes a proof that no call follows. */
  release(): JsonObject[] {
    const kept = this.#kept;
    if (kept === undefined) return [];
    this.#kept = undefined;
    const { proof, isThought } = kept;
    const thought = isThought || !isOfText(proof) ? { thought: true } : {};
    return [{ text: "", ...thought, thoughtSignature: clientSignature(proof) }];
  }
}

/** Whether the vendor put the signature on a text or a thought. */
function isOfText(proof: ReasoningProof): boolean {
  return signatureOf(proof, google, false) !== undefined;
}
