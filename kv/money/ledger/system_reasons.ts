/**
 * The reasons that the gateway itself writes into lines of the ledger. Lines never change, and files and the API have
 * these texts, so pages read them back and say them in the reader's language.
 */
import { formatVnd, parseVnd } from "../../../core/billing/money/micro_vnd.ts";

/** Why the gateway moved money without a person. */
export type SystemReason =
  /** A video that was paid has not been made. */
  | {
    readonly kind: "video";
    readonly videoId: string;
    readonly state: "failed" | "cancelled";
    readonly amountMicroVnd: bigint;
  }
  /** An answer was not given, because its receipt was not confirmed in time. */
  | { readonly kind: "withheld" }
  /** Play money that a sandbox gave, taken back. */
  | { readonly kind: "voided" };

const withheld = "The answer was withheld: the store did not confirm it in time";
const voided = "Sandbox money voided";
const video = /^Video (\S+) (failed|cancelled): (\d+(?:\.\d+)?) VND back$/;

/** Writes a reason for the ledger. */
export function systemReasonText(reason: SystemReason): string {
  switch (reason.kind) {
    case "video":
      return `Video ${reason.videoId} ${reason.state}: ${
        formatVnd(reason.amountMicroVnd)
      } VND back`;
    case "withheld":
      return withheld;
    case "voided":
      return voided;
  }
}

/**
 * Reads the reason of a line; `undefined` if a person wrote it.
 *
 * @example
 * ```ts
 * import { readSystemReason, systemReasonText } from "./system_reasons.ts";
 * const text = systemReasonText({ kind: "video", videoId: "video_1", state: "failed", amountMicroVnd: 3_700_000_000n });
 * const read = readSystemReason(text);
 * if (read?.kind !== "video" || read.amountMicroVnd !== 3_700_000_000n) throw new Error(text);
 * if (readSystemReason("Video call with Ann") !== undefined) throw new Error("a person's words");
 * ```
 */
export function readSystemReason(text: string): SystemReason | undefined {
  if (text === withheld) return { kind: "withheld" };
  if (text === voided) return { kind: "voided" };
  const [, videoId, state, vnd = ""] = video.exec(text) ?? [];
  const amountMicroVnd = parseVnd(vnd);
  if (videoId === undefined || amountMicroVnd === undefined) return undefined;
  return {
    kind: "video",
    videoId,
    state: state === "failed" ? state : "cancelled",
    amountMicroVnd,
  };
}
