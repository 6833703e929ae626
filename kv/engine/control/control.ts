/**
 * Reads the state that all instances share within two seconds: the epoch of keys, the switches of
 * operators, the epoch of the vault, and the head of the catalogue.
 *
 * It is polled and not watched: a watch misses writes of another process to a local file, and may
 * stall silently on a remote store. Without a recent successful poll the state counts as stale. While
 * no call needs it, it is hardly polled, and the next call reads it first.
 *
 * - Folder `kv/engine/control/`: the state that all instances share within two seconds: epoch of keys, switches,
 *   epoch of the vault, head of the catalogue.
 * - In: polls of four rows, and changes by callers.
 * - Out: the last state that was read, and whether it is stale.
 * - Never: watches rows: a watch misses writes of another process. It polls.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { compareAndSet } from "../store/cas.ts";
import { catalogHeadKey, keysEpochKey, switchesKey, vaultEpochKey } from "../schema/keys.ts";
import type { CatalogHead } from "./catalog_head.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** Milliseconds between two polls of the control state while calls need it. */
const controlPollMs = 500;

/**
 * Milliseconds after the last call that needed the state during which it is still polled. After that the next call
 * reads it first, which costs one round trip.
 */
const attentiveMs = 10_000;

/** Milliseconds between two polls while no call needs the state: only pages show it then. */
const idlePollMs = 30_000;

/** The same where notices of other instances start a poll: it finds what a lost notice said. */
const toldIdlePollMs = 60_000;

/** Options of {@linkcode openControl}. */
export interface OpenControlOptions {
  readonly timer?: Timer;
  /** Whether notices of other instances start a poll. */
  readonly isTold?: boolean;
  /** Takes over the stored keys of an epoch that a poll found. Until then the poll does not count. */
  readonly followVault?: (epoch: string | undefined) => Promise<void>;
  /** Puts the version of the catalogue in force that a poll found. Until then the poll does not count. */
  readonly followCatalog?: (head: CatalogHead | undefined) => Promise<void>;
}

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
export async function openControl(
  kv: KeyValueStore,
  clock: Clock,
  { timer = systemTimer, isTold = false, followVault, followCatalog }: OpenControlOptions = {},
): Promise<Control> {
  let switches = noSwitches;
  let epoch = "";
  let confirmedAtMs = -Infinity;
  // By the wall clock, too: that of durations may stand still while a platform freezes the process.
  let confirmedWallMs = -Infinity;
  let stopTimer = () => {};
  let closed = false;
  let reading: Promise<void> | undefined;
  let askedAtMs = -Infinity;
  /** Whether the state was polled at short intervals since it was needed. */
  let isAttentive = false;
  let isPollingOften = false;

  async function refresh(): Promise<void> {
    const sentAtMs = clock.monotonicMs();
    const sentWallMs = clock.nowMs();
    const [epochEntry, switchesEntry, vaultEntry, headEntry] = await kv.getMany<
      [string, Switches, string, CatalogHead]
    >([keysEpochKey(), switchesKey(), vaultEpochKey(), catalogHeadKey()]);
    // First the keys: a version that names a new one was published after it.
    await followVault?.(vaultEntry.value ?? undefined);
    await followCatalog?.(headEntry.value ?? undefined);
    if (sentAtMs < confirmedAtMs) return; // a later read has already answered
    epoch = epochEntry.value ?? "first";
    switches = switchesEntry.value ?? noSwitches;
    confirmedAtMs = sentAtMs;
    confirmedWallMs = sentWallMs;
    isAttentive = clock.monotonicMs() - askedAtMs < attentiveMs;
  }

  function isFresh(): boolean {
    // A state that was not polled for a while may hide a change of half a second ago.
    const trustedMs = isAttentive ? controlStaleMs : controlPollMs;
    return clock.monotonicMs() - confirmedAtMs <= trustedMs &&
      Math.abs(clock.nowMs() - confirmedWallMs) <= trustedMs;
  }

  function catchUp(): Promise<void> {
    reading ??= refresh().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  function schedule(): void {
    if (closed) return;
    const isNeeded = clock.monotonicMs() - askedAtMs < attentiveMs;
    if (!isNeeded) isAttentive = false;
    isPollingOften = isNeeded;
    stopTimer = timer.start(async () => {
      try {
        await catchUp();
      } catch {
        // The state becomes stale, so that callers ask the store: no call is admitted on stale
        // state.
      }
      schedule();
    }, isNeeded ? controlPollMs : isTold ? toldIdlePollMs : idlePollMs);
  }

  /** Notes that a call needs the state. */
  function needed(): void {
    askedAtMs = clock.monotonicMs();
    if (isPollingOften) return;
    stopTimer();
    schedule();
  }

  await refresh();
  schedule();

  return {
    get switches() {
      return switches;
    },
    freshKeysEpoch() {
      needed();
      return isFresh() ? epoch : undefined;
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
      stopTimer();
    },
  };
}
