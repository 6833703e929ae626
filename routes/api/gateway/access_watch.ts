/** Ends running streams whose key or account lost its access meanwhile: revoked, expired, blocked or deleted. */
import type { Deadline, Deadlines, Timer } from "../../../core/lib/time/deadlines.ts";
import type { Control } from "../../../kv/engine/control/control.ts";
import type { KeyDirectory, Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { CallControl } from "../../../core/calls/attempts/attempt_loop.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";

// A worker of this process on a queue that all processes share.

/** Needs of a worker from the start of the process. */
export interface BackgroundWorker {
  /** Lets the worker look at its queue now. */
  nudge(): void;
  /** The same work as one run, for cron: it ends when nothing is due. */
  readonly sweep: {
    readonly name: string;
    readonly everyMs: number;
    readonly run: () => Promise<unknown>;
    readonly withoutTimer?: true;
  };
  stop(): Promise<void>;
}

// Lists the calls that run now, so that a shutdown can wait for them and finally end them.

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

/**
 * Milliseconds between two checks. Together with the poll of the keys' epoch, a stream ends well within two seconds.
 */
const lookMs = 500;
/** Keys that are read again at the same time. */
const readsAtOnce = 16;

/** Needs of the watch. */
export interface AccessWatchDeps {
  readonly control: Pick<Control, "freshKeysEpoch">;
  readonly directory: Pick<KeyDirectory, "isUsableNow" | "reread">;
  readonly calls: CallsInFlight;
  readonly timer: Timer;
  /** A check failed because the store did not answer. The next one repeats it. */
  readonly onFailure: (error: unknown) => void;
}

/** Checks the keys of all running streams, and ends those without access. */
export class AccessWatch {
  readonly #deps: AccessWatchDeps;
  /** The epoch of keys at the last complete check. */
  #epoch: string | undefined;
  #stopTimer: (() => void) | undefined;
  #closed = false;

  constructor(deps: AccessWatchDeps) {
    this.#deps = deps;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#stopTimer?.();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#stopTimer = this.#deps.timer.start(() => {
      this.#look().catch(this.#deps.onFailure).finally(() => this.#schedule());
    }, lookMs);
  }

  async #look(): Promise<void> {
    const { control, calls, directory } = this.#deps;
    const streams = calls.streamsByCaller();
    // Without streams nothing is asked, so that an idle gateway does not read its store.
    if (streams.size === 0) return;
    const epoch = control.freshKeysEpoch();
    if (epoch !== undefined && epoch !== this.#epoch) {
      await this.#reread(streams);
      this.#epoch = epoch;
      return;
    }
    for (const [caller, running] of streams) {
      if (!directory.isUsableNow(caller)) end(running);
    }
  }

  /** Reads the keys of all streams again after some key or account has changed. */
  async #reread(streams: ReadonlyMap<Principal, readonly RunningCall[]>): Promise<void> {
    const callers = [...streams];
    for (let at = 0; at < callers.length; at += readsAtOnce) {
      await Promise.all(
        callers.slice(at, at + readsAtOnce).map(async ([caller, running]) => {
          const now = await this.#deps.directory.reread(caller);
          if (now === undefined) end(running);
          else for (const call of running) call.caller = now;
        }),
      );
    }
  }
}

function end(running: readonly RunningCall[]): void {
  for (const call of running) call.stop("access_ended");
}
