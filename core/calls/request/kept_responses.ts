/**
 * Turns of the Responses style, kept in memory for an hour, so that a client continues a conversation by
 * `previous_response_id` and reads or deletes a response by its id. No provider stores them for the gateway, and
 * nothing here is written anywhere: another instance has to ask this one for them, and a restart forgets them.
 *
 * A turn is the items that led to it and the items that it answered. The turns of a conversation share what they have
 * in common: each adds one {@linkcode Segment}, the items of its own request and its response, and points to the
 * segment of the turn that it continues. A segment lives as long as a turn, a running call or a later segment needs it,
 * so a conversation of many turns takes the memory of its last one, branches included.
 *
 * Bytes are counted when a call begins, for the items of its request, and when it ends, for its response. Where they do
 * not fit, the oldest turns go, those of the account for its own bound; where that does not suffice, the call is not
 * kept.
 */
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { maxRequestBodyBytes } from "../../lib/base/limits.ts";
import { type JsonBody, parseJsonBody, withFieldBytes, withoutMembers } from "../body/json_body.ts";
import { isText } from "../../lib/json/outline.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";

/** Milliseconds for which a turn is kept after its end: a person comes back to a chat within the hour. */
export const responseKeptMs = 60 * 60_000;

/** The bounds of the turns that are kept. Bytes are those of items and responses, running calls included. */
export interface KeptResponseBounds {
  readonly totalBytes: number;
  readonly accountBytes: number;
  readonly totalTurns: number;
  readonly accountTurns: number;
}

/** The bounds of a gateway. A conversation of 200,000 tokens is about 1 MB, however many turns it has. */
const keptResponseBounds: KeptResponseBounds = {
  totalBytes: 64 * 1024 * 1024,
  accountBytes: 16 * 1024 * 1024,
  totalTurns: 20_000,
  accountTurns: 2_000,
};

/** The field that names the turn to continue. */
export const previousField = "previous_response_id";

/** Part of a conversation that one turn adds. */
interface Segment {
  readonly owner: AccountTurns;
  readonly former: Segment | undefined;
  /** The items of the request, separated by commas, without the brackets of their list. */
  readonly input: Uint8Array;
  /** The response as its client got it; empty while the call runs. */
  response: Uint8Array;
  /** The items of its output, a part of `response`, in the form of `input`. */
  output: Uint8Array;
  /** Bytes of this segment and those before it. */
  wholeBytes: number;
  /** Turns, running calls and later segments that need it. */
  uses: number;
}

interface Turn {
  readonly account: string;
  readonly id: string;
  readonly segment: Segment;
  readonly untilMs: number;
}

interface AccountTurns {
  /** In the order of their ends: the first is the oldest. */
  readonly turns: Map<string, Turn>;
  /** Running calls whose turn may be kept. */
  calls: number;
  bytes: number;
}

/** A kept turn, as other threads and instances get it. */
export interface KeptResponse {
  /** The response as its client got it. */
  readonly response: Uint8Array;
  /** The items of the conversation up to and with this turn, separated by commas, in pieces. */
  readonly items: readonly Uint8Array[];
}

/** The items of a request, and the turn that they continue. */
export interface TurnInput {
  /** The id of that turn; absent: none of those kept here, so the body has all items. */
  readonly former?: string | undefined;
  /** The items, separated by commas. */
  readonly items: Uint8Array;
}

/**
 * The kept turns of one process, by account.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../lib/time/clock.ts";
 * import { Deadlines } from "../../lib/time/deadlines.ts";
 * import { KeptResponses } from "./kept_responses.ts";
 * const bytes = (text: string) => new TextEncoder().encode(text);
 * const deadlines = new Deadlines({ clock: systemClock });
 * const kept = new KeptResponses(systemClock, deadlines);
 * const draft = kept.draft("acc_1", { items: bytes('{"role":"user","content":"Hi"}') });
 * draft?.keep(bytes('{"id":"resp_1","output":[{"type":"message"}]}'));
 * if (kept.find("acc_1", "resp_1")?.items.length !== 2) throw new Error("not kept");
 * if (kept.find("acc_2", "resp_1") !== undefined) throw new Error("of another account");
 * deadlines.close();
 * ```
 */
export class KeptResponses {
  readonly #clock: Clock;
  readonly #bounds: KeptResponseBounds;
  readonly #expiry: Deadline;
  readonly #accounts = new Map<string, AccountTurns>();
  /** In the order of their ends, which is that of their expiry. */
  readonly #turns = new Set<Turn>();
  #bytes = 0;

  /** @param bounds those that differ from the bounds of a gateway */
  constructor(clock: Clock, deadlines: Deadlines, bounds?: Partial<KeptResponseBounds>) {
    this.#clock = clock;
    this.#bounds = { ...keptResponseBounds, ...bounds };
    this.#expiry = deadlines.create(() => this.#expire());
  }

  /** Bytes that are kept now, for turns and running calls. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Turns that are kept now. */
  get turns(): number {
    return this.#turns.size;
  }

  /** Finds a turn of an account. */
  find(account: string, id: string): KeptResponse | undefined {
    const segment = this.#turn(account, id)?.segment;
    if (segment === undefined) return undefined;
    const items: Uint8Array[] = [];
    for (let at: Segment | undefined = segment; at !== undefined; at = at.former) {
      items.push(at.output, at.input);
    }
    return { response: segment.response, items: items.reverse() };
  }

  /** Removes a turn; returns whether there was one. Later turns of its conversation keep the items that led to them. */
  remove(account: string, id: string): boolean {
    const turn = this.#turn(account, id);
    if (turn !== undefined) this.#remove(turn);
    return turn !== undefined;
  }

  /** Begins to keep a turn: copies the items of its request. `undefined` if they do not fit. */
  draft(account: string, { former, items }: TurnInput): TurnDraft | undefined {
    const continued = former === undefined ? undefined : this.#turn(account, former)?.segment;
    if (former !== undefined && continued === undefined) return undefined;
    if (continued !== undefined) continued.uses++;
    const own = this.#accounts.get(account) ?? { turns: new Map(), calls: 0, bytes: 0 };
    this.#accounts.set(account, own);
    own.calls++;
    const wholeBytes = (continued?.wholeBytes ?? 0) + items.length;
    const fits = this.#makeRoom(own, wholeBytes, { bytes: items.length, turns: 0 });
    if (!fits) {
      this.#release(continued);
      this.#endCall(account, own);
      return undefined;
    }
    this.#count(own, items.length);
    const segment: Segment = {
      owner: own,
      former: continued,
      input: items.slice(),
      response: nothing,
      output: nothing,
      wholeBytes,
      uses: 1,
    };
    return new TurnDraft((response) => {
      if (response === undefined || !this.#keep(account, segment, response)) {
        this.#release(segment);
      }
      this.#endCall(account, own);
    });
  }

  /** Keeps the turn of a draft, if its response has an id and fits; returns whether it does. */
  #keep(account: string, segment: Segment, response: Uint8Array): boolean {
    const { owner } = segment;
    const parts = partsOf(response);
    if (parts === undefined) return false;
    const same = owner.turns.get(parts.id);
    if (same !== undefined) this.#remove(same);
    const wholeBytes = segment.wholeBytes + response.length;
    if (!this.#makeRoom(owner, wholeBytes, { bytes: response.length, turns: 1 })) return false;
    this.#count(owner, response.length);
    segment.wholeBytes = wholeBytes;
    segment.response = response.slice();
    segment.output = segment.response.subarray(parts.start, parts.end);
    const untilMs = this.#clock.monotonicMs() + responseKeptMs;
    const turn: Turn = { account, id: parts.id, segment, untilMs };
    owner.turns.set(turn.id, turn);
    this.#turns.add(turn);
    if (this.#turns.size === 1) this.#expiry.arm(responseKeptMs);
    return true;
  }

  #turn(account: string, id: string): Turn | undefined {
    const turn = this.#accounts.get(account)?.turns.get(id);
    return turn === undefined || turn.untilMs <= this.#clock.monotonicMs() ? undefined : turn;
  }

  /**
   * Removes the oldest turns until so much more fits; returns whether it does.
   *
   * @param wholeBytes bytes of the whole conversation with it: where the bounds are below, nothing is removed in vain
   */
  #makeRoom(
    own: AccountTurns,
    wholeBytes: number,
    more: { readonly bytes: number; readonly turns: number },
  ): boolean {
    const { totalBytes, accountBytes, totalTurns, accountTurns } = this.#bounds;
    if (wholeBytes > Math.min(totalBytes, accountBytes)) return false;
    while (own.bytes + more.bytes > accountBytes || own.turns.size + more.turns > accountTurns) {
      if (!this.#removeOldest(own.turns.values())) return false;
    }
    while (this.#bytes + more.bytes > totalBytes || this.#turns.size + more.turns > totalTurns) {
      if (!this.#removeOldest(this.#turns)) return false;
    }
    return true;
  }

  #removeOldest(turns: Iterable<Turn>): boolean {
    for (const turn of turns) {
      this.#remove(turn);
      return true;
    }
    return false;
  }

  #remove(turn: Turn): void {
    const { account, id, segment } = turn;
    this.#turns.delete(turn);
    segment.owner.turns.delete(id);
    this.#release(segment);
    this.#tidy(account, segment.owner);
  }

  /** Gives up one use of a segment, and those that nothing else needs then. */
  #release(segment: Segment | undefined): void {
    for (let at = segment; at !== undefined && --at.uses === 0; at = at.former) {
      this.#count(at.owner, -at.input.length - at.response.length);
    }
  }

  #count(own: AccountTurns, bytes: number): void {
    own.bytes += bytes;
    this.#bytes += bytes;
  }

  #endCall(account: string, own: AccountTurns): void {
    own.calls--;
    this.#tidy(account, own);
  }

  /** Forgets an account of which nothing is kept. */
  #tidy(account: string, own: AccountTurns): void {
    if (own.calls === 0 && own.turns.size === 0) this.#accounts.delete(account);
  }

  #expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const turn of this.#turns) {
      if (turn.untilMs > nowMs) return this.#expiry.arm(turn.untilMs - nowMs);
      this.#remove(turn);
    }
  }
}

/** The turn of a running call. */
export class TurnDraft {
  #end: ((response: Uint8Array | undefined) => void) | undefined;

  /** Internal: use {@linkcode KeptResponses.draft}. */
  constructor(end: (response: Uint8Array | undefined) => void) {
    this.#end = end;
  }

  /** Keeps the turn with its response, if that fits. */
  keep(response: Uint8Array): void {
    this.#once(response);
  }

  /** Gives the turn up, unless it is kept. */
  drop(): void {
    this.#once(undefined);
  }

  #once(response: Uint8Array | undefined): void {
    const end = this.#end;
    this.#end = undefined;
    end?.(response);
  }
}

const nothing = new Uint8Array(0);

/** Items of the output of a response, and its id; `undefined` if it has not both. */
function partsOf(
  response: Uint8Array,
): { readonly id: string; readonly start: number; readonly end: number } | undefined {
  let body: JsonBody;
  try {
    body = parseJsonBody(response);
  } catch (error) {
    if (error instanceof GatewayError) return undefined; // any vendor's answer
    throw error;
  }
  const { id, output } = body.outline;
  const span = body.fields.get("output");
  if (typeof id !== "string" || !Array.isArray(output) || span === undefined) return undefined;
  return { id, ...span, start: span.start + 1, end: span.end - 1 };
}

/** The items of the output of a kept response, a part of it. */
export function outputOf(response: Uint8Array): Uint8Array | undefined {
  const parts = partsOf(response);
  return parts && response.subarray(parts.start, parts.end);
}

/** Reads the response out of the last event of a stream; `undefined` if it has none. */
export function responseOfEvent(event: Uint8Array | undefined): Uint8Array | undefined {
  if (event === undefined) return undefined;
  try {
    const span = parseJsonBody(event).fields.get("response");
    return span && event.subarray(span.start, span.end);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

// Continues a conversation: the items of the turns before, then those of the request.

const encoder = new TextEncoder();
const comma = encoder.encode(",");
const openBracket = encoder.encode("[");
const closeBracket = encoder.encode("]");
const textBefore = encoder.encode('{"role":"user","content":');
const textBehind = encoder.encode("}");

/** Returns the items of a request, separated by commas. A text is one message of the user. */
export function inputItems({ bytes, fields }: JsonBody): Uint8Array {
  const span = fields.get("input");
  if (span === undefined) return nothing;
  const input = bytes.subarray(span.start, span.end);
  if (input[0] === 0x5b) return input.subarray(1, -1);
  return input[0] === 0x22 ? joined([textBefore, input, textBehind]) : nothing;
}

/**
 * Returns the id of the turn that a request continues; `undefined` if it continues none.
 *
 * @throws {GatewayError} `invalid_request` for anything but a text
 */
export function previousId({ outline }: JsonBody): string | undefined {
  const id = outline[previousField];
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string") return id;
  const problem = `${previousField}: must be a string`;
  throw new GatewayError("invalid_request", problem, { param: previousField });
}

/**
 * Computes the bytes of a request with the items of the turns before it.
 *
 * @throws {GatewayError} `request_too_large` above the largest body
 */
export function continuedBytes(body: JsonBody, items: readonly Uint8Array[]): number {
  const bytes = items.reduce((sum, { length }) => sum + length + 1, body.bytes.length);
  if (bytes <= maxRequestBodyBytes) return bytes;
  const most = Math.floor(maxRequestBodyBytes / 1024 / 1024);
  throw new GatewayError(
    "request_too_large",
    `${previousField}: with the turns before it the request exceeds ${most} MB; begin a conversation with less input`,
    { param: previousField },
  );
}

/** Puts the items of the turns before into a request. An `input` that is neither text nor list stays as it is. */
export function continuedBody(body: JsonBody, items: readonly Uint8Array[]): JsonBody {
  const { input } = body.outline;
  const isNone = input === undefined || input === null;
  if (!isNone && !isText(input) && !Array.isArray(input)) {
    return withoutMembers(body, [previousField]);
  }
  const filled = [...items, inputItems(body)].filter(isFilled);
  const list = filled.flatMap((piece, i) => i === 0 ? [piece] : [comma, piece]);
  const value = joined([openBracket, ...list, closeBracket]);
  return parseJsonBody(withFieldBytes(body, previousField, { name: "input", value }));
}

function isFilled(items: Uint8Array): boolean {
  return items.some((byte) => byte > 0x20);
}

/** The error for a turn that is not kept here, as the style's vendor answers. */
export function previousNotFound(id: string): GatewayError {
  return new GatewayError(
    "previous_response_not_found",
    `Previous response with id '${
      id.slice(0, maxRepeatedIdChars)
    }' not found. This gateway keeps a response in memory ` +
      "for up to an hour, for the account that made it, unless store was false; send the whole conversation as input",
    { param: previousField },
  );
}

/** Characters of an unknown id that an error repeats. */
const maxRepeatedIdChars = 80;
