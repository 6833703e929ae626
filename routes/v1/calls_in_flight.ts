/** The calls that run right now, so that a shutdown can wait for them and at last end them. */
import { CallControl } from "../../core/call/call_control.ts";
import type { Deadline, Deadlines } from "../../core/deadlines.ts";
import { limits } from "../../core/limits.ts";

/** A call that runs: its control, its time-out and its place in the list. */
class RunningCall extends CallControl {
  readonly deadline: Deadline;
  at: number;

  constructor(deadlines: Deadlines, at: number) {
    super();
    this.deadline = deadlines.create(() => this.stop("call_timeout"));
    this.at = at;
  }
}

/** Ended calls keep no place. */
const ended = -1;

export class CallsInFlight {
  readonly #deadlines: Deadlines;
  /** In no order: a place that becomes free is taken by the last. A map would leave a table behind every few calls. */
  readonly #running: RunningCall[] = [];
  #onIdle: (() => void) | undefined;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get count(): number {
    return this.#running.length;
  }

  /** Begins a call: it is stopped after 15 minutes at the latest (spec section 8). */
  begin(): CallControl {
    const call = new RunningCall(this.#deadlines, this.#running.length);
    call.deadline.arm(limits.callMs);
    this.#running.push(call);
    return call;
  }

  /** Ends a call. Safe to call twice. */
  end(control: CallControl): void {
    if (!(control instanceof RunningCall) || this.#running[control.at] !== control) return;
    control.deadline.disarm();
    const last = this.#running.pop();
    if (last !== undefined && last !== control) {
      this.#running[control.at] = last;
      last.at = control.at;
    }
    control.at = ended;
    if (this.#running.length === 0) this.#onIdle?.();
  }

  /** Resolves when no call runs. */
  async idle(): Promise<void> {
    if (this.#running.length === 0) return;
    await new Promise<void>((resolve) => this.#onIdle = resolve);
  }

  /** Ends what still runs with an error of its style; each settles what it produced. */
  stopAll(): void {
    for (const control of [...this.#running]) control.stop("shutdown");
  }
}
