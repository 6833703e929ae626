/**
 * Clears up after dead instances: returns their leases to the wallets and indexes their batches.
 *
 * Any number of processes may do so at once. The reaper first takes the instance lease by
 * check-and-set; from then on the instance cannot write, even if it was only suspended. So a wrong
 * clock may cost a live instance its leases (it notices, and starts over), but never money.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, InstanceId } from "../../../core/lib/ids/ids.ts";
import { type LeaseRow, leaseRow, walletWriteAttempts } from "../balances/leases.ts";
import { type Batch, listBatches } from "../../engine/store/batches.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { writeIndex } from "../receipts/index_write.ts";
import {
  indexerKey,
  instanceKey,
  instanceOf,
  instancesPrefix,
  leaseKey,
  leaseOf,
  leasesPrefix,
} from "../../engine/schema/keys.ts";
import { readReceipts } from "../receipts/receipts.ts";
import { chunkGroups, groupReceipts } from "../receipts/day_sum_group.ts";
import type { InstanceLeaseRow } from "./lease/instance_lease.ts";
import { changeWallet, readWallet } from "../balances/wallets.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Dead instances cleared up in one reading of all leases: after the outage of a cluster the leases are read once, not
 * once per instance. Bounds the batches in memory.
 */
const instancesPerPass = 50;

/** Options of {@linkcode reapExpiredInstances}. */
export interface ReapOptions {
  /**
   * Treats every instance as dead, whether its lease has expired or not. For the start of a process
   * that is alone on the store (as with a local file), so that money in the leases of a crashed
   * process is free at once.
   */
  readonly all?: boolean;
  /**
   * The instances of this process, which are alive even if its clock has jumped. Otherwise their
   * running calls would lose their reservations.
   */
  readonly own?: ReadonlySet<InstanceId>;
  /** Instances that have ended for certain, as those of a thread of this process: they count as expired. */
  readonly ended?: ReadonlySet<InstanceId>;
}

/** The result of a run of the reaper. */
export interface ReapReport {
  /** Instances that this run cleared up completely. */
  readonly reaped: number;
  /** Instances that could not be cleared up, with the reason. The next run continues. */
  readonly unfinished: readonly { readonly instanceId: InstanceId; readonly reason: string }[];
  /**
   * Moment at which the first of the other instances expires, unless it renews its lease; `Infinity` if there is none.
   */
  readonly nextExpiryMs: number;
}

/**
 * Clears up after every instance whose lease has expired. Call it at start and from cron.
 *
 * @example
 * ```ts
 * import { reapExpiredInstances } from "./reaper.ts";
 * using kv = await Deno.openKv(":memory:");
 * const report = await reapExpiredInstances(kv, Date.now());
 * if (report.reaped !== 0) throw new Error("nobody was there");
 * ```
 */
export async function reapExpiredInstances(
  kv: KeyValueStore,
  nowMs: number,
  options: ReapOptions = {},
): Promise<ReapReport> {
  const pass = new ReaperPass(kv);
  const dead: InstanceId[] = [];
  let nextExpiryMs = Infinity;
  for await (const entry of kv.list<InstanceLeaseRow>({ prefix: instancesPrefix() })) {
    const instanceId = instanceOf(entry.key);
    const { value } = entry;
    if (
      value.state === "live" && value.expiresAtMs > nowMs && options.own?.has(instanceId) !== true
    ) {
      nextExpiryMs = Math.min(nextExpiryMs, value.expiresAtMs);
    }
    // An instance that cannot be cleared up must not block the others.
    await pass.attempt(instanceId, async () => {
      if (await isToClearUp(kv, entry, nowMs, options)) dead.push(instanceId);
    });
  }
  for (let at = 0; at < dead.length; at += instancesPerPass) {
    await pass.clearUp(dead.slice(at, at + instancesPerPass));
  }
  return { reaped: pass.reaped, unfinished: pass.unfinished, nextExpiryMs };
}

/** Decides whether this run clears up after an instance, and takes its instance lease first. */
async function isToClearUp(
  kv: KeyValueStore,
  entry: Deno.KvEntry<InstanceLeaseRow>,
  nowMs: number,
  options: ReapOptions,
): Promise<boolean> {
  const { value } = entry;
  switch (value.state) {
    case "done":
      await kv.atomic().check(entry).delete(entry.key).commit();
      return false;
    case "reaped":
      return true;
    case "live":
      if (!isDead(instanceOf(entry.key), value.expiresAtMs, nowMs, options)) return false;
      // Refused: the instance is alive, or another reaper was faster.
      return await takeInstanceLease(kv, entry, nowMs);
  }
}

function isDead(
  instanceId: InstanceId,
  expiresAtMs: number,
  nowMs: number,
  { all = false, own, ended }: ReapOptions,
): boolean {
  if (own?.has(instanceId)) return false;
  return all || expiresAtMs <= nowMs || ended?.has(instanceId) === true;
}

/**
 * Clears up after instances that have ended for certain, without waiting for their leases to expire. A commit that was
 * under way at their end may make a try fail, which is then repeated.
 *
 * @returns what remains to be cleared up by later runs of {@linkcode reapExpiredInstances}
 */
export async function reapEndedInstances(
  kv: KeyValueStore,
  nowMs: number,
  options: Required<Pick<ReapOptions, "own" | "ended">>,
): Promise<InstanceId[]> {
  let left = [...options.ended];
  for (let tries = 0; left.length > 0 && tries < walletWriteAttempts; tries++) {
    await reapExpiredInstances(kv, nowMs, options);
    const rows = await Promise.all(left.map((id) => kv.get(instanceKey(id))));
    left = left.filter((_, at) => rows[at]?.value !== null);
  }
  return left;
}

/**
 * Ends an instance at once, for its own process when it closes, and deletes its rows.
 *
 * @throws if the store fails; the next run, or another reaper, continues
 */
export async function retireInstance(
  kv: KeyValueStore,
  instanceId: InstanceId,
  nowMs: number,
): Promise<void> {
  const entry = await kv.get<InstanceLeaseRow>(instanceKey(instanceId));
  if (entry.value === null) return;
  if (entry.value.state === "live") await takeInstanceLease(kv, entry, nowMs);
  const pass = new ReaperPass(kv);
  await pass.clearUp([instanceId]);
  const [failed] = pass.unfinished;
  if (failed) throw new Error(failed.reason);
}

/**
 * Takes the instance lease, after which the instance can commit neither settlements nor index rows.
 */
async function takeInstanceLease(
  kv: KeyValueStore,
  entry: Deno.KvEntry<InstanceLeaseRow>,
  nowMs: number,
): Promise<boolean> {
  const { value: { commit }, key } = entry;
  const taken: InstanceLeaseRow = { state: "reaped", commit, reapedAtMs: nowMs };
  const result = await kv.atomic().check(entry).set(key, taken)
    .delete(indexerKey(instanceOf(key))).commit();
  return result.ok;
}

/** Clears up after instances whose instance lease was taken, and notes for which of them that failed. */
class ReaperPass {
  readonly unfinished: { instanceId: InstanceId; reason: string }[] = [];
  reaped = 0;
  readonly #kv: KeyValueStore;

  constructor(kv: KeyValueStore) {
    this.#kv = kv;
  }

  /** Runs a step for one instance. Returns whether it succeeded; the next run continues where one failed. */
  async attempt(instanceId: InstanceId, step: () => Promise<void>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.unfinished.push({ instanceId, reason });
      return false;
    }
  }

  /**
   * Leases first: what a batch took from a lease is known only from its batch row, which
   * `finishBatches` deletes. The row of the instance last: it says that there is something to do.
   */
  async clearUp(instanceIds: readonly InstanceId[]): Promise<void> {
    const dead = new Set(instanceIds);
    await this.#returnLeases(dead);
    for (const instanceId of dead) {
      await this.attempt(instanceId, async () => {
        await finishBatches(this.#kv, instanceId);
        if (await deleteInstance(this.#kv, instanceId)) this.reaped++;
      });
    }
  }

  /** Returns the leases of `dead`, from which it removes the instances where that failed. */
  async #returnLeases(dead: Set<InstanceId>): Promise<void> {
    const charges = new Map<InstanceId, ChargesByAccount>();
    for await (const entry of this.#kv.list<unknown>({ prefix: leasesPrefix() })) {
      const { instanceId } = leaseOf(entry.key);
      if (!dead.has(instanceId)) continue;
      const returned = await this.attempt(instanceId, async () => {
        const known = charges.get(instanceId) ?? await chargesByAccount(this.#kv, instanceId);
        charges.set(instanceId, known);
        const lease = leaseRow(entry);
        await returnLease(this.#kv, lease, leftMicroVnd(lease, known));
      });
      if (!returned) dead.delete(instanceId);
    }
  }
}

/**
 * Deletes the row of an instance that was cleared up. The instance stays excluded, even if it was only suspended: its
 * commits check a version of the row that no longer exists, and it takes an absent row for lost.
 */
async function deleteInstance(kv: KeyValueStore, instanceId: InstanceId): Promise<boolean> {
  const entry = await kv.get<InstanceLeaseRow>(instanceKey(instanceId));
  // Another reaper was faster.
  if (entry.value === null) return false;
  invariant(entry.value.state !== "live", "only a dead instance is deleted");
  const result = await kv.atomic().check(entry).delete(entry.key).commit();
  return result.ok;
}

type ChargesByAccount = Map<AccountId, { commit: number; chargedMicroVnd: bigint }[]>;

/** Collects the charges of the instance's batches by account, since lease rows may lack some. */
async function chargesByAccount(
  kv: KeyValueStore,
  instanceId: InstanceId,
): Promise<ChargesByAccount> {
  const charges: ChargesByAccount = new Map();
  for await (const { commit, parts } of listBatches(kv, instanceId)) {
    for (const { accountId, chargedMicroVnd } of parts) {
      const known = charges.get(accountId);
      if (known) known.push({ commit, chargedMicroVnd });
      else charges.set(accountId, [{ commit, chargedMicroVnd }]);
    }
  }
  return charges;
}

/** Rest of a lease after the batches whose charges its row lacks. */
function leftMicroVnd(lease: LeaseRow, charges: ChargesByAccount): bigint {
  const later = (charges.get(lease.accountId) ?? [])
    .filter(({ commit }) => commit > lease.asOfCommit);
  return later.reduce(
    (left, { chargedMicroVnd }) => left - chargedMicroVnd,
    lease.remainingMicroVnd,
  );
}

async function returnLease(
  kv: KeyValueStore,
  lease: LeaseRow,
  leftMicroVnd: bigint,
): Promise<void> {
  const { accountId, instanceId, versionstamp } = lease;
  invariant(leftMicroVnd >= 0n, `lease of ${accountId}: more was charged than it had`);
  const key = leaseKey(accountId, instanceId);
  const outcome = await compareAndSet<void>(async () => {
    const wallet = await readWallet(kv, accountId);
    const op = kv.atomic().check({ key, versionstamp });
    changeWallet(op, wallet, wallet.availableMicroVnd + leftMicroVnd);
    const result = await op.delete(key).commit();
    if (result.ok) return { done: undefined };
    // Only reapers write the lease of a reaped instance; if it changed, another one has returned
    // it.
    const now = await kv.get(key);
    return now.versionstamp === versionstamp ? "again" : { done: undefined };
  }, { attempts: walletWriteAttempts });
  if (outcome === "conflict") throw new Error(`Cannot return a lease on ${accountId}: conflict`);
}

/**
 * Indexes what the instance settled and deletes the batch rows. Runs after the leases have gone
 * back.
 */
async function finishBatches(kv: KeyValueStore, instanceId: InstanceId): Promise<void> {
  for await (const batch of listBatches(kv, instanceId)) {
    await indexBatch(kv, batch);
    await kv.delete(batch.key);
  }
}

async function indexBatch(kv: KeyValueStore, batch: Batch): Promise<void> {
  const requestIds = batch.parts.flatMap((part) => part.requestIds);
  const receipts = await readReceipts(kv, requestIds);
  invariant(receipts.length === requestIds.length, "every settled call has its receipt");
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    const outcome = await writeIndex(kv, chunk, { bounded: (call) => call });
    if (outcome !== "written") throw new Error("Cannot index a batch: conflict");
  }
}
