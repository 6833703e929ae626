/**
 * Settles chat calls: computes the charge by the outcome table, and learns from the call for the next ones.
 *
 * Before that, {@linkcode moneyBounds} bounds a stream by its money: takes more of it as output arrives, and ends the stream when it is used up.
 *
 * A stream takes money of its wallet, and books the same under the limits of its key and the budgets that bind it. Both
 * grow by the price of a token for each byte of output: a token has at least one byte, so they cover whatever the
 * provider reports. They part where there is nothing left to take:
 *
 * - **The wallet** ends the stream there. It pays what the provider reports, so output beyond it would be lost to the
 *   operator.
 * - **A limit** lets the stream go on until what it would be charged, if it ended now, reaches what it has booked. Text
 *   has three to eight bytes to a token, so otherwise most of a budget could not be used. If the stream then ends by
 *   itself, its charge exceeds the limit by what the provider reports beyond our count.
 */
import { bytesPerEstimatedToken } from "../../../core/billing/tokens/rough_estimate.ts";
import type { Charge, EstimateCorrection, Implausible } from "../../../core/billing/outcome.ts";
import type { StreamBound, StreamCut } from "../../../core/calls/stream/metered_stream.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { StreamReading } from "../../../core/wire/contract/contract.ts";
import type { CallMoney, MoneyExtension } from "../call/call_money.ts";
import { limitEndError, type Terms } from "../call/admission.ts";
import type { ChatBounds } from "../../../core/calls/bounds/chat_bounds.ts";
import {
  chargeForEndedChat,
  type ChatCharge,
  countPrompt,
  type EndedReading,
  providerUseOf,
  type QuotedChat,
} from "../../../core/calls/bounds/chat_charge.ts";
import type { JsonBody } from "../../../core/calls/body/json_body.ts";
import type { TurnDraft } from "../../../core/calls/request/kept_responses.ts";
import type { ChatRequest } from "../../../core/calls/request/chat_request.ts";
import {
  maxBytesOfAnswer,
  maxBytesWithReasoning,
  maxOutputBytes,
  maxStreamBytes,
  OutputLimit,
} from "../../../core/calls/bounds/output_limit.ts";
import { carriesTier } from "../../../core/wire/billable_features/asked_for.ts";
import type { AttemptResult } from "../../../core/calls/attempts/attempt_loop.ts";
import type { Route } from "../../../core/catalog/catalog.ts";
import { ownKeyFee } from "../../../core/billing/own_key_fee.ts";
import { maxPerOutputToken, worstCaseCost } from "../../../core/billing/price.ts";
import type {
  AppliedPrice,
  Attempt,
  McpCallRecord,
  Outcome,
  Receipt,
} from "../../../core/billing/usage/receipt.ts";
import type { CallCharge, CallEnd, CallSettlement } from "../call/call_settlement.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AnsweredBy } from "../../../core/routing/route_affinity.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { expectedOutput } from "../call/funds.ts";
import type { RoundPayer } from "../../../core/calls/rounds/tool_rounds.ts";

/** Milliseconds that a running call waits for money that other calls reserve, before it is ended. */
const pauseMs = 5_000;
/** Fewest tokens by which a reservation grows at a time, so that extensions are rare. */
const leastStepTokens = 1_024;
/** Most tokens by which a reservation grows at a time: what one stream may keep from other calls in advance. */
const maxStepTokens = 32_768;
/** Share of the reserved output at which the reservation is extended, so that the stream need not wait. */
const askAt = 0.75;

/** A stream and its money. */
interface StreamMoney {
  readonly money: CallMoney;
  /** Output tokens that were reserved when the call began. */
  readonly paidTokens: number;
  /** The most that a token of output can cost; 0 where tokens are not paid. */
  readonly tokenMicroVnd: bigint;
  /** Most output tokens of the call: nothing is reserved beyond them. */
  readonly maxTokens: number;
  /** End of a stream that its wallet cannot pay for. */
  readonly outgrown: StreamCut["as"];
  /** Computes what would be billed if the call ended now. */
  readonly billed: (reading: StreamReading) => Pick<Charge, "usage" | "priceMicroVnd">;
}

/** Takes money in steps, ahead of the output that it pays. */
abstract class MoneyBound implements StreamBound {
  outputBytes = Infinity;
  protected readonly stream: StreamMoney;
  #paidTokens: number;

  constructor(stream: StreamMoney) {
    this.stream = stream;
    this.#paidTokens = stream.paidTokens;
    if (stream.tokenMicroVnd > 0n) this.#askLater(0);
  }

  /** Takes up to an amount more. */
  protected abstract extend(
    amountMicroVnd: bigint,
    waitMs: number,
  ): MoneyExtension | Promise<MoneyExtension>;

  /** Ends a stream that has more bytes than paid tokens, or returns the bytes up to which it may go on. */
  protected abstract outgrown(
    extension: MoneyExtension,
    reading: StreamReading,
  ): StreamCut | number;

  passed(reading: StreamReading): StreamCut | undefined | Promise<StreamCut | undefined> {
    const { maxTokens, tokenMicroVnd } = this.stream;
    const missing = reading.outputBytes - this.#paidTokens;
    const step = Math.max(
      Math.min(Math.max(this.#paidTokens, leastStepTokens), maxStepTokens),
      missing,
    );
    const amount = BigInt(Math.min(step, maxTokens - this.#paidTokens)) * tokenMicroVnd;
    const extension = this.extend(amount, missing > 0 ? pauseMs : 0);
    return extension instanceof Promise
      ? extension.then((known) => this.#take(known, reading))
      : this.#take(extension, reading);
  }

  #take(extension: MoneyExtension, reading: StreamReading): StreamCut | undefined {
    if (extension.outcome === "unavailable") {
      // The wallet could not be read. A short failure of the store must not end streams, so the stream continues.
      this.outputBytes = reading.outputBytes + leastStepTokens;
      return undefined;
    }
    if (extension.outcome === "granted") {
      this.#paidTokens += Number(extension.amountMicroVnd / this.stream.tokenMicroVnd);
    }
    if (reading.outputBytes > this.#paidTokens && this.#paidTokens < this.stream.maxTokens) {
      const end = this.outgrown(extension, reading);
      if (typeof end !== "number") return end;
      this.outputBytes = end;
      return undefined;
    }
    if (extension.outcome === "granted") this.#askLater(reading.outputBytes);
    else this.outputBytes = this.#paidTokens;
    return undefined;
  }

  #askLater(outputBytes: number): void {
    if (this.#paidTokens >= this.stream.maxTokens) {
      this.outputBytes = Infinity;
      return;
    }
    const early = Math.floor(this.#paidTokens * askAt);
    this.outputBytes = early > outputBytes ? early : this.#paidTokens;
  }
}

/** Ends a stream when the wallet has nothing more, as the installation says. */
class WalletBound extends MoneyBound {
  protected override extend(amountMicroVnd: bigint, waitMs: number) {
    return this.stream.money.extendReservation(amountMicroVnd, waitMs);
  }

  protected override outgrown(_extension: MoneyExtension, reading: StreamReading): StreamCut {
    const error = new GatewayError(
      "insufficient_balance",
      "The balance is used up: the answer ends here. Top up and continue with the same key",
    );
    return { as: this.stream.outgrown, error, usage: this.stream.billed(reading).usage };
  }
}

/** Ends a stream when it has used up a limit of its key or a budget, with an error that names it. */
class LimitBound extends MoneyBound {
  protected override extend(amountMicroVnd: bigint) {
    return this.stream.money.extendBooking(amountMicroVnd);
  }

  protected override outgrown(
    extension: MoneyExtension,
    reading: StreamReading,
  ): StreamCut | number {
    // The last read may hold the end and what the provider counted: no output follows that could be held back.
    if (reading.stopReason !== undefined) return Infinity;
    const { money: { bookedMicroVnd = 0n }, billed, tokenMicroVnd } = this.stream;
    const { priceMicroVnd, usage } = billed(reading);
    const leftMicroVnd = bookedMicroVnd - priceMicroVnd;
    if (leftMicroVnd > 0n) {
      // At least one, so that the limit is used up when the stream ends, and not nearly.
      const tokens = Math.max(1, Number(leftMicroVnd / tokenMicroVnd));
      return reading.outputBytes + Math.ceil(tokens * bytesPerToken(reading, usage));
    }
    // The limit had something left, which is booked by now: it is asked again after the next output.
    if (extension.outcome !== "limit") return reading.outputBytes;
    return { as: "error", error: limitEndError(extension), usage };
  }
}

/** Bytes of a token so far: as the provider counts, if it reports usage while it streams, and else as we do. */
function bytesPerToken({ outputBytes }: StreamReading, { output }: TokenUsage): number {
  return Math.max(1, Math.min(bytesPerEstimatedToken, outputBytes / Math.max(output, 1)));
}

/** Makes the bounds of a stream by its money: of its wallet, and of the limits that bind it. */
function moneyBounds(stream: StreamMoney): StreamBound[] {
  const wallet = new WalletBound(stream);
  return stream.money.bookedMicroVnd === undefined ? [wallet] : [wallet, new LimitBound(stream)];
}

/** Tokens of a prompt that a provider reads in the time in which it writes one. */
const promptTokensPerToken = 64;

/** Needs of pricing a chat call beside its terms. */
interface ChatSettlementInput {
  readonly request: ChatRequest;
  readonly bounds: ChatBounds;
  /** The body, if it is kept to count the prompt where no usage is reported. */
  readonly counted?: JsonBody | undefined;
  /** Set if the gateway runs tools for the model: one answer is the sum of several requests. */
  readonly rounds: PaidRounds | undefined;
  /** Calls of MCP servers that the gateway has made. */
  readonly mcpCalls?: readonly McpCallRecord[] | undefined;
  /** The turn that is kept once the call is settled. */
  readonly draft: TurnDraft | undefined;
}

/** End of a chat call, with what was read of the answer. */
interface ChatEnd extends CallEnd {
  readonly reading: EndedReading | undefined;
  /** Returns the response that the client gets, if it can be continued; asked only for a turn that is kept. */
  readonly response?: () => Uint8Array | undefined;
}

/** Ends after which the client has a whole response. */
const wholeOutcomes: ReadonlySet<Outcome> = new Set<Outcome>(["completed", "empty", "cut"]);

/**
 * Whether the provider of a route may cache prompts by itself. The Converse style reports usage only at the end of a
 * stream, and caches what it is asked to; a Messages vendor that does so reports usage at the beginning.
 */
function cachesAll({ style }: Route): boolean {
  return style !== "converse";
}

/** The settlement of one chat call. */
export class ChatSettlement {
  readonly #gateway: Gateway;
  readonly #input: ChatSettlementInput;
  readonly #call: CallSettlement;
  /** Correction of the prompt's estimate by earlier calls, as known when its answer began. */
  #correction: EstimateCorrection | undefined;
  /** Whether the same prompt was sent before. */
  #wasSent = false;

  constructor(gateway: Gateway, call: CallSettlement, input: ChatSettlementInput) {
    this.#gateway = gateway;
    this.#call = call;
    this.#input = input;
  }

  get terms(): Terms {
    return this.#call.terms;
  }

  /** Logs an exception that the code does not expect. */
  get onBug(): (error: unknown) => void {
    return this.#call.onBug;
  }

  /** Size on which the duration of a whole answer depends: its tokens, and those of the prompt as far as they count. */
  get expectedSize(): number {
    const { principal, model } = this.terms;
    const { outputTokens, estimatedInputTokens } = this.#input.bounds;
    return expectedOutput(this.#gateway, principal, model, outputTokens) +
      estimatedInputTokens / promptTokensPerToken;
  }

  /**
   * Most bytes of a whole answer. Without a bound if hosted tools run, whose output is not part of the tokens, and for a
   * compacted conversation, which repeats messages of its user.
   */
  get maxBytesOfAnswer(): number {
    const { bounds: { hostedTools, wantedOutputTokens }, request } = this.#input;
    const isUnbound = hostedTools.length > 0 || request.compacts === true;
    return maxBytesOfAnswer(isUnbound ? Infinity : wantedOutputTokens);
  }

  /** Computes the most bytes of a stream of this route. */
  maxStreamBytes(route: Route): number {
    return this.#runsTools(route)
      ? Infinity
      : maxStreamBytes(this.#input.bounds.wantedOutputTokens);
  }

  /** Makes the bound that ends a stream of this route if it ignores the caller's bound. */
  outputLimit(route: Route, attempts: readonly Attempt[]): OutputLimit {
    const { model } = this.terms;
    const { bounds: { wantedOutputTokens } } = this.#input;
    const most = this.#runsTools(route) ? { answer: Infinity, withReasoning: Infinity } : {
      answer: maxOutputBytes(wantedOutputTokens),
      withReasoning: maxBytesWithReasoning(wantedOutputTokens, model),
    };
    return new OutputLimit(most, (reading) => {
      return this.#price({ outcome: "cut", status: 200, reading, route, attempts }).usage;
    });
  }

  /** Whether the route runs hosted tools for the call: their code and queries are output beyond the caller's bound. */
  #runsTools(route: Route | undefined): boolean {
    const { bounds, rounds } = this.#input;
    return rounds !== undefined ||
      bounds.hostedTools.some((tool) => route?.allow.has(tool) === true);
  }

  /** Finds who answered this conversation last, if it is remembered. */
  formerAnswer(): AnsweredBy | undefined {
    const { principal } = this.terms;
    const { prefixes, mayMove } = this.#input.bounds;
    if (prefixes === undefined || !mayMove) return undefined;
    const { routeAffinity, clock } = this.#gateway;
    return routeAffinity.find(principal.key.id, prefixes, clock.monotonicMs());
  }

  /** Name that all turns of the conversation have in common; `undefined` where that is not known. */
  get conversation(): string | undefined {
    const opening = this.#input.bounds.prefixes?.opening;
    return opening === undefined ? undefined : `${this.terms.principal.key.id} ${opening}`;
  }

  /** Remembers who answers this conversation now, and that the provider has read the prompt. */
  noteRoute(route: Route, account: string): void {
    const { principal } = this.terms;
    const { prefixes, mayMove, estimatedInputTokens } = this.#input.bounds;
    if (prefixes === undefined) return;
    const { routeAffinity, seenPrompts, clock } = this.#gateway;
    const keyId = principal.key.id;
    const nowMs = clock.monotonicMs();
    if (mayMove) routeAffinity.note(keyId, prefixes, { routeId: route.id, account }, nowMs);
    this.#correction = seenPrompts.find(keyId, prefixes, nowMs);
    if (cachesAll(route)) {
      this.#wasSent = seenPrompts.noteSent(keyId, prefixes, estimatedInputTokens, nowMs);
    }
  }

  /** Records an attempt that ended at `endedMs`; the first successful one is where output began. */
  tried(route: Route, result: AttemptResult, endedMs: number): void {
    if (result.kind === "ok") this.#call.firstOutputAt(endedMs);
    this.#call.tried(route, result, endedMs);
  }

  /** Notes the output rate for the health of the route. Not with estimated tokens, which leave hidden reasoning out. */
  #noteThroughput({ outcome, route }: ChatEnd, { usage, estimated }: Charge): void {
    const { firstOutputMs } = this.#call;
    if (outcome !== "completed" || estimated || !route || firstOutputMs === undefined) return;
    // Searches take a part of the time.
    if (this.#input.rounds !== undefined) return;
    if (!this.#input.request.stream) return;
    const streamedMs = this.#call.elapsedMs() - firstOutputMs;
    this.#gateway.router.noteThroughput(route, "chat_stream", usage.output, streamedMs);
  }

  #noteFalseReport(route: Route | undefined, side: Implausible): void {
    if (route === undefined) return;
    this.#gateway.log.event("warn", "a provider reported implausible usage", {
      request_id: this.terms.requestId,
      route: route.id,
      side,
    });
    this.#gateway.router.noteFalseReport(route);
  }

  /** Whether the route got the caller's request for a tier of service. */
  #carriesTier(route: Route | undefined): boolean {
    return route !== undefined &&
      carriesTier(this.#input.request.style, route.style, route.capabilities);
  }

  /** @param countedTokens the prompt by the tokenizer, if it was counted */
  #price(end: ChatEnd, countedTokens?: number): ChatCharge {
    const { prefixes, estimatedInputTokens } = this.#input.bounds;
    const { seenPrompts, clock } = this.#gateway;
    const { outcome, reading } = end;
    const keyId = this.terms.principal.key.id;
    const nowMs = clock.monotonicMs();
    const isComplete = outcome === "completed";
    const correction = isComplete ? undefined : this.#correction;
    const runsTools = this.#runsTools(end.route);
    const quoted = this.#quoted(countedTokens);
    const charge = chargeForEndedChat(quoted, {
      outcome,
      reading,
      runsTools,
      carriesTier: this.#carriesTier(end.route),
      correction,
    });
    const isOneRequest = this.#input.rounds === undefined;
    if (
      prefixes !== undefined && isComplete && isOneRequest && reading !== undefined &&
      !charge.estimated
    ) {
      const { usage } = charge;
      const { outputBytes } = reading;
      const call = { usage, estimatedInputTokens, outputBytes, wasSent: this.#wasSent };
      const { route } = end;
      const caches = route !== undefined && cachesAll(route);
      seenPrompts.note(keyId, prefixes, { ...call, cachesAll: caches }, nowMs);
    }
    return charge;
  }

  /** The quote of the call; searches that the gateway runs have receipts of their own in place of a fee. */
  #quoted(countedTokens: number | undefined): QuotedChat {
    const { model, price } = this.terms;
    const { request, bounds, rounds } = this.#input;
    if (countedTokens === undefined && rounds === undefined) {
      return { model, request, price, bounds };
    }
    return {
      model,
      request,
      price: rounds?.priceOf(price) ?? price,
      bounds: {
        ...bounds,
        ...defined({ estimatedInputTokens: countedTokens }),
        ...(rounds !== undefined &&
          { tools: bounds.tools.filter(({ tool }) => tool !== "web_search") }),
      },
    };
  }

  /** Makes the bounds that end the call's stream when the wallet, or a limit, pays for no more. */
  moneyBounds(paidTokens: number, route: Route): StreamBound[] {
    const { bounds } = this.#input;
    const charged = (microVnd: bigint) => this.#call.chargeOn(route, microVnd);
    return moneyBounds({
      money: this.#call.funds.money,
      paidTokens,
      tokenMicroVnd: charged(maxPerOutputToken(bounds.reservedPrice, bounds.input.tokens)),
      maxTokens: bounds.outputTokens,
      outgrown: this.terms.catalog.wallet.outgrown,
      billed: (reading) => {
        const end = { outcome: "cut", status: 200, reading, route, attempts: [] } as const;
        const { usage, priceMicroVnd } = this.#price(end);
        return { usage, priceMicroVnd: charged(priceMicroVnd) };
      },
    });
  }

  /** Notes the output of the call, by which later streams reserve money. */
  #noteOutput({ reading, outcome }: ChatEnd, { usage, estimated }: Charge): void {
    const outputBytes = reading?.outputBytes ?? 0;
    if (outcome !== "completed" && outputBytes === 0) return;
    const outputTokens = estimated ? 0 : usage.output;
    const reasoningTokens = estimated ? 0 : usage.reasoning;
    const { request } = this.#input;
    // The size of a summary says nothing of answers.
    if (request.compacts === true) return;
    const seen = { outputTokens, reasoningTokens, outputBytes };
    const { model, principal } = this.terms;
    this.#gateway.expectations.note(model, principal.key.id, seen);
  }

  /** Prices the call, debits it and writes the receipt; resolves when both are durable. */
  async settle(end: ChatEnd): Promise<Receipt> {
    let charge = this.#price(end);
    if (charge.estimated && this.#wantsCount(end)) charge = this.#price(end, await this.#count());
    this.#noteThroughput(end, charge);
    if (charge.implausible !== undefined) this.#noteFalseReport(end.route, charge.implausible);
    this.#noteOutput(end, charge);
    const { mcpCalls } = this.#input;
    const options = { stopReason: end.reading?.stopReason, ...defined({ mcpCalls }) };
    const settled = this.#call.settle(end, this.#withProviderUse(end, charge), options);
    return this.#input.draft === undefined ? settled : this.#withTurn(end, settled);
  }

  /** Keeps the turn of a call once it is settled, and before its client has the end of the response. */
  async #withTurn(
    { outcome, response }: ChatEnd,
    settled: Promise<Receipt>,
  ): Promise<Receipt> {
    const { draft } = this.#input;
    try {
      const receipt = await settled;
      const whole = wholeOutcomes.has(outcome) ? response?.() : undefined;
      if (whole !== undefined) draft?.keep(whole);
      return receipt;
    } finally {
      draft?.drop();
    }
  }

  /**
   * Whether the prompt is counted by the tokenizer: not where an earlier report for it is known, nor for a stream that the
   * gateway ended, whose last event has told the usage.
   */
  #wantsCount({ outcome, reading }: ChatEnd): boolean {
    return outcome !== "cut" && reading !== undefined && this.terms.price.unit === "token" &&
      this.#input.counted !== undefined && this.#correction === undefined;
  }

  /** Counts the prompt; `undefined` if that fails, which must not keep a call from being settled. */
  async #count(): Promise<number | undefined> {
    const { counted, request: { style } } = this.#input;
    if (counted === undefined) return undefined;
    try {
      return await countPrompt(style, counted, this.terms.model);
    } catch (error) {
      this.onBug(error);
      return undefined;
    }
  }

  /** Adds what the provider counted, where its rates are known. */
  #withProviderUse(end: ChatEnd, charge: ChatCharge): CallCharge {
    if (end.route?.rateCard === undefined) return charge;
    const { outcome, reading, route } = end;
    const carriedTier = this.#carriesTier(route) ? this.#input.bounds.tier : undefined;
    const providerUse = providerUseOf({ outcome, reading, charged: charge.usage, carriedTier });
    return { ...charge, providerUse };
  }

  /** Releases the reservation of a call that ended before anything could be charged. */
  abandon(): void {
    this.#input.draft?.drop();
    this.#call.abandon();
  }
}

/** Tokens of the prompts of all rounds, and whether results in them had images. */
interface Prompts {
  readonly tokens: number;
  readonly hasImages: boolean;
}

/**
 * The money of the rounds of one call. What the first reservation does not cover of their prompts is reserved before each
 * round, and one more answer than the wallet or the key can pay is not asked for.
 */
export class PaidRounds implements RoundPayer {
  readonly #money: CallMoney;
  readonly #bounds: Pick<ChatBounds, "input" | "reservedPrice">;
  readonly #fee: number | undefined;
  #paid: Prompts;
  #longestPrompt = 0;

  /** @param fee of a call that is charged a fee of its price alone */
  constructor(
    money: CallMoney,
    bounds: Pick<ChatBounds, "input" | "reservedPrice">,
    fee: number | undefined,
  ) {
    this.#money = money;
    this.#bounds = bounds;
    this.#fee = fee;
    this.#paid = { tokens: bounds.input.tokens, hasImages: false };
  }

  async pay(tokens: number, hasImages: boolean): Promise<boolean> {
    const prompts = { tokens, hasImages: hasImages || this.#paid.hasImages };
    const missing = this.#costOf(prompts) - this.#costOf(this.#paid);
    if (missing <= 0n) return true;
    const extension = await this.#money.extend(missing, pauseMs);
    // A short failure of the store must not end answers.
    if (extension.outcome === "unavailable") return true;
    if (extension.outcome !== "granted" || extension.amountMicroVnd < missing) return false;
    this.#paid = prompts;
    return true;
  }

  /** Reserves what else the first prompt holds. As {@linkcode PaidRounds.pay}. */
  payBeyond(tokens: number, hasImages: boolean): Promise<boolean> {
    return this.pay(this.#bounds.input.tokens + tokens, hasImages);
  }

  note(promptTokens: number): void {
    this.#longestPrompt = Math.max(this.#longestPrompt, promptTokens);
  }

  /**
   * Takes the rates of long prompts out of a price if no round had one: the provider judges each request, while the usage
   * of the call is the sum of all.
   */
  priceOf(price: AppliedPrice): AppliedPrice {
    if (price.unit !== "token" || price.long === undefined) return price;
    const { long, ...short } = price;
    const isKnown = this.#longestPrompt > 0;
    return isKnown && this.#longestPrompt <= long.aboveTokens ? short : price;
  }

  #costOf({ tokens: inputTokens, hasImages }: Prompts): bigint {
    const { reservedPrice, input } = this.#bounds;
    const isText = input.isText && !hasImages;
    const costMicroVnd = worstCaseCost(reservedPrice, { inputTokens, outputTokens: 0, isText });
    return this.#fee === undefined ? costMicroVnd : ownKeyFee(costMicroVnd, this.#fee);
  }
}
