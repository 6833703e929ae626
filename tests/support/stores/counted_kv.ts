/** Counts the calls of a store, and the bytes that they write; waits until a store has answered all of them. */
import { setImmediate } from "node:timers";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { encodeKey, encodeValue } from "../../../kv/engine/parts/tuple_key.ts";

export interface StoreCounts {
  reads: number;
  commits: number;
  /** Keys and values in commits. */
  writtenBytes: number;
  /** Calls that the store has not answered. */
  underWay: number;
}

/** Bytes of a row without what an engine adds. */
export function rowBytes(key: Deno.KvKey, value: unknown): number {
  return encodeKey(key).length + encodeValue(value).length;
}

/** Counts from here on; changes the store in place, since its class cannot be wrapped. */
export function countedKv(kv: KeyValueStore): StoreCounts {
  const counts: StoreCounts = { reads: 0, commits: 0, writtenBytes: 0, underWay: 0 };
  const follow = <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    counts.underWay++;
    return answer.finally(() => counts.underWay--);
  };
  const get = kv.get.bind(kv);
  const getMany = kv.getMany.bind(kv);
  const list = kv.list.bind(kv);
  const set = kv.set.bind(kv);
  const remove = kv.delete.bind(kv);
  const atomic = kv.atomic.bind(kv);
  kv.get = (...call) => {
    counts.reads++;
    return follow(get(...call));
  };
  kv.getMany = (...call) => {
    counts.reads++;
    return follow(getMany(...call));
  };
  kv.list = <Value>(...call: Parameters<KeyValueStore["list"]>) => {
    counts.reads++;
    const rows = list<Value>(...call);
    const next = rows.next.bind(rows);
    rows.next = () => follow(next());
    return rows;
  };
  kv.set = (...call) => {
    counts.commits++;
    counts.writtenBytes += rowBytes(call[0], call[1]);
    return follow(set(...call));
  };
  kv.delete = (...call) => {
    counts.commits++;
    return follow(remove(...call));
  };
  kv.atomic = () => {
    const operation = atomic();
    const setRow = operation.set.bind(operation);
    const commit = operation.commit.bind(operation);
    operation.set = (...row) => {
      counts.writtenBytes += rowBytes(row[0], row[1]);
      setRow(...row);
      return operation;
    };
    operation.commit = () => {
      counts.commits++;
      return follow(commit());
    };
    return operation;
  };
  return counts;
}

/** Turns without a call to the store after which nothing is expected to ask it: what follows an answer takes one or two. */
const quietTurns = 10;

/** Lets everything finish that needs no time: waits until the store has answered every call, however slow the machine. */
export async function settledDown(store: Pick<StoreCounts, "underWay">): Promise<void> {
  for (let quiet = 0; quiet < quietTurns;) {
    await new Promise((resolve) => setImmediate(resolve));
    quiet = store.underWay === 0 ? quiet + 1 : 0;
  }
}
