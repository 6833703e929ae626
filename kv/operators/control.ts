/**
 * Reads the state that all instances share within two seconds: the epoch of keys and the switches
 * of operators.
 *
 * It is polled and not watched: a watch misses writes of another process to a local file, and may
 * stall silently on a remote store. Without a recent successful poll the state counts as stale.
 */
import type { Clock } from "../../core/lib/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { compareAndSet } from "../store/cas.ts";
import { keysEpochKey, switchesKey } from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** Milliseconds between two polls of the control state. */
const controlPollMs = 500;

/**
 * Milliseconds for which a poll is trusted, and so the longest time until a revocation takes effect
 * everywhere.
 */
export const controlStaleMs = 2_000;

/**
 * Most characters of the reason for turning a switch, which clients see in every refusal: a
 * sentence or two.
 */
export const maxSwitchReasonChars = 500;

/** Attempts of a check-and-set on the switches: only operators compete. */
const switchesWriteAttempts = 10;

/** The switches of operators. */
export interface Switches {
  /** If set, every API call is answered with 503 and this message. */
  readonly maintenance?: { readonly message: string; readonly sinceMs: number };
  /** Routes that an operator has taken out. Streams that run on them continue to their end. */
  readonly routes: Readonly<Record<string, RouteSwitch>>;
}

/** A route that an operator has taken out, and how. */
export interface RouteSwitch {
  readonly state: "disabled" | "draining";
  readonly reason: string;
  readonly sinceMs: number;
}

const noSwitches: Switches = { routes: {} };

/**
 * Adds the change of the key epoch to an atomic write, which invalidates the caches of all
 * instances.
 */
export function bumpKeysEpoch(operation: AtomicWrite): AtomicWrite {
  return operation.set(keysEpochKey(), crypto.randomUUID());
}

/** The state that all instances share, as this instance knows it. */
export interface Control {
  /** The switches as of the last poll. */
  readonly switches: Switches;
  /**
   * Returns the epoch of keys; `undefined` if the last successful poll is too old to be trusted.
   */
  freshKeysEpoch(): string | undefined;
  /** Polls now: after a change of this instance, so that it takes effect at once. */
  refresh(): Promise<void>;
  /**
   * Waits for the running poll, or starts one, for callers that find the state stale. While the
   * store does not answer those are all callers, and they must share one poll.
   */
  catchUp(): Promise<void>;
  /**
   * Changes the switches by check-and-set, together with what `attach` adds to the same atomic
   * write, and polls.
   */
  update(
    change: (switches: Switches) => Switches,
    attach?: (operation: AtomicWrite) => void,
  ): Promise<void>;
  close(): void;
}

/** Reads the control state and polls it until {@linkcode Control.close}. */
export async function openControl(kv: KeyValueStore, clock: Clock): Promise<Control> {
  let switches = noSwitches;
  let epoch = "";
  let confirmedAtMs = -Infinity;
  // By the wall clock, too: that of durations may stand still while a platform freezes the process.
  let confirmedWallMs = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const askedAtMs = clock.monotonicMs();
    const askedWallMs = clock.nowMs();
    const [epochEntry, switchesEntry] = await kv.getMany<[string, Switches]>([
      keysEpochKey(),
      switchesKey(),
    ]);
    if (askedAtMs < confirmedAtMs) return; // a later read has already answered
    epoch = epochEntry.value ?? "first";
    switches = switchesEntry.value ?? noSwitches;
    confirmedAtMs = askedAtMs;
    confirmedWallMs = askedWallMs;
  }

  function catchUp(): Promise<void> {
    reading ??= refresh().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  function schedule(): void {
    if (closed) return;
    timer = setTimeout(async () => {
      try {
        await catchUp();
      } catch {
        // The state becomes stale, so that callers ask the store: no call is admitted on stale
        // state.
      }
      schedule();
    }, controlPollMs);
  }

  await refresh();
  schedule();

  return {
    get switches() {
      return switches;
    },
    freshKeysEpoch() {
      const isFresh = clock.monotonicMs() - confirmedAtMs <= controlStaleMs &&
        Math.abs(clock.nowMs() - confirmedWallMs) <= controlStaleMs;
      return isFresh ? epoch : undefined;
    },
    refresh,
    catchUp,
    async update(change, attach) {
      const outcome = await compareAndSet<void>(async () => {
        const entry = await kv.get<Switches>(switchesKey());
        const operation = kv.atomic().check(entry)
          .set(switchesKey(), change(entry.value ?? noSwitches));
        attach?.(operation);
        return (await operation.commit()).ok ? { done: undefined } : "again";
      }, { attempts: switchesWriteAttempts });
      if (outcome === "conflict") {
        throw new GatewayError("overloaded", "The switches are being changed by others; try again");
      }
      await refresh();
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
