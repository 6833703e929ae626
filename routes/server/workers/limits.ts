/** The book of key limits between threads: the owner keeps it, workers reach it by messages. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { MessageLink } from "../../../core/lib/threads/message_link.ts";
import type { KeyLimitBook, LimitedCall } from "../../../kv/services/limits/limit_book.ts";
import type { LimitServices, OwnerServices } from "./services.ts";

/** The running calls of one worker that count against limits. */
export class WorkerLimits {
  readonly #calls = new Map<number, LimitedCall>();
  #last = 0;
  #hasEnded = false;

  /** Serves a book to the worker. */
  services(book: KeyLimitBook): LimitServices {
    const callOf = (call: number): LimitedCall => {
      const known = this.#calls.get(call);
      invariant(known !== undefined, "a worker names only calls that it has begun");
      return known;
    };
    return {
      beginLimited: async ({ key, amount, startedAtMs }) => {
        const begun = await book.begin(key, amount, startedAtMs);
        if (!begun.ok) return begun;
        if (this.#hasEnded) begun.call.end(0n);
        const call = ++this.#last;
        this.#calls.set(call, begun.call);
        return { ok: true, call, amountMicroVnd: begun.amountMicroVnd };
      },
      extendLimited: async ({ call, amountMicroVnd }) => await callOf(call).extend(amountMicroVnd),
      giveBackLimited: ({ call, amountMicroVnd }) =>
        this.#calls.get(call)?.giveBack(amountMicroVnd),
      endLimited: ({ call, costMicroVnd }) => {
        this.#calls.get(call)?.end(costMicroVnd);
        this.#calls.delete(call);
      },
    };
  }

  /** Ends all calls of a worker that has ended. What they cost is read from the store. */
  endAll(): void {
    this.#hasEnded = true;
    for (const call of this.#calls.values()) call.end(0n);
    this.#calls.clear();
  }
}

/** The book of the owner. */
export function ownersLimits(link: MessageLink<OwnerServices>): KeyLimitBook {
  return {
    async begin(key, amount, startedAtMs) {
      const begun = await link.call("beginLimited", { key, amount, startedAtMs });
      if (!begun.ok) return begun;
      const { call, amountMicroVnd } = begun;
      let hasEnded = false;
      return {
        ok: true,
        amountMicroVnd,
        call: {
          extend: (amountMicroVnd) => link.call("extendLimited", { call, amountMicroVnd }),
          giveBack(amountMicroVnd) {
            if (!hasEnded) link.note("giveBackLimited", { call, amountMicroVnd });
          },
          end(costMicroVnd) {
            if (!hasEnded) link.note("endLimited", { call, costMicroVnd });
            hasEnded = true;
          },
        },
      };
    },
  };
}
