/** Stops a call from outside: the client left, its 15 minutes are over, its key was revoked, the process ends. */
import { GatewayError } from "../../lib/errors/errors.ts";

/** Why a call must end now, whatever it is doing. */
export type StopReason = "client_gone" | "call_timeout" | "shutdown" | "access_ended";

/** Stops a call from outside, such as when its client leaves or its key is revoked. */
export class CallControl {
  #stopped: StopReason | undefined;
  /** Most calls have one attempt, and a set would be a large part of what they allocate for it. */
  #onStop: (() => void) | undefined;
  #moreOnStop: Set<() => void> | undefined;

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  /**
   * Registers `cancel` to be called when the call is stopped; calls it at once if it already was. Bounded by the
   * attempts that run for one call.
   */
  attach(cancel: () => void): void {
    if (this.#stopped !== undefined) cancel();
    else if (this.#onStop === undefined) this.#onStop = cancel;
    else (this.#moreOnStop ??= new Set()).add(cancel);
  }

  detach(cancel: () => void): void {
    if (this.#onStop === cancel) this.#onStop = undefined;
    else this.#moreOnStop?.delete(cancel);
  }

  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    const first = this.#onStop;
    this.#onStop = undefined;
    first?.();
    for (const cancel of this.#moreOnStop ?? []) cancel();
    this.#moreOnStop = undefined;
  }
}

/** The client's error for a call that was stopped. */
export function stopError(reason: StopReason): GatewayError {
  switch (reason) {
    case "client_gone":
      return new GatewayError("request_timeout", "The client closed the connection");
    case "call_timeout":
      return new GatewayError("upstream_timeout", "The call took longer than 15 minutes");
    case "access_ended":
      return new GatewayError(
        "invalid_api_key",
        "The API key was revoked or has expired, or its account was blocked: the answer ends here",
      );
    case "shutdown":
      return new GatewayError("maintenance", "The gateway is restarting; try again");
  }
}
