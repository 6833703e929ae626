import type { JsonObject } from "../../lib/json/json.ts";
import type { ReasoningProof } from "../conversation/mod.ts";
import { clientSignature, google, signatureOf } from "./thought_signatures.ts";

/**
 * Places the proof of reasoning for a client of this style. On a call that follows directly it survives clients that
 * leave thoughts out of their history, as the vendor's own agent does. Otherwise a part without text holds it.
 */
export class PartSignatures {
  #kept: { readonly proof: ReasoningProof; readonly isThought: boolean } | undefined;

  /** Keeps a proof until the next part is known. */
  keep(proof: ReasoningProof, isThought: boolean): void {
    this.#kept = { proof, isThought };
  }

  /** Writes a call, with the proof that waits for it. */
  call(functionCall: JsonObject): JsonObject[] {
    const kept = this.#kept;
    if (kept === undefined) return [{ functionCall }];
    if (isOfText(kept.proof)) return [...this.release(), { functionCall }];
    this.#kept = undefined;
    return [{ functionCall, thoughtSignature: clientSignature(kept.proof) }];
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
