/**
 * Implements the wallet engine: admits calls against leases in memory and passes finished calls to
 * the pipeline.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import type { AccountId, InstanceId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { rangeOf, type ReservationAmount } from "../../../core/billing/reservation_range.ts";
import { retireInstance } from "./reaper.ts";
import { readBalance } from "./balance.ts";
import { Charging } from "./charging.ts";
import type { DebtRules } from "./lease/debt.ts";
import {
  CommitNumbers,
  InstanceLease,
  type InstanceLeaseDeps,
  StoppedError,
} from "./lease/instance_lease.ts";
import { ReservationQueue } from "./lease/reservation_queue.ts";
import { Housekeeping } from "./housekeeping.ts";
import { Backoff } from "./lease/backoff.ts";
import { Pipeline } from "./settle/pipeline.ts";
import { unavailable } from "./lease/refusals.ts";
import { RecentIds } from "./lease/recent_ids.ts";
import { LeaseReservation } from "./lease/reservation.ts";
import { Reserving } from "./reserving.ts";
import type { LaneRules } from "./settle/settlement_lanes.ts";
import { attachedRows, type Finished } from "./settle/settlements.ts";
import type {
  Attachment,
  Balance,
  Extension,
  IndexProgress,
  ReceiptDraft,
  Reservation,
  ReserveResult,
  WalletEngine,
  WithheldAnswer,
} from "./lease/types.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Finished calls that wait for their commit. Beyond it no new call is admitted, which bounds memory. */
export const maxUnsettledCalls = 20_000;

/** Milliseconds that closing waits for the store before it leaves the rest to the reaper. */
const walletCloseMs = 10_000;

export interface WalletEngineOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** Random number from 0 (included) to 1 (excluded); spreads retries over time. */
  readonly random: () => number;
  /** Milliseconds after its last commit during which the instance counts as alive. */
  readonly ttlMs: number;
  readonly mostUnindexed: number;
  /** Milliseconds that a call waits for money that other calls have reserved. */
  readonly reservationWaitMs: number;
  readonly debt: DebtRules;
  /** Whether other instances may have the store open. */
  readonly isShared: boolean;
  readonly lanes: LaneRules;
}

/** The wallet engine of a running instance. */
export class LiveWalletEngine implements WalletEngine {
  readonly #kv: KeyValueStore;
  readonly #options: WalletEngineOptions;
  readonly #backoff: Backoff;
  readonly #pipeline: Pipeline;
  readonly #reservationQueue: ReservationQueue;
  readonly #charging: Charging;
  readonly #reserving: Reserving;
  readonly #housekeeping: Housekeeping;
  readonly #settledIds = new RecentIds();
  #unsettled = 0;
  #closing: Promise<void> | undefined;

  private constructor(
    kv: KeyValueStore,
    options: WalletEngineOptions,
    backoff: Backoff,
    instanceLease: InstanceLease,
    leaseDeps: InstanceLeaseDeps,
  ) {
    this.#kv = kv;
    this.#options = options;
    this.#backoff = backoff;
    this.#reservationQueue = new ReservationQueue(options.timer);
    const { timer, debt, lanes, isShared } = options;
    const deps = { ...leaseDeps, timer, debt, lanes, isShared, waiting: this.#reservationQueue };
    this.#pipeline = new Pipeline(deps, backoff, instanceLease, {
      readmit: (finished) => this.#charging.begin(finished),
      settled: () => this.#housekeeping.soon(),
    });
    this.#charging = new Charging(this.#pipeline, this.#reservationQueue, options.clock);
    this.#reserving = new Reserving(this.#pipeline, this.#reservationQueue, {
      ...options,
      kv,
      bounded: backoff.bounded,
      admits: () => this.#admits(),
    });
    this.#housekeeping = new Housekeeping(this.#pipeline, options);
    this.#housekeeping.start();
  }

  static async open(kv: KeyValueStore, options: WalletEngineOptions): Promise<LiveWalletEngine> {
    const backoff = new Backoff(options.timer, options.random);
    const leaseDeps = instanceLeaseDeps(kv, options, backoff);
    const instanceLease = await InstanceLease.register(leaseDeps);
    backoff.answered();
    return new LiveWalletEngine(kv, options, backoff, instanceLease, leaseDeps);
  }

  get instanceId(): InstanceId {
    return this.#pipeline.instanceLease.instanceId;
  }

  get healthy(): boolean {
    return this.#pipeline.failure === undefined && this.#closing === undefined &&
      !this.#pipeline.isStoreSilent;
  }

  reserve(
    accountId: AccountId,
    amount: ReservationAmount,
    waitMs = rangeOf(amount).waits === false ? 0 : this.#options.reservationWaitMs,
  ): ReserveResult | Promise<ReserveResult> {
    const leastMicroVnd = typeof amount === "bigint" ? amount : amount.leastMicroVnd;
    invariant(leastMicroVnd >= 0n, "a reservation is not negative");
    if (!this.#admits()) {
      this.#housekeeping.probe();
      return unavailable(leastMicroVnd);
    }
    return this.#reserving.reserve(accountId, amount, waitMs);
  }

  extend(
    reservation: Reservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): Extension | Promise<Extension> {
    invariant(
      reservation instanceof LeaseReservation,
      "only reservations of this wallet engine grow",
    );
    invariant(amountMicroVnd > 0n, "an extension is more than nothing");
    if (!reservation.isOpen) return { outcome: "exhausted" };
    if (this.#pipeline.failure !== undefined || this.#pipeline.isStoreSilent) {
      return { outcome: "unavailable" };
    }
    return this.#reserving.extend(reservation, amountMicroVnd, waitMs);
  }

  async settle(
    reservation: Reservation,
    draft: ReceiptDraft,
    attach?: Attachment,
    withheld?: () => WithheldAnswer | undefined,
  ): Promise<Receipt> {
    invariant(
      reservation instanceof LeaseReservation,
      "only reservations of this wallet engine are settled",
    );
    invariant(draft.priceMicroVnd >= 0n, "a price is not negative");
    const rows = attachedRows(attach);
    // The id is checked first: if it was used before, the reservation stays open and can be
    // released.
    this.#settledIds.add(draft.requestId);
    reservation.end("settled");
    if (this.#pipeline.failure !== undefined) throw this.#pipeline.failure;
    this.#unsettled++;
    try {
      return await new Promise<Receipt>((resolve, reject) => {
        const { accountId, lease, amountMicroVnd } = reservation;
        const finished: Finished = {
          accountId,
          draft,
          rows,
          withheld,
          resolve,
          reject,
          lease,
          chargeMicroVnd: 0n,
        };
        if (lease.alive) this.#charging.admit(finished, amountMicroVnd);
        else this.#charging.begin(finished);
      });
    } finally {
      this.#unsettled--;
    }
  }

  release(reservation: Reservation): void {
    invariant(
      reservation instanceof LeaseReservation,
      "only reservations of this wallet engine are released",
    );
    reservation.end("released");
    const { lease, amountMicroVnd } = reservation;
    if (!lease.alive) return;
    const { book } = this.#pipeline;
    book.release(lease, amountMicroVnd);
    book.leave(lease);
    const nowMs = this.#options.clock.nowMs();
    book.touch(lease, nowMs);
    this.#reservationQueue.freed(book, lease, nowMs);
    this.#pipeline.transfers.returnSpare(lease);
    if (this.#pipeline.transfers.waiting) this.#pipeline.kick();
    this.#housekeeping.soon();
  }

  async balance(accountId: AccountId): Promise<Balance> {
    return await readBalance({
      kv: this.#kv,
      bounded: this.#backoff.bounded,
      instanceId: () => this.instanceId,
      leaseOf: (id) => this.#pipeline.book.find(id),
    }, accountId);
  }

  async heartbeat(): Promise<void> {
    await this.#housekeeping.heartbeat();
  }

  async indexOnce(): Promise<IndexProgress> {
    return await this.#housekeeping.step();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    this.#reservationQueue.endAll();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const tooLate = Promise.withResolvers<void>();
    const stopTimer = this.#options.timer.start(() => {
      this.#backoff.stop();
      tooLate.resolve();
    }, walletCloseMs);
    try {
      await this.#housekeeping.finish();
      // From here on a late settlement is refused: a new instance must not be registered for it.
      this.#pipeline.stop(new StoppedError("The wallet engine is closed"));
      const nowMs = this.#options.clock.nowMs();
      const retired = [
        retireInstance(this.#kv, this.instanceId, nowMs),
        this.#pipeline.closeLanes(),
      ];
      await Promise.race([Promise.all(retired), tooLate.promise]);
    } catch {
      // The store does not answer, or a bug has stopped the pipeline. The reaper clears up the
      // rest; no money is lost.
    } finally {
      stopTimer();
      this.#housekeeping.stop();
      this.#backoff.stop();
      this.#pipeline.stop(new StoppedError("The wallet engine is closed"));
      await this.#pipeline.rest();
    }
  }

  /**
   * A store that does not answer admits no call either, even if a lease has room: the result could
   * not be written.
   */
  #admits(): boolean {
    return this.healthy &&
      this.#unsettled < maxUnsettledCalls &&
      this.#pipeline.index.length < this.#options.mostUnindexed;
  }
}

function instanceLeaseDeps(
  kv: KeyValueStore,
  { clock, ttlMs }: WalletEngineOptions,
  { bounded, beforeRetry }: Backoff,
): InstanceLeaseDeps {
  return { kv, clock, ttlMs, bounded, backoff: beforeRetry, numbers: new CommitNumbers() };
}
