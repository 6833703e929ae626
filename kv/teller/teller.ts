/** The teller itself: admits calls against leases in memory, and hands finished ones to the pipeline. */
import { invariant } from "../../core/assert.ts";
import type { Clock } from "../../core/clock.ts";
import type { Timer } from "../../core/deadlines.ts";
import type { AccountId, InstanceId, RequestId } from "../../core/ids.ts";
import { limits } from "../../core/limits.ts";
import type { Receipt } from "../../core/receipt.ts";
import { readLeasesOf } from "../leases.ts";
import { retireInstance } from "../reaper.ts";
import { readWallet } from "../wallets.ts";
import { Fence, StoppedError } from "./fence.ts";
import { Housekeeping } from "./housekeeping.ts";
import { freeMicroVnd, type Lease } from "./lease_book.ts";
import { Patience } from "./patience.ts";
import { Pipeline } from "./pipeline.ts";
import { unavailable } from "./refusals.ts";
import { attachedRows, type Finished } from "./settlements.ts";
import type { Granted, Waiter } from "./transfers.ts";
import type {
  Attachment,
  Balance,
  IndexProgress,
  ReceiptDraft,
  Reservation,
  ReserveResult,
  Teller,
} from "./types.ts";

export interface TellerOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** 0 ≤ x < 1; spreads repetitions. */
  readonly random: () => number;
  /** How long the instance counts as alive after its last commit. */
  readonly ttlMs: number;
}

/** A reservation: open, then settled or released, once. */
class Held implements Reservation {
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly lease: Lease;
  #state: "open" | "settled" | "released" = "open";

  constructor(lease: Lease, amountMicroVnd: bigint) {
    this.accountId = lease.accountId;
    this.amountMicroVnd = amountMicroVnd;
    this.lease = lease;
  }

  end(state: "settled" | "released"): void {
    invariant(this.#state === "open", `a reservation cannot be ${state}: it is ${this.#state}`);
    this.#state = state;
  }
}

/** Request ids of late, so that a program error cannot charge one twice. Two generations bound the memory. */
class RecentIds {
  #young = new Set<RequestId>();
  #old = new Set<RequestId>();
  static readonly #perGeneration = 10_000;

  add(id: RequestId): void {
    invariant(!this.#young.has(id) && !this.#old.has(id), `request ${id} was settled before`);
    if (this.#young.size >= RecentIds.#perGeneration) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}

/** Below this many times the largest recent reservation, a draw ahead is due. */
const lowRoomFactor = 2n;

export class LiveTeller implements Teller {
  readonly #kv: Deno.Kv;
  readonly #options: TellerOptions;
  readonly #patience: Patience;
  readonly #pipeline: Pipeline;
  readonly #housekeeping: Housekeeping;
  readonly #settledIds = new RecentIds();
  #unsettled = 0;
  #closing: Promise<void> | undefined;

  private constructor(kv: Deno.Kv, options: TellerOptions, patience: Patience, fence: Fence) {
    this.#kv = kv;
    this.#options = options;
    this.#patience = patience;
    const deps = fenceDeps(kv, options, patience);
    this.#pipeline = new Pipeline(deps, patience, fence, {
      readmit: (finished) => {
        finished.lease = this.#pipeline.book.lease(finished.accountId);
        finished.lease.users++;
        this.#admit(finished, 0n);
      },
      settled: () => this.#housekeeping.soon(),
    });
    this.#housekeeping = new Housekeeping(this.#pipeline, options);
    this.#housekeeping.start();
  }

  static async open(kv: Deno.Kv, options: TellerOptions): Promise<LiveTeller> {
    const patience = new Patience(options.timer, options.random);
    const fence = await Fence.register(fenceDeps(kv, options, patience));
    patience.answered();
    return new LiveTeller(kv, options, patience, fence);
  }

  get instanceId(): InstanceId {
    return this.#pipeline.fence.instanceId;
  }

  get healthy(): boolean {
    return this.#pipeline.failure === undefined && this.#closing === undefined &&
      !this.#pipeline.isStoreSilent;
  }

  reserve(
    accountId: AccountId,
    amountMicroVnd: bigint,
  ): ReserveResult | Promise<ReserveResult> {
    invariant(amountMicroVnd >= 0n, "a reservation is not negative");
    if (!this.#admits()) {
      this.#housekeeping.probe();
      return unavailable(amountMicroVnd);
    }
    const { book, transfers, fence } = this.#pipeline;
    const lease = book.lease(accountId);
    const nowMs = this.#options.clock.nowMs();
    const mine = nowMs < fence.expiresAtMs && !transfers.hasWaiters(accountId);
    if (!mine || !book.hold(lease, amountMicroVnd)) {
      return this.#reserveLater(accountId, amountMicroVnd);
    }
    lease.users++;
    lease.lastUsedAtMs = nowMs;
    if (amountMicroVnd > lease.typicalMicroVnd) lease.typicalMicroVnd = amountMicroVnd;
    if (isLow(lease)) {
      transfers.drawAhead(lease);
      this.#pipeline.kick();
    }
    return { ok: true, reservation: new Held(lease, amountMicroVnd) };
  }

  async settle(
    reservation: Reservation,
    draft: ReceiptDraft,
    attach?: Attachment,
  ): Promise<Receipt> {
    invariant(reservation instanceof Held, "only reservations of this teller are settled");
    invariant(draft.priceMicroVnd >= 0n, "a price is not negative");
    const rows = attachedRows(attach);
    // The id first: if it was used before, the reservation stays open and can be released.
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
          resolve,
          reject,
          lease,
          chargeMicroVnd: 0n,
        };
        if (lease.alive) return this.#admit(finished, amountMicroVnd);
        finished.lease = this.#pipeline.book.lease(accountId);
        finished.lease.users++;
        this.#admit(finished, 0n);
      });
    } finally {
      this.#unsettled--;
    }
  }

  release(reservation: Reservation): void {
    invariant(reservation instanceof Held, "only reservations of this teller are released");
    reservation.end("released");
    const { lease, amountMicroVnd } = reservation;
    if (!lease.alive) return;
    this.#pipeline.book.unhold(lease, amountMicroVnd);
    lease.users--;
    lease.lastUsedAtMs = this.#options.clock.nowMs();
    this.#housekeeping.soon();
  }

  async balance(accountId: AccountId): Promise<Balance> {
    const { bounded } = this.#patience;
    for (let attempt = 1;; attempt++) {
      const before = await bounded(readWallet(this.#kv, accountId));
      const rows = await bounded(readLeasesOf(this.#kv, accountId));
      // Our own row lags behind the calls; the memory does not.
      const own = this.#pipeline.book.find(accountId);
      const leasedMicroVnd = rows
        .filter((row) => row.instanceId !== this.instanceId)
        .reduce((sum, row) => sum + row.remainingMicroVnd, own?.remainingMicroVnd ?? 0n);
      const reservedMicroVnd = own?.heldMicroVnd ?? 0n;
      const { availableMicroVnd, versionstamp } = await bounded(readWallet(this.#kv, accountId));
      // Every transfer changes the wallet row, so an unchanged row means that wallet and leases fit together.
      if (versionstamp !== before.versionstamp && attempt < limits.walletWriteAttempts) continue;
      return {
        availableMicroVnd,
        leasedMicroVnd,
        reservedMicroVnd,
        totalMicroVnd: availableMicroVnd + leasedMicroVnd,
      };
    }
  }

  async heartbeat(): Promise<void> {
    await this.#housekeeping.heartbeat();
  }

  async indexOnce(): Promise<IndexProgress> {
    return await this.#housekeeping.step();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const tooLate = Promise.withResolvers<void>();
    const stopTimer = this.#options.timer.start(() => {
      this.#patience.stop();
      tooLate.resolve();
    }, limits.tellerCloseMs);
    try {
      await this.#housekeeping.finish();
      // From here on a late settlement is refused rather than begun anew under another instance.
      this.#pipeline.stop(new StoppedError("The teller is closed"));
      const nowMs = this.#options.clock.nowMs();
      await Promise.race([retireInstance(this.#kv, this.instanceId, nowMs), tooLate.promise]);
    } catch {
      // The store is silent, or a bug has stopped the pipeline: what is left is the reaper's, and nothing is lost.
    } finally {
      stopTimer();
      this.#housekeeping.stop();
      this.#patience.stop();
      this.#pipeline.stop(new StoppedError("The teller is closed"));
      await this.#pipeline.rest();
    }
  }

  /** Not on a silent store either, whatever room a lease has: what is produced could not be written down. */
  #admits(): boolean {
    return this.healthy &&
      this.#unsettled < limits.unsettledCalls &&
      this.#pipeline.index.length < limits.unindexedReceipts;
  }

  /** Finds the money for a finished call of which `heldMicroVnd` is reserved, then queues it. */
  #admit(finished: Finished, heldMicroVnd: bigint): void {
    const { book, transfers, settlements } = this.#pipeline;
    const { lease, draft: { priceMicroVnd } } = finished;
    lease.lastUsedAtMs = this.#options.clock.nowMs();
    const missing = priceMicroVnd - heldMicroVnd;
    if (missing <= 0n) {
      book.unhold(lease, -missing);
      this.#charge(finished, priceMicroVnd);
    } else if (!transfers.hasWaiters(lease.accountId) && book.hold(lease, missing)) {
      this.#charge(finished, priceMicroVnd);
    } else {
      transfers.wait(lease, {
        amountMicroVnd: missing,
        partial: true,
        cancelled: false,
        done: (granted) => this.#extended(finished, heldMicroVnd, granted),
      });
    }
    if (settlements.waiting > 0 || transfers.waiting) this.#pipeline.kick();
  }

  /** What a finished call got beyond its reservation. */
  #extended(finished: Finished, heldMicroVnd: bigint, granted: Granted): void {
    switch (granted.outcome) {
      case "granted":
        return this.#charge(finished, heldMicroVnd + granted.amountMicroVnd);
      case "refused":
        // Only when the store is silent. A settlement does not give up: it queues again.
        return this.#admit(finished, heldMicroVnd);
      case "lost":
        finished.lease = this.#pipeline.book.lease(finished.accountId);
        finished.lease.users++;
        return this.#admit(finished, 0n);
      case "stopped":
        return finished.reject(this.#pipeline.failure);
    }
  }

  #charge(finished: Finished, chargeMicroVnd: bigint): void {
    this.#pipeline.book.charge(finished.lease, chargeMicroVnd);
    finished.chargeMicroVnd = chargeMicroVnd;
    this.#pipeline.settlements.add(finished);
    this.#pipeline.kick();
  }

  /** Waits for a draw, at most as long as a store call may take. */
  #reserveLater(accountId: AccountId, amountMicroVnd: bigint): Promise<ReserveResult> {
    return new Promise((resolve) => {
      let waiter: Waiter | undefined;
      let lease: Lease | undefined;
      const end = (result: ReserveResult) => {
        stopTimer();
        if (!result.ok && lease) lease.users--;
        resolve(result);
      };
      const stopTimer = this.#options.timer.start(() => {
        if (waiter) waiter.cancelled = true;
        end(unavailable(amountMicroVnd));
      }, limits.kvCallMs);
      const ask = () => {
        const mine = lease = this.#pipeline.book.lease(accountId);
        mine.users++;
        mine.lastUsedAtMs = this.#options.clock.nowMs();
        if (amountMicroVnd > mine.typicalMicroVnd) mine.typicalMicroVnd = amountMicroVnd;
        waiter = {
          amountMicroVnd,
          partial: false,
          cancelled: false,
          done: (granted) => {
            if (granted.outcome === "lost") ask();
            else if (granted.outcome === "refused") end(granted.refusal);
            else if (granted.outcome === "stopped") end(unavailable(amountMicroVnd));
            else end({ ok: true, reservation: new Held(mine, amountMicroVnd) });
          },
        };
        this.#pipeline.transfers.wait(mine, waiter);
        this.#pipeline.kick();
      };
      ask();
    });
  }
}

function fenceDeps(kv: Deno.Kv, { clock, ttlMs }: TellerOptions, patience: Patience) {
  return { kv, clock, ttlMs, bounded: patience.bounded, backoff: patience.backoff };
}

function isLow(lease: Lease): boolean {
  return freeMicroVnd(lease) < lease.typicalMicroVnd * lowRoomFactor &&
    lease.walletMicroVnd / 4n >= lease.typicalMicroVnd;
}
