import { defined } from "../../../lib/base/defined.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ReasoningProof } from "../../conversation/mod.ts";
import { clientSignature, google, signatureOf, unsignedCall } from "./thought_signatures.ts";

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
