/**
 * A store whose calls wait until the test lets one pass, so that a test can play every order of calls and every outcome
 * of an answer: late, lost, wrong, never.
 */
import type {
  AtomicWrite,
  KeyValueStore,
  RowIterator,
} from "../../../kv/engine/store/key_value_store.ts";

/** What happens to a call that passes. */
export type Fate =
  | "answered"
  /** Fails without effect. */
  | "fails"
  /** Takes effect, but the answer is an error. */
  | "answer_lost"
  /** A commit that takes effect, but says that a check failed (a remote client that sent it twice). */
  | "denied"
  /** Takes effect, and no answer ever comes. */
  | "silent";

/** A waiting call. */
export interface WaitingCall {
  readonly client: string;
  readonly name: string;
  /** Lets it pass; resolves when the store has done its work. */
  pass(fate: Fate): Promise<void>;
}

class StoreDown extends Error {
  override name = "StoreDown";
}

export class Turnstile {
  readonly #kv: KeyValueStore;
  readonly #waiting: WaitingCall[] = [];
  readonly #dead = new Set<string>();

  constructor(kv: KeyValueStore) {
    this.#kv = kv;
  }

  get waiting(): readonly WaitingCall[] {
    return this.#waiting;
  }

  /**
   * Ends the process of `client`: it makes no further call and gets no answer. Calls under way may still take effect.
   */
  kill(client: string): void {
    this.#dead.add(client);
  }

  /** Forgets a call that never reached the store. */
  drop(call: WaitingCall): void {
    this.#waiting.splice(this.#waiting.indexOf(call), 1);
  }

  /** The store as one client sees it. */
  client(client: string): KeyValueStore {
    const through: Through = (name, run) => this.#call(client, name, run);
    const kv = this.#kv;
    return new Proxy(kv, {
      get(target, property) {
        switch (property) {
          case "get":
            return (...args: Parameters<KeyValueStore["get"]>) =>
              through("get", () => target.get(...args));
          case "getMany":
            return (...args: Parameters<KeyValueStore["getMany"]>) =>
              through("getMany", () => target.getMany(...args));
          case "delete":
            return (...args: Parameters<KeyValueStore["delete"]>) =>
              through("delete", () => target.delete(...args));
          case "list":
            return (selector: Deno.KvListSelector, options?: Deno.KvListOptions) =>
              listThrough(target.list(selector, { ...options, batchSize: 3 }), through);
          case "atomic":
            return () => atomicThrough(target.atomic(), through);
          default:
            throw new Error(`The turnstile has no ${String(property)}`);
        }
      },
    });
  }

  #call<T>(client: string, name: string, run: (fate: Fate) => Promise<T>): Promise<T> {
    if (this.#dead.has(client)) return new Promise(() => {});
    return new Promise<T>((resolve, reject) => {
      const call: WaitingCall = {
        client,
        name,
        pass: async (fate) => {
          this.drop(call);
          const heard = () => !this.#dead.has(client) && fate !== "silent";
          if (fate === "fails") {
            if (heard()) reject(new StoreDown(`${name} failed`));
            return;
          }
          try {
            const result = await run(fate);
            if (!heard()) return;
            if (fate === "answer_lost") reject(new StoreDown(`the answer to ${name} was lost`));
            else resolve(result);
          } catch (error) {
            if (heard()) reject(error);
          }
        },
      };
      this.#waiting.push(call);
    });
  }
}

type Through = <T>(name: string, run: (fate: Fate) => Promise<T>) => Promise<T>;

function atomicThrough(op: AtomicWrite, through: Through): AtomicWrite {
  const wrapped: AtomicWrite = new Proxy(op, {
    get(target, property) {
      if (property === "commit") {
        return () =>
          through("commit", async (fate): Promise<Deno.KvCommitResult | Deno.KvCommitError> => {
            const result = await target.commit();
            return fate === "denied" ? { ok: false } : result;
          });
      }
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args);
        return result === target ? wrapped : result;
      };
    },
  });
  return wrapped;
}

/** Each row is a call: others may write between two of them, as between the batches of a real list. */
function listThrough<T>(rows: RowIterator<T>, through: Through): RowIterator<T> {
  return new Proxy(rows, {
    get(target, property) {
      if (property === "next") return () => through("list", () => target.next());
      if (property === Symbol.asyncIterator) return () => listThrough(target, through);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
