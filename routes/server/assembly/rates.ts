/** Opens the book of rate limits of a process, which instances on one store share. */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import { ProcessRateBook, type RateBook } from "../../../core/limits/rate_book.ts";
import type { RateExchange } from "../../../kv/services/limits/rate_exchange.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** Instances to assume until the first exchange: a cold one may use a quarter of a limit before it knows more. */
const assumedInstances = 4;

/** A book, and its end. */
export interface OpenRates {
  readonly book: RateBook;
  close(): Promise<void>;
}

/**
 * Opens the book.
 *
 * @param options.isAlone whether no other instance uses the store
 */
export function openRates(kv: KeyValueStore, { clock, timer, isAlone, onFailure }: {
  readonly clock: Clock;
  readonly timer: Timer;
  readonly isAlone: boolean;
  readonly onFailure: (error: unknown) => void;
}): OpenRates {
  if (isAlone) {
    return { book: new ProcessRateBook(() => clock.monotonicMs()), close: async () => {} };
  }
  let exchange: RateExchange | undefined;
  let loading: Promise<void> | undefined;
  let isClosed = false;
  // Loaded with the first call that has a limit: most installations set none.
  const load = async () => {
    const { RateExchange } = await import("../../../kv/services/limits/rate_exchange.ts");
    if (isClosed) return;
    exchange = new RateExchange({
      kv,
      book,
      clock,
      timer,
      assumedInstances,
      onFailure,
    });
    exchange.used();
  };
  const book = new ProcessRateBook(() => clock.monotonicMs(), {
    instances: assumedInstances,
    onUse() {
      if (exchange !== undefined) exchange.used();
      else loading ??= load();
    },
  });
  return {
    book,
    async close() {
      isClosed = true;
      await loading;
      await exchange?.close();
    },
  };
}
