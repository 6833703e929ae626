/**
 * Reads and writes reasoning in the forms of Chat servers: `reasoning_content` or `reasoning` (text),
 * `reasoning_details` (a list with proofs), and Google's thought signature in the `extra_content` of a tool call.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type {
  Block,
  ReasoningBlock,
  ReasoningProof,
  ToolCallBlock,
} from "../../conversation/mod.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { sealPrefix, sealProof, unsealProof } from "../../fields/reasoning_seal.ts";

/** The `format` of details that the Messages vendor signed. */
const messagesFormat = "anthropic-claude-v1";
/** The `format` of details with a proof that the gateway sealed. */
const ownFormat = "gateway-v1";
/**
 * The `id` of details that the gateway wrote for a client, so that they can be recognized on their way to a provider of
 * the same style. In streams it comes once for each detail: some clients join the texts of all pieces.
 */
export const ownDetailId = sealPrefix.slice(0, -1);
/** The signer of thought signatures. */
const google = "google";

/**
 * Writes earlier reasoning in the form that a route wants back; `undefined` if it wants none. Text may go to any route,
 * a proof only to its signer.
 */
export function replayReasoning(
  blocks: readonly ReasoningBlock[],
  hasCalls: boolean,
  capabilities: ResolvedCapabilities,
): { readonly field: string; readonly value: Json } | undefined {
  switch (capabilities.reasoning_replay) {
    case "none":
    case "extra_content":
      return undefined;
    case "reasoning":
    case "reasoning_content": {
      // These servers refuse a turn with tool calls without the field; it may be empty.
      if (blocks.length === 0 && !hasCalls) return undefined;
      return {
        field: capabilities.reasoning_replay,
        value: blocks.map((block) => block.text).filter((text) => text !== "").join("\n\n"),
      };
    }
    case "details": {
      const details = blocks.flatMap((block) => writeDetail(block, capabilities.reasoning_signer));
      return details.length === 0 ? undefined : { field: "reasoning_details", value: details };
    }
  }
}

function writeDetail(block: ReasoningBlock, signer: string): JsonObject[] {
  const { proof, text } = block;
  if (proof === undefined) return text === "" ? [] : [{ type: "reasoning.text", text }];
  if (proof.kind === "signature" || proof.kind === "redacted") return messagesDetail(text, proof);
  if (proof.kind !== "detail" || proof.signer !== signer) return [];
  // A streamed detail came in pieces: its proof has the last one, the block the whole text.
  return [proof.detail.type === "reasoning.text" ? { ...proof.detail, text } : proof.detail];
}

/** Writes a proof of the Messages vendor as a detail. */
function messagesDetail(
  text: string,
  proof: ReasoningProof & { readonly kind: "signature" | "redacted" },
): JsonObject[] {
  if (proof.signer !== "messages") return [];
  return proof.kind === "signature"
    ? [{ type: "reasoning.text", text, signature: proof.signature, format: messagesFormat }]
    : [{ type: "reasoning.encrypted", data: proof.data, format: messagesFormat }];
}

/**
 * Finds the thought signatures of a turn, by call. Each belongs to the next call in order. Ids cannot be used: they
 * change on their way through clients and other styles.
 */
export function thoughtSignatures(
  blocks: readonly Block[],
  capabilities: ResolvedCapabilities,
): ReadonlyMap<ToolCallBlock, Json> {
  const found = new Map<ToolCallBlock, Json>();
  if (capabilities.reasoning_replay !== "extra_content") return found;
  // More than one waits only if a client moved all reasoning to the beginning of its turn.
  const waiting: Json[] = [];
  for (const block of blocks) {
    if (block.type === "reasoning") waiting.push(...thoughtSignature(block));
    if (block.type !== "tool_call") continue;
    const next = waiting.shift();
    if (next !== undefined) found.set(block, next);
  }
  return found;
}

function thoughtSignature({ proof }: ReasoningBlock): Json[] {
  if (proof?.kind !== "detail" || proof.signer !== google) return [];
  const { extra_content } = proof.detail;
  return extra_content === undefined ? [] : [extra_content];
}

/** Reads the thought signature of a tool call as a reasoning block before it. */
export function readThoughtSignature(call: JsonObject): ReasoningProof | undefined {
  const { extra_content } = call;
  if (!isJsonObject(extra_content) || !isJsonObject(extra_content.google)) return undefined;
  return { kind: "detail", signer: google, detail: { extra_content } };
}

/** One entry of `reasoning_details`: its text, and its proof if it has one. */
export interface DetailReading {
  readonly text: string;
  readonly proof?: ReasoningProof;
}

/** Reads an entry of `reasoning_details`. `signer` is the signer of proofs without a known `format`. */
export function readDetail(detail: Json, signer: string): DetailReading | undefined {
  if (!isJsonObject(detail)) return undefined;
  const { type, text, summary, signature, data, format } = detail;
  if (type === "reasoning.text") {
    const words = typeof text === "string" ? text : "";
    if (typeof signature !== "string" || signature === "") return { text: words };
    const sealed = unsealProof(signature);
    if (sealed !== "foreign") {
      return sealed === undefined ? { text: words } : { text: words, proof: sealed };
    }
    if (format === messagesFormat) {
      return { text: words, proof: { kind: "signature", signer: "messages", signature } };
    }
    return { text: words, proof: { kind: "detail", signer, detail } };
  }
  if (type === "reasoning.summary") {
    return { text: typeof summary === "string" ? summary : "" };
  }
  if (type !== "reasoning.encrypted" || typeof data !== "string") return undefined;
  if (format === messagesFormat) {
    return { text: "", proof: { kind: "redacted", signer: "messages", data } };
  }
  return { text: "", proof: { kind: "detail", signer, detail } };
}

/**
 * Writes reasoning of any upstream as an entry of `reasoning_details`, which Chat clients send back. Proofs of the
 * Messages vendor have a form that clients know; all others are sealed into a signature of the gateway.
 */
export function detailFor(
  text: string,
  proof: ReasoningProof | undefined,
  index: number,
): JsonObject {
  const id = ownDetailId;
  if (proof === undefined) return { type: "reasoning.text", id, text, index };
  const known = proof.kind === "signature" || proof.kind === "redacted"
    ? messagesDetail(text, proof)[0]
    : undefined;
  if (known !== undefined) return { ...known, id, index };
  const signature = sealProof(proof);
  return { type: "reasoning.text", id, text, signature, format: ownFormat, index };
}
