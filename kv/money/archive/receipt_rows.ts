/**
 * Turns stored pages of receipts into rows in columns, and such rows back into the same pages, byte by byte. So the
 * seal of a day, which hashes pages, also proves the rows that an archive has of it.
 *
 * What few calls have in common is a column: times, tokens, money. What many calls share (model, style, route, price,
 * how it ended …) is a *shape*, a text that an archive keeps once: a month has some thousands of them. Rare members,
 * and receipts that these columns cannot hold, are kept as text in `rest`.
 *
 * - Folder `kv/money/archive/`: receipts of sealed days in columns, and a store that reads them and living rows as one.
 * - In: pages of receipts, selectors of the store.
 * - Out: rows for SQLite or PostgreSQL, the pages that they were, and index pages as the store has them.
 * - Never: changes a receipt: a row that would not give its page back is refused.
 */
import { idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import { isFailed } from "../receipts/hour_sums.ts";

/** Prefix of every id of a call; its column leaves it out. */
const idPrefix = "req_";

/** Milliseconds of a bucket: pages have calls of one only, whose ids share all digits of the time but the last. */
const bucketMs = 36;

/** Returns when the bucket of a moment begins. */
export function bucketStartMs(atMs: number): number {
  return Math.floor(atMs / bucketMs) * bucketMs;
}

/** Returns when the bucket of a moment ends. */
export function bucketEndMs(atMs: number): number {
  return bucketStartMs(atMs) + bucketMs;
}

/** A call as an archive keeps it. `null` stands for what the call has not. */
export interface ArchivedCall {
  /** The time in its id. */
  readonly calledAtMs: number;
  /** Its place among the calls of its bucket: pages in the order of their keys, calls as on their page. */
  readonly position: number;
  /** Whether it is the first on its page. */
  readonly startsPage: boolean;
  /** Its id without `req_`. */
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  /** See {@linkcode CallShape}. */
  readonly shape: string;
  /** From the arrival to the begin of the work. */
  readonly startOffsetMs: number;
  readonly latencyMs: number;
  readonly firstOutputMs: number | null;
  /** Milliseconds of the only attempt. */
  readonly attemptMs: number | null;
  readonly inputTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly outputTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly units: number;
  /** µVND as a decimal number. */
  readonly costMicroVnd: string;
  readonly providerCostMicroVnd: string | null;
  /** µVND, of a call with one attempt; `null`: `rest` has it, or the receipt does not say. */
  readonly heldMicroVnd: string | null;
  /**
   * The units of the provider's rate card, in the order of the buckets that the shape names. Empty: the tokens above
   * that are not 0.
   */
  readonly providerUnits: string | null;
  /** {@linkcode RareMembers} as JSON. */
  readonly rest: string | null;
}

/** Page of the store. */
export interface ReceiptPageRow {
  /** The newest id on it, which is its key. */
  readonly newest: RequestId;
  readonly text: string;
}

/** The largest whole number of a column. */
const maxInteger = 2 ** 31 - 1;

/** A number as a column takes it. One that is cut down makes the row another, so that its text is kept as well. */
function integer(value: unknown): number {
  if (typeof value !== "number" || !Number.isFinite(value)) return 0;
  return Math.max(-maxInteger, Math.min(maxInteger, Math.trunc(value)));
}

const orNull = (value: unknown): number | null => value === null ? null : integer(value);

/** The largest amount of a column, in µVND: that of eight bytes. */
const maxAmount = 2n ** 63n - 1n;

function amount(value: unknown): string {
  if (typeof value !== "string" || !/^\d{1,19}$/.test(value)) return "0";
  const read = BigInt(value);
  return (read > maxAmount ? maxAmount : read).toString();
}

// The shape of a call: the elements of its stored tuple that many calls share.

/** Shape of the only attempt of a call, but for its time and its cost; `null` if the row has all attempts in `rest`. */
type AttemptShape =
  | null
  | readonly []
  | readonly [length: number, route: unknown, outcome: unknown, region: unknown];

/** Members that many calls share. */
type CallShape = readonly [
  kind: unknown,
  model: unknown,
  mappedFrom: unknown,
  style: unknown,
  route: unknown,
  status: unknown,
  stream: unknown,
  outcome: unknown,
  estimated: unknown,
  price: unknown,
  region: unknown,
  /** Of a known cost: the rate card and its buckets. */
  cost: unknown,
  catalogVersion: unknown,
  endCode: unknown,
  attempt: AttemptShape,
];

/** The numbers of elements that a stored attempt has had; those about the call are in the first one only. */
const attemptLengths: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 9]);

/** Elements of a stored usage that are columns. */
const usageColumns = 5;

/** Members that few calls have. */
interface RareMembers {
  /** The whole stored receipt, where columns cannot hold it. */
  text?: string;
  /** The page is of the first form: this receipt alone, without its id. */
  bare?: true;
  /** Elements of its usage behind the columns. */
  usage?: unknown[];
  attempts?: unknown[];
  shortfall?: unknown;
  claim?: unknown;
  /** The element behind its price: a shape with the tags of a few calls would be kept for ever. */
  tags?: unknown;
}

/** Returns the counts of tokens that are not 0, in the order of their columns: what a provider nearly always charges. */
function countedTokens([input, cacheRead, cacheWrite, output]: readonly unknown[]): string {
  return [input, cacheRead, cacheWrite, output].filter((count) => count !== 0).join();
}

/** The units of a known cost as a column has them: an empty text for those that the columns of tokens have. */
function unitsColumn(units: readonly unknown[], tokens: readonly unknown[] | null): string {
  const text = units.join();
  return tokens !== null && text === countedTokens(tokens) ? "" : text;
}

/** Elements of a stored price, without the tags behind them. */
const tokenPriceElements = 7;
const unitPriceElements = 2;

/** Takes the tags off a stored price. */
function withoutTags(price: unknown): { readonly price: unknown; readonly tags?: unknown } {
  if (!Array.isArray(price)) return { price };
  const elements = price[0] === "token" ? tokenPriceElements : unitPriceElements;
  return price.length === elements + 1
    ? { price: price.slice(0, elements), tags: price[elements] }
    : { price };
}

/** Makes the row of a stored receipt; it may lack what {@linkcode tupleText} then shows. */
function rowOf(
  requestId: string,
  stored: readonly unknown[],
  { position, startsPage }: Pick<ArchivedCall, "position" | "startsPage">,
): ArchivedCall {
  const [, accountId, keyId, kind, model, mappedFrom, style, route, startedAtMs, ...rest] = stored;
  const [latencyMs, firstOutputMs, status, stream, outcome, usage, estimated, units, ...end] = rest;
  const [priced, cost, shortfall, attempts, claim] = end;
  const { price, tags } = withoutTags(priced);
  const tokens: readonly unknown[] | null = Array.isArray(usage) ? usage : null;
  const tries: readonly unknown[] = Array.isArray(attempts) ? attempts : [];
  const first: readonly unknown[] = Array.isArray(tries[0]) ? tries[0] : [];
  const isOnly = tries.length === 1 && attemptLengths.has(first.length);
  const [, , attemptMs, , from = null, paid = null, catalogVersion = null, ...last] = first;
  const [endCode = null, held] = last;
  const known: readonly unknown[] | null = Array.isArray(paid) ? paid : null;
  const rare: RareMembers = {};
  if (tokens !== null && tokens.length > usageColumns) rare.usage = tokens.slice(usageColumns);
  if (tries.length > 0 && !isOnly) rare.attempts = [...tries];
  if (shortfall !== "0") rare.shortfall = shortfall;
  if (claim !== undefined) rare.claim = claim;
  if (tags !== undefined) rare.tags = tags;
  const attempt: AttemptShape = isOnly
    ? [first.length, first[0], first[1], first[3] ?? null]
    : tries.length === 0
    ? []
    : null;
  const shape: CallShape = [
    kind,
    model,
    mappedFrom,
    style,
    route,
    status,
    stream,
    outcome,
    estimated,
    price,
    from,
    known === null ? paid : [known[1], ...known.slice(2).filter((_, at) => at % 2 === 0)],
    catalogVersion,
    endCode,
    attempt,
  ];
  const calledAtMs = idTimeMs("request", requestId as RequestId);
  return {
    calledAtMs,
    position,
    startsPage,
    id: idOfRequest(requestId),
    accountId: String(accountId),
    keyId: String(keyId),
    shape: JSON.stringify(shape),
    startOffsetMs: integer(Number(startedAtMs) - calledAtMs),
    latencyMs: integer(latencyMs),
    firstOutputMs: orNull(firstOutputMs),
    attemptMs: isOnly ? integer(attemptMs) : null,
    inputTokens: tokens && integer(tokens[0]),
    cacheReadTokens: tokens && integer(tokens[1]),
    cacheWriteTokens: tokens && integer(tokens[2]),
    outputTokens: tokens && integer(tokens[3]),
    reasoningTokens: tokens && integer(tokens[4]),
    units: integer(units),
    costMicroVnd: amount(cost),
    providerCostMicroVnd: known && amount(known[0]),
    heldMicroVnd: tries.length === 1 && typeof held === "string" ? amount(held) : null,
    providerUnits: known && unitsColumn(known.slice(2).filter((_, at) => at % 2 === 1), tokens),
    rest: Object.keys(rare).length === 0 ? null : JSON.stringify(rare),
  };
}

/** The parts of a shape, as text that rows put their numbers between. */
interface ShapeTexts {
  /** Kind, model, mapped name, style and route. */
  readonly names: string;
  /** Status, stream and outcome. */
  readonly end: string;
  readonly estimated: string;
  readonly price: string;
  /** Texts before and behind the time of the only attempt; absent if there is none, or more. */
  readonly attempt: { readonly before: string; readonly behind: string } | undefined;
  /** The cost of the only attempt: nothing, or a text, or what stands before each number of a known one. */
  readonly cost: { readonly text: string } | { readonly card: readonly string[] } | undefined;
  /** Behind that cost. */
  readonly version: string;
  /** Whether what was held stands behind all of it. */
  readonly hasHold: boolean;
  readonly hasAttempts: boolean;
}

function list(values: readonly unknown[]): string {
  return JSON.stringify(values).slice(1, -1);
}

function textsOf(shape: string): ShapeTexts {
  const parsed: CallShape = JSON.parse(shape);
  const [kind, model, mappedFrom, style, route, status, stream, outcome, ...more] = parsed;
  const [estimated, price, from, card, catalogVersion, endCode, attempt] = more;
  const [length = 0, tried, result, region] = attempt ?? [];
  return {
    names: list([kind, model, mappedFrom, style, route]),
    end: list([status, stream, outcome]),
    estimated: JSON.stringify(estimated),
    price: JSON.stringify(price),
    attempt: length === 0 ? undefined : {
      before: `[[${list([tried, result])},`,
      behind: length > 3 ? `,${list([region, from])}` : "",
    },
    cost: length < 6
      ? undefined
      : Array.isArray(card)
      ? { card: card.map((name: unknown) => `${JSON.stringify(name)},`) }
      : { text: JSON.stringify(card) },
    version: list([catalogVersion, endCode].slice(0, Math.max(0, length - 6))),
    hasHold: length > 8,
    hasAttempts: attempt !== null,
  };
}

/** Shapes whose texts are kept, some 10 MB: those of a month. */
const maxShapesKept = 10_000;

/** Texts by shape, since nearly every call has one that was there before. */
const shapesKept = new Map<string, ShapeTexts>();

function shapeTexts(shape: string): ShapeTexts {
  const kept = shapesKept.get(shape);
  if (kept !== undefined) return kept;
  if (shapesKept.size >= maxShapesKept) shapesKept.clear();
  const texts = textsOf(shape);
  shapesKept.set(shape, texts);
  return texts;
}

function attemptsText(call: ArchivedCall, texts: ShapeTexts, rare: RareMembers): string {
  if (!texts.hasAttempts) return JSON.stringify(rare.attempts);
  const { attempt, cost, version, hasHold } = texts;
  if (attempt === undefined) return "[]";
  let text = `${attempt.before}${call.attemptMs}${attempt.behind}`;
  if (cost !== undefined) {
    text += "text" in cost ? `,${cost.text}` : `,${costText(call, cost.card)}`;
    if (version !== "") text += `,${version}`;
    if (hasHold) text += `,"${call.heldMicroVnd}"`;
  }
  return `${text}]]`;
}

function costText(call: ArchivedCall, [card = "", ...buckets]: readonly string[]): string {
  let text = `["${call.providerCostMicroVnd}",${card.slice(0, -1)}`;
  const units = (call.providerUnits || tokenUnits(call)).split(",");
  for (const [at, bucket] of buckets.entries()) text += `,${bucket}${units[at]}`;
  return `${text}]`;
}

function tokenUnits(call: ArchivedCall): string {
  return countedTokens([
    call.inputTokens,
    call.cacheReadTokens,
    call.cacheWriteTokens,
    call.outputTokens,
  ]);
}

function usageText(call: ArchivedCall, rare: RareMembers): string {
  if (call.inputTokens === null) return "null";
  const more = rare.usage === undefined ? "" : `,${list(rare.usage)}`;
  return `[${call.inputTokens},${call.cacheReadTokens},${call.cacheWriteTokens},` +
    `${call.outputTokens},${call.reasoningTokens}${more}]`;
}

const noRareMembers: RareMembers = {};

function rareMembersOf({ rest }: ArchivedCall): RareMembers {
  return rest === null ? noRareMembers : JSON.parse(rest);
}

/** Returns the stored text of a receipt, without its id. */
function tupleText(call: ArchivedCall, rare: RareMembers): string {
  if (rare.text !== undefined) return rare.text;
  const texts = shapeTexts(call.shape);
  const shortfall = "shortfall" in rare ? JSON.stringify(rare.shortfall) : `"0"`;
  const claim = "claim" in rare ? `,${JSON.stringify(rare.claim)}` : "";
  const price = "tags" in rare
    ? `${texts.price.slice(0, -1)},${JSON.stringify(rare.tags)}]`
    : texts.price;
  return `[1,"${call.accountId}","${call.keyId}",${texts.names},` +
    `${
      call.calledAtMs + call.startOffsetMs
    },${call.latencyMs},${call.firstOutputMs},${texts.end},` +
    `${usageText(call, rare)},${texts.estimated},${call.units},${price},` +
    `"${call.costMicroVnd}",${shortfall},${attemptsText(call, texts, rare)}${claim}]`;
}

/** Returns what a column has of the id of a call. */
export function idOfRequest(requestId: string): string {
  return requestId.slice(idPrefix.length);
}

/** Returns the id of a call. */
export function requestIdOf({ id }: Pick<ArchivedCall, "id">): RequestId {
  return `${idPrefix}${id}` as RequestId;
}

/** Returns the stored text of a receipt, as its page has it. */
export function storedTextOf(call: ArchivedCall): string {
  return tupleText(call, rareMembersOf(call));
}

/** Returns the page of these calls, in their order. */
export function pageOf(calls: readonly ArchivedCall[]): ReceiptPageRow {
  let newest = "";
  let text = "";
  for (const call of calls) {
    const requestId = requestIdOf(call);
    if (requestId > newest) newest = requestId;
    const rare = rareMembersOf(call);
    const stored = tupleText(call, rare);
    if (rare.bare) return { newest: requestId, text: stored };
    text += `${text === "" ? "[" : ","}["${requestId}",${stored}]`;
  }
  return { newest: newest as RequestId, text: `${text}]` };
}

/** Divides the calls of one bucket or more, which are in the order of bucket and position, by their pages. */
export function callsByPage(calls: readonly ArchivedCall[]): ArchivedCall[][] {
  const pages: ArchivedCall[][] = [];
  let from = 0;
  for (let at = 1; at <= calls.length; at++) {
    if (at < calls.length && calls[at]?.startsPage !== true) continue;
    pages.push(calls.slice(from, at));
    from = at;
  }
  return pages;
}

/** Returns the pages of the calls of one bucket or more, which are in the order of bucket and position. */
export function pagesOf(calls: readonly ArchivedCall[]): ReceiptPageRow[] {
  return callsByPage(calls).map(pageOf);
}

/** A page in columns; or why it cannot be archived. */
export type PageInColumns =
  | { readonly ok: true; readonly calls: readonly ArchivedCall[] }
  | { readonly ok: false; readonly problem: string };

/** The elements of a stored receipt: with a claim it has one more. */
const tupleLengths: ReadonlySet<number> = new Set([21, 22]);

type StoredCall = readonly [requestId: string, stored: readonly unknown[]];

function isStored(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value[0] === 1 && tupleLengths.has(value.length);
}

function isStoredCall(row: unknown): row is StoredCall {
  if (!Array.isArray(row) || row.length !== 2) return false;
  const [requestId, stored]: unknown[] = row;
  return typeof requestId === "string" && /^req_[0-9a-z]{10,60}$/.test(requestId) &&
    isStored(stored);
}

/** Returns the calls of a page; `undefined` if it is of no form that this release knows. */
function callsOn({ newest, text }: ReceiptPageRow): readonly StoredCall[] | undefined {
  const rows: unknown = JSON.parse(text);
  if (isStored(rows)) return [[newest, rows]];
  return Array.isArray(rows) && rows.length > 0 && rows.every(isStoredCall) ? rows : undefined;
}

/** Keeps more of a call than its columns hold. */
function withRare(call: ArchivedCall, more: RareMembers): ArchivedCall {
  return { ...call, rest: JSON.stringify({ ...rareMembersOf(call), ...more }) };
}

/**
 * Turns a page into rows that give it back, byte by byte.
 *
 * @param firstPosition the number of calls on earlier pages of its bucket
 */
export function pageInColumns(page: ReceiptPageRow, firstPosition: number): PageInColumns {
  const stored = callsOn(page);
  const refused = (problem: string): PageInColumns => {
    return { ok: false, problem: `the page ${page.newest} ${problem}` };
  };
  if (stored === undefined) return refused("is of no form that this release knows");
  const calls = stored.map(([requestId, tuple], at) => {
    const call = rowOf(requestId, tuple, { position: firstPosition + at, startsPage: at === 0 });
    return page.text.startsWith("[1,") ? withRare(call, { bare: true }) : call;
  });
  const isSame = (other: ReceiptPageRow) =>
    other.newest === page.newest && other.text === page.text;
  if (isSame(pageOf(calls))) return { ok: true, calls };
  const whole = calls.map((call, at) => {
    const text = JSON.stringify(stored[at]?.[1]);
    return tupleText(call, rareMembersOf(call)) === text ? call : withRare(call, { text });
  });
  return isSame(pageOf(whole)) ? { ok: true, calls: whole } : refused("is written in another way");
}

/** The members of a shape that a table has as columns. */
export interface ShapeColumns {
  readonly kind: string;
  readonly model: string;
  readonly requestedModel: string | null;
  readonly style: string;
  readonly route: string | null;
  readonly status: number;
  readonly stream: boolean;
  readonly outcome: string;
  readonly estimated: boolean;
  readonly region: string | null;
  readonly catalogVersion: number | null;
  readonly endCode: string | null;
  /** Whether its client got an error, as the index of failed calls has it. */
  readonly failed: boolean;
}

/** A text as every database takes it. */
export function columnText(value: unknown): string {
  return String(value).toWellFormed().replaceAll("\0", "\u{fffd}");
}

const textOrNull = (value: unknown) => value === null ? null : columnText(value);

/** Returns what a table has of a shape. */
export function shapeColumns(shape: string): ShapeColumns {
  const parsed: CallShape = JSON.parse(shape);
  const [kind, model, mappedFrom, style, route, status, stream, outcome, ...more] = parsed;
  const [estimated, , region, , catalogVersion, endCode] = more;
  return {
    kind: columnText(kind),
    model: columnText(model),
    requestedModel: textOrNull(mappedFrom),
    style: columnText(style),
    route: textOrNull(route),
    status: integer(status),
    stream: stream === 1,
    outcome: columnText(outcome),
    estimated: estimated === 1,
    region: textOrNull(region),
    catalogVersion: orNull(catalogVersion),
    endCode: textOrNull(endCode),
    failed: isFailed({ status: integer(status), outcome: columnText(outcome), attempts: [] }),
  };
}
