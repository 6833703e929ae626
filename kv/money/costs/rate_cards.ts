/**
 * Stores the rate cards that receipts name, so that a day's sheet can be computed whatever the catalogue says later.
 *
 * - Folder `kv/money/costs/`: what calls cost the operator at providers: rate cards, sums by provider, margins.
 * - In: receipts with the cost of their call, and the rate cards of the catalogue.
 * - Out: sums per day by model, route, account and bucket, for operators only.
 * - Never: changes money, or is read for a customer.
 */
import { type RateCard, rateCard, type RateCardTerms } from "../../../core/billing/rate_card.ts";
import { rateCardKey, rateCardsPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Attachment } from "../wallet/lease/types.ts";

/** Cards that a process remembers to have stored: those of a catalogue, and of some versions before it. */
const maxKnownCards = 10_000;

/** Most cards that are read: years of changed rates. */
const maxCardsRead = 10_000;

/**
 * Adds a card to the commit of the first receipt that names it, so that no receipt names a card that is not stored. Its
 * content follows from its id, so writing it twice changes nothing.
 */
export class RateCardBook {
  readonly #stored = new Set<string>();

  /** Returns what to write beside a receipt. */
  attach(card: RateCard, rows: Attachment | undefined): Attachment | undefined {
    if (this.#stored.has(card.id)) return rows;
    return {
      mutations: 1 + (rows?.mutations ?? 0),
      apply(op) {
        op.set(rateCardKey(card.id), card.terms);
        rows?.apply(op);
      },
    };
  }

  /** Notes that a receipt that names the card is stored. */
  noteStored(card: RateCard): void {
    if (this.#stored.size >= maxKnownCards) this.#stored.clear();
    this.#stored.add(card.id);
  }
}

/** Reads all stored cards, by id. */
export async function readRateCards(kv: KeyValueStore): Promise<ReadonlyMap<string, RateCard>> {
  const cards = new Map<string, RateCard>();
  const rows = kv.list<RateCardTerms>({ prefix: rateCardsPrefix() }, { limit: maxCardsRead });
  for await (const { value } of rows) {
    const card = rateCard(value);
    cards.set(card.id, card);
  }
  return cards;
}
