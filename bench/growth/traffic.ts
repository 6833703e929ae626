/**
 * The calls of days that are over, as a gateway in use has them. Customers are of very different sizes (Zipf), calls
 * come in bursts, and what receipts have in common with others is as in use: some models, prices with what the provider
 * charges, names that were mapped, and a few calls of several attempts or of none that succeeded.
 */
import type { AppliedPrice, Attempt, Receipt } from "../../core/billing/usage/receipt.ts";
import { type AccountId, type ApiKeyId, newId } from "../../core/lib/ids/ids.ts";
import { dayMs } from "../../core/lib/time/durations.ts";
import { bucketStartMs } from "../../kv/money/archive/receipt_rows.ts";
import { seededRandom } from "../routing/seeded_random.ts";

/** Customer who calls. */
export interface Customer {
  readonly accountId: AccountId;
  readonly keyIds: readonly ApiKeyId[];
}

/** A model with its rates in µVND per token: what customers pay, and what the provider charges. */
interface TrafficModel {
  readonly model: string;
  readonly style: string;
  readonly mappedFrom: string;
  readonly rate: bigint;
  readonly providerRate: bigint;
}

const models: readonly TrafficModel[] = [
  { model: "fast-1", style: "chat", mappedFrom: "fast", rate: 2_600n, providerRate: 1_950n },
  {
    model: "premium-1",
    style: "messages",
    mappedFrom: "best",
    rate: 83_000n,
    providerRate: 77_800n,
  },
  {
    model: "premium-1-thinking",
    style: "messages",
    mappedFrom: "think",
    rate: 83_000n,
    providerRate: 77_800n,
  },
  { model: "wide-2", style: "responses", mappedFrom: "wide", rate: 32_500n, providerRate: 26_000n },
  { model: "small-3", style: "gemini", mappedFrom: "small", rate: 7_800n, providerRate: 5_200n },
];

/** Parts of all calls. */
const shares = { mapped: 0.08, streamed: 0.7, cached: 0.4, retried: 0.04, failed: 0.01 } as const;

/** Most calls of a burst, which share a page. */
const maxBurst = 4;

/** Share by which calls at noon exceed the average. */
const dayCurve = 0.8;

/** The moment of a day up to which a part of its calls has come. */
function momentOf(part: number): number {
  return dayMs * (part - dayCurve / (2 * Math.PI) * Math.sin(2 * Math.PI * part));
}

function priceOf({ rate }: TrafficModel): AppliedPrice {
  const perMtok = rate * 1_000_000n;
  return {
    unit: "token",
    inputPerMtokMicroVnd: perMtok,
    outputPerMtokMicroVnd: perMtok * 4n,
    cacheReadPerMtokMicroVnd: perMtok / 10n,
    cacheWritePerMtokMicroVnd: perMtok,
  };
}

/** Draws a number below `below`, each half as often as the one before it on average: the sum of its odds is harmonic. */
class Zipf {
  readonly #sums: number[] = [];
  readonly #random: () => number;

  constructor(below: number, random: () => number) {
    let sum = 0;
    for (let rank = 1; rank <= below; rank++) this.#sums.push(sum += 1 / rank);
    this.#random = random;
  }

  draw(): number {
    const wanted = this.#random() * (this.#sums.at(-1) ?? 0);
    let [from, to] = [0, this.#sums.length - 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#sums[middle] ?? 0) < wanted) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** Makes the calls of days. The same days are the same in every store, but for the ids. */
export class Traffic {
  readonly #customers: readonly Customer[];
  #random = seededRandom(0);

  constructor(customers: readonly Customer[]) {
    this.#customers = customers;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #isOneOf(share: number): boolean {
    return this.#random() < share;
  }

  /** The calls of the day that begins at a moment, in the order of their ids. */
  *day(startMs: number, count: number): Generator<Receipt> {
    this.#random = seededRandom(startMs / dayMs);
    const random = () => this.#random();
    const accounts = new Zipf(this.#customers.length, random);
    const keys = new Zipf(Math.max(...this.#customers.map(({ keyIds }) => keyIds.length)), random);
    let lastMs = 0;
    for (let made = 0; made < count;) {
      // No two bursts share a bucket: a gateway has its calls of one bucket on one page.
      const burstMs = Math.max(bucketStartMs(startMs + momentOf(made / count)), lastMs + 36);
      lastMs = burstMs;
      const end = Math.min(count, made + 1 + this.#below(maxBurst));
      for (; made < end; made++) {
        const customer = this.#customers[accounts.draw()];
        const keyId = customer?.keyIds[keys.draw() % customer.keyIds.length];
        if (customer === undefined || keyId === undefined) throw new Error("nobody calls");
        yield this.#receipt(customer.accountId, keyId, burstMs + this.#below(30));
      }
    }
  }

  #receipt(accountId: AccountId, keyId: ApiKeyId, atMs: number): Receipt {
    const model = models[Math.floor(models.length * this.#random() ** 2)];
    if (model === undefined) throw new Error("no model");
    const fails = this.#isOneOf(shares.failed);
    const route = `provider-${1 + this.#below(2)}/${model.model}/${model.style}`;
    const latencyMs = 300 + this.#below(9_000);
    const attempts = this.#attempts(route, latencyMs, fails);
    const usage = this.#usage();
    const stream = this.#isOneOf(shares.streamed);
    const common = {
      requestId: newId("request", atMs),
      accountId,
      keyId,
      kind: "chat",
      model: model.model,
      ...(this.#isOneOf(shares.mapped) && { mappedFrom: model.mappedFrom }),
      style: model.style,
      startedAtMs: atMs + this.#below(3),
      latencyMs,
      stream,
      estimated: false,
      units: 1,
      price: priceOf(model),
      shortfallMicroVnd: 0n,
      attempts,
    } as const;
    if (fails) return { ...common, status: 502, outcome: "failed", costMicroVnd: 0n };
    const { input, cacheRead, output } = usage;
    const tokens = BigInt(10 * input + cacheRead + 40 * output);
    return {
      ...common,
      route,
      ...(stream && { firstOutputMs: 150 + this.#below(latencyMs - 150) }),
      status: 200,
      outcome: "completed",
      usage,
      costMicroVnd: tokens * model.rate / 10n,
      providerCost: {
        kind: "known",
        card: `card_${model.model}`,
        units: { input, ...(cacheRead > 0 && { cache_read: cacheRead }), output },
        costMicroVnd: tokens * model.providerRate / 10n,
      },
    };
  }

  #attempts(route: string, latencyMs: number, fails: boolean): Attempt[] {
    const last = { route, outcome: fails ? "upstream_unreachable" : "ok", ms: latencyMs - 20 };
    if (!this.#isOneOf(shares.retried)) return [last];
    return [{ route: `spare/${route}`, outcome: "upstream_timeout", ms: 10 }, last];
  }

  #usage() {
    const cacheRead = this.#isOneOf(shares.cached) ? 1_024 * (1 + this.#below(60)) : 0;
    const output = 20 + this.#below(1_500);
    return { input: 40 + this.#below(4_000), cacheRead, cacheWrite: 0, output, reasoning: 0 };
  }
}
