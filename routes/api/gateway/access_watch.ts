/** Ends running streams whose key or account lost its access meanwhile: revoked, expired, blocked or deleted. */
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import type { Control } from "../../../kv/engine/control/control.ts";
import type { KeyDirectory, Principal } from "../../../kv/people/api_keys/key_directory.ts";
import type { CallsInFlight, RunningCall } from "./calls_in_flight.ts";

/**
 * Milliseconds between two checks. Together with the poll of the keys' epoch, a stream ends well within two seconds.
 */
const lookMs = 500;
/** Keys that are read again at the same time. */
const readsAtOnce = 16;

/** What the watch needs of the gateway. */
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
