/** The calls that run right now, so that a shutdown can wait for them and at last end them. */
import { CallControl } from "../../core/call/call_control.ts";
import type { Deadline, Deadlines } from "../../core/deadlines.ts";
import { limits } from "../../core/limits.ts";

export class CallsInFlight {
  readonly #deadlines: Deadlines;
  readonly #running = new Map<CallControl, Deadline>();
  #onIdle: (() => void) | undefined;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get count(): number {
    return this.#running.size;
  }

  /** Begins a call: it is stopped after 15 minutes at the latest (spec section 8). */
  begin(): CallControl {
    const control = new CallControl();
    const deadline = this.#deadlines.create(() => control.stop("call_timeout"));
    deadline.arm(limits.callMs);
    this.#running.set(control, deadline);
    return control;
  }

  /** Ends a call. Safe to call twice. */
  end(control: CallControl): void {
    const deadline = this.#running.get(control);
    if (deadline === undefined) return;
    deadline.disarm();
    this.#running.delete(control);
    if (this.#running.size === 0) this.#onIdle?.();
  }

  /** Resolves when no call runs. */
  async idle(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => this.#onIdle = resolve);
  }

  /** Ends what still runs with an error of its style; each settles what it produced. */
  stopAll(): void {
    for (const control of [...this.#running.keys()]) control.stop("shutdown");
  }
}
