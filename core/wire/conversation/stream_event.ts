/** A streamed answer in the typed form between styles. */
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { ReportedUsage } from "../../billing/tokens/token_usage.ts";
import type { Style } from "../contract/contract.ts";
import type { Citation, Moderation, Stop } from "./answer.ts";
import type { ReasoningProof } from "./blocks.ts";
import type { HostedCall } from "./hosted.ts";

/**
 * One step of a streamed answer.
 *
 * `block` identifies a block: a number that rises in the order of first appearance. Deltas of different blocks may
 * interleave; `block_end` comes as soon as the decoder knows that nothing follows for a block.
 * Encoders of styles that allow one open block at a time go through `core/wire/stream/sequencer.ts`.
 *
 * `json` is a piece of text **as a JSON string literal, quotes included**: the hot path copies it from frame to
 * frame without decoding. Slow paths make it with `JSON.stringify`.
 */
export type StreamEvent =
  /** The answer begins. At most once, before any block. `usage`: the first counts, if known. */
  | { readonly type: "start"; readonly id?: string; readonly usage?: ReportedUsage }
  | {
    readonly type: "text";
    readonly block: number;
    readonly json: string;
    /** The entries of `logprobs` of a whole text for this piece, as the JSON text of a list that is not empty. */
    readonly logprobs?: string;
  }
  /** Refusal text. */
  | { readonly type: "refusal"; readonly block: number; readonly json: string }
  | { readonly type: "reasoning"; readonly block: number; readonly json: string }
  /** The proof of a reasoning block (which may have no text at all): at most one, the last event before its end. */
  | {
    readonly type: "reasoning_proof";
    readonly block: number;
    readonly proof: ReasoningProof;
  }
  /** A tool call begins; its id and whole name are known. */
  | {
    readonly type: "call";
    readonly block: number;
    readonly id: string;
    readonly itemId?: string;
    readonly name: string;
    /** `custom`: the argument pieces are free text, not JSON. */
    readonly custom?: true;
  }
  /** A piece of the argument text of a call. None at all means no arguments: `{}`. */
  | { readonly type: "arguments"; readonly block: number; readonly json: string }
  | { readonly type: "citation"; readonly block: number; readonly citation: Citation }
  /** A hosted tool was called and has returned: one event, sent when call and result are known. */
  | {
    readonly type: "hosted_call";
    readonly block: number;
    readonly style: Style;
    readonly id: string;
    readonly call: HostedCall;
  }
  /** A whole picture, as a data URL or an address. */
  | { readonly type: "picture"; readonly block: number; readonly url: string }
  /** A block that only the upstream's style has. */
  | {
    readonly type: "foreign";
    readonly block: number;
    readonly kind: string;
    /** It is content of the answer that no client gets, as a film is. */
    readonly isLost?: true;
  }
  | { readonly type: "block_end"; readonly block: number }
  /** Cumulative counts so far: they replace the earlier ones and are never added to them. */
  | { readonly type: "usage"; readonly usage: ReportedUsage }
  /** A usage report came but was impossible. */
  | { readonly type: "usage_rejected" }
  /** Why the model stopped. Usage may follow; if several come, the last one counts. */
  | {
    readonly type: "stop";
    readonly stop: Stop;
    readonly raw?: string;
    readonly serviceTier?: string;
    readonly moderation?: Moderation;
  }
  /** A step of a further choice, if the client asked for several; it numbers its blocks by itself. */
  | { readonly type: "choice"; readonly choice: number; readonly event: StreamEvent }
  | { readonly type: "ping" }
  /** The style's own clean end. Nothing follows. */
  | { readonly type: "end" }
  /** The upstream reported an error inside the stream. Nothing follows. */
  | { readonly type: "error"; readonly error: GatewayError };
