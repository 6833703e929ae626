/**
 * Searches the web for a model that cannot: the model calls a function, the gateway runs the search and asks the model
 * again with the result, until it answers or calls the client's own tools. To the rest of the call all rounds are one
 * exchange with one stream, whose usage is the sum of the rounds; the searches are calls of their own.
 *
 * | what the model does in a round           | what follows                                             |
 * | ---------------------------------------- | -------------------------------------------------------- |
 * | it answers, or calls tools of the client | the answer ends as the model ended it                    |
 * | it searches                              | the search runs, the client sees it, another round begins |
 * | it does both                             | the search runs, the client sees it, the answer ends     |
 *
 * - Folder `core/calls/web_search/`: web searches that the gateway runs for a model without a search.
 * - In: a request with a web search, and whoever runs a search.
 * - Out: one stream for the client, of all rounds.
 * - Never: charges for a search: each is a call with its own receipt.
 *
 * The client sees text and reasoning of every round as they come. A search that fails is told to the model, as vendors
 * do. A round that fails after the first ends the answer with that error. Each round reads the whole conversation again,
 * so its prompt is paid before it begins: the answer ends as one that is too long where the money does not suffice.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { countedTools, noToolUses, type ToolUses } from "../../billing/usage/hosted_tools.ts";
import { billedInputTokens, type ReportedUsage } from "../../billing/tokens/token_bounds.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { withResolvers } from "../../lib/runtime/built_ins.ts";
import { type SseFrame, SseFrameTooLargeError, SseSplitter } from "../../lib/sse/frame.ts";
import type {
  ByteReader,
  UpstreamExchange,
  UpstreamResponse,
} from "../../net/transport/transport.ts";
import type { ConversionMemory, ProviderStyle } from "../../wire/contract/contract.ts";
import type {
  Block,
  Conversation,
  StreamEvent,
  ToolResultBlock,
  WebSearchRequest,
  WebSource,
} from "../../wire/conversation/mod.ts";
import { thinkingSink } from "../../wire/convert/think_tags.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";
import { AnswerCollector } from "../../wire/convert/collected_answer.ts";
import type { EventSink, StreamDecoder } from "../../wire/stream/dialect.ts";
import { providerDialectOf } from "../../wire/convert/dialects.ts";
import { eventFrame, type WrittenEvent } from "./event_stream.ts";
import { addReports, joinReports } from "../../wire/stream/reading.ts";
import { continueSearched, type OfferedSearch } from "./search_function.ts";
import {
  answered,
  type AttemptHandlers,
  type AttemptTime,
  isEventStream,
  wholeAsStream,
} from "../attempts/attempt.ts";

/** Findings of a search. */
export interface SearchFindings {
  /** The id of the search's own call. */
  readonly id: string;
  /** Text of the pages, or why the search failed. */
  readonly text: string;
  readonly sources: readonly WebSource[];
  readonly failed: boolean;
}

/** Runs the searches of one call. */
export interface WebSearcher {
  readonly time: AttemptTime;
  /** Runs a search as a call of its own. Never rejects. */
  search(query: string, request: WebSearchRequest): Promise<SearchFindings>;
}

/** Pays for the rounds of one call. */
export interface RoundPayer {
  /**
   * Reserves what the prompts of all rounds cost, the next one included, which is the gateway's own count. Never rejects.
   *
   * @returns `false` if there is no money for another round
   */
  pay(promptTokens: number): Promise<boolean>;
  /** Notes the prompt of one round as its provider reports it: a long one may have rates of its own. */
  note(promptTokens: number): void;
}

/** Searches of one answer where the client sets no bound: what vendors do for a usual question. */
const usualSearches = 5;
/** Searches of one answer whatever the client's bound: each is paid for, and makes the next prompt longer. */
const maxSearches = 10;
/** Output tokens that are worth another round; vendors refuse lower limits. */
const minRoundTokens = 16;
/** Milliseconds between signs of life while a search runs: below the least silence for which proxies close. */
const searchPingMs = 5_000;

/** A request that was sent for a round. */
interface SentRound {
  readonly exchange: UpstreamExchange;
  readonly memory: ConversionMemory;
}

/** Needs of the rounds of a call. */
export interface SearchRoundsInput {
  /** The style of the route. */
  readonly style: ProviderStyle;
  readonly offered: OfferedSearch;
  readonly searcher: WebSearcher;
  readonly payer: RoundPayer;
  /** Whether the sources of a search become sources of the text, because the client's style has no other place for them. */
  readonly citesSources: boolean;
  /** Writes the request of a round and sends it. */
  readonly send: (conversation: Conversation) => SentRound;
  readonly handlers: Pick<
    AttemptHandlers,
    "decodeError" | "onStatus" | "readAnswer" | "asStream"
  >;
}

const encoder = new TextEncoder();

type BlockEvent = Extract<StreamEvent, { readonly block: number }>;
type StopEvent = StreamEvent & { readonly type: "stop" };

/** A call of the search by the model. */
interface SearchCall {
  readonly id: string;
  /** The JSON text of the arguments so far. */
  text: string;
}

/** One request to the model, and what was read of its answer. */
class Round {
  /** The blocks that the model wrote. */
  readonly collector = new AnswerCollector();
  /** Calls of the search, by the decoder's number of the block. */
  readonly searches = new Map<number, SearchCall>();
  /** Blocks that have text. */
  readonly texts = new Set<number>();
  readonly body: ByteReader;
  readonly decoder: StreamDecoder;
  /** The number that this round's block 0 has in the whole answer. */
  readonly firstBlock: number;
  readonly #splitter = new SseSplitter(maxSseEventBytes);
  readonly #sink: EventSink;
  readonly #visit = (frame: SseFrame): boolean => {
    const data = frame.dataLines === 0 ? frame.bareObject : frame.data;
    if (data !== undefined) this.decoder.frame(frame.event || undefined, data, this.#sink);
    return !this.hasEnded;
  };
  usage: ReportedUsage | undefined;
  stop: StopEvent | undefined;
  callsClientTools = false;
  hasEnded = false;

  constructor(
    { style, memory, body, firstBlock }: {
      readonly style: ProviderStyle;
      readonly memory: ConversionMemory;
      readonly body: ByteReader;
      readonly firstBlock: number;
    },
    take: EventSink,
  ) {
    this.decoder = providerDialectOf(style).createStreamDecoder(memory);
    this.body = body;
    this.firstBlock = firstBlock;
    const { thinkTags } = memory;
    this.#sink = thinkTags === undefined ? take : thinkingSink(thinkTags, take);
  }

  /** Takes the next bytes; `null` at the end of the body. */
  push(bytes: Uint8Array | null): void {
    try {
      if (bytes !== null) return this.#splitter.push(bytes, this.#visit);
      const rest = this.#splitter.takeRest();
      if (rest !== undefined) this.#visit(rest);
      if (!this.hasEnded) this.decoder.bodyEnd(this.#sink);
    } catch (cause) {
      if (!(cause instanceof SseFrameTooLargeError)) throw cause;
      throw new GatewayError(
        "upstream_unreachable",
        "The provider sent an event beyond the size limit",
        { cause },
      );
    }
  }
}

/** A round whose searches have run. */
interface SearchedRound {
  readonly round: Round;
  readonly results: readonly ToolResultBlock[];
}

/** All rounds of one call, as one exchange whose body is the joined stream (`event_stream.ts`). */
export class SearchRounds implements UpstreamExchange, ByteReader {
  readonly response: Promise<UpstreamResponse>;
  readonly #input: SearchRoundsInput;
  /** Most searches of the answer. */
  readonly #bound: number;
  readonly #knownIds: Set<string>;
  #conversation: Conversation;
  #exchange: UpstreamExchange;
  #round: Round | undefined;
  /** Searches, or the request after them, while they run. */
  #work: Promise<void> | undefined;
  /** Searches of a round, until the next one begins. */
  #searched: SearchedRound | undefined;
  /** Frames that were not read yet. */
  #out = "";
  #isOver = false;
  #isCancelled = false;
  #roundCount = 1;
  #searchCount = 0;
  #nextBlock = 0;
  /** Usage of the rounds that have ended; `undefined` before the first. */
  #usage: ReportedUsage | undefined;
  /** A round ended without a report of its usage, so the sum is too low. */
  #isUsagePartial = false;
  /** Uses of other hosted tools in the rounds that have ended, and what was written of all. */
  #uses: ToolUses = noToolUses;
  #writtenUses = "";
  /** Sources for the next text that ends. */
  #sources: WebSource[] = [];

  /** @throws {GatewayError} if the request cannot be written for the route; nothing is sent then */
  constructor(input: SearchRoundsInput) {
    this.#input = input;
    const { conversation, request } = input.offered;
    this.#bound = Math.min(request.maxUses?.value ?? usualSearches, maxSearches);
    this.#conversation = conversation;
    this.#knownIds = new Set(
      conversation.turns.flatMap(({ blocks }) =>
        blocks.flatMap((block) => block.type === "tool_call" ? [block.id] : [])
      ),
    );
    const sent = input.send(conversation);
    this.#exchange = sent.exchange;
    this.response = this.#begin(sent).then(({ status }) => ({
      status,
      header: (name) => name === "content-type" ? "text/event-stream" : undefined,
      body: this,
    }));
    // Whoever waits for it gets the failure; after `cancel` nobody may.
    this.response.catch(() => {});
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#exchange.cancel();
  }

  async read(): Promise<Uint8Array | null> {
    while (this.#out === "" && !this.#isOver) {
      if (this.#work !== undefined) await this.#waitFor(this.#work);
      else if (this.#searched !== undefined) this.#start(this.#next(this.#searched));
      else await this.#readRound();
    }
    if (this.#out === "") return null;
    const bytes = encoder.encode(this.#out);
    this.#out = "";
    return bytes;
  }

  /** Waits for the answer to a request to begin. */
  async #begin({ exchange, memory }: SentRound): Promise<UpstreamResponse> {
    const { style, handlers, searcher } = this.#input;
    const response = await answered({ ...handlers, exchange }, searcher.time);
    const { body } = isEventStream(response) ? response : await wholeAsStream(response, handlers);
    const firstBlock = this.#nextBlock;
    this.#round = new Round({ style, memory, body, firstBlock }, (event) => this.#take(event));
    return response;
  }

  async #readRound(): Promise<void> {
    const round = this.#round;
    if (round === undefined) throw new Error("A body is read before its head");
    const chunk = await round.body.read();
    round.push(chunk);
    this.#writeUses(round);
    if (round.hasEnded) this.#endRound(round);
    // Without its end the answer was cut, which the pipe tells from the missing `end`.
    else if (chunk === null) this.#isOver = true;
  }

  /** Waits for work with signs of life, so that neither the gateway nor a proxy takes the silence for a broken stream. */
  async #waitFor(work: Promise<void>): Promise<void> {
    const { promise, resolve } = withResolvers<boolean>();
    const deadline = this.#input.searcher.time.deadlines.create(() => resolve(false));
    deadline.arm(searchPingMs);
    try {
      if (await Promise.race([work.then(() => true), promise])) this.#work = undefined;
      else this.#write({ type: "ping" });
    } finally {
      deadline.disarm();
    }
  }

  #endRound(round: Round): void {
    // What may follow is framing.
    this.#exchange.cancel();
    if (round.usage === undefined) this.#isUsagePartial = true;
    else this.#usage = this.#sumWith(round.usage);
    this.#uses = addUses(this.#uses, round.decoder.toolUses);
    if (round.searches.size === 0 || !wantsResults(round)) return this.#finish(round.stop);
    this.#write({ type: "search" });
    this.#start(this.#search(round));
  }

  #start(work: Promise<void>): void {
    this.#work = work;
    // A failure is thrown to the next read.
    work.catch(() => {});
  }

  /** Runs the searches of a round. */
  async #search(round: Round): Promise<void> {
    const results: ToolResultBlock[] = [];
    for (const call of round.searches.values()) {
      results.push(await this.#run(call));
      if (this.#isCancelled) {
        this.#isOver = true;
        return;
      }
    }
    if (round.callsClientTools) this.#finish(round.stop);
    else this.#searched = { round, results };
  }

  /**
   * Begins the round after searches. It runs only while something is read: the reader may extend the reservation, too, but
   * not while it waits here.
   */
  async #next({ round, results }: SearchedRound): Promise<void> {
    this.#searched = undefined;
    const maxTokens = this.#tokensLeft();
    if (maxTokens !== undefined && maxTokens < minRoundTokens) {
      return this.#finish({ type: "stop", stop: { reason: "length" } });
    }
    // One round for each search, one in which the model learns of its bound, and one in which it must answer.
    const isLast = this.#roundCount > this.#bound;
    if (this.#roundCount++ > this.#bound + 1) {
      return this.#finish({ type: "stop", stop: { reason: "end" } });
    }
    if (!await this.#input.payer.pay(this.#promptTokens(round, results))) {
      return this.#finish({ type: "stop", stop: { reason: "length" } });
    }
    if (this.#isCancelled) {
      this.#isOver = true;
      return;
    }
    const written = writtenBlocks(round, results);
    this.#conversation = continueSearched(this.#conversation, {
      written,
      results,
      maxTokens,
      isLast,
    });
    const sent = this.#input.send(this.#conversation);
    this.#exchange = sent.exchange;
    await this.#begin(sent);
  }

  /** Runs one search, and shows it to the client. */
  async #run({ id, text }: SearchCall): Promise<ToolResultBlock> {
    const { searcher, offered, citesSources } = this.#input;
    const callId = this.#uniqueId(id);
    const query = queryOf(text);
    if (query === undefined) return failedResult(callId, "The search needs a query.");
    if (this.#searchCount >= this.#bound) {
      return failedResult(callId, "No more searches in this answer: answer with what was found.");
    }
    this.#searchCount++;
    const found = await searcher.search(query, offered.request);
    const { sources, failed } = found;
    const block = this.#nextBlock++;
    const call = { tool: "web_search", query, sources, failed } as const;
    this.#write({ type: "hosted_call", block, style: "messages", id: found.id, call });
    this.#write({ type: "block_end", block });
    if (citesSources) this.#sources.push(...sources);
    if (failed) return failedResult(callId, found.text);
    return resultOf(callId, [found.text, ...sources.map(sourceLine)].join("\n"), false);
  }

  /** The id of a call in the history, in which ids must differ; some servers number the calls of each answer anew. */
  #uniqueId(id: string): string {
    const unique = id === "" || this.#knownIds.has(id) ? `call_search_${this.#knownIds.size}` : id;
    this.#knownIds.add(unique);
    return unique;
  }

  /** Bounds the tokens of all prompts, that of the next round included: a token has at least one byte. */
  #promptTokens({ usage }: Round, results: readonly ToolResultBlock[]): number {
    const read = this.#usage === undefined ? 0 : billedInputTokens(this.#usage);
    const last = usage === undefined ? 0 : billedInputTokens(usage) + usage.output;
    return read + last + encoder.encode(JSON.stringify(results)).length;
  }

  #tokensLeft(): number | undefined {
    const { maxTokens } = this.#input.offered.conversation;
    return maxTokens === undefined ? undefined : maxTokens - (this.#usage?.output ?? 0);
  }

  #finish(stop: StopEvent | undefined): void {
    if (stop !== undefined) this.#write(stop);
    if (this.#isUsagePartial) this.#write({ type: "usage_rejected" });
    this.#write({ type: "end" });
    this.#isOver = true;
  }

  #take(event: StreamEvent): void {
    const round = this.#round;
    if (round === undefined || round.hasEnded) return;
    round.collector.encode(event);
    switch (event.type) {
      case "error":
        throw event.error;
      case "start":
        if (this.#roundCount === 1) this.#write(event);
        return;
      case "usage":
        round.usage = joinReports(round.usage, event.usage);
        this.#input.payer.note(billedInputTokens(round.usage));
        return this.#write({ type: "usage", usage: this.#sumWith(round.usage) });
      case "stop":
        round.stop = event;
        return;
      case "end":
        round.hasEnded = true;
        return;
      // Only one answer is asked for.
      case "choice":
        return;
      case "ping":
      case "usage_rejected":
        return this.#write(event);
      default:
        return this.#takeBlock(round, event);
    }
  }

  #takeBlock(round: Round, event: BlockEvent): void {
    const search = round.searches.get(event.block);
    if (event.type === "call") {
      if (event.name === this.#input.offered.name && event.custom !== true) {
        round.searches.set(event.block, { id: event.id, text: "" });
        return;
      }
      round.callsClientTools = true;
    }
    if (search !== undefined) {
      if (event.type !== "arguments") return;
      const piece: string = JSON.parse(event.json);
      search.text += piece;
      return this.#write({ type: "search_arguments", json: event.json });
    }
    const block = round.firstBlock + event.block;
    this.#nextBlock = Math.max(this.#nextBlock, block + 1);
    if (event.type === "text") round.texts.add(event.block);
    if (event.type === "block_end" && round.texts.has(event.block)) this.#cite(block);
    this.#write({ ...event, block });
  }

  /** Gives the sources of the searches to a text that was written after them. */
  #cite(block: number): void {
    const cited = new Map(this.#sources.map(({ url, title = "" }) => [url, title]));
    this.#sources = [];
    for (const [url, title] of cited) {
      this.#write({ type: "citation", block, citation: { url, title } });
    }
  }

  #sumWith(usage: ReportedUsage): ReportedUsage {
    return this.#usage === undefined ? usage : addReports(this.#usage, usage);
  }

  /** Writes how often providers ran their tools, if that has changed. */
  #writeUses({ decoder }: Round): void {
    const { toolUses } = decoder;
    if (toolUses === undefined) return;
    const uses = addUses(this.#uses, toolUses);
    const written = JSON.stringify(uses);
    if (written === this.#writtenUses) return;
    this.#writtenUses = written;
    this.#write({ type: "tool_uses", uses });
  }

  #write(event: WrittenEvent): void {
    this.#out += eventFrame(event);
  }
}

/** Whether the model waits for results: it was neither cut in the middle of a call nor stopped for another reason. */
function wantsResults({ stop }: Round): boolean {
  const reason = stop?.stop.reason ?? "tool_calls";
  return reason === "tool_calls" || reason === "end";
}

function addUses(a: ToolUses, b: ToolUses = noToolUses): ToolUses {
  const sums = countedTools.flatMap((tool): [string, number][] => {
    const sum = (a[tool] ?? 0) + (b[tool] ?? 0);
    return sum === 0 ? [] : [[tool, sum]];
  });
  return Object.fromEntries(sums);
}

/** Blocks that the model wrote in a round, for the history of the next one. Its calls have the ids of their results. */
function writtenBlocks(round: Round, results: readonly ToolResultBlock[]): Block[] {
  const ids = results.map(({ callId }) => callId);
  return round.collector.answer().blocks.flatMap((block): Block[] => {
    // Media cannot be sent back as the model's own.
    if (block.type === "picture" || block.type === "sound") return [];
    return block.type === "tool_call" ? [{ ...block, id: ids.shift() ?? block.id }] : [block];
  });
}

function queryOf(text: string): string | undefined {
  const input = tryParseExactly(text);
  const query = isJsonObject(input) ? input["query"] : undefined;
  return typeof query === "string" && query.trim() !== "" ? query : undefined;
}

function resultOf(callId: string, text: string, isError: boolean): ToolResultBlock {
  return {
    type: "tool_result",
    path: "",
    callId,
    content: [{ type: "text", path: "", text }],
    isError,
  };
}

function failedResult(callId: string, why: string): ToolResultBlock {
  return resultOf(callId, why, true);
}

function sourceLine({ url, title = "" }: WebSource): string {
  return `- ${title === "" ? url : `${title} (${url})`}`;
}
