/**
 * Gives every call of the store a deadline. Over a network the runtime repeats an unanswered call
 * forever, and a disk may hang, while a client, a job that must not overlap itself, or the end of
 * the process waits.
 */
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "./key_value_store.ts";
import { type OutageOf, StoreUnavailableError } from "./store_unavailable.ts";

/**
 * Milliseconds of one store call during a request: far above usual times (1 ms local, 100 ms
 * managed), below what a client waits.
 */
export const kvCallMs = 5_000;

/**
 * Milliseconds of a read after another call ran out of its time, until anything is answered again: a page that reads
 * several rows one after the other, or whose reader tries again, says soon that the store is away. Far above the times
 * of a store that has just come back.
 */
export const silentReadMs = 1_000;

/** Thrown if the store did not answer in time. The call may still take effect. */
export class StoreTimeoutError extends StoreUnavailableError {
  override name = "StoreTimeoutError";

  constructor() {
    super("no_answer");
  }
}

/** Gives a call its deadline, and its failures the names of outages. */
export type CallGuard = <Result>(call: Promise<Result>, kind?: "read" | "write") => Promise<Result>;

/**
 * Makes the guard of {@linkcode withDeadlines}, for what is read beside the rows of a store.
 *
 * @param deadlines must stay open as long as the store
 */
export function callGuard(deadlines: Deadlines, outageOf: OutageOf): CallGuard {
  let isSilent = false;
  return (call, kind = "read") =>
    new Promise((resolve, reject) => {
      const deadline = deadlines.create(() => {
        isSilent = true;
        reject(new StoreTimeoutError());
      });
      deadline.arm(isSilent && kind === "read" ? silentReadMs : kvCallMs);
      const fail = (error: unknown) => {
        const outage = error instanceof StoreUnavailableError ? undefined : outageOf(error);
        reject(outage === undefined ? error : new StoreUnavailableError(outage, { cause: error }));
      };
      // An answer that comes too late for its caller counts, too: the store is slow, and not away.
      call.then(() => isSilent = false, () => {});
      call.then(resolve, fail).finally(() => deadline.disarm());
    });
}

/**
 * Gives every call of a store a deadline of {@linkcode kvCallMs}, or of {@linkcode silentReadMs} for a read of a store
 * that is silent; a list has one for each row. A call past its deadline rejects with a {@linkcode StoreTimeoutError},
 * and one that the engine fails with a {@linkcode StoreUnavailableError}.
 *
 * @param kv changed in place, since its class cannot be built or wrapped without losing its type
 * @param deadlines must stay open as long as the store
 * @param outageOf tells the failures of the engine from those of its callers
 *
 * @example
 * ```ts
 * import { systemClock } from "../../../core/lib/time/clock.ts";
 * import { Deadlines } from "../../../core/lib/time/deadlines.ts";
 * import { withDeadlines } from "./store_deadlines.ts";
 * const deadlines = new Deadlines({ clock: systemClock });
 * using kv = withDeadlines(await Deno.openKv(":memory:"), deadlines);
 * const { ok } = await kv.atomic().set(["greeting"], "hello").commit();
 * if (!ok || (await kv.get(["greeting"])).value !== "hello") throw new Error("nothing was stored");
 * deadlines.close();
 * ```
 */
export function withDeadlines(
  kv: KeyValueStore,
  deadlines: Deadlines,
  outageOf: OutageOf = () => undefined,
): KeyValueStore {
  const inTime = callGuard(deadlines, outageOf);
  const get = kv.get.bind(kv);
  const set = kv.set.bind(kv);
  const remove = kv.delete.bind(kv);
  const getMany = kv.getMany.bind(kv);
  const list = kv.list.bind(kv);
  const firstRows = kv.firstRows?.bind(kv);
  const atomic = kv.atomic.bind(kv);
  kv.get = (...call) => inTime(get(...call));
  kv.set = (...call) => inTime(set(...call), "write");
  kv.delete = (...call) => inTime(remove(...call), "write");
  kv.getMany = (...call) => inTime(getMany(...call));
  if (firstRows !== undefined) kv.firstRows = (...call) => inTime(firstRows(...call));
  kv.list = <Value>(...call: Parameters<KeyValueStore["list"]>) => {
    const rows = list<Value>(...call);
    const next = rows.next.bind(rows);
    rows.next = () => inTime(next());
    return rows;
  };
  kv.atomic = () => {
    const operation = atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = () => inTime(commit(), "write");
    return operation;
  };
  return kv;
}
