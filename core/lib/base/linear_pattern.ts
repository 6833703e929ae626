/**
 * Regular expressions that are matched in time linear in a text, with the semantics of RE2: of the matches, the leftmost,
 * and of those the one that the pattern prefers.
 *
 * The subset of RE2's syntax: characters, `.`, classes (`[a-z]`, `\d`, `\w`, `\s` and their opposites, all of ASCII),
 * groups, `|`, `* + ? {n,m}` and their lazy forms, `^` and `$` (of the whole text), `\b`, `\B`, and `(?i)` in front. There
 * are no references and no assertions about what follows, which is why a pattern is run as a set of states: each
 * character costs at most as many steps as the pattern has states. A repetition of what can be empty is refused, and a
 * pattern that matches the empty text.
 */

/** Most characters of a pattern: a list of some fifty words. */
export const maxPatternChars = 500;
/** Most states of a pattern once its repetitions are written out: they are what a character of a text can cost. */
const maxPatternStates = 1_000;
/** The highest count of a repetition, as it is written out. */
const maxRepeats = 200;

/** Steps that may still be taken. */
export interface StepBudget {
  left: number;
}

/** A match of a text, in UTF-16 units, the end excluded. */
export interface PatternMatch {
  readonly start: number;
  readonly end: number;
}

type Range = readonly [from: number, to: number];

interface CharacterSet {
  readonly ranges: readonly Range[];
  readonly isNegated: boolean;
}

type Assertion = "start" | "end" | "boundary" | "no_boundary";

type Node =
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "all"; readonly nodes: readonly Node[] }
  | { readonly kind: "either"; readonly nodes: readonly Node[] }
  | {
    readonly kind: "repeat";
    readonly node: Node;
    readonly min: number;
    readonly max: number;
    readonly isLazy: boolean;
  }
  | { readonly kind: "assert"; readonly assertion: Assertion };

class PatternProblem extends Error {}

function fail(problem: string): never {
  throw new PatternProblem(problem);
}

const maxCodePoint = 0x10ffff;
const digits: readonly Range[] = [[0x30, 0x39]];
const wordRanges: readonly Range[] = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const spaces: readonly Range[] = [[0x09, 0x0a], [0x0c, 0x0d], [0x20, 0x20]];

const namedSets: Readonly<Record<string, CharacterSet>> = {
  d: { ranges: digits, isNegated: false },
  D: { ranges: digits, isNegated: true },
  w: { ranges: wordRanges, isNegated: false },
  W: { ranges: wordRanges, isNegated: true },
  s: { ranges: spaces, isNegated: false },
  S: { ranges: spaces, isNegated: true },
};

const controls: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09, f: 0x0c, v: 0x0b };

const anyButLine: CharacterSet = { ranges: [[0x0a, 0x0a]], isNegated: true };

function opposite(ranges: readonly Range[]): Range[] {
  const sorted = ranges.toSorted(([one], [other]) => one - other);
  const left: Range[] = [];
  let next = 0;
  for (const [from, to] of sorted) {
    if (from > next) left.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= maxCodePoint) left.push([next, maxCodePoint]);
  return left;
}

/** Reads a pattern into a tree. */
class PatternReader {
  readonly #points: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#points = [...text];
  }

  read(): Node {
    const node = this.#either();
    return this.#at < this.#points.length ? fail('has a ")" without "("') : node;
  }

  #peek(): string | undefined {
    return this.#points[this.#at];
  }

  #takes(text: string): boolean {
    if (this.#peek() !== text) return false;
    this.#at++;
    return true;
  }

  #next(): string {
    const point = this.#points[this.#at++];
    return point ?? fail("ends in the middle of a character, class or group");
  }

  #either(): Node {
    const nodes = [this.#all()];
    while (this.#takes("|")) nodes.push(this.#all());
    return nodes.length === 1 ? nodes[0]! : { kind: "either", nodes };
  }

  #all(): Node {
    const nodes: Node[] = [];
    for (let point = this.#peek(); point !== undefined; point = this.#peek()) {
      if (point === "|" || point === ")") break;
      nodes.push(this.#repeated(this.#atom()));
    }
    return nodes.length === 1 ? nodes[0]! : { kind: "all", nodes };
  }

  #repeated(node: Node): Node {
    const bounds = this.#bounds();
    if (bounds === undefined) return node;
    if (canBeEmpty(node)) fail("repeats what can be empty");
    const [min, max] = bounds;
    const isLazy = this.#takes("?");
    if (/^[*+?{]$/.test(this.#peek() ?? "")) fail("repeats a repetition; put it into a group");
    return { kind: "repeat", node, min, max, isLazy };
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#takes("*")) return [0, Infinity];
    if (this.#takes("+")) return [1, Infinity];
    if (this.#takes("?")) return [0, 1];
    if (this.#peek() !== "{") return undefined;
    const rest = this.#points.slice(this.#at, this.#at + 12).join("");
    const [whole, least = "", comma, most = ""] = /^\{(\d{1,4})(,)?(\d{1,4})?\}/.exec(rest) ?? [];
    if (whole === undefined) fail('has a "{" that is no count; write "\\{"');
    this.#at += whole.length;
    const min = Number(least);
    const max = comma === undefined ? min : most === "" ? Infinity : Number(most);
    if (max < min || min > maxRepeats || (max > maxRepeats && max !== Infinity) || max === 0) {
      fail(`has a count beyond 1 to ${maxRepeats}`);
    }
    return [min, max];
  }

  #atom(): Node {
    const point = this.#next();
    switch (point) {
      case "(":
        return this.#group();
      case "[":
        return { kind: "set", set: this.#class() };
      case ".":
        return { kind: "set", set: anyButLine };
      case "^":
        return { kind: "assert", assertion: "start" };
      case "$":
        return { kind: "assert", assertion: "end" };
      case "\\":
        return this.#escape();
      case "*":
      case "+":
      case "?":
      case "{":
        return fail(`repeats nothing at "${point}"`);
      default:
        return { kind: "set", set: of(point) };
    }
  }

  #group(): Node {
    if (++this.#depth > 50) fail("has more than 50 groups within each other");
    if (this.#takes("?") && !this.#takes(":")) fail('takes only "(", "(?:" and, in front, "(?i)"');
    const node = this.#either();
    if (!this.#takes(")")) fail('has a "(" without ")"');
    this.#depth--;
    return node;
  }

  #escape(): Node {
    const point = this.#peek();
    if (point === "b" || point === "B") {
      this.#at++;
      return { kind: "assert", assertion: point === "b" ? "boundary" : "no_boundary" };
    }
    return { kind: "set", set: this.#escapedSet() };
  }

  /** The set behind a backslash. */
  #escapedSet(): CharacterSet {
    const point = this.#next();
    const named = Object.hasOwn(namedSets, point) ? namedSets[point] : undefined;
    if (named !== undefined) return named;
    if (Object.hasOwn(controls, point)) return single(controls[point] ?? 0);
    if (point === "x") return single(this.#hex());
    return /^[A-Za-z0-9]$/.test(point) ? fail(`does not know "\\${point}"`) : of(point);
  }

  #hex(): number {
    const rest = this.#points.slice(this.#at, this.#at + 8).join("");
    const [whole, short, long] = /^(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/.exec(rest) ?? [];
    const code = parseInt(short ?? long ?? "", 16);
    if (whole === undefined || !(code <= maxCodePoint)) fail('needs "\\x41" or "\\x{41}"');
    this.#at += whole.length;
    return code;
  }

  #class(): CharacterSet {
    const isNegated = this.#takes("^");
    const ranges: Range[] = [];
    do {
      const { ranges: from, isNegated: isOpposite } = this.#member();
      const [first] = from;
      const isRange = this.#peek() === "-" && this.#points[this.#at + 1] !== "]";
      if (!isRange) ranges.push(...(isOpposite ? opposite(from) : from));
      else {
        this.#at++;
        const { ranges: [last] } = this.#member();
        if (first?.[0] !== first?.[1] || last?.[0] !== last?.[1] || !(first![0] <= last![0])) {
          fail("has a range of no characters in a class");
        }
        ranges.push([first![0], last![0]]);
      }
    } while (!this.#takes("]"));
    return { ranges, isNegated };
  }

  #member(): CharacterSet {
    const point = this.#next();
    if (point === "[" && this.#peek() === ":") fail('takes no names such as "[:alpha:]"');
    return point === "\\" ? this.#escapedSet() : of(point);
  }
}

function single(code: number): CharacterSet {
  return { ranges: [[code, code]], isNegated: false };
}

function of(point: string): CharacterSet {
  return single(point.codePointAt(0) ?? 0);
}

function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case "set":
      return false;
    case "assert":
      return true;
    case "all":
      return node.nodes.every(canBeEmpty);
    case "either":
      return node.nodes.some(canBeEmpty);
    case "repeat":
      return node.min === 0;
  }
}

/** Characters beyond ASCII with another case in it: İ, ı, ſ and the sign of Kelvin. */
const widerCases: ReadonlySet<number> = new Set([0x130, 0x131, 0x17f, 0x212a]);

/** The other case of a character, if that is one character. */
function otherCases(code: number): number[] {
  const text = String.fromCodePoint(code);
  return [text.toLowerCase(), text.toUpperCase(), text.toUpperCase().toLowerCase()]
    .flatMap((other) => [...other].length === 1 ? [other.codePointAt(0) ?? code] : []);
}

/** Characters of a set: those of ASCII in a table. */
class Matcher {
  readonly #ascii = new Uint8Array(128);
  readonly #set: CharacterSet;
  readonly #ignoresCase: boolean;

  constructor(set: CharacterSet, ignoresCase: boolean) {
    this.#set = set;
    this.#ignoresCase = ignoresCase;
    for (let code = 0; code < 128; code++) this.#ascii[code] = this.#holds(code) ? 1 : 0;
  }

  #inRanges(code: number): boolean {
    return this.#set.ranges.some(([from, to]) => code >= from && code <= to);
  }

  #holds(code: number): boolean {
    const isIn = this.#inRanges(code) ||
      (this.#ignoresCase && otherCases(code).some((other) => this.#inRanges(other)));
    return isIn !== this.#set.isNegated;
  }

  /** Whether it may have characters beyond ASCII, those apart whose other case is of ASCII. */
  get mayBeWide(): boolean {
    return this.#set.isNegated || this.#set.ranges.some(([, to]) => to >= 128);
  }

  has(code: number): boolean {
    return code < 128 ? this.#ascii[code] === 1 : this.#holds(code);
  }
}

/** One state: it takes a character, goes to others, or ends. */
type State =
  | { readonly op: "take"; readonly matcher: Matcher }
  | { readonly op: "fork"; readonly first: number; readonly second: number }
  | { readonly op: "go"; readonly to: number }
  | { readonly op: "assert"; readonly assertion: Assertion }
  | { readonly op: "match" };

/** Writes the states of a tree in a row; a state goes to the next one unless it says otherwise. */
class StateWriter {
  readonly states: State[] = [];
  readonly #ignoresCase: boolean;
  /** One of each set, however often it is repeated. */
  readonly #matchers = new Map<CharacterSet, Matcher>();

  constructor(ignoresCase: boolean) {
    this.#ignoresCase = ignoresCase;
  }

  #matcherOf(set: CharacterSet): Matcher {
    let matcher = this.#matchers.get(set);
    if (matcher === undefined) {
      matcher = new Matcher(set, this.#ignoresCase);
      this.#matchers.set(set, matcher);
    }
    return matcher;
  }

  #add(state: State): number {
    if (this.states.length >= maxPatternStates) {
      fail(`has more than ${maxPatternStates} states when its repetitions are written out`);
    }
    return this.states.push(state) - 1;
  }

  write(node: Node): void {
    switch (node.kind) {
      case "set":
        this.#add({ op: "take", matcher: this.#matcherOf(node.set) });
        return;
      case "assert":
        this.#add({ op: "assert", assertion: node.assertion });
        return;
      case "all":
        for (const one of node.nodes) this.write(one);
        return;
      case "either":
        this.#either(node.nodes);
        return;
      case "repeat":
        this.#repeat(node);
    }
  }

  end(): void {
    this.#add({ op: "match" });
  }

  #either(nodes: readonly Node[]): void {
    const ends: number[] = [];
    nodes.forEach((node, i) => {
      const isLast = i === nodes.length - 1;
      const fork = isLast ? -1 : this.#add({ op: "go", to: 0 });
      this.write(node);
      if (isLast) return;
      ends.push(this.#add({ op: "go", to: 0 }));
      this.states[fork] = { op: "fork", first: fork + 1, second: this.states.length };
    });
    for (const end of ends) this.states[end] = { op: "go", to: this.states.length };
  }

  #repeat({ node, min, max, isLazy }: Extract<Node, { readonly kind: "repeat" }>): void {
    const forkAt = (at: number, inside: number, after: number) => {
      this.states[at] = isLazy
        ? { op: "fork", first: after, second: inside }
        : { op: "fork", first: inside, second: after };
    };
    for (let i = 0; i < min; i++) this.write(node);
    if (max === Infinity) {
      const fork = this.#add({ op: "go", to: 0 });
      this.write(node);
      this.#add({ op: "go", to: fork });
      forkAt(fork, fork + 1, this.states.length);
      return;
    }
    const forks: number[] = [];
    for (let i = min; i < max; i++) {
      forks.push(this.#add({ op: "go", to: 0 }));
      this.write(node);
    }
    for (const fork of forks) forkAt(fork, fork + 1, this.states.length);
  }
}

/** The states that a text can be in, in the order of preference, each once, with the start of its match. */
class StateList {
  readonly pcs: Int32Array;
  readonly starts: Int32Array;
  readonly #marks: Uint32Array;
  #mark = 1;
  count = 0;

  constructor(states: number) {
    this.pcs = new Int32Array(states);
    this.starts = new Int32Array(states);
    this.#marks = new Uint32Array(states);
  }

  clear(): void {
    this.count = 0;
    this.#mark++;
  }

  /** Whether a state is new. */
  visit(pc: number): boolean {
    if (this.#marks[pc] === this.#mark) return false;
    this.#marks[pc] = this.#mark;
    return true;
  }

  add(pc: number, start: number): void {
    this.pcs[this.count] = pc;
    this.starts[this.count++] = start;
  }
}

function isWord(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) || code === 0x5f;
}

function holds(assertion: Assertion, text: string, at: number): boolean {
  if (assertion === "start") return at === 0;
  if (assertion === "end") return at === text.length;
  // Beyond either end there is no character, which is none of a word.
  const isBoundary = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
  return isBoundary === (assertion === "boundary");
}

/** A place between two characters of a text. */
interface Place {
  readonly text: string;
  readonly at: number;
}

/** States that were reached and not yet followed; empty between two calls of {@linkcode enter}. */
const pending: number[] = [];

/**
 * Adds a state and those to which it leads without a character, in their order.
 *
 * @param place absent: every assertion holds
 * @returns the steps that it took
 */
function enter(
  states: readonly State[],
  list: StateList,
  from: number,
  start: number,
  place?: Place,
): number {
  pending.push(from);
  let steps = 0;
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    steps++;
    if (!list.visit(pc)) continue;
    const state = states[pc]!;
    switch (state.op) {
      case "go":
        pending.push(state.to);
        break;
      case "fork":
        pending.push(state.second, state.first);
        break;
      case "assert":
        if (place === undefined || holds(state.assertion, place.text, place.at)) {
          pending.push(pc + 1);
        }
        break;
      default:
        list.add(pc, start);
    }
  }
  return steps;
}

/** A pattern that was read. */
export class LinearPattern {
  readonly #states: readonly State[];
  /** Characters of ASCII with which a match can begin. */
  readonly #first = new Uint8Array(128);
  /** Whether one can begin with a character beyond ASCII, those of {@linkcode widerCases} apart. */
  readonly #isFirstWide: boolean;

  constructor(states: readonly State[]) {
    this.#states = states;
    const list = new StateList(states.length);
    enter(states, list, 0, 0);
    let isWide = false;
    for (let i = 0; i < list.count; i++) {
      const state = states[list.pcs[i]!];
      if (state?.op !== "take") continue;
      isWide ||= state.matcher.mayBeWide;
      for (let code = 0; code < 128; code++) if (state.matcher.has(code)) this.#first[code] = 1;
    }
    this.#isFirstWide = isWide;
  }

  /** Makes what searches one text after another. */
  search(): PatternSearch {
    return new PatternSearch(this.#states, (text, from) => this.#nextBeginning(text, from));
  }

  /** The next place where a match can begin. */
  #nextBeginning(text: string, from: number): number {
    let at = from;
    while (at < text.length) {
      const unit = text.charCodeAt(at);
      const mayBegin = unit < 128
        ? this.#first[unit] === 1
        : this.#isFirstWide || widerCases.has(unit);
      if (mayBegin) break;
      at++;
    }
    return at;
  }
}

/** A search for the matches of a pattern, which do not overlap, from the left. It can pause between two characters. */
export class PatternSearch {
  readonly #states: readonly State[];
  readonly #nextBeginning: (text: string, from: number) => number;
  #now: StateList;
  #then: StateList;
  #text = "";
  #at = 0;
  #found: PatternMatch | undefined;

  constructor(
    states: readonly State[],
    nextBeginning: (text: string, from: number) => number,
  ) {
    this.#states = states;
    this.#nextBeginning = nextBeginning;
    this.#now = new StateList(states.length);
    this.#then = new StateList(states.length);
  }

  /** Goes to the beginning of a text. */
  begin(text: string): void {
    this.#text = text;
    this.#goTo(0);
  }

  #goTo(at: number): void {
    this.#now.clear();
    this.#found = undefined;
    this.#at = at;
  }

  /**
   * Finds the next match; `undefined` if there is none.
   *
   * @param budget the steps that may be taken; `"paused"` once it is below 0: the next call goes on from there
   */
  next(budget: StepBudget): PatternMatch | "paused" | undefined {
    const text = this.#text;
    while (budget.left >= 0) {
      if (this.#now.count === 0) {
        const found = this.#found;
        if (found !== undefined) {
          this.#goTo(found.end);
          return found;
        }
        this.#at = this.#nextBeginning(text, this.#at);
        if (this.#at >= text.length) return undefined;
        // An assertion that failed in the place before may hold in this one.
        this.#now.clear();
      }
      if (this.#found === undefined) {
        const place = { text, at: this.#at };
        budget.left -= enter(this.#states, this.#now, 0, this.#at, place);
      }
      this.#found = this.#step(budget) ?? this.#found;
    }
    return "paused";
  }

  /** Takes one character in all states; returns the match that ends before it, which the states before it do not beat. */
  #step(budget: StepBudget): PatternMatch | undefined {
    const [now, then, text, at] = [this.#now, this.#then, this.#text, this.#at];
    const code = at < text.length ? text.codePointAt(at)! : -1;
    const place = { text, at: at + (code > 0xffff ? 2 : 1) };
    then.clear();
    let found: PatternMatch | undefined;
    budget.left -= now.count;
    for (let i = 0; i < now.count; i++) {
      const pc = now.pcs[i]!;
      const start = now.starts[i]!;
      const state = this.#states[pc]!;
      if (state.op === "match") {
        found = { start, end: at };
        break;
      }
      if (code >= 0 && state.op === "take" && state.matcher.has(code)) {
        budget.left -= enter(this.#states, then, pc + 1, start, place);
      }
    }
    this.#now = then;
    this.#then = now;
    this.#at = place.at;
    return found;
  }
}

/** The mark in front of a pattern whose letters match in either case. */
const ignoreCase = "(?i)";

/**
 * Reads a pattern.
 *
 * @returns the pattern, or what is wrong with it, as the end of a sentence about it
 *
 * @example
 * ```ts
 * import { readPattern } from "./linear_pattern.ts";
 * const pattern = readPattern(String.raw`\b\d{4}[ -]?\d{4}\b`);
 * if (typeof pattern === "string") throw new Error(pattern);
 * const search = pattern.search();
 * search.begin("card 1234-5678.");
 * const match = search.next({ left: 1_000 });
 * if (typeof match !== "object" || match.start !== 5 || match.end !== 14) throw new Error("not found");
 * if (readPattern("(a*)*") !== "repeats what can be empty") throw new Error("taken");
 * ```
 */
export function readPattern(text: string): LinearPattern | string {
  const ignoresCase = text.startsWith(ignoreCase);
  try {
    if (text.length > maxPatternChars) fail(`has more than ${maxPatternChars} characters`);
    const node = new PatternReader(ignoresCase ? text.slice(ignoreCase.length) : text).read();
    if (canBeEmpty(node)) fail("matches the empty text");
    const writer = new StateWriter(ignoresCase);
    writer.write(node);
    writer.end();
    return new LinearPattern(writer.states);
  } catch (error) {
    if (error instanceof PatternProblem) return error.message;
    throw error;
  }
}
