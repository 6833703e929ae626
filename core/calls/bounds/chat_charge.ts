/**
 * Computes the charge of an ended chat call from its bounds and what was read of its answer.
 * `core/billing/outcome.ts` applies the price. The tokenizer counts the prompt of a call whose provider reported no
 * usage.
 */
import { estimateInputTokens } from "../../billing/tokens/estimate_input.ts";
import type { Model } from "../../catalog/catalog.ts";
import type { StreamReading, Style } from "../../wire/contract/contract.ts";
import { convertRequest } from "../../wire/convert/convert.ts";
import type { JsonBody } from "../body/json_body.ts";
import {
  type Charge,
  chargeCeiling,
  chargeForChat,
  type EstimateCorrection,
} from "../../billing/outcome.ts";
import { maxReportedTokens } from "../../billing/tokens/limits.ts";
import type { ToolUses } from "../../billing/usage/hosted_tools.ts";
import {
  type ChargedTier,
  chargedTier,
  hasCachePrice,
  tierName,
  usualTier,
} from "../../billing/price.ts";
import {
  type ReportedUsage,
  tokenBounds,
  type TokenUsage,
} from "../../billing/tokens/token_bounds.ts";
import type { AppliedPrice, Outcome } from "../../billing/usage/receipt.ts";
import type { ChatBounds } from "./chat_bounds.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import { maxBytesWithReasoning, maxOutputBytes } from "./output_limit.ts";
import type { ProviderUse } from "../../billing/provider_cost.ts";

/**
 * Bytes of the largest body that a stream keeps for its count: thousands of streams run at once. A longer prompt is
 * counted by its text at four bytes per token.
 */
const maxKeptBodyBytes = 16 * 1024;

/** Returns the body that a call keeps until its end; a whole answer has it in memory anyway. */
export function keptForCount(body: JsonBody, stream: boolean): JsonBody | undefined {
  return !stream || body.bytes.length <= maxKeptBodyBytes ? body : undefined;
}

/**
 * Counts the tokens as `count_tokens` does: text by the tokenizer, tools and pictures by their rules. `undefined` if the
 * request cannot be put into the form of those rules.
 */
export async function countPrompt(
  style: Style,
  body: JsonBody,
  model: Model,
): Promise<number | undefined> {
  if (style === "messages") return await estimateInputTokens(body.value);
  const converted = convertRequest(style, "messages", body.value, {
    capabilities: { images: "url" },
    upstreamModel: model.id,
    maxOutputTokens: model.maxOutputTokens,
  });
  return converted.ok ? await estimateInputTokens(converted.request.body) : undefined;
}

/** Facts of a chat call before it runs. */
export interface QuotedChat {
  readonly model: Model;
  readonly request: Pick<ChatRequest, "choices">;
  readonly price: AppliedPrice;
  readonly bounds: ChatBounds;
}

/** Reading of an ended answer, streamed or whole. */
export interface EndedReading {
  readonly usage: ReportedUsage | undefined;
  readonly usageRejected: boolean;
  readonly outputBytes: number;
  /** Runs of its tools by the provider; absent if nothing tells. */
  readonly toolUses?: ToolUses | undefined;
  /** The tier of service, as the provider calls it; absent if it reports none. */
  readonly serviceTier?: string | undefined;
  readonly sawOutput: boolean;
  readonly stopReason: string | undefined;
  /** Set for streams only. */
  readonly state?: StreamReading["state"];
  /** The part of `outputBytes` that is the answer itself, without reasoning. */
  readonly answerBytes?: number;
}

/** The end of a chat call, as its charge needs it. */
interface EndedChat {
  readonly outcome: Outcome;
  readonly reading: EndedReading | undefined;
  /**
   * The route runs hosted tools for the call: it may read its prompt several times, and produce output beyond the
   * caller's bound.
   */
  readonly runsTools: boolean;
  /** Whether the route got the request for a tier of service. */
  readonly carriesTier: boolean;
  readonly correction?: EstimateCorrection | undefined;
}

/**
 * A report of more input than this many times the believable input is false. Tool names and framing that a conversion
 * or a provider writes out can make more than one token of a byte, but not so many.
 */
const falsePrompts = 16;
/**
 * A report of more output than this many context windows is false: hidden output may exceed the model's declared
 * maximum, but not by so much.
 */
const falseContexts = 4;

/**
 * The correction for a prompt that was not seen before, if the provider broke off: the customer pays the least that
 * the complete answer can have cost, with the whole prompt read from the cache.
 */
const allCached: EstimateCorrection = {
  cachedTokens: maxReportedTokens,
  inputScale: 1,
  outputScale: 1,
};

/** The charge of a chat call, with the price that was applied. */
export type ChatCharge = Charge & ChargedTier;

/** Computes the charge of an ended chat call. */
export function chargeForEndedChat(
  { model, request, price: quotedPrice, bounds: quoted }: QuotedChat,
  { outcome, reading, runsTools, carriesTier, correction }: EndedChat,
): ChatCharge {
  const charged = chargedTier(quotedPrice, {
    asked: quoted.tier,
    reported: reading?.serviceTier,
    isCarried: carriesTier,
  });
  const { price } = charged;
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
  // A refusal may have no text, and then some vendors report no output.
  const isWordless = reading?.sawOutput !== true || reading.stopReason === "refusal";
  const charge = chargeForChat({
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
    tools: runsTools ? quoted.tools : [],
    toolUses: reading?.toolUses,
    ceilingMicroVnd: chargeCeiling(quoted.costMicroVnd - quoted.toolFeesMicroVnd, runsTools),
    proven: {
      inputTokens: input.isText && !runsTools ? input.believableTokens * falsePrompts : undefined,
      outputTokens: Math.max(bounds.possibleOutput, model.contextWindow * falseContexts),
      outputBytes: runsTools ? Infinity : maxBytesWithReasoning(wantedOutputTokens, model),
      answerBytes: runsTools ? Infinity : maxOutputBytes(wantedOutputTokens),
    },
    correction: correction ??
      (outcome === "broken" && hasCachePrice(price) ? allCached : undefined),
  });
  return { ...charge, ...charged };
}

// What the provider of an ended chat call counted, by which the operator pays for it.

/** The end of a chat call. */
interface EndedUse {
  readonly outcome: Outcome;
  readonly reading: EndedReading | undefined;
  /** The tokens that are charged to the customer. */
  readonly charged: TokenUsage;
  /** The tier of service that was asked for, if the route got the request for it. */
  readonly carriedTier: string | undefined;
}

/**
 * Returns what the provider counted: its whole report, also where the customer is not charged for all of it. Of a stream
 * that ended early, the report has the prompt and only the first few tokens of output, so the larger output counts.
 */
export function providerUseOf(end: EndedUse): ProviderUse {
  const { reading, outcome, charged, carriedTier } = end;
  const reported = reading?.usage;
  const isWhole = reading !== undefined && !reading.usageRejected &&
    (outcome === "completed" || reading.stopReason !== undefined);
  const usage = reported === undefined
    ? charged
    : isWhole || reported.output >= charged.output
    ? reported
    : { ...reported, output: charged.output };
  const named = reading?.serviceTier;
  const tier = named === undefined || named === "" ? carriedTier : tierName(named);
  return {
    usage,
    ...(tier !== undefined && tier !== usualTier && { tier }),
    ...(reading?.toolUses !== undefined && { toolUses: reading.toolUses }),
  };
}
