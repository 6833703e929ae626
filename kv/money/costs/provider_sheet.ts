/**
 * Reads a sheet to hold against a provider's invoice: what was used per UTC day, provider, model, bucket and rate. Units
 * are exact; sums are exact in the currency of the rate card, and rounded up to a µVND once per line.
 *
 * - Folder `kv/money/costs/`: what calls cost the operator at providers: rate cards, sums by provider, margins.
 * - In: receipts with the cost of their call, and the rate cards of the catalogue.
 * - Out: sums per day by model, route, account and bucket, for operators only.
 * - Never: changes money, or is read for a customer.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import {
  costInMicroVnd,
  costOfUnitsAt,
  type RateCard,
  rateCard,
  type RateCardTerms,
} from "../../../core/billing/rate_card.ts";
import { providerOfRoute } from "../ledger/provider_claims.ts";
import { type DayRange, usageSum } from "../receipts/day_sums.ts";
import { joinedCells, providerCellOf, type ProviderSum } from "../receipts/provider_sums.ts";
import {
  dayCopiesRange,
  dayCopyOf,
  rateCardKey,
  rateCardsPrefix,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import type { Attachment } from "../wallet/mod.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

// Stores the rate cards that receipts name, so that a day's sheet can be computed whatever the catalogue says later.

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

/** Most rows of a period that are read: a second or two. */
const maxSheetRows = 200_000;

/** A line of a sheet. */
export interface SheetLine {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
  readonly bucket: string;
  readonly card: RateCard;
  readonly units: number;
  /** In the currency of the card; see `formatCost`. */
  readonly parts: bigint;
  readonly costMicroVnd: bigint;
}

/** The calls of a provider on a day. */
export interface SheetCalls {
  readonly day: string;
  readonly provider: string;
  readonly calls: number;
  /** Calls by routes without rates. */
  readonly unknownCalls: number;
  /** Calls of which only the sum is known, since a day sum had too many parts. */
  readonly joinedCalls: number;
  /** The sum of the costs of the receipts, each rounded up. */
  readonly costMicroVnd: bigint;
}

/** The sheet of some UTC days. */
export interface ProviderSheet {
  readonly lines: readonly SheetLine[];
  readonly calls: readonly SheetCalls[];
  /** Set if there were more rows than the bound: the sums are too low. */
  readonly isPartial: boolean;
}

/** Returns the provider's name of the model of a route, whose id is `provider/model#style`. */
export function modelOfRoute(route: string): string {
  const slash = route.indexOf("/");
  const hash = route.lastIndexOf("#");
  return route.slice(slash + 1, hash > slash ? hash : undefined);
}

function shifted(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);
}

/** Adds up units by day, provider, model, card and bucket. */
class SheetSums {
  readonly #units = new Map<string, Omit<SheetLine, "parts" | "costMicroVnd">>();
  readonly #calls = new Map<string, SheetCalls>();
  readonly #cards: ReadonlyMap<string, RateCard>;

  constructor(cards: ReadonlyMap<string, RateCard>) {
    this.#cards = cards;
  }

  add(day: string, id: string, sum: ProviderSum): void {
    const { card: cardId, route } = providerCellOf(id);
    const provider = providerOfRoute(route);
    this.#addCalls(day, provider, sum, cardId);
    const card = cardId === undefined ? undefined : this.#cards.get(cardId);
    if (card === undefined) return;
    const model = modelOfRoute(route);
    for (const [bucket, units] of Object.entries(sum.units)) {
      const line = { day, provider, model, bucket, card };
      const name = [day, provider, model, bucket, card.id].join(" ");
      this.#units.set(name, { ...line, units: units + (this.#units.get(name)?.units ?? 0) });
    }
  }

  #addCalls(day: string, provider: string, sum: ProviderSum, card: string | undefined): void {
    const name = `${day} ${provider}`;
    const known = this.#calls.get(name) ??
      { day, provider, calls: 0, unknownCalls: 0, joinedCalls: 0, costMicroVnd: 0n };
    this.#calls.set(name, {
      day,
      provider,
      calls: known.calls + sum.calls,
      unknownCalls: known.unknownCalls + (card === undefined ? sum.calls : 0),
      joinedCalls: known.joinedCalls + (card === joinedCells ? sum.calls : 0),
      costMicroVnd: known.costMicroVnd + sum.costMicroVnd,
    });
  }

  lines(): SheetLine[] {
    const inOrder = [...this.#units].sort(([one], [other]) => ascending(one, other));
    return inOrder.map(([, line]) => {
      const parts = costOfUnitsAt(line.card, { [line.bucket]: line.units });
      return { ...line, parts, costMicroVnd: costInMicroVnd(line.card, parts) };
    });
  }

  calls(): SheetCalls[] {
    return [...this.#calls].sort(([one], [other]) => ascending(one, other)).map(([, sum]) => sum);
  }
}

/** Reads the sheet of some UTC days, both included. */
export async function readProviderSheet(
  kv: KeyValueStore,
  { fromDay, toDay }: DayRange,
): Promise<ProviderSheet> {
  const sums = new SheetSums(await readRateCards(kv));
  let rows = 0;
  const page = { limit: maxSheetRows, batchSize: listBatchRows };
  // The early hours of a Vietnamese day belong to the UTC day before.
  const selector = dayCopiesRange({ fromDay, toDay: shifted(toDay, 1) });
  for await (const { key, value } of kv.list<unknown>(selector, page)) {
    rows++;
    const { day } = dayCopyOf(key);
    for (const [id, sum] of Object.entries(usageSum(value).providers ?? {})) {
      const utcDay = providerCellOf(id).isEarly ? shifted(day, -1) : day;
      if (utcDay >= fromDay && utcDay <= toDay) sums.add(utcDay, id, sum);
    }
  }
  return { lines: sums.lines(), calls: sums.calls(), isPartial: rows >= maxSheetRows };
}

/** Adds up the lines of several days. */
export function withoutDays(lines: readonly SheetLine[]): SheetLine[] {
  const sums = new Map<string, SheetLine>();
  for (const line of lines) {
    const name = [line.provider, line.model, line.bucket, line.card.id].join(" ");
    const known = sums.get(name);
    const units = line.units + (known?.units ?? 0);
    const parts = costOfUnitsAt(line.card, { [line.bucket]: units });
    sums.set(name, { ...line, units, parts, costMicroVnd: costInMicroVnd(line.card, parts) });
  }
  return [...sums.values()];
}
