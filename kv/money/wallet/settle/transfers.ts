/**
 * Moves money between wallets and the leases of this instance: draws before a call, draws ahead,
 * and the return of idle leases.
 */
import { invariant } from "../../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { type LeaseValue, walletWriteAttempts } from "../../balances/leases.ts";
import { leaseKey } from "../../../engine/schema/keys.ts";
import { hasMoved, leasedElsewhereMicroVnd, readWallets } from "./wallet_view.ts";
import { changeWallet, type WalletRow } from "../../balances/wallets.ts";
import {
  aheadMicroVnd,
  debtLimitMicroVnd,
  type DebtRules,
  type GiveBack,
  planTransfer,
  type TransferPlan,
  type WaiterRange,
} from "../lease/transfer_plan.ts";
import type { InstanceLease } from "../lease/instance_lease.ts";
import {
  freeMicroVnd,
  isOfSmallWallet,
  type Lease,
  type LeaseBook,
  type LeaseRowContent,
  onItsWay,
  refusal,
  type ReservationQueue,
  unavailable,
} from "../lease/lease_book.ts";
import type { Refusal } from "../lease/types.ts";
import { keysPerRead, type KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** Wallets in one transfer: one check each beside the instance lease; denokv takes 10 checks per atomic. */
const walletsPerTransfer = 8;

/** Milliseconds after which the wallet of a lease in use is read again: ten wallets are read in one step of the housekeeping. */
const recheckMs = 1_000;

/** The result for a waiter. A granted amount is already reserved on the lease. */
export type Granted =
  | { readonly outcome: "granted"; readonly amountMicroVnd: bigint }
  | { readonly outcome: "refused"; readonly refusal: Refusal }
  /** The instance lease was lost: ask again, with the new lease book. */
  | { readonly outcome: "lost" }
  /** The wallet engine has stopped for good. */
  | { readonly outcome: "stopped" };

/** A call that waits for money of a wallet. */
export interface Waiter {
  readonly amountMicroVnd: bigint;
  /** Accepts less if the wallet has no more: for calls that cost more than they reserved. */
  readonly partial: boolean;
  /** The amounts with which a call can begin, of which `amountMicroVnd` is the largest. */
  readonly range?: WaiterRange | undefined;
  /** Called once. */
  readonly done: (granted: Granted) => void;
  cancelled: boolean;
}

interface TransferRequest {
  readonly lease: Lease;
  readonly waiters: Waiter[];
  giveBack: GiveBack | undefined;
  /** Amount that should be free for calls that wait for reserved money; 0 for none. */
  wantedMicroVnd: bigint;
  attempts: number;
}

export interface TransfersDeps {
  readonly kv: KeyValueStore;
  readonly nowMs: () => number;
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  readonly debt: DebtRules;
  /** Whether other instances may have the store open. */
  readonly isShared: boolean;
  /** Calls of this instance that wait for reserved money. */
  readonly waiting: Pick<ReservationQueue, "nextMicroVnd" | "freed">;
}

interface Planned {
  readonly request: TransferRequest;
  readonly wallet: WalletRow;
  readonly plan: TransferPlan;
  readonly waiters: readonly Waiter[];
}

/** The requests of one instance for transfers, by account. */
export class Transfers {
  readonly #deps: TransfersDeps;
  readonly #requests = new Map<AccountId, TransferRequest>();

  constructor(deps: TransfersDeps) {
    this.#deps = deps;
  }

  /** Whether there is work for a round. */
  get waiting(): boolean {
    return this.#requests.size > 0;
  }

  /** Whether a call waits for this wallet: later calls must not overtake it. */
  hasWaiters(accountId: AccountId): boolean {
    const request = this.#requests.get(accountId);
    return request !== undefined && request.waiters.length > 0;
  }

  has(accountId: AccountId): boolean {
    return this.#requests.has(accountId);
  }

  /**
   * Queues a request for money. Finished calls that owe more go before calls that have not started.
   */
  wait(lease: Lease, waiter: Waiter): void {
    const request = this.#request(lease);
    if (waiter.partial) request.waiters.unshift(waiter);
    else request.waiters.push(waiter);
  }

  drawAhead(lease: Lease): void {
    this.#request(lease);
  }

  /** Queues the return of money, unless the wallet has a request already. */
  giveBack(lease: Lease, why: GiveBack): void {
    if (!this.#requests.has(lease.accountId)) this.#request(lease).giveBack = why;
  }

  /**
   * Queues the return of what calls of this instance do not need, if the wallet is small and other instances may need
   * it.
   */
  returnSpare(lease: Lease): void {
    const { isShared, waiting } = this.#deps;
    if (!isShared || freeMicroVnd(lease) === 0n || !isOfSmallWallet(lease)) return;
    const nextMicroVnd = waiting.nextMicroVnd(lease.accountId);
    if (nextMicroVnd === 0n) return this.giveBack(lease, "spare");
    // With what the wallet has, the next call of this instance can start.
    if (freeMicroVnd(lease) + lease.walletMicroVnd < nextMicroVnd) return;
    this.#request(lease).wantedMicroVnd = nextMicroVnd;
  }

  #request(lease: Lease): TransferRequest {
    const known = this.#requests.get(lease.accountId);
    if (known) return known;
    const request = { lease, waiters: [], giveBack: undefined, wantedMicroVnd: 0n, attempts: 0 };
    this.#requests.set(lease.accountId, request);
    return request;
  }

  /** Gives all waiters the same result, e.g. that the instance lease was lost. */
  tellAll(granted: Granted): void {
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    for (const { waiters } of requests) {
      for (const waiter of waiters) if (!waiter.cancelled) waiter.done(granted);
    }
  }

  /**
   * Reads up to `walletsPerTransfer` wallets and moves money in one commit. Returns `lost`
   * if the instance lease is gone (no waiter has a result yet), `failed` if the store did not
   * answer.
   */
  async round(instanceLease: InstanceLease, book: LeaseBook): Promise<"done" | "lost" | "failed"> {
    const requests = [...this.#requests.values()].slice(0, walletsPerTransfer);
    const wallets = await readWallets(this.#deps, requests.map(({ lease }) => lease));
    if (wallets === undefined) {
      this.#countFailure(requests);
      return "failed";
    }
    const planned = requests.flatMap((request, at): Planned[] => {
      const wallet = wallets[at];
      if (!wallet) return [];
      const waiters = request.waiters.filter((waiter) => !waiter.cancelled);
      request.waiters.splice(0, request.waiters.length, ...waiters);
      const plan = planTransfer(request, {
        availableMicroVnd: wallet.availableMicroVnd,
        debtLimitMicroVnd: debtLimitMicroVnd(wallet, this.#deps.debt),
        nowMs: this.#deps.nowMs(),
      });
      return [{ request, wallet, plan, waiters }];
    });
    const moving = planned.filter(({ plan }) => plan.drawMicroVnd !== 0n);
    const mustShowLife = instanceLease.expiresAtMs <= this.#deps.nowMs();
    if (moving.length > 0 || mustShowLife) {
      const outcome = await this.#commit(instanceLease, book, moving);
      if (outcome === "lost") return "lost";
      if (outcome === "refused") {
        this.#countFailure(requests);
        return "done";
      }
    }
    for (const each of planned) await this.#answer(book, each);
    return "done";
  }

  async #commit(
    instanceLease: InstanceLease,
    book: LeaseBook,
    moving: readonly Planned[],
  ): Promise<"applied" | "refused" | "lost"> {
    // Money on its way back must not be reserved while the commit runs.
    const returning = moving.filter(({ plan }) => plan.drawMicroVnd < 0n);
    for (const { request: { lease }, plan } of returning) {
      invariant(book.reserve(lease, -plan.drawMicroVnd), "an idle lease is free");
    }
    const written = new Map<Lease, LeaseRowContent>();
    const outcome = await instanceLease.commit((op, commit) => {
      for (const { request: { lease }, wallet, plan } of moving) {
        invariant(
          lease.remainingMicroVnd + plan.drawMicroVnd >= 0n,
          "a lease never gives back more than it has",
        );
        const row = book.rowFor(lease, commit, plan.drawMicroVnd);
        written.set(lease, row);
        changeWallet(op, wallet, wallet.availableMicroVnd - plan.drawMicroVnd, {
          maxDebtMicroVnd: debtLimitMicroVnd(wallet, this.#deps.debt),
        });
        const key = leaseKey(lease.accountId, instanceLease.instanceId);
        if (row.remainingMicroVnd === 0n) op.delete(key);
        else op.set(key, row satisfies LeaseValue);
      }
    });
    if (outcome === "lost") return "lost";
    for (const { request: { lease }, plan } of returning) book.release(lease, -plan.drawMicroVnd);
    if (outcome === "refused") return "refused";
    const nowMs = this.#deps.nowMs();
    for (const { request: { lease }, wallet, plan } of moving) {
      const row = written.get(lease);
      invariant(row !== undefined, "every lease of a transfer has a row");
      const remainingMicroVnd = lease.remainingMicroVnd + plan.drawMicroVnd;
      book.rowWritten(lease, remainingMicroVnd, row.remainingMicroVnd > 0n, row);
      book.walletSeen(lease, wallet.availableMicroVnd - plan.drawMicroVnd, nowMs);
      if (plan.drawMicroVnd <= 0n) continue;
      book.drawn(lease, aheadMicroVnd(lease, lease.typicalMicroVnd, nowMs), nowMs);
    }
    return "applied";
  }

  /**
   * Grants and refuses. What does not fit any more, because a call in between took the room, waits
   * for the next round.
   */
  async #answer(book: LeaseBook, { request, wallet, plan, waiters }: Planned): Promise<void> {
    const { lease } = request;
    book.walletSeen(lease, wallet.availableMicroVnd - plan.drawMicroVnd, this.#deps.nowMs());
    const refused: Waiter[] = [];
    const answered = new Set<Waiter>();
    waiters.forEach((waiter, at) => {
      const grant = plan.grants[at];
      if (waiter.cancelled) return;
      if (grant !== undefined) {
        if (!book.reserve(lease, grant)) return;
        answered.add(waiter);
        waiter.done({ outcome: "granted", amountMicroVnd: grant });
      } else if (book.reserve(lease, waiter.amountMicroVnd)) {
        answered.add(waiter);
        waiter.done({ outcome: "granted", amountMicroVnd: waiter.amountMicroVnd });
      } else {
        refused.push(waiter);
      }
    });
    await this.#refuse(lease, wallet, refused);
    for (const waiter of refused) answered.add(waiter);
    if (request.wantedMicroVnd > 0n) {
      request.wantedMicroVnd = 0n;
      this.#deps.waiting.freed(book, lease, this.#deps.nowMs());
    }
    const left = request.waiters.filter((waiter) => !answered.has(waiter) && !waiter.cancelled);
    request.waiters.splice(0, request.waiters.length, ...left);
    request.attempts = 0;
    this.#finish(request);
  }

  #finish(request: TransferRequest): void {
    const { lease } = request;
    this.#requests.delete(lease.accountId);
    // Goes to the end of the queue: one busy wallet must not occupy every round.
    if (request.waiters.length > 0) this.#requests.set(lease.accountId, request);
  }

  /**
   * Refuses calls. Where one would be told that the wallet is worth too little, the figures have to be of one moment:
   * money that moved between two reads would be missed. If the wallet changes meanwhile, the money is on its way.
   */
  async #refuse(lease: Lease, wallet: WalletRow, waiters: readonly Waiter[]): Promise<void> {
    if (waiters.length === 0) return;
    const debtLimit = debtLimitMicroVnd(wallet, this.#deps.debt);
    const elsewhereMicroVnd = await leasedElsewhereMicroVnd(this.#deps, lease);
    const known = { elsewhereMicroVnd, debtLimitMicroVnd: debtLimit };
    const refusals = waiters.map((waiter) => refusal(leastOf(waiter), lease, known));
    const isMoving = this.#deps.isShared &&
      refusals.some(({ reason }) => reason === "insufficient") &&
      await hasMoved(this.#deps, lease, elsewhereMicroVnd);
    waiters.forEach((waiter, at) => {
      const refused = refusals[at];
      invariant(refused !== undefined, "every waiter has a refusal");
      if (waiter.cancelled) return;
      waiter.done({ outcome: "refused", refusal: isMoving ? onItsWay(refused) : refused });
    });
  }

  /**
   * Reads the wallets of leases in use that were read longest ago, and returns what a wallet needs that became small:
   * while a lease has room, its instance does not notice what others draw.
   */
  async recheck(book: LeaseBook): Promise<void> {
    if (!this.#deps.isShared) return;
    const nowMs = this.#deps.nowMs();
    const due = [...book.leases()]
      .filter((lease) => nowMs - lease.walletSeenAtMs >= recheckMs && freeMicroVnd(lease) > 0n)
      .sort((one, other) => one.walletSeenAtMs - other.walletSeenAtMs)
      .slice(0, keysPerRead);
    if (due.length === 0) return;
    const wallets = await readWallets(this.#deps, due);
    due.forEach((lease, at) => {
      const wallet = wallets?.[at];
      if (wallet === undefined || !lease.alive) return;
      book.walletSeen(lease, wallet.availableMicroVnd, nowMs);
      this.returnSpare(lease);
    });
  }

  #countFailure(requests: readonly TransferRequest[]): void {
    for (const request of requests) {
      request.attempts++;
      const { waiters, giveBack, wantedMicroVnd } = request;
      const isAhead = waiters.length === 0 && giveBack === undefined && wantedMicroVnd === 0n;
      if (isAhead || request.attempts >= walletWriteAttempts) {
        this.#requests.delete(request.lease.accountId);
        for (const waiter of request.waiters) {
          if (!waiter.cancelled) {
            waiter.done({ outcome: "refused", refusal: unavailable(leastOf(waiter)) });
          }
        }
      }
    }
  }
}

/** The least that a call needs to begin. */
function leastOf({ amountMicroVnd, range }: Waiter): bigint {
  return range?.leastMicroVnd ?? amountMicroVnd;
}
