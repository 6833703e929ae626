/** The book of rate limits between threads: the owner keeps it, workers reach it by messages. */
import type { MessageLink } from "../../../core/lib/threads/message_link.ts";
import type { RateBook, RatedCall } from "../../../core/limits/rate_book.ts";
import type { OwnerServices, RateServices } from "./services.ts";

/** The running calls of one worker that count against rate limits. */
export class WorkerRates {
  readonly #calls = new Map<number, RatedCall>();
  #last = 0;
  #hasEnded = false;

  /** Serves a book to the worker. */
  services(book: RateBook): RateServices {
    return {
      beginRated: async (request) => {
        const begun = await book.begin(request);
        if (!begun.ok) return begun;
        const call = ++this.#last;
        this.#calls.set(call, begun.call);
        if (this.#hasEnded) this.endAll();
        return { ok: true, call, figures: begun.figures };
      },
      endRated: ({ call, tokens, isCounted }) => {
        this.#calls.get(call)?.end({ tokens, isCounted });
        this.#calls.delete(call);
      },
      rateUse: (ids) => book.use(ids),
    };
  }

  /** Ends all calls of a worker that has ended: what they used is not known. */
  endAll(): void {
    this.#hasEnded = true;
    for (const call of this.#calls.values()) call.end({ tokens: undefined, isCounted: true });
    this.#calls.clear();
  }
}

/** The book of the owner. */
export function ownersRates(link: MessageLink<OwnerServices>): RateBook {
  return {
    async begin(request) {
      const begun = await link.call("beginRated", request);
      if (!begun.ok) return begun;
      const { call, figures } = begun;
      let hasEnded = false;
      return {
        ok: true,
        figures,
        call: {
          end(end) {
            if (!hasEnded) link.note("endRated", { call, ...end });
            hasEnded = true;
          },
        },
      };
    },
    use: (ids) => link.call("rateUse", ids),
  };
}
