/**
 * Admits calls under rate limits and counts them. One book serves all threads of a process; sums of other instances are
 * added to it when they report it.
 *
 * With one instance no limit is ever exceeded. With several, each may add an equal share of what is left between two
 * exchanges of sums (docs/adr/ has the bound).
 */
import { recordOf } from "../lib/base/record_of.ts";
import {
  concurrencyLimitNames,
  type LimitHeader,
  type LimitSubject,
  type RateLimitName,
  type RateMeter,
  type SlidingKind,
  slidingKind,
  type SlidingLimitName,
  slidingLimitNames,
} from "./limit_table.ts";
import type { RateLimits, RateSubject } from "./rate_limits.ts";
import { msUntilAtMost, SlidingWindow, type WindowShape } from "./sliding_window.ts";

// What one subject has used of its minute: here, and at other instances as far as they have published.

/** The sums of one limit that an instance shares, by their names in the table of limits. */
type SharedSums = Readonly<
  Record<SlidingKind["shared"][number], number>
>;

/**
 * Uses of a subject that an instance publishes: sums since it first saw it, and of the window of each limit. It has
 * those limits that it counts; an instance of another version may have others.
 */
export interface SharedUse extends Partial<SharedSums> {
  /** Calls that run now. */
  readonly running: number;
}

/** The amounts of one limit of a subject. */
class Meter {
  readonly own: SlidingWindow;
  readonly #shape: WindowShape;
  #others: SlidingWindow | undefined;
  /** All that was ever added here, less what was taken back while it counted. */
  total = 0;
  /** Added here and not published yet. */
  unpublished = 0;

  constructor(shape: WindowShape) {
    this.#shape = shape;
    this.own = new SlidingWindow(shape);
  }

  sum(nowMs: number): number {
    return this.own.sum(nowMs) + (this.#others?.sum(nowMs) ?? 0);
  }

  add(amount: number, nowMs: number): number {
    this.total += amount;
    this.unpublished += amount;
    return this.own.add(amount, nowMs);
  }

  takeBack(place: number, amount: number, nowMs: number): void {
    const taken = this.own.takeBack(place, amount, nowMs);
    this.total -= taken;
    this.unpublished = Math.max(0, this.unpublished - taken);
  }

  /** Counts what another instance added, or took back, since it last published. */
  addOfOthers(amount: number, nowMs: number): void {
    if (amount === 0) return;
    this.#others ??= new SlidingWindow(this.#shape);
    if (amount > 0) this.#others.add(amount, nowMs);
    else this.#others.takeBackNewest(-amount, nowMs);
  }

  /** Milliseconds until `amount` fits under a limit. */
  fitsInMs(amount: number, limit: number, nowMs: number): number {
    const others = this.#others === undefined ? [] : [this.#others];
    return msUntilAtMost([this.own, ...others], limit - amount, nowMs);
  }

  /** Milliseconds until nothing is used any more. */
  emptyInMs(nowMs: number): number {
    return Math.max(this.own.emptyInMs(nowMs), this.#others?.emptyInMs(nowMs) ?? 0);
  }
}

/** Counter units in one unit of a limit: money is counted in millionths of a VND. */
const perUnit: Record<RateMeter, number> = { calls: 1, tokens: 1, money: 1_000_000 };

const kinds = recordOf(slidingLimitNames, slidingKind);

/** The value of a limit in the unit of its counters. */
function countedLimit(limits: RateLimits, name: SlidingLimitName): number | undefined {
  const limit = limits[name];
  return limit === undefined ? undefined : limit * perUnit[kinds[name].meter];
}

/** The amounts of one limit of a subject, and the share of them that this instance may add. */
class Counter {
  readonly name: SlidingLimitName;
  /** Its place among all sliding limits, as in {@linkcode Needs}. */
  readonly index: number;
  readonly meter: Meter;
  /** Amount that may be added until the next exchange. */
  quota = Infinity;

  constructor(name: SlidingLimitName) {
    this.name = name;
    this.index = slidingLimitNames.indexOf(name);
    const { windowMs, meter } = kinds[name];
    this.meter = new Meter({ windowMs, isWide: meter === "money" });
  }
}

const alwaysCounted = slidingLimitNames.filter((name) => kinds[name].isAlwaysCounted);
const countedIfLimited = slidingLimitNames.filter((name) => !kinds[name].isAlwaysCounted);

/** The use of one subject. */
class SubjectUse {
  readonly counters = alwaysCounted.map((name) => new Counter(name));
  /** Calls that run here. */
  running = 0;
  /** Calls that began here and are not published yet, less those of them that ended. */
  runningUnpublished = 0;
  /** Calls that run at other instances, as they published. */
  othersRunning = 0;
  /** Calls that may begin until the next exchange. */
  runningQuota = Infinity;
  /** The exchange of which the quotas are. */
  #exchange = -1;

  /** Returns the counter of a limit, which counts from now on if it did not before. */
  counterOf(name: SlidingLimitName): Counter {
    const known = this.counters.find((counter) => counter.name === name);
    if (known !== undefined) return known;
    const counter = new Counter(name);
    this.counters.push(counter);
    return counter;
  }

  /** Counts all that is limited. */
  countAll(limits: RateLimits): void {
    for (const name of countedIfLimited) if (limits[name] !== undefined) this.counterOf(name);
  }

  /** Whether nothing is used or published any more, so that it can be forgotten. */
  isIdle(nowMs: number): boolean {
    return this.running === 0 && this.othersRunning === 0 &&
      this.counters.every(({ meter }) => meter.sum(nowMs) === 0);
  }

  /** Returns the use to report to other instances, and counts it as reported; `undefined` if there is none. */
  publish(nowMs: number): SharedUse | undefined {
    this.runningUnpublished = 0;
    let isUsed = this.running > 0;
    const sums: { -readonly [Name in keyof SharedSums]?: number } = {};
    for (const { name, meter } of this.counters) {
      meter.unpublished = 0;
      const [total, inWindow] = kinds[name].shared;
      const lately = meter.own.sum(nowMs);
      sums[total] = meter.total;
      sums[inWindow] = lately;
      isUsed ||= lately > 0;
    }
    return isUsed ? { ...sums, running: this.running } : undefined;
  }

  /**
   * Counts what another instance publishes beyond what it published before.
   *
   * @param sinceMs how long ago it published `former`; beyond the window of a limit only what is in the window counts
   */
  merge(published: SharedUse, former: SharedUse | undefined, sinceMs: number, nowMs: number): void {
    for (const name of slidingLimitNames) {
      const { shared: [total, inWindow], windowMs } = kinds[name];
      const sum = published[total];
      if (sum === undefined) continue;
      const isRecent = former !== undefined && sinceMs < windowMs;
      const before = isRecent ? former[total] ?? 0 : sum - (published[inWindow] ?? 0);
      this.counterOf(name).meter.addOfOthers(sum - before, nowMs);
    }
  }

  /**
   * Sets what may be added between two exchanges of sums: an equal share of what is left, so that instances that know
   * the same cannot use it more than once.
   */
  shareOut(exchange: number, limits: RateLimits, instances: number, nowMs: number): void {
    if (this.#exchange === exchange) return;
    this.#exchange = exchange;
    for (const counter of this.counters) {
      const left = (countedLimit(limits, counter.name) ?? Infinity) - counter.meter.sum(nowMs);
      counter.quota = left / instances;
    }
    let maxRunning = Infinity;
    for (const name of concurrencyLimitNames) {
      maxRunning = Math.min(maxRunning, limits[name] ?? Infinity);
    }
    this.runningQuota = (maxRunning - this.running - this.othersRunning) / instances;
  }
}

/** Subjects that are counted at once, at about 1 KB each. Beyond that, evicts the least recently used. */
const maxSubjects = 50_000;

/** Suggested retry delay in milliseconds for a call that waits for a running one; we cannot know when that ends. */
const endOfOtherMs = 1_000;

/** Milliseconds after which the next exchange has run. */
const exchangedInMs = 1_000;

/** A limit, what is left of it, and when all of it is there again. */
export interface RateFigure {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** The strictest limits of a call at its admission, or when it was refused; those that headers show. */
export type RateFigures = { readonly [Header in LimitHeader]?: RateFigure };

/** A refusal by the first limit that forbids a call. */
export interface RateRefusal {
  readonly ok: false;
  readonly scope: LimitSubject;
  readonly limitName: RateLimitName;
  readonly limit: number;
  /** Amount that the call was expected to need. */
  readonly needed: number;
  /**
   * Milliseconds until the call would be admitted if nothing else is; `undefined`: never, since it needs more than the limit.
   */
  readonly retryAfterMs: number | undefined;
  readonly figures: RateFigures;
}

/** End of an admitted call. */
export interface RatedEnd {
  /** Tokens that it used; `undefined` if that is not known: the expected ones remain. */
  readonly tokens: number | undefined;
  /** Cost of the call; absent if that is not known: the expected cost remains. */
  readonly costMicroVnd?: bigint;
  /** False for a call that no provider got: it counts neither as a call nor as money. */
  readonly isCounted: boolean;
}

/** An admitted call. */
export interface RatedCall {
  /** Replaces the expected tokens by those used. Safe to call twice. */
  end(end: RatedEnd): void;
}

/** A call that was admitted. */
export interface RateAdmission {
  readonly ok: true;
  readonly call: RatedCall;
  readonly figures: RateFigures;
}

/** A call that asks for admission. */
export interface RateRequest {
  readonly subjects: readonly RateSubject[];
  /** Tokens that it is expected to need; 0 if it is not counted in tokens. */
  readonly tokens: number;
  /** The part of them that is its prompt: a prompt beyond a limit can never be admitted. */
  readonly inputTokens: number;
  /** Expected cost, and the cost that it needs to begin; absent: nothing. */
  readonly cost?: { readonly expectedMicroVnd: bigint; readonly leastMicroVnd: bigint };
}

/** Uses of each limit by a subject now, for pages. */
export type RateUse = Readonly<Record<RateLimitName, number>>;

/** The book as endpoints and pages see it: at once, or from another thread. */
export interface RateBook {
  begin(request: RateRequest): RateAdmission | RateRefusal | Promise<RateAdmission | RateRefusal>;
  /** Uses by subjects now, in their order. */
  use(ids: readonly string[]): readonly RateUse[] | Promise<readonly RateUse[]>;
}

/** Instances that share a book's limits. */
interface Sharing {
  /** Counts the exchanges of sums. */
  exchange: number;
  /** Instances that count calls under limits, this one included. */
  instances: number;
}

/** The book of a process. */
export class ProcessRateBook implements RateBook {
  readonly #monotonicMs: () => number;
  readonly #onUse: () => void;
  readonly #uses = new Map<string, SubjectUse>();
  readonly #sharing: Sharing = { exchange: 0, instances: 1 };

  constructor(
    monotonicMs: () => number,
    { instances = 1, onUse = () => {} }: {
      /** Instances to assume until sums are exchanged. */
      readonly instances?: number;
      /** Called with each call, so that an exchange of sums begins. */
      readonly onUse?: () => void;
    } = {},
  ) {
    this.#monotonicMs = monotonicMs;
    this.#onUse = onUse;
    this.#sharing.instances = instances;
  }

  begin(request: RateRequest): RateAdmission | RateRefusal {
    const nowMs = this.#monotonicMs();
    const { subjects } = request;
    const needs = needsOf(request);
    const uses = subjects.map(({ id, limits }) => {
      const use = this.#useOf(id, nowMs);
      use.countAll(limits);
      return use;
    });
    for (const [index, subject] of subjects.entries()) {
      const refused = this.#refusal(subject, uses[index]!, needs, nowMs);
      if (refused === undefined) continue;
      this.#onUse();
      const figures = figuresOf(subjects, uses, nowMs);
      return { ok: false, scope: subject.scope, figures, ...refused };
    }
    const call = new BookedCall(this.#monotonicMs, uses, needs, nowMs);
    this.#onUse();
    return { ok: true, call, figures: figuresOf(subjects, uses, nowMs) };
  }

  use(ids: readonly string[]): readonly RateUse[] {
    const nowMs = this.#monotonicMs();
    return ids.map((id) => {
      const use = this.#uses.get(id);
      const sums = recordOf(
        slidingLimitNames,
        (name) =>
          inUnits(
            name,
            use?.counters.find((counter) => counter.name === name)?.meter.sum(nowMs) ?? 0,
          ),
      );
      const running = use === undefined ? 0 : use.running + use.othersRunning;
      return { ...sums, ...recordOf(concurrencyLimitNames, () => running) };
    });
  }

  /** Uses that this instance reports to others: of all subjects that its calls use. */
  publish(): [id: string, use: SharedUse][] {
    const nowMs = this.#monotonicMs();
    const published: [string, SharedUse][] = [];
    for (const [id, use] of this.#uses) {
      const own = use.publish(nowMs);
      if (own !== undefined) published.push([id, own]);
    }
    return published;
  }

  /**
   * Counts what another instance publishes beyond what it published before.
   *
   * @param published `undefined`: nothing of it counts any more
   * @param sinceMs how long ago `former` was published
   */
  merge(
    id: string,
    published: SharedUse | undefined,
    former: SharedUse | undefined,
    sinceMs = 0,
  ): void {
    const nowMs = this.#monotonicMs();
    const use = this.#useOf(id, nowMs);
    use.othersRunning += (published?.running ?? 0) - (former?.running ?? 0);
    if (published === undefined) return;
    use.merge(published, former, sinceMs, nowMs);
  }

  /** Sums were exchanged, or it is not known with how many. */
  exchanged(instances: number): void {
    this.#sharing.exchange++;
    this.#sharing.instances = instances;
  }

  #useOf(id: string, nowMs: number): SubjectUse {
    const known = this.#uses.get(id);
    const use = known ?? new SubjectUse();
    // Inserted again as the last used.
    this.#uses.delete(id);
    if (known === undefined && this.#uses.size >= maxSubjects) this.#forget(nowMs);
    this.#uses.set(id, use);
    return use;
  }

  /** Makes room: forgets idle subjects at the front, and the least recently used one in any case. */
  #forget(nowMs: number): void {
    for (const [id, use] of this.#uses) {
      const isIdle = use.isIdle(nowMs);
      if (isIdle || this.#uses.size >= maxSubjects) this.#uses.delete(id);
      if (!isIdle) return;
    }
  }

  /** The first limit of a subject that forbids a call; concurrency first, since calls that end give room soonest. */
  #refusal(
    { limits }: RateSubject,
    use: SubjectUse,
    needs: Needs,
    nowMs: number,
  ): Omit<RateRefusal, "ok" | "scope" | "figures"> | undefined {
    const { exchange, instances } = this.#sharing;
    const isShared = instances > 1;
    if (isShared) use.shareOut(exchange, limits, instances, nowMs);
    for (const limitName of concurrencyLimitNames) {
      const limit = limits[limitName];
      if (limit === undefined) continue;
      const fits = use.running + use.othersRunning < limit &&
        fitsQuota(use.runningUnpublished, 1, isShared ? use.runningQuota : undefined);
      if (!fits) return { limitName, limit, needed: 1, retryAfterMs: endOfOtherMs };
    }
    for (const { name: limitName, index, meter, quota } of use.counters) {
      const limit = limits[limitName];
      if (limit === undefined) continue;
      const most = limit * perUnit[kinds[limitName].meter];
      const { amount, least } = needs[index]!;
      if (amount === 0) continue;
      const needed = inUnits(limitName, amount);
      if (least > most) return { limitName, limit, needed, retryAfterMs: undefined };
      const retryAfterMs = waitMs(meter, amount, most, isShared ? quota : undefined, nowMs);
      if (retryAfterMs > 0) return { limitName, limit, needed, retryAfterMs };
    }
    return undefined;
  }
}

/** An amount of a counter in the unit of its limit, rounded up. */
function inUnits(name: SlidingLimitName, amount: number): number {
  return Math.ceil(amount / perUnit[kinds[name].meter]);
}

/** Expected need of a call, and its least one: more than the limit can never be admitted. */
interface Need {
  readonly amount: number;
  readonly least: number;
}

/** In the order of the sliding limits. */
type Needs = readonly Need[];

const needOf: Record<RateMeter, (request: RateRequest) => Need> = {
  calls: () => ({ amount: 1, least: 1 }),
  tokens: ({ tokens, inputTokens }) => ({ amount: tokens, least: inputTokens }),
  money: ({ cost }) => ({
    amount: Number(cost?.expectedMicroVnd ?? 0n),
    least: Number(cost?.leastMicroVnd ?? 0n),
  }),
};

/** Use by a call; `undefined`: not known, so what it was expected to need remains. */
const usedOf: Record<RateMeter, (end: RatedEnd) => number | undefined> = {
  calls: ({ isCounted }) => isCounted ? 1 : 0,
  tokens: ({ tokens }) => tokens,
  money: ({ isCounted, costMicroVnd }) => {
    if (!isCounted) return 0;
    return costMicroVnd === undefined ? undefined : Number(costMicroVnd);
  },
};

/**
 * Need of a call for each limit, as it is counted: at most the smallest limit that binds it, since an answer that may
 * be long must not forbid a call whose prompt fits.
 */
function needsOf(request: RateRequest): Needs {
  return slidingLimitNames.map((name) => {
    const { amount, least } = needOf[kinds[name].meter](request);
    let most = amount;
    for (const { limits } of request.subjects) {
      most = Math.min(most, countedLimit(limits, name) ?? Infinity);
    }
    return { amount: Math.max(most, least), least };
  });
}

/** Whether more may be added before the next exchange. The first amount may be larger than the share. */
function fitsQuota(unpublished: number, amount: number, quota: number | undefined): boolean {
  return quota === undefined || unpublished === 0 || unpublished + amount <= quota;
}

/** Milliseconds until an amount may be added; 0 if it may now. */
function waitMs(
  meter: Meter,
  amount: number,
  limit: number,
  quota: number | undefined,
  nowMs: number,
): number {
  if (meter.sum(nowMs) + amount > limit) return Math.max(1, meter.fitsInMs(amount, limit, nowMs));
  return fitsQuota(meter.unpublished, amount, quota) ? 0 : exchangedInMs;
}

/** The figures of the strictest limits: those with the least left. */
function figuresOf(
  subjects: readonly RateSubject[],
  uses: readonly SubjectUse[],
  nowMs: number,
): RateFigures {
  const figures: { -readonly [Header in LimitHeader]?: RateFigure } = {};
  for (const [index, { limits }] of subjects.entries()) {
    for (const { name, meter } of uses[index]!.counters) {
      const { header } = kinds[name];
      if (header === undefined) continue;
      const figure = stricterFigure(figures[header], limits[name], meter, nowMs);
      if (figure !== undefined) figures[header] = figure;
    }
  }
  return figures;
}

function stricterFigure(
  former: RateFigure | undefined,
  limit: number | undefined,
  meter: Meter,
  nowMs: number,
): RateFigure | undefined {
  if (limit === undefined) return former;
  const remaining = Math.max(0, limit - meter.sum(nowMs));
  if (former !== undefined && former.remaining <= remaining) return former;
  return { limit, remaining, resetMs: meter.emptyInMs(nowMs) };
}

/** Amount that a call has added to one counter. */
interface Added {
  readonly name: SlidingLimitName;
  readonly meter: Meter;
  readonly amount: number;
  readonly place: number;
}

class BookedCall implements RatedCall {
  readonly #monotonicMs: () => number;
  readonly #uses: readonly SubjectUse[];
  readonly #added: readonly Added[];
  #hasEnded = false;

  constructor(
    monotonicMs: () => number,
    uses: readonly SubjectUse[],
    needs: Needs,
    nowMs: number,
  ) {
    this.#monotonicMs = monotonicMs;
    this.#uses = uses;
    const added: Added[] = [];
    for (const use of uses) {
      for (const { name, index, meter } of use.counters) {
        const { amount } = needs[index]!;
        added.push({ name, meter, amount, place: meter.add(amount, nowMs) });
      }
      use.running++;
      use.runningUnpublished++;
    }
    this.#added = added;
  }

  end(end: RatedEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const nowMs = this.#monotonicMs();
    for (const use of this.#uses) {
      use.running--;
      use.runningUnpublished = Math.max(0, use.runningUnpublished - 1);
    }
    for (const { name, meter, amount, place } of this.#added) {
      const used = usedOf[kinds[name].meter](end) ?? amount;
      if (used > amount) meter.add(used - amount, nowMs);
      else if (used < amount) meter.takeBack(place, amount - used, nowMs);
    }
  }
}
