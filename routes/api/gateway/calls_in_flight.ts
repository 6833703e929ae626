/** Lists the calls that run now, so that a shutdown can wait for them and finally end them. */
import { CallControl } from "../../../core/calls/attempts/call_control.ts";
import type { Deadline, Deadlines } from "../../../core/lib/time/deadlines.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";

/**
 * A running call: its control, its timeout, the signal of its client and its place in the list. Objects that live as
 * long as an answer refer to this and not to the request, whose body may be a thousand times as large.
 */
export class RunningCall extends CallControl {
  readonly deadline: Deadline;
  /** Its index in the list; {@linkcode ended} afterwards. */
  at: number;
  /** The caller of a stream; absent for calls that are not streamed. */
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

  /** Stops the call when the client leaves. Call it once. */
  watchClient(signal: AbortSignal): void {
    if (this.at === ended) return;
    this.#watched = signal;
    signal.addEventListener("abort", this.#onGone);
    if (signal.aborted) this.#onGone();
  }

  /** Stops watching: from here on the call continues if the client leaves. */
  unwatchClient(): void {
    this.#watched?.removeEventListener("abort", this.#onGone);
    this.#watched = undefined;
  }

  /** Ends the call. Safe to call twice. */
  end(): void {
    this.unwatchClient();
    this.#calls.end(this);
  }
}

/** The index of an ended call. */
const ended = -1;

/** The running calls of this process. */
export class CallsInFlight {
  readonly #deadlines: Deadlines;
  /** Unordered: the last call takes a place that becomes free. A map would allocate a new table every few calls. */
  readonly #running: RunningCall[] = [];
  #onIdle: (() => void) | undefined;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get count(): number {
    return this.#running.length;
  }

  /**
   * Begins a call. It is stopped after 15 minutes at the latest.
   *
   * @param caller of a stream, which ends if the caller loses access
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

  /** Groups the running streams by caller; one caller may have several objects. */
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

  /** Ends all running calls with an error of their style; each settles what it produced. */
  stopAll(): void {
    for (const control of [...this.#running]) control.stop("shutdown");
  }
}
