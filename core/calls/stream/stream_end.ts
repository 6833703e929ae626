/**
 * The ways in which an answer stream ends: the outcome on its receipt, and the bytes that the client gets after it.
 *
 * `core/billing/outcome.ts` has what each outcome costs.
 */
import type { StreamEndCode } from "../../billing/usage/call_failure.ts";
import type { Outcome } from "../../billing/usage/receipt.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import type { StopReason } from "../attempts/call_control.ts";
import type { StreamCut } from "./stream_bounds.ts";

/** The end of a stream: its outcome and the last bytes for the client. */
export interface StreamEnd {
  readonly outcome: Outcome;
  /** What ended it before it was whole; absent also where the client left. */
  readonly code?: StreamEndCode | undefined;
  /** Makes the last bytes. Called once, when nothing more will be read. May throw if the pipe itself has failed. */
  readonly lastBytes: () => Uint8Array;
}

/** The client closed the connection: what was produced is charged, and no last bytes are sent. */
export const clientLeft: StreamEnd = {
  outcome: "client_gone",
  lastBytes: () => new Uint8Array(0),
};

/** The provider reported its end, or its body ended. */
export function finished(pipe: StreamPipe): StreamEnd {
  const tail = pipe.end();
  const { state, sawOutput, usage, error } = pipe.reading;
  const isEmpty = !sawOutput && usage === undefined;
  const lastBytes = () => tail;
  if (state === "completed") return { outcome: isEmpty ? "empty" : "completed", lastBytes };
  // As the pipe has told the client.
  return { outcome: "broken", code: error?.code ?? "upstream_unreachable", lastBytes };
}

/** A bound was reached. */
export function cutShort(pipe: StreamPipe, { as, error, usage, code }: StreamCut): StreamEnd {
  return {
    outcome: "cut",
    code: code ?? error.code,
    lastBytes: () => (as === "length" ? pipe.stopForLength(usage) : undefined) ?? pipe.fail(error),
  };
}

/** The provider failed, the gateway stopped the call, or the client stopped reading until its time was up. */
export function brokenOff(
  pipe: StreamPipe,
  error: GatewayError,
  { stopped, hasLeft }: { readonly stopped: StopReason | undefined; readonly hasLeft: boolean },
): StreamEnd {
  const lastBytes = () => pipe.fail(error);
  if (hasLeft || stopped === "client_gone") return { outcome: "client_gone", lastBytes };
  return {
    outcome: stopped === "access_ended" ? "cut" : "broken",
    code: stopped ?? error.code,
    lastBytes,
  };
}
