/**
 * Admits calls under rate limits and counts them. One book serves all threads of a process; sums of other instances are
 * added to it when they report it.
 *
 * With one instance no limit is ever exceeded. With several, each may add an equal share of what is left between two
 * exchanges of sums (docs/adr/ has the bound).
 */
import type { RateLimitName, RateScope, RateSubject } from "./rate_limits.ts";
import { MinuteWindow, msUntilAtMost } from "./minute_window.ts";

// What one subject has used of its minute: here, and at other instances as far as they have told.

/** What an instance tells the others of a subject: sums since it first saw it, and of its last minute. */
export interface SharedUse {
  readonly requests: number;
  readonly tokens: number;
  readonly minuteRequests: number;
  readonly minuteTokens: number;
  /** Calls that run now. */
  readonly running: number;
}

/** The amounts of one limit of a subject. */
class Meter {
  readonly own = new MinuteWindow();
  #others: MinuteWindow | undefined;
  /** All that was ever added here, less what was taken back while it counted. */
  total = 0;
  /** Added here since other instances were last told. */
  untold = 0;

  sum(nowMs: number): number {
    return this.own.sum(nowMs) + (this.#others?.sum(nowMs) ?? 0);
  }

  add(amount: number, nowMs: number): number {
    this.total += amount;
    this.untold += amount;
    return this.own.add(amount, nowMs);
  }

  takeBack(place: number, amount: number, nowMs: number): void {
    const taken = this.own.takeBack(place, amount, nowMs);
    this.total -= taken;
    this.untold = Math.max(0, this.untold - taken);
  }

  /** Counts what another instance added, or took back, since it last told. */
  addOfOthers(amount: number, nowMs: number): void {
    if (amount === 0) return;
    this.#others ??= new MinuteWindow();
    if (amount > 0) this.#others.add(amount, nowMs);
    else this.#others.takeBackNewest(-amount, nowMs);
  }

  /** Milliseconds until `amount` fits under a limit. */
  fitsInMs(amount: number, limit: number, nowMs: number): number {
    const windows = this.#others === undefined ? [this.own] : [this.own, this.#others];
    return msUntilAtMost(windows, limit - amount, nowMs);
  }

  /** Milliseconds until nothing is used any more. */
  emptyInMs(nowMs: number): number {
    return Math.max(this.own.emptyInMs(nowMs), this.#others?.emptyInMs(nowMs) ?? 0);
  }
}

/** The use of one subject. */
class SubjectUse {
  readonly requests = new Meter();
  readonly tokens = new Meter();
  /** Calls that run here. */
  running = 0;
  /** Calls that began here since other instances were last told, less those of them that ended. */
  runningUntold = 0;
  /** Calls that run at other instances, as they told. */
  othersRunning = 0;
  /** The exchange of which `quotas` are. */
  #exchange = -1;
  /** What may be added until the next exchange. */
  #quotas = { requests: Infinity, tokens: Infinity, calls: Infinity };

  /** Whether nothing is used or told any more, so that it can be forgotten. */
  isIdle(nowMs: number): boolean {
    return this.running === 0 && this.othersRunning === 0 && this.requests.sum(nowMs) === 0 &&
      this.tokens.sum(nowMs) === 0;
  }

  /** Returns the use to report to other instances, and counts it as reported; `undefined` if there is none. */
  tell(nowMs: number): SharedUse | undefined {
    this.requests.untold = 0;
    this.tokens.untold = 0;
    this.runningUntold = 0;
    const minuteRequests = this.requests.own.sum(nowMs);
    const minuteTokens = this.tokens.own.sum(nowMs);
    if (minuteRequests === 0 && minuteTokens === 0 && this.running === 0) return undefined;
    return {
      requests: this.requests.total,
      tokens: this.tokens.total,
      minuteRequests,
      minuteTokens,
      running: this.running,
    };
  }

  /**
   * What may be added between two exchanges of sums: an equal share of what is left, so that instances that know the
   * same cannot use it more than once.
   */
  quotas(
    exchange: number,
    left: { readonly requests: number; readonly tokens: number; readonly calls: number },
    instances: number,
  ): { readonly requests: number; readonly tokens: number; readonly calls: number } {
    if (this.#exchange !== exchange) {
      this.#exchange = exchange;
      this.#quotas = {
        requests: left.requests / instances,
        tokens: left.tokens / instances,
        calls: left.calls / instances,
      };
    }
    return this.#quotas;
  }
}

/** Subjects that are counted at once, at about 1 KB each. Further ones replace the longest unused. */
const maxSubjects = 50_000;

/** Milliseconds after which a call may be sent again that waits for another to end: when that is, is not known. */
const endOfOtherMs = 1_000;

/** Milliseconds after which sums have been exchanged again for sure. */
const exchangedInMs = 1_000;

/** A limit, what is left of it, and when all of it is there again. */
export interface RateFigure {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** The strictest limits of a call at its admission, or when it was refused. */
export interface RateFigures {
  readonly requests?: RateFigure;
  readonly tokens?: RateFigure;
}

/** A refusal by the first limit that forbids a call. */
export interface RateRefusal {
  readonly ok: false;
  readonly scope: RateScope;
  readonly limitName: RateLimitName;
  readonly limit: number;
  /** Tokens that the call was expected to need. */
  readonly tokens: number;
  /** When the call would be admitted if nothing else is; `undefined`: never, since it needs more than the limit. */
  readonly retryAfterMs: number | undefined;
  readonly figures: RateFigures;
}

/** How an admitted call ended. */
export interface RatedEnd {
  /** Tokens that it used; `undefined` if that is not known: the expected ones remain. */
  readonly tokens: number | undefined;
  /** False for a call that no provider got: it does not count as a call either. */
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
}

/** What a subject uses now, for pages. */
export interface RateUse {
  readonly requests: number;
  readonly tokens: number;
  readonly running: number;
}

/** The book as endpoints and pages see it: at once, or from another thread. */
export interface RateBook {
  begin(request: RateRequest): RateAdmission | RateRefusal | Promise<RateAdmission | RateRefusal>;
  /** What subjects use now, in their order. */
  use(ids: readonly string[]): readonly RateUse[] | Promise<readonly RateUse[]>;
}

/** Which instances share a book's limits. */
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

  begin(asked: RateRequest): RateAdmission | RateRefusal {
    const nowMs = this.#monotonicMs();
    const { subjects } = asked;
    const request = { ...asked, tokens: countedTokens(asked) };
    const uses = subjects.map(({ id }) => this.#useOf(id, nowMs));
    for (const [index, subject] of subjects.entries()) {
      const refused = this.#refusal(subject, uses[index]!, request, nowMs);
      if (refused === undefined) continue;
      this.#onUse();
      const figures = figuresOf(subjects, uses, nowMs);
      return {
        ok: false,
        scope: subject.scope,
        tokens: request.tokens,
        figures,
        ...refused,
      };
    }
    const call = new BookedCall(this.#monotonicMs, uses, request.tokens, nowMs);
    this.#onUse();
    return { ok: true, call, figures: figuresOf(subjects, uses, nowMs) };
  }

  use(ids: readonly string[]): readonly RateUse[] {
    const nowMs = this.#monotonicMs();
    return ids.map((id) => {
      const use = this.#uses.get(id);
      return {
        requests: use?.requests.sum(nowMs) ?? 0,
        tokens: use?.tokens.sum(nowMs) ?? 0,
        running: use === undefined ? 0 : use.running + use.othersRunning,
      };
    });
  }

  /** What this instance reports to others: all subjects that its calls use. */
  tell(): [id: string, use: SharedUse][] {
    const nowMs = this.#monotonicMs();
    const told: [string, SharedUse][] = [];
    for (const [id, use] of this.#uses) {
      const own = use.tell(nowMs);
      if (own !== undefined) told.push([id, own]);
    }
    return told;
  }

  /**
   * Counts what another instance tells beyond what it told before.
   *
   * @param told `undefined`: nothing of it counts any more
   * @param isRecent whether `former` is of the last minute; otherwise only the reported minute counts
   */
  adopt(
    id: string,
    told: SharedUse | undefined,
    former: SharedUse | undefined,
    isRecent = true,
  ): void {
    const nowMs = this.#monotonicMs();
    const use = this.#useOf(id, nowMs);
    use.othersRunning += (told?.running ?? 0) - (former?.running ?? 0);
    if (told === undefined) return;
    const since = (isRecent ? former : undefined) ?? {
      requests: told.requests - told.minuteRequests,
      tokens: told.tokens - told.minuteTokens,
    };
    use.requests.addOfOthers(told.requests - since.requests, nowMs);
    use.tokens.addOfOthers(told.tokens - since.tokens, nowMs);
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

  /** Makes room: forgets idle subjects at the front, and the longest unused one in any case. */
  #forget(nowMs: number): void {
    for (const [id, use] of this.#uses) {
      const isIdle = use.isIdle(nowMs);
      if (isIdle || this.#uses.size >= maxSubjects) this.#uses.delete(id);
      if (!isIdle) return;
    }
  }

  /** The first limit of a subject that forbids a call. */
  #refusal(
    { limits }: RateSubject,
    use: SubjectUse,
    { tokens, inputTokens }: RateRequest,
    nowMs: number,
  ): Pick<RateRefusal, "limitName" | "limit" | "retryAfterMs"> | undefined {
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity, callsAtOnce = Infinity } =
      limits;
    const running = use.running + use.othersRunning;
    const quotas = this.#sharing.instances === 1 ? undefined : use.quotas(this.#sharing.exchange, {
      requests: requestsPerMinute - use.requests.sum(nowMs),
      tokens: tokensPerMinute - use.tokens.sum(nowMs),
      calls: callsAtOnce - running,
    }, this.#sharing.instances);
    if (callsAtOnce !== Infinity) {
      const fits = running < callsAtOnce && fitsQuota(use.runningUntold, 1, quotas?.calls);
      if (!fits) {
        return { limitName: "callsAtOnce", limit: callsAtOnce, retryAfterMs: endOfOtherMs };
      }
    }
    const limited = [
      ["requestsPerMinute", requestsPerMinute, use.requests, 1, 1, quotas?.requests],
      ["tokensPerMinute", tokensPerMinute, use.tokens, tokens, inputTokens, quotas?.tokens],
    ] as const;
    for (const [limitName, limit, meter, amount, least, quota] of limited) {
      if (limit === Infinity || amount === 0) continue;
      if (least > limit) return { limitName, limit, retryAfterMs: undefined };
      const retryAfterMs = waitMs(meter, amount, limit, quota, nowMs);
      if (retryAfterMs > 0) return { limitName, limit, retryAfterMs };
    }
    return undefined;
  }
}

/** Expected tokens as they are counted: an answer that may be long must not forbid a call whose prompt fits. */
function countedTokens({ subjects, tokens, inputTokens }: RateRequest): number {
  let most = tokens;
  for (const { limits: { tokensPerMinute } } of subjects) {
    if (tokensPerMinute !== undefined && tokensPerMinute < most) most = tokensPerMinute;
  }
  return Math.max(most, inputTokens);
}

/** Whether more may be added before the next exchange. The first amount may be larger than the share. */
function fitsQuota(untold: number, amount: number, quota: number | undefined): boolean {
  return quota === undefined || untold === 0 || untold + amount <= quota;
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
  return fitsQuota(meter.untold, amount, quota) ? 0 : exchangedInMs;
}

/** The figures of the strictest limits: those with the least left. */
function figuresOf(
  subjects: readonly RateSubject[],
  uses: readonly SubjectUse[],
  nowMs: number,
): RateFigures {
  let requests: RateFigure | undefined;
  let tokens: RateFigure | undefined;
  for (const [index, { limits }] of subjects.entries()) {
    const use = uses[index]!;
    requests = stricterFigure(requests, limits.requestsPerMinute, use.requests, nowMs);
    tokens = stricterFigure(tokens, limits.tokensPerMinute, use.tokens, nowMs);
  }
  return { ...(requests && { requests }), ...(tokens && { tokens }) };
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

class BookedCall implements RatedCall {
  readonly #monotonicMs: () => number;
  readonly #uses: readonly SubjectUse[];
  readonly #tokens: number;
  /** Where it was counted: the same in all windows, which have the same clock. */
  readonly #place: number;
  #hasEnded = false;

  constructor(
    monotonicMs: () => number,
    uses: readonly SubjectUse[],
    tokens: number,
    nowMs: number,
  ) {
    this.#monotonicMs = monotonicMs;
    this.#uses = uses;
    this.#tokens = tokens;
    let place = 0;
    for (const use of uses) {
      place = use.requests.add(1, nowMs);
      use.tokens.add(tokens, nowMs);
      use.running++;
      use.runningUntold++;
    }
    this.#place = place;
  }

  end({ tokens = this.#tokens, isCounted }: RatedEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const nowMs = this.#monotonicMs();
    const more = tokens - this.#tokens;
    for (const use of this.#uses) {
      use.running--;
      use.runningUntold = Math.max(0, use.runningUntold - 1);
      if (!isCounted) use.requests.takeBack(this.#place, 1, nowMs);
      if (more > 0) use.tokens.add(more, nowMs);
      else if (more < 0) use.tokens.takeBack(this.#place, -more, nowMs);
    }
  }
}
