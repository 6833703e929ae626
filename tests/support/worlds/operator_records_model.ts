/**
 * A model of what operators change that is no money: the catalogue and its versions, routes, requests for invoices, and
 * dead letters. It has the rules of docs/operations and no code of the gateway.
 */
import * as fc from "../property.ts";

export const ways = ["page", "api", "command"] as const;
export type Way = typeof ways[number];

/** The contents that a version may have by number; the last ones cannot be served. */
export const contentsNames = ["Premium 1", "Premium Two", "Premium Three"] as const;
export const wrongContents = contentsNames.length;

/** The routes of the model's catalogue, a route of images, and one that is not there. */
export const routeIds = [
  "sandbox/premium-1#messages",
  "sandbox/premium-1#chat",
  "sandbox/image-1",
  "sandbox/nowhere",
] as const;

/** Letters that can be read, one that cannot, one that is not there, and one of no queue. */
export const letterNames = [
  "mail:one",
  "mail:two",
  "mail:three",
  "mail:four",
  "doves:one",
] as const;
const unreadableLetter = 2;
const lettersThere = 3;

export const orderCount = 2;

/** Hours from now at which a version comes in force; `none`: at once. */
export type From = "none" | "past" | "soon" | "later" | "never";

/** What somebody tries. The names are those of the operations. */
export type Act =
  | {
    readonly does: "catalog.apply";
    readonly contents: number;
    readonly reason: string;
    readonly from: From;
    readonly base: Base;
  }
  | {
    readonly does: "catalog.rollback";
    readonly version: number;
    readonly reason: string;
    readonly from: From;
    readonly base: Base;
  }
  | { readonly does: "catalog.withdraw"; readonly reason: string; readonly base: Base }
  | {
    readonly does: "routes.switch";
    readonly route: number;
    readonly action: "enable" | "drain" | "disable" | "burn";
    readonly reason: string;
  }
  | { readonly does: "routes.test"; readonly route: number; readonly times: number }
  | { readonly does: "invoices.export" }
  | { readonly does: "invoices.issue"; readonly invoice: number; readonly series: string }
  | { readonly does: "invoices.send"; readonly invoice: number }
  | {
    readonly does: "invoices.reject" | "invoices.replace";
    readonly invoice: number;
    readonly reason: string;
  }
  | { readonly does: "outbox.revive" | "outbox.forget"; readonly letter: number };

/** The version that the author has seen; a command takes the newest as seen, and a page always names one. */
type Base = "newest" | "older" | "none";

/** What happens besides: an hour passes, or the customer asks for an invoice of an order. */
type Event = { readonly does: "wait" } | { readonly does: "ask"; readonly order: number };

/** An act by one way at one instance; `raced`: at both instances at the same moment. */
export type Step = (Act | Event) & {
  readonly way: Way;
  readonly instance: 0 | 1;
  readonly raced: boolean;
};

/** Most often what is right, so that a step has one slip, if any. */
function mostly<Value>(right: fc.Arbitrary<Value>, wrong: fc.Arbitrary<Value>) {
  return fc.oneof({ weight: 7, arbitrary: right }, { weight: 1, arbitrary: wrong });
}

const reason = mostly(
  fc.constant("prices of June"),
  fc.constantFrom("", "x".repeat(501)),
);
const base = fc.constantFrom<Base>("newest", "newest", "newest", "newest", "older", "none");
const from = fc.constantFrom<From>(
  "none",
  "none",
  "none",
  "past",
  "soon",
  "soon",
  "later",
  "never",
);
const invoice = mostly(fc.nat({ max: 1 }), fc.constantFrom(2, 3));

/** Any input of each operation of the model. */
export const anyAct: { readonly [Name in Act["does"]]: fc.Arbitrary<Act & { does: Name }> } = {
  "catalog.apply": fc.record({
    does: fc.constant("catalog.apply"),
    contents: mostly(fc.constantFrom(0, 1, 2), fc.constant(wrongContents)),
    reason,
    from,
    base,
  }),
  "catalog.rollback": fc.record({
    does: fc.constant("catalog.rollback"),
    version: fc.constantFrom(0, 1, 1, 2, 2, 3, 3, 99),
    reason,
    from,
    base,
  }),
  "catalog.withdraw": fc.record({ does: fc.constant("catalog.withdraw"), reason, base }),
  "routes.switch": fc.record({
    does: fc.constant("routes.switch"),
    route: fc.nat({ max: routeIds.length - 1 }),
    action: fc.constantFrom("enable", "drain", "disable", "disable", "burn"),
    reason,
  }),
  "routes.test": fc.record({
    does: fc.constant("routes.test"),
    route: fc.nat({ max: routeIds.length - 1 }),
    times: fc.constantFrom(1, 1, 6),
  }),
  "invoices.export": fc.record({ does: fc.constant("invoices.export") }),
  "invoices.issue": fc.record({
    does: fc.constant("invoices.issue"),
    invoice,
    series: mostly(fc.constant("C26TAA"), fc.constantFrom("", "x".repeat(21))),
  }),
  "invoices.send": fc.record({ does: fc.constant("invoices.send"), invoice }),
  "invoices.reject": fc.record({ does: fc.constant("invoices.reject"), invoice, reason }),
  "invoices.replace": fc.record({ does: fc.constant("invoices.replace"), invoice, reason }),
  "outbox.revive": fc.record({
    does: fc.constant("outbox.revive"),
    letter: fc.nat({ max: letterNames.length - 1 }),
  }),
  "outbox.forget": fc.record({
    does: fc.constant("outbox.forget"),
    letter: fc.nat({ max: letterNames.length - 1 }),
  }),
};

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ does: fc.constant("wait") }),
  fc.record({ does: fc.constant("ask"), order: fc.nat({ max: orderCount - 1 }) }),
);

export const anyStep: fc.Arbitrary<Step> = fc.tuple(
  fc.oneof(
    // Most of the others need an invoice that was issued.
    { weight: 3, arbitrary: anyAct["invoices.issue"] },
    { weight: 2, arbitrary: anyAct["invoices.replace"] },
    { weight: 2, arbitrary: anyEvent },
    { weight: 3, arbitrary: anyAct["catalog.apply"] },
    ...Object.values(anyAct).map((arbitrary) => ({ weight: 1, arbitrary })),
  ),
  fc.record({
    way: fc.constantFrom(...ways),
    instance: fc.constantFrom(0, 1),
    raced: fc.boolean(),
  }),
).map(([act, by]) => ({ ...act, ...by }));

type InvoiceState = "requested" | "exported" | "issued" | "sent" | "rejected" | "replaced";

interface Version {
  readonly contents: number;
  readonly by: string;
  readonly fromMs: number;
  readonly rollbackTo?: number;
}

/** Who does what is sent by a way; what no command does is sent by the API, and what no page does as well. */
export type Doer = "staff@example.com" | "operator key" | "command line";

const hourMs = 3_600_000;

/** Tests of routes that one operator sends in a minute. */
const testsAMinute = 10;

const isReason = (text: string) => text !== "" && text.length <= 500;

export class RecordsModel {
  nowMs: number;
  /** The first one is that of `gateway.json`. */
  readonly versions: Version[];
  inForce = 1;
  waiting: number | undefined = undefined;
  readonly switched = new Map<number, "draining" | "disabled">();
  readonly #tests = new Map<Doer, number>();
  /** Tests that were sent. */
  tested = 0;
  /** Invoices in the order in which they were asked for, each of an order. */
  readonly invoices: { readonly order: number; state: InvoiceState }[] = [];
  readonly dead = new Set<number>(Array.from({ length: lettersThere }, (_, at) => at));
  /** Kinds of the mails that wait. */
  readonly mails: string[] = [];
  /** Lines of the audit log, oldest first. */
  readonly lines: string[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
    this.versions = [{ contents: 0, by: "gateway.json", fromMs: nowMs }];
  }

  /** Does a step; returns whether it is taken. */
  apply(step: Step, doer: Doer): boolean {
    this.#settle();
    switch (step.does) {
      case "wait":
        this.nowMs += hourMs;
        this.#tests.clear();
        this.#settle();
        return true;
      case "ask":
        return this.#asks(step.order);
      case "catalog.apply":
      case "catalog.rollback":
        return this.#publishes(step, doer);
      case "catalog.withdraw":
        return this.#withdraws(step, doer);
      case "routes.switch":
        return this.#switches(step, doer);
      case "routes.test":
        return this.#tries(step, doer) === step.times;
      case "outbox.revive":
      case "outbox.forget":
        return this.#handles(step, doer);
      default:
        return this.#moves(step, doer);
    }
  }

  #settle(): void {
    const waiting = this.versions[(this.waiting ?? 0) - 1];
    if (waiting === undefined || waiting.fromMs > this.nowMs) return;
    this.inForce = this.waiting ?? this.inForce;
    this.waiting = undefined;
  }

  /** The moment that a step names, in minutes of Vietnam. */
  momentOf(from: From): number {
    const hours = { none: 0, past: -1, soon: 1, later: 3, never: 9_000 };
    return Math.floor((this.nowMs + hours[from] * hourMs) / 60_000) * 60_000;
  }

  /** Whether the author has seen the newest version: whoever types a command has. */
  #isSeen(base: Base, doer: Doer): boolean {
    return doer === "command line" || base === "newest";
  }

  #publishes(
    step: Extract<Step, { does: "catalog.apply" | "catalog.rollback" }>,
    doer: Doer,
  ): boolean {
    const isPage = doer === "staff@example.com";
    const isBack = step.does === "catalog.rollback";
    // The page of a rollback writes the reason itself, and has no field for a moment.
    const from = isBack && isPage ? "none" : step.from;
    if (!isReason(step.reason) && !(isBack && isPage && step.reason === "")) return false;
    if (from === "never" || !this.#isSeen(step.base, doer)) return false;
    const to = isBack ? this.versions[step.version - 1] : undefined;
    const contents = isBack ? to?.contents : step.contents;
    if (contents === undefined || contents === wrongContents) return false;
    const current = this.versions[this.inForce - 1];
    if (current?.contents === contents && this.waiting === undefined) return false;
    const fromMs = from === "none" ? this.nowMs : Math.max(this.nowMs, this.momentOf(from));
    this.versions.push({
      contents,
      by: doer,
      fromMs,
      ...(isBack && { rollbackTo: step.version }),
    });
    const newest = this.versions.length;
    this.waiting = fromMs > this.nowMs ? newest : undefined;
    if (this.waiting === undefined) this.inForce = newest;
    this.lines.push(`catalog_applied version ${newest} ${doer}`);
    return true;
  }

  #withdraws({ reason, base }: Extract<Step, { does: "catalog.withdraw" }>, doer: Doer): boolean {
    const isPage = doer === "staff@example.com";
    if (!isPage && !isReason(reason)) return false;
    if (this.waiting === undefined || !this.#isSeen(base, doer)) return false;
    this.lines.push(`catalog_withdrawn version ${this.waiting} ${doer}`);
    this.waiting = undefined;
    return true;
  }

  #switches(
    { route, action, reason }: Extract<Step, { does: "routes.switch" }>,
    doer: Doer,
  ): boolean {
    if (route === routeIds.length - 1 || action === "burn" || !isReason(reason)) return false;
    if (action === "enable") this.switched.delete(route);
    else this.switched.set(route, action === "drain" ? "draining" : "disabled");
    this.lines.push(`route_changed ${routeIds[route]} ${doer}`);
    return true;
  }

  /** Sends tests, and says how many were. */
  #tries({ route, times }: Extract<Step, { does: "routes.test" }>, doer: Doer): number {
    if (route > 1) return 0;
    const sent = this.#tests.get(doer) ?? 0;
    const more = Math.min(times, testsAMinute - sent);
    this.#tests.set(doer, sent + more);
    this.tested += more;
    for (let at = 0; at < more; at++) this.lines.push(`route_tested ${routeIds[route]} ${doer}`);
    return more;
  }

  /** An order has one invoice that counts: it is asked for again when that is rejected or replaced. */
  #asks(order: number): boolean {
    const last = this.invoices.findLast((one) => one.order === order);
    if (last !== undefined && last.state !== "rejected" && last.state !== "replaced") return false;
    this.invoices.push({ order, state: "requested" });
    return true;
  }

  #moves(step: Extract<Step, { does: `invoices.${string}` }>, doer: Doer): boolean {
    if (step.does === "invoices.export") {
      for (const [at, one] of this.invoices.entries()) {
        if (one.state !== "requested") continue;
        one.state = "exported";
        this.lines.push(`invoice_exported #${at} ${doer}`);
      }
      return true;
    }
    const invoice = this.invoices[step.invoice];
    const state = invoice?.state;
    if (invoice === undefined || state === undefined) return false;
    const isOpen = state === "requested" || state === "exported";
    switch (step.does) {
      case "invoices.issue":
        if (!isOpen || step.series === "" || step.series.length > 20) return false;
        invoice.state = "issued";
        break;
      case "invoices.send":
        if (state !== "issued") return false;
        invoice.state = "sent";
        this.mails.push("invoice_issued");
        break;
      case "invoices.reject":
        if (!isOpen || !isReason(step.reason)) return false;
        invoice.state = "rejected";
        this.mails.push("invoice_rejected");
        break;
      case "invoices.replace":
        if ((state !== "issued" && state !== "sent") || !isReason(step.reason)) return false;
        invoice.state = "replaced";
        break;
    }
    this.lines.push(`invoice_${invoice.state} #${step.invoice} ${doer}`);
    return true;
  }

  #handles(
    { does, letter }: Extract<Step, { does: "outbox.revive" | "outbox.forget" }>,
    doer: Doer,
  ): boolean {
    if (!this.dead.has(letter) || (does === "outbox.revive" && letter === unreadableLetter)) {
      return false;
    }
    this.dead.delete(letter);
    if (does === "outbox.revive") this.mails.push("password_changed");
    const act = does === "outbox.revive" ? "letter_revived" : "letter_forgotten";
    this.lines.push(`${act} ${letterNames[letter]} ${doer}`);
    return true;
  }
}
