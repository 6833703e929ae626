/**
 * Runs several wallet engines on one store, call by call: the test decides whose store call is
 * next, what becomes of its answer, who dies, and when the clock advances.
 */
import { bringForward, grantedOf, type SpendGranted } from "../../../../core/trade/credits/pots.ts";
import type { AccountId, CampaignId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { expireCredit } from "../../../../kv/money/credits/credit_expiry.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { accountKey } from "../../../../kv/engine/schema/keys.ts";
import { reapExpiredInstances } from "../../../../kv/money/wallet/reaper.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import {
  type Extension,
  openWalletEngine,
  type Reservation,
  type WalletEngine,
} from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { rangeOf, type ReservationAmount } from "../../../../core/billing/price.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { setImmediate } from "node:timers";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { bookOf, campaign, give } from "../../../support/worlds/credit_world.ts";
import { draftOf, ledgerLines, newAccount } from "../../../support/worlds/money_world.ts";
import { type Fate, Turnstile, type WaitingCall } from "../../../support/stores/turnstile_kv.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** One event. Numbers select among what exists, modulo its count. */
export type Happening =
  | {
    readonly do: "reserve";
    readonly wallet: number;
    readonly account: number;
    readonly amount: number;
    /** The call can begin with less, down to this part of the amount; absent: it needs all of it. */
    readonly least?: { readonly percent: number; readonly takesAll: boolean } | undefined;
  }
  | { readonly do: "settle"; readonly which: number; readonly percent: number }
  | { readonly do: "release"; readonly which: number }
  /** The client of a call that is not settled yet is refused the answer. */
  | { readonly do: "withhold"; readonly which: number }
  | { readonly do: "extend"; readonly which: number; readonly amount: number }
  | { readonly do: "credit"; readonly account: number; readonly amount: number }
  | {
    readonly do: "give";
    readonly account: number;
    readonly campaign: number;
    readonly spendGranted: SpendGranted;
  }
  /** What expires within a day is taken back. */
  | { readonly do: "expire" }
  | { readonly do: "index" | "heartbeat" | "crash"; readonly wallet: number }
  | { readonly do: "open" | "reap" }
  /** All processes sleep until another one has reaped them. */
  | { readonly do: "oversleep" }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "pass"; readonly which: number; readonly count: number; readonly fate: Fate };

function amountOf({ amount, least }: Happening & { readonly do: "reserve" }): ReservationAmount {
  const wantedMicroVnd = BigInt(amount);
  if (least === undefined) return wantedMicroVnd;
  const leastMicroVnd = wantedMicroVnd * BigInt(least.percent) / 100n;
  const { takesAll } = least;
  const expectedMicroVnd = takesAll ? leastMicroVnd : (leastMicroVnd + wantedMicroVnd) / 2n;
  return { wantedMicroVnd, expectedMicroVnd, leastMicroVnd, takesAll };
}

/** Accounts of the world have topped up. */
const chaosDebt = { toppedUpMicroVnd: 150n, othersMicroVnd: 0n };

interface Process {
  readonly client: string;
  wallet: WalletEngine | undefined;
  alive: boolean;
}

interface Open {
  readonly process: Process;
  readonly reservation: Reservation;
  /** At most one extension at a time. */
  growing?: boolean;
}

interface Settled {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly price: bigint;
  isWithheld?: boolean;
  receipt?: Receipt;
}

export class ChaosWorld {
  readonly #kv: KeyValueStore;
  readonly #turnstile: Turnstile;
  readonly #time = new ManualTime();
  readonly #accounts: AccountId[] = Array.from({ length: 3 }, newAccount);
  readonly #processes: Process[] = [];
  readonly #open: Open[] = [];
  readonly #settled: Settled[] = [];
  readonly #errors: unknown[] = [];
  #credits = 0;
  readonly #campaigns: CampaignId[] = [];
  #underWay = 0;

  readonly #lanes: { readonly maxLanes: number; readonly farStoreMs: number } | undefined;

  /** @param maxLanes lanes of each wallet engine, as if its store were far; by default as the engine decides */
  constructor(kv: KeyValueStore, maxLanes?: number) {
    this.#lanes = maxLanes === undefined ? undefined : { maxLanes, farStoreMs: -1 };
    this.#kv = kv;
    this.#turnstile = new Turnstile(kv);
  }

  /** Runs the program, then lets everything finish and checks the money. */
  async play(program: readonly Happening[]): Promise<void> {
    for (const accountId of this.#accounts) {
      await this.#credit(this.#kv, accountId, 1_000n);
      await this.#kv.set(accountKey(accountId), { id: accountId, createdAtMs: 0 });
    }
    await this.#makeCampaigns();
    this.#openWalletEngine();
    this.#openWalletEngine();
    await this.#passAll();
    for (const happening of program) {
      this.#happen(happening);
      await this.#breathe();
      if (happening.do === "pass") await this.#pass(happening);
      if (happening.do === "oversleep") await this.#oversleep();
    }
    await this.#calm();
    await this.#check();
  }

  /** Lets continuations run as far as they get without the store. */
  async #breathe(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  #track<T>(promise: Promise<T>, process?: Process): Promise<T | undefined> {
    this.#underWay++;
    const done = () => {
      if (!process || process.alive) this.#underWay--;
    };
    return promise.then((value) => {
      done();
      return value;
    }, (error) => {
      done();
      const expected = error instanceof Error &&
        (error.name === "StoreDown" || error.name === "StoreTimeoutError" ||
          error.message.includes("does not answer"));
      if (!expected) this.#errors.push(error);
      return undefined;
    });
  }

  #openWalletEngine(): void {
    if (this.#processes.length >= 5) return;
    const client = `wallet${this.#processes.length}`;
    const process: Process = { client, wallet: undefined, alive: true };
    this.#processes.push(process);
    const opening = openWalletEngine(this.#turnstile.client(client), {
      clock: this.#time,
      timer: { start: (run, ms) => this.#time.start(() => process.alive && run(), ms) },
      random: () => 0.5,
      ttlMs: 60_000,
      debt: chaosDebt,
      ...(this.#lanes === undefined ? {} : { lanes: this.#lanes }),
    });
    this.#track(opening, process).then((wallet) => process.wallet = wallet);
  }

  #pick(at: number): Process | undefined {
    const ready = this.#processes.filter(({ alive, wallet }) => alive && wallet);
    return ready[at % Math.max(1, ready.length)];
  }

  #happen(happening: Happening): void {
    switch (happening.do) {
      case "reserve":
        return this.#reserve(happening.wallet, happening.account, amountOf(happening));
      case "settle":
        return this.#settle(happening.which, BigInt(happening.percent));
      case "release": {
        const [open] = this.#take(happening.which);
        if (open) open.process.wallet?.release(open.reservation);
        return;
      }
      case "withhold": {
        const waiting = this.#settled.filter(({ receipt }) => receipt === undefined);
        const settled = waiting[happening.which % Math.max(1, waiting.length)];
        if (settled) settled.isWithheld = true;
        return;
      }
      case "extend":
        return this.#extend(happening.which, BigInt(happening.amount));
      case "credit": {
        const accountId = this.#accounts[happening.account % this.#accounts.length];
        const kv = this.#turnstile.client("operator");
        if (accountId) this.#track(this.#credit(kv, accountId, BigInt(happening.amount)));
        return;
      }
      case "give": {
        const kv = this.#turnstile.client(`operator${this.#credits}`);
        this.#track(this.#give(kv, happening));
        return;
      }
      case "expire": {
        const kv = this.#turnstile.client(`expirer${this.#underWay}`);
        this.#track(expireCredit(kv, this.#time.nowMs() + dayMs));
        return;
      }
      case "open":
        return this.#openWalletEngine();
      case "index":
      case "heartbeat": {
        const process = this.#pick(happening.wallet);
        const wallet = process?.wallet;
        if (!process || !wallet) return;
        this.#track(
          happening.do === "index" ? wallet.indexOnce().then(() => {}) : wallet.heartbeat(),
          process,
        );
        return;
      }
      case "crash":
        return this.#crash(happening.wallet);
      case "reap": {
        const kv = this.#turnstile.client(`reaper${this.#underWay}`);
        this.#track(reapExpiredInstances(kv, this.#time.nowMs()));
        return;
      }
      case "wait":
        return this.#time.advance(happening.ms);
      case "pass":
      case "oversleep":
        return;
    }
  }

  async #oversleep(): Promise<void> {
    await reapExpiredInstances(this.#kv, this.#time.nowMs(), { all: true });
  }

  #reserve(at: number, account: number, amount: ReservationAmount): void {
    const process = this.#pick(at);
    const accountId = this.#accounts[account % this.#accounts.length];
    if (!process?.wallet || !accountId) return;
    const result = process.wallet.reserve(accountId, amount);
    const keep = (result: Awaited<ReturnType<WalletEngine["reserve"]>> | undefined) => {
      if (!result?.ok) return;
      const { wantedMicroVnd, leastMicroVnd } = rangeOf(amount);
      const { amountMicroVnd } = result.reservation;
      assert(amountMicroVnd >= leastMicroVnd && amountMicroVnd <= wantedMicroVnd);
      this.#open.push({ process, reservation: result.reservation });
    };
    if ("then" in result) this.#track(result, process).then(keep);
    else keep(result);
  }

  #running(which: number): Open | undefined {
    const ready = this.#open.filter(({ process }) => process.alive);
    return ready[which % Math.max(1, ready.length)];
  }

  #take(which: number): Open[] {
    const open = this.#running(which);
    return open === undefined ? [] : this.#open.splice(this.#open.indexOf(open), 1);
  }

  /** A running call requests more; it may be settled while it waits. */
  #extend(which: number, amount: bigint): void {
    const open = this.#running(which);
    if (!open?.process.wallet || open.growing) return;
    open.growing = true;
    const beforeMicroVnd = open.reservation.amountMicroVnd;
    const check = (extension: Extension | undefined) => {
      open.growing = false;
      if (extension?.outcome !== "granted") return;
      assert(extension.amountMicroVnd > 0n && extension.amountMicroVnd <= amount);
      assert(open.reservation.amountMicroVnd >= beforeMicroVnd + extension.amountMicroVnd);
    };
    const result = open.process.wallet.extend(open.reservation, amount, 5_000);
    if ("then" in result) {
      this.#track(this.#track(result, open.process).then(check));
    } else check(result);
  }

  #settle(which: number, percent: bigint): void {
    const [open] = this.#take(which);
    if (!open?.process.wallet) return;
    const price = open.reservation.amountMicroVnd * percent / 100n;
    const draft = draftOf(price, price % 3n === 1n ? { claimMicroVnd: price } : {});
    const settled: Settled = {
      requestId: draft.requestId,
      accountId: open.reservation.accountId,
      price,
    };
    this.#settled.push(settled);
    const free = { ...draft, outcome: "withheld" as const, priceMicroVnd: 0n };
    const withheld = () => settled.isWithheld ? { draft: free } : undefined;
    const { wallet } = open.process;
    this.#track(wallet.settle(open.reservation, draft, undefined, withheld), open.process)
      .then((receipt) => {
        if (receipt) settled.receipt = receipt;
      });
  }

  async #credit(kv: KeyValueStore, accountId: AccountId, amountMicroVnd: bigint): Promise<void> {
    await credit(kv, {
      accountId,
      amountMicroVnd,
      kind: "topup",
      operationId: `credit:${this.#credits++}`,
      reason: "chaos",
      atMs: this.#time.nowMs(),
    });
  }

  async #makeCampaigns(): Promise<void> {
    for (
      const [amountMicroVnd, expiresAfterDays] of [[300n, 1], [170n, 2], [90n, undefined]] as const
    ) {
      const { id } = await campaign(this.#kv, {
        gift: { kind: "amount", amountMicroVnd },
        budgetMicroVnd: 2_000n,
        perAccount: 100,
        startsAtMs: 0,
        expiresAfterDays: expiresAfterDays ?? 10_000,
      });
      this.#campaigns.push(id);
    }
  }

  async #give(
    kv: KeyValueStore,
    happening: Extract<Happening, { do: "give" }>,
  ): Promise<void> {
    const campaignId = this.#campaigns[happening.campaign % this.#campaigns.length];
    const accountId = this.#accounts[happening.account % this.#accounts.length];
    if (campaignId === undefined || accountId === undefined) return;
    const operationId = `voucher:${this.#credits++}`;
    const { spendGranted } = happening;
    const nowMs = this.#time.nowMs();
    await give(kv, campaignId, accountId, { operationId, nowMs, spendGranted });
  }

  /** Lets all credit that can expire do so, and checks what became of each grant. */
  async checkCredit(): Promise<void> {
    await expireCredit(this.#kv, this.#time.nowMs() + 3 * dayMs);
    const report = await verifyStore(this.#kv);
    assertEquals(report.problems, []);
    for (const accountId of this.#accounts) {
      const sums = { paid: 0n, given: 0n, expired: 0n };
      for (const { kind, amountMicroVnd } of await ledgerLines(this.#kv, accountId)) {
        if (kind === "topup") sums.paid += amountMicroVnd;
        else if (kind === "credit_expiry") sums.expired -= amountMicroVnd;
        else sums.given += amountMicroVnd;
      }
      const { availableMicroVnd: worth } = await readWallet(this.#kv, accountId);
      const charged = sums.paid + sums.given - sums.expired - worth;
      const book = await bookOf(this.#kv, accountId);
      const pots = book && bringForward(book, worth);
      const left = pots === undefined ? 0n : grantedOf(pots);
      const spent = sums.given - sums.expired - left;
      assert(spent >= 0n && spent <= charged, "credit is spent by calls, and by nothing else");
      const own = worth - left;
      assertEquals(own, sums.paid - (charged - spent), "paid money is spent by calls only");
      assert(own >= 0n || left === 0n, "nothing is owed while credit is left");
      for (const { expiresAtMs = 0 } of pots?.grants ?? []) {
        assert(expiresAtMs > this.#time.nowMs() + 3 * dayMs, "what has expired is closed");
      }
    }
  }

  /** The process dies at whatever await it is; what it sent may still take effect. */
  #crash(at: number): void {
    const process = this.#pick(at);
    if (!process) return;
    this.#turnstile.kill(process.client);
    process.alive = false;
  }

  async #pass({ which, count, fate }: Extract<Happening, { do: "pass" }>): Promise<void> {
    for (let passed = 0; passed < count; passed++) {
      const { waiting } = this.#turnstile;
      const call = waiting[which % Math.max(1, waiting.length)];
      if (!call) return;
      // A fault strikes once, not every following call.
      await call.pass(passed === 0 ? fate : "answered");
      await this.#breathe();
    }
  }

  /** The store works again and time advances until all living processes are idle. */
  async #calm(): Promise<void> {
    for (let round = 0; round < 400; round++) {
      await this.#passAll();
      this.#time.advance(250);
      await this.#breathe();
      if (round > 100 && this.#turnstile.waiting.length === 0 && this.#underWay === 0) break;
    }
    for (const process of this.#processes) {
      process.alive = false;
      this.#turnstile.kill(process.client);
    }
    this.#time.advance(120_000);
    const report = await reapExpiredInstances(this.#kv, this.#time.nowMs());
    assertEquals(report.unfinished, []);
  }

  async #passAll(): Promise<void> {
    const next = (): WaitingCall | undefined => this.#turnstile.waiting[0];
    for (let call = next(); call; call = next()) {
      await call.pass("answered");
      await this.#breathe();
    }
  }

  async #check(): Promise<void> {
    assertEquals(this.#errors, []);
    const report = await verifyStore(this.#kv);
    assertEquals(report.problems, []);
    assertEquals(report.moving, []);
    assertEquals(report.leasedMicroVnd, 0n);
    for (const accountId of this.#accounts) {
      const { availableMicroVnd } = await readWallet(this.#kv, accountId);
      assert(availableMicroVnd >= -chaosDebt.toppedUpMicroVnd, `${availableMicroVnd} is owed`);
    }
    assertEquals(report.availableMicroVnd, report.ledgerMicroVnd - report.chargedMicroVnd);
    for (const prefix of ["lease", "settled", "indexer"]) {
      const rows = await Array.fromAsync(this.#kv.list({ prefix: [prefix] }));
      assertEquals(rows.map(({ key }) => key), [], `rows left under ${prefix}`);
    }
    let stored = 0;
    for (const settled of this.#settled) {
      const receipt = await readReceipt(this.#kv, settled.requestId);
      if (settled.receipt) assertEquals(receipt, settled.receipt, "a settled call's receipt");
      if (!receipt) continue;
      stored++;
      assertEquals(receipt.accountId, settled.accountId);
      const { outcome, costMicroVnd, shortfallMicroVnd } = receipt;
      const isFree = outcome === "withheld";
      assert(!isFree || settled.isWithheld, "only answers that were withheld are free");
      assertEquals(costMicroVnd + shortfallMicroVnd, isFree ? 0n : settled.price);
    }
    assertEquals(report.receipts, stored, "no receipt without a call");
    assert(stored <= this.#settled.length);
  }
}
