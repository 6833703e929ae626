/**
 * Runs tools for a model whose provider does not: the model calls a function, the gateway runs it and asks the model again
 * with the result, until it answers or calls the client's own tools. To the rest of the call all rounds are one exchange
 * with one stream, whose usage is the sum of the rounds.
 *
 * | what the model does in a round           | what follows                                            |
 * | ---------------------------------------- | ------------------------------------------------------- |
 * | it answers, or calls tools of the client | the answer ends as the model ended it                   |
 * | it calls tools of the gateway            | they run, the client sees them, another round begins    |
 * | it does both                             | they run, the client sees them, the answer ends         |
 * | it calls what the client must agree to   | the client sees what is asked, the answer ends          |
 *
 * - Folder `core/calls/rounds/`: tools that the gateway runs for a model: web searches, and tools of MCP servers.
 * - In: a request with such tools, and whoever searches or connects.
 * - Out: one stream for the client, of all rounds.
 * - Never: charges for a search, which is a call with its own receipt, or keeps what a client sent for a server.
 *
 * The client sees text and reasoning of every round as they come. A call that fails is told to the model, as vendors do. A
 * round that fails after the first ends the answer with that error. Each round reads the whole conversation again, so its
 * prompt is paid before it begins: the answer ends as one that is too long where the money does not suffice.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { countedTools, noToolUses, type ToolUses } from "../../billing/usage/hosted_tools.ts";
import { billedInputTokens, type ReportedUsage } from "../../billing/tokens/token_bounds.ts";
import { defined } from "../../lib/base/defined.ts";
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
  HostedCallBlock,
  ImageBlock,
  StreamEvent,
  ToolChoice,
  ToolResultBlock,
  ToolResultContent,
  WebSource,
} from "../../wire/conversation/mod.ts";
import { thinkingSink } from "../../wire/convert/think_tags.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";
import { AnswerCollector } from "../../wire/convert/collected_answer.ts";
import type { EventSink, StreamDecoder } from "../../wire/stream/dialect.ts";
import { providerDialectOf } from "../../wire/convert/dialects.ts";
import { tokensPerImage } from "../bounds/chat_bounds.ts";
import { eventFrame, type WrittenEvent } from "./event_stream.ts";
import { addReports, joinReports } from "../../wire/stream/reading.ts";
import {
  answered,
  type AttemptHandlers,
  type AttemptTime,
  isEventStream,
  wholeAsStream,
} from "../attempts/attempt.ts";

/** Call of a function by the model. */
export interface FunctionCall {
  readonly name: string;
  /** JSON text of the arguments, as the model wrote it. */
  readonly text: string;
}

/** Part of the answer that shows the client a call which the gateway ran. */
export type ShownCall = Pick<HostedCallBlock, "style" | "id" | "call">;

/** End of a call that the gateway ran. */
export interface RanCall {
  /** Absent: nothing ran, since the model called wrongly. */
  readonly shown?: ShownCall;
  /** Sources for the text that the model writes next. */
  readonly sources?: readonly WebSource[];
  /** For the model; absent: the client must agree first, so the answer ends. */
  readonly result?: CallResult;
}

/** Result of a call, for the model. */
export interface CallResult {
  readonly text: string;
  readonly failed: boolean;
  readonly images?: readonly ImageBlock[];
}

/** The route on which the model answers, as results of calls see it. */
export interface ResultRoute {
  /** Whether its model gets an image. */
  readonly carries: (image: ImageBlock) => boolean;
  /** Tells the client what the model did not get, by the path of its request. */
  readonly warn: (path: string) => void;
}

/** Functions that the gateway runs for the model. */
export interface RunTools {
  /** Most calls in one answer. */
  readonly maxCalls: number;
  /** Told to the model that calls beyond it. */
  readonly beyond: string;
  has(name: string): boolean;
  /** Runs a call. Never rejects. */
  run(call: FunctionCall, route: ResultRoute): Promise<RanCall>;
  /** The answer has ended, or nobody waits for it. */
  end?(): void;
}

/** Pays for the rounds of one call. */
export interface RoundPayer {
  /**
   * Reserves what the prompts of all rounds cost, the next one included, which is the gateway's own count. Never rejects.
   *
   * @param hasImages whether the last results have images, which may have a rate of their own
   * @returns `false` if there is no money for another round
   */
  pay(promptTokens: number, hasImages: boolean): Promise<boolean>;
  /** Notes the prompt of one round as its provider reports it: a long one may have rates of its own. */
  note(promptTokens: number): void;
}

/** Output tokens that are worth another round; vendors refuse lower limits. */
const minRoundTokens = 16;
/** Milliseconds between signs of life while calls run: below the least silence for which proxies close. */
const pingMs = 5_000;

/** A request that was sent for a round. */
interface SentRound {
  readonly exchange: UpstreamExchange;
  readonly memory: ConversionMemory;
}

/** Needs of the rounds of a call. */
export interface ToolRoundsInput {
  /** The style of the route. */
  readonly style: ProviderStyle;
  /** The conversation, with functions in place of the tools. */
  readonly conversation: Conversation;
  readonly tools: readonly RunTools[];
  /** Calls that the client sees before the answer of the model. */
  readonly before: readonly ShownCall[];
  readonly time: AttemptTime;
  readonly payer: RoundPayer;
  readonly route: ResultRoute;
  /** Whether the sources of a call become sources of the text, because the client's style has no other place for them. */
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

/** A call that the gateway runs. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly tools: RunTools;
  /** The JSON text of the arguments so far. */
  text: string;
}

/** One request to the model, and what was read of its answer. */
class Round {
  /** The blocks that the model wrote. */
  readonly collector = new AnswerCollector();
  /** Calls that the gateway runs, by the decoder's number of the block. */
  readonly calls = new Map<number, OpenCall>();
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

/** A round whose calls have run. */
interface RanRound {
  readonly round: Round;
  readonly results: readonly ToolResultBlock[];
}

/** All rounds of one call, as one exchange whose body is the joined stream (`event_stream.ts`). */
export class ToolRounds implements UpstreamExchange, ByteReader {
  readonly response: Promise<UpstreamResponse>;
  readonly #input: ToolRoundsInput;
  /** Most calls of the answer that the gateway runs. */
  readonly #bound: number;
  readonly #knownIds: Set<string>;
  #conversation: Conversation;
  #exchange: UpstreamExchange;
  #round: Round | undefined;
  /** Calls, or the request after them, while they run. */
  #work: Promise<void> | undefined;
  /** A round whose calls have run, until the next one begins. */
  #ran: RanRound | undefined;
  /** Frames that were not read yet. */
  #out = "";
  #isOver = false;
  #isCancelled = false;
  #roundCount = 1;
  readonly #callCounts = new Map<RunTools, number>();
  #hasShownBefore = false;
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
  constructor(input: ToolRoundsInput) {
    this.#input = input;
    const { conversation, tools, before } = input;
    this.#bound = tools.reduce((sum, { maxCalls }) => sum + maxCalls, 0);
    this.#nextBlock = before.length;
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
    this.#endTools();
  }

  async read(): Promise<Uint8Array | null> {
    while (this.#out === "" && !this.#isOver) {
      if (this.#work !== undefined) await this.#waitFor(this.#work);
      else if (this.#ran !== undefined) this.#start(this.#next(this.#ran));
      else await this.#readRound();
    }
    if (this.#out === "") return null;
    const bytes = encoder.encode(this.#out);
    this.#out = "";
    return bytes;
  }

  /** Waits for the answer to a request to begin. */
  async #begin({ exchange, memory }: SentRound): Promise<UpstreamResponse> {
    const { style, handlers, time } = this.#input;
    const response = await answered({ ...handlers, exchange }, time);
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
    const deadline = this.#input.time.deadlines.create(() => resolve(false));
    deadline.arm(pingMs);
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
    if (round.calls.size === 0 || !wantsResults(round)) return this.#finish(round.stop);
    this.#write({ type: "run" });
    this.#start(this.#runCalls(round));
  }

  #start(work: Promise<void>): void {
    this.#work = work;
    // A failure is thrown to the next read.
    work.catch(() => {});
  }

  /** Runs the calls of a round, one after the other: a later one may rely on what an earlier one did. */
  async #runCalls(round: Round): Promise<void> {
    const results: ToolResultBlock[] = [];
    for (const call of round.calls.values()) {
      const result = await this.#run(call);
      if (result !== undefined) results.push(result);
      if (this.#isCancelled) {
        this.#isOver = true;
        return;
      }
    }
    if (round.callsClientTools) this.#finish(round.stop);
    else if (results.length < round.calls.size) {
      this.#finish({ type: "stop", stop: { reason: "end" } });
    } else this.#ran = { round, results };
  }

  /**
   * Begins the round after calls. It runs only while something is read: the reader may extend the reservation, too, but
   * not while it waits here.
   */
  async #next({ round, results }: RanRound): Promise<void> {
    this.#ran = undefined;
    const maxTokens = this.#tokensLeft();
    if (maxTokens !== undefined && maxTokens < minRoundTokens) {
      return this.#finish({ type: "stop", stop: { reason: "length" } });
    }
    // One round for each call, one in which the model learns of its bound, and one in which it must answer.
    const isLast = this.#roundCount > this.#bound;
    if (this.#roundCount++ > this.#bound + 1) {
      return this.#finish({ type: "stop", stop: { reason: "end" } });
    }
    if (!await this.#input.payer.pay(this.#promptTokens(round, results), imagesOf(results) > 0)) {
      return this.#finish({ type: "stop", stop: { reason: "length" } });
    }
    if (this.#isCancelled) {
      this.#isOver = true;
      return;
    }
    const written = writtenBlocks(round, results);
    this.#conversation = continued(this.#conversation, {
      written,
      results,
      maxTokens,
      isLast,
    });
    const sent = this.#input.send(this.#conversation);
    this.#exchange = sent.exchange;
    await this.#begin(sent);
  }

  /** Runs one call, and shows it to the client; `undefined` if the client must agree to it first. */
  async #run({ id, name, text, tools }: OpenCall): Promise<ToolResultBlock | undefined> {
    const callId = this.#uniqueId(id);
    const count = this.#callCounts.get(tools) ?? 0;
    if (count >= tools.maxCalls) return resultOf(callId, { text: tools.beyond, failed: true });
    const { shown, sources = [], result } = await tools.run({ name, text }, this.#input.route);
    if (shown !== undefined) {
      this.#callCounts.set(tools, count + 1);
      this.#show(shown, this.#nextBlock++);
    }
    if (this.#input.citesSources) this.#sources.push(...sources);
    return result && resultOf(callId, result);
  }

  #show(shown: ShownCall, block: number): void {
    this.#write({ type: "hosted_call", block, ...shown });
    this.#write({ type: "block_end", block });
  }

  /** The id of a call in the history, in which ids must differ; some servers number the calls of each answer anew. */
  #uniqueId(id: string): string {
    const unique = id === "" || this.#knownIds.has(id) ? `call_run_${this.#knownIds.size}` : id;
    this.#knownIds.add(unique);
    return unique;
  }

  /** Bounds the tokens of all prompts, that of the next round included: a token of text has at least one byte. */
  #promptTokens({ usage }: Round, results: readonly ToolResultBlock[]): number {
    const read = this.#usage === undefined ? 0 : billedInputTokens(this.#usage);
    const last = usage === undefined ? 0 : billedInputTokens(usage) + usage.output;
    const texts = results.map((one) => ({ ...one, content: one.content.filter(isNoImage) }));
    const bytes = encoder.encode(JSON.stringify(texts)).length;
    return read + last + bytes + imagesOf(results) * tokensPerImage;
  }

  #tokensLeft(): number | undefined {
    const { maxTokens } = this.#input.conversation;
    return maxTokens === undefined ? undefined : maxTokens - (this.#usage?.output ?? 0);
  }

  #finish(stop: StopEvent | undefined): void {
    if (stop !== undefined) this.#write(stop);
    if (this.#isUsagePartial) this.#write({ type: "usage_rejected" });
    this.#write({ type: "end" });
    this.#isOver = true;
    this.#endTools();
  }

  #endTools(): void {
    for (const tools of this.#input.tools) tools.end?.();
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
        this.#showBefore();
        round.hasEnded = true;
        return;
      // Only one answer is asked for.
      case "choice":
        return;
      case "ping":
      case "usage_rejected":
        return this.#write(event);
      default:
        this.#showBefore();
        return this.#takeBlock(round, event);
    }
  }

  /** Shows what comes before the answer once there is one: until then another route may give it. */
  #showBefore(): void {
    if (this.#hasShownBefore) return;
    this.#hasShownBefore = true;
    this.#input.before.forEach((shown, block) => this.#show(shown, block));
  }

  #takeBlock(round: Round, event: BlockEvent): void {
    const open = round.calls.get(event.block);
    if (event.type === "call") {
      const { id, name } = event;
      const tools = event.custom === true
        ? undefined
        : this.#input.tools.find((one) => one.has(name));
      if (tools !== undefined) {
        round.calls.set(event.block, { id, name, tools, text: "" });
        return;
      }
      round.callsClientTools = true;
    }
    if (open !== undefined) {
      if (event.type !== "arguments") return;
      const piece: string = JSON.parse(event.json);
      open.text += piece;
      return this.#write({ type: "run_arguments", json: event.json });
    }
    const block = round.firstBlock + event.block;
    this.#nextBlock = Math.max(this.#nextBlock, block + 1);
    if (event.type === "text") round.texts.add(event.block);
    if (event.type === "block_end" && round.texts.has(event.block)) this.#cite(block);
    this.#write({ ...event, block });
  }

  /** Gives the sources of calls to a text that was written after them. */
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

function resultOf(callId: string, result: CallResult): ToolResultBlock {
  const { failed: isError } = result;
  return { type: "tool_result", path: "", callId, content: contentOf(result), isError };
}

/** The content of a result for the model. */
export function contentOf({ text, images = [] }: CallResult): ToolResultContent[] {
  return [{ type: "text", path: "", text }, ...images];
}

const isNoImage = ({ type }: ToolResultContent) => type !== "image";

function imagesOf(results: readonly ToolResultBlock[]): number {
  return results.flatMap(({ content }) => content).filter(({ type }) => type === "image").length;
}

/** Turn that follows in a conversation whose calls the gateway has run. */
export interface RanTurn {
  /** Blocks that the model wrote, its calls included. */
  readonly written: readonly Block[];
  readonly results: readonly ToolResultBlock[];
  /** Output tokens that are left of the client's limit; absent: it set none. */
  readonly maxTokens: number | undefined;
  /** The model must answer now. */
  readonly isLast: boolean;
}

/** Adds a turn with calls, and their results. A call that was forced is not forced again. */
export function continued(
  conversation: Conversation,
  { written, results, maxTokens, isLast }: RanTurn,
): Conversation {
  const { toolChoice, turns } = conversation;
  return {
    ...conversation,
    turns: [
      ...turns,
      { role: "assistant", path: "", blocks: written },
      { role: "user", path: "", blocks: results },
    ],
    ...defined({ toolChoice: nextChoice(toolChoice, isLast), maxTokens }),
  };
}

function nextChoice(choice: ToolChoice | undefined, isLast: boolean): ToolChoice | undefined {
  const path = choice?.path ?? "tool_choice";
  if (isLast) return { type: "none", path };
  if (choice?.type === "tool") return { type: "auto", path };
  return choice?.type === "required" ? { ...choice, type: "auto" } : choice;
}
