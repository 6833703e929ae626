/**
 * The little state that every instance must share within two seconds: the epoch of keys and the operator's switches.
 *
 * It is polled, not only watched: a watch does not see writes of another process on a local file, and may stall
 * silently on a remote store. A poll that succeeded proves what is known; without one the state counts as stale.
 */
import type { Clock } from "../../core/lib/time/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { compareAndSet } from "../store/cas.ts";
import { keysEpochKey, switchesKey } from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** Milliseconds between two readings of the control state. */
const controlPollMs = 500;

/**
 * Milliseconds for which a reading of the control state is trusted: a revocation takes effect everywhere
 * within them.
 */
export const controlStaleMs = 2_000;

/** Characters of the reason for turning a switch, which clients read in every refusal: a sentence or two. */
export const maxSwitchReasonChars = 500;

/** Attempts of a check-and-set on the operator's switches: only operators compete. */
const switchesWriteAttempts = 10;

export interface Switches {
  /** Set: every API call answers 503 with this message. */
  readonly maintenance?: { readonly message: string; readonly sinceMs: number };
  /** Routes taken out by an operator. Streams that run on them end by themselves. */
  readonly routes: Readonly<Record<string, RouteSwitch>>;
}

export interface RouteSwitch {
  readonly state: "disabled" | "draining";
  readonly reason: string;
  readonly sinceMs: number;
}

const noSwitches: Switches = { routes: {} };

/** Adds to an atomic operation what makes every auth cache forget. */
export function bumpKeysEpoch(operation: AtomicWrite): AtomicWrite {
  return operation.set(keysEpochKey(), crypto.randomUUID());
}

export interface Control {
  /** Current switches, as of the last poll. */
  readonly switches: Switches;
  /** The epoch of keys, or `undefined` if the last successful poll is too old to be trusted. */
  freshKeysEpoch(): string | undefined;
  /** Reads the store now: after own changes, so that they hold at once. */
  refresh(): Promise<void>;
  /**
   * Waits for the reading that is under way, or begins one: for whoever finds the state too old. While the store is
   * silent those are all callers, and it must not get a reading of each.
   */
  catchUp(): Promise<void>;
  /** Changes the switches by check-and-set, with whatever `attach` adds to the same atomic, and refreshes. */
  update(
    change: (switches: Switches) => Switches,
    attach?: (operation: AtomicWrite) => void,
  ): Promise<void>;
  close(): void;
}

/** Reads the control state and keeps polling it until {@linkcode Control.close}. */
export async function openControl(kv: KeyValueStore, clock: Clock): Promise<Control> {
  let switches = noSwitches;
  let epoch = "";
  let confirmedAtMs = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const askedAtMs = clock.monotonicMs();
    const [epochEntry, switchesEntry] = await kv.getMany<[string, Switches]>([
      keysEpochKey(),
      switchesKey(),
    ]);
    if (askedAtMs < confirmedAtMs) return; // a later read has already answered
    epoch = epochEntry.value ?? "first";
    switches = switchesEntry.value ?? noSwitches;
    confirmedAtMs = askedAtMs;
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
        // The state goes stale, and stale means "ask the store": nothing is admitted on old knowledge.
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
      return clock.monotonicMs() - confirmedAtMs <= controlStaleMs ? epoch : undefined;
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
