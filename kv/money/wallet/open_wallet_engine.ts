/** Opens the wallet engine with its bounds and its defaults. */
import type { Clock } from "../../../core/lib/time/clock.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import { type DebtRules, noDebt } from "./lease/transfer_plan.ts";
import { farStoreMs, type LaneRules, maxSettlementLanes } from "./settle/pipeline.ts";
import { LiveWalletEngine } from "./wallet_engine.ts";
import type { WalletEngine } from "./lease/types.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Milliseconds without a write after which an instance counts as dead and its leases are returned. */
export const instanceTtlMs = 60_000;

/**
 * Receipts that may wait for the index. Beyond it no new call is admitted, which bounds memory (about 20 MB).
 */
const maxUnindexedReceipts = 200_000;

/** Options of {@linkcode openWalletEngine}. */
interface OpenWalletEngineOptions {
  readonly clock: Clock;
  /** Drives heartbeat and index. With a timer that never fires, the caller has to run them. */
  readonly timer?: Timer;
  readonly random?: () => number;
  readonly ttlMs?: number;
  /** The address at which other instances reach this process, if it has one. */
  readonly peerAddress?: string | undefined;
  /** Receipts that may wait for the index before calls are refused. */
  readonly maxUnindexed?: number;
  readonly reservationWaitMs?: number;
  /** Milliseconds that a call waits to begin while the store is away; by default it is refused at once. */
  readonly storeWaitMs?: number;
  /** Bounds of what accounts may owe; nothing by default. */
  readonly debt?: DebtRules;
  /** Whether other instances may have the store open; assumed by default. */
  readonly isShared?: boolean;
  /** Rules for committing settlements side by side; by default if the store is far. */
  readonly lanes?: Partial<LaneRules>;
}

/**
 * Milliseconds that a call waits for money that other calls have reserved. Long enough for short
 * answers to end, and far below the time-outs of clients.
 */
const defaultReservationWaitMs = 15_000;

/**
 * Registers this process as an instance and starts its wallet engine. Close it at the end; the
 * reaper clears up after a process that dies without.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../../core/lib/time/clock.ts";
 * import { newId } from "../../../core/lib/ids/ids.ts";
 * import { openWalletEngine } from "./open_wallet_engine.ts";
 * using kv = await Deno.openKv(":memory:");
 * const wallet = await openWalletEngine(kv, { clock: systemClock });
 * const result = await wallet.reserve(newId("account", Date.now()), 1n);
 * if (result.ok || result.reason !== "insufficient") throw new Error("an empty wallet paid");
 * await wallet.close();
 * ```
 */
export async function openWalletEngine(
  kv: KeyValueStore,
  options: OpenWalletEngineOptions,
): Promise<WalletEngine> {
  const isShared = options.isShared ?? true;
  return await LiveWalletEngine.open(kv, {
    clock: options.clock,
    timer: options.timer ?? systemTimer,
    random: options.random ?? Math.random,
    ttlMs: options.ttlMs ?? instanceTtlMs,
    peerAddress: options.peerAddress,
    maxUnindexed: options.maxUnindexed ?? maxUnindexedReceipts,
    reservationWaitMs: options.reservationWaitMs ?? defaultReservationWaitMs,
    storeWaitMs: options.storeWaitMs ?? 0,
    debt: options.debt ?? noDebt,
    isShared,
    lanes: { maxLanes: isShared ? maxSettlementLanes : 0, farStoreMs, ...options.lanes },
  });
}
