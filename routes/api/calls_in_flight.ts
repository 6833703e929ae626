/** The calls that run right now, so that a shutdown can wait for them and at last end them. */
import { CallControl } from "../../core/calls/call_control.ts";
import type { Deadline, Deadlines } from "../../core/lib/time/deadlines.ts";
import { maxCallMs } from "../../core/limits.ts";
import type { Principal } from "../../kv/api_keys/key_directory.ts";

/**
 * A call that runs: its control, its time-out, the watch over its client and its place in the list. What lives as long
 * as an answer holds on to this, and not to the request, whose body may be a thousand times as large.
 */
export class RunningCall extends CallControl {
  readonly deadline: Deadline;
  /** Where it stands in the list; {@linkcode ended} afterwards. */
  at: number;
  /** Whose stream it is; absent for calls that are not streamed. */
  caller: Principal | undefined;
  readonly #calls: CallsInFlight;
  #watched: AbortSignal | undefined;
  readonly #onGone = (): void => this.stop("client_gone");

  /** Internal: use {@linkcode CallsInFlight.begin}. */
  constructor(calls: CallsInFlight, deadlines: Deadlines, at: number, caller?: Principal) {
    super();
    this.caller = caller;
    this.#calls = calls;
    this.deadline = deadlines.create(() => this.stop("call_timeout"));
    this.at = at;
  }

  /** Stops the call when the client leaves; to be called once. */
  watchClient(signal: AbortSignal): void {
    if (this.at === ended) return;
    this.#watched = signal;
    signal.addEventListener("abort", this.#onGone);
    if (signal.aborted) this.#onGone();
  }

  /** From here on the client may leave without stopping the call. */
  unwatchClient(): void {
    this.#watched?.removeEventListener("abort", this.#onGone);
    this.#watched = undefined;
  }

  /** The call is over. Safe to call twice. */
  end(): void {
    this.unwatchClient();
    this.#calls.end(this);
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

  /**
   * Begins a call: it is stopped after 15 minutes at the latest.
   *
   * @param caller of a stream, which ends when the caller may not call any more
   */
  begin(caller?: Principal): RunningCall {
    const call = new RunningCall(this, this.#deadlines, this.#running.length, caller);
    call.deadline.arm(maxCallMs);
    this.#running.push(call);
    return call;
  }

  /** Internal: use {@linkcode RunningCall.end}. */
  end(call: RunningCall): void {
    if (this.#running[call.at] !== call) return;
    call.deadline.disarm();
    const last = this.#running.pop();
    if (last !== undefined && last !== call) {
      this.#running[call.at] = last;
      last.at = call.at;
    }
    call.at = ended;
    if (this.#running.length === 0) this.#onIdle?.();
  }

  /** The streams that run, by who called; of one caller there may be several objects. */
  streamsByCaller(): Map<Principal, RunningCall[]> {
    const streams = new Map<Principal, RunningCall[]>();
    for (const call of this.#running) {
      if (call.caller === undefined) continue;
      const known = streams.get(call.caller);
      if (known === undefined) streams.set(call.caller, [call]);
      else known.push(call);
    }
    return streams;
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
