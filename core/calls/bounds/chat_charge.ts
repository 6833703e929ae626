/** The charge of an ended chat call, from what was known before it and what was read of its answer. */
import type { Model } from "../../catalog/catalog.ts";
import type { StreamReading } from "../../wire/contract.ts";
import type { EstimateCorrection } from "../../billing/believable_usage.ts";
import { maxReportedTokens } from "../../billing/limits.ts";
import { chargeCeiling } from "../../billing/charge_ceiling.ts";
import { type Charge, chargeForChat } from "../../billing/outcome.ts";
import { tokenBounds } from "../../billing/token_bounds.ts";
import type { ReportedUsage } from "../../billing/token_usage.ts";
import type { AppliedPrice, Outcome } from "../../billing/receipt.ts";
import type { ChatBounds } from "./chat_bounds.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import { mostBytesWithReasoning, mostOutputBytes } from "./output_limit.ts";

/** What is known before the call. */
export interface QuotedChat {
  readonly model: Model;
  readonly request: Pick<ChatRequest, "choices">;
  readonly price: AppliedPrice;
  readonly bounds: ChatBounds;
}

/** What was read of an answer, streamed or whole. */
export interface EndedReading {
  readonly usage: ReportedUsage | undefined;
  readonly usageRejected: boolean;
  readonly outputBytes: number;
  readonly sawOutput: boolean;
  readonly stopReason: string | undefined;
  /** Of a stream only. */
  readonly state?: StreamReading["state"];
  /** Of `outputBytes`, those of the answer itself. */
  readonly answerBytes?: number;
}

/** The end of a chat call, as its charge needs it. */
export interface EndedChat {
  readonly outcome: Outcome;
  readonly reading: EndedReading | undefined;
  /** The route runs tools for the call: it may read its prompt often, and write beside what the caller bounds. */
  readonly runsTools: boolean;
  readonly correction?: EstimateCorrection | undefined;
}

/**
 * Input is false beyond this many times what is believed: names and frames of tools that a conversion or a provider
 * writes out make more tokens of a byte than one, but not so many.
 */
const falsePrompts = 16;
/** Output that is no text we saw may be more than its model's file says, but not than this many of its contexts. */
const falseContexts = 4;

/**
 * Of a prompt of which nothing is known: where it is the provider that broke off, its customer pays as little as the
 * complete answer can have cost, with the whole prompt in the cache.
 */
const allCached: EstimateCorrection = {
  cachedTokens: maxReportedTokens,
  inputScale: 1,
  outputScale: 1,
};

function hasCachePrice(price: AppliedPrice): boolean {
  return price.unit === "token" && price.cacheReadMicroVnd < price.inputMicroVnd;
}

/** Prices the end of a call. */
export function chargeForEndedChat(
  { model, request, price, bounds: quoted }: QuotedChat,
  { outcome, reading, runsTools, correction }: EndedChat,
): Charge {
  const { input, wantedOutputTokens, estimatedInputTokens } = quoted;
  const bounds = tokenBounds({
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    choices: request.choices,
    reservedOutputTokens: quoted.outputTokens,
    reservedInputTokens: input.tokens,
    wantedOutputTokens,
    believableInputTokens: input.believableTokens,
    estimatedInputTokens,
    hostedTools: runsTools,
  });
  const outputBytes = reading?.outputBytes ?? 0;
  // A refusal may come without a word, and then some vendors count nothing.
  const isWordless = reading?.sawOutput !== true || reading.stopReason === "refusal";
  return chargeForChat({
    outcome,
    price,
    bounds,
    reported: reading?.usage,
    reportIsStale: reading?.usageRejected ?? false,
    estimatedInputTokens,
    outputBytes,
    answerBytes: reading?.answerBytes,
    produced: outputBytes > 0 || !isWordless,
    stopped: reading?.stopReason !== undefined,
    failedUnanswered: reading?.state === "error" && reading.answerBytes === 0,
    ceilingMicroVnd: chargeCeiling(quoted.costMicroVnd, runsTools),
    proven: {
      inputTokens: input.isText && !runsTools ? input.believableTokens * falsePrompts : undefined,
      outputTokens: Math.max(bounds.possibleOutput, model.contextWindow * falseContexts),
      outputBytes: runsTools ? Infinity : mostBytesWithReasoning(wantedOutputTokens, model),
      answerBytes: runsTools ? Infinity : mostOutputBytes(wantedOutputTokens),
    },
    correction: correction ??
      (outcome === "broken" && hasCachePrice(price) ? allCached : undefined),
  });
}
