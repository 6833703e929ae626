/**
 * Admits calls: chooses the model, refuses what the model cannot do and URLs that lead into an internal network, and
 * reserves money.
 *
 * {@linkcode Terms} are what is known of a call once its request is read. They stay as they are until the receipt, which
 * says the same. A refusal by a limit says which limit it is, its value, and when to try again.
 */
import {
  asksForMore,
  type Catalog,
  type Model,
  type ModelKind,
  type RouteOrder,
} from "../../../core/catalog/catalog.ts";
import { type CallTags, maskedTag, withTag } from "../../../core/billing/usage/call_tags.ts";
import type { AppliedPrice } from "../../../core/billing/usage/receipt.ts";
import { readSentTags, sentAppName } from "../../../core/calls/body/sent_tags.ts";
import type { RouteStyle } from "../../../core/catalog/entries/model.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import type { OutlineObject } from "../../../core/lib/json/json.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import { type FetchedUrl, refuseInternalNames } from "../../../core/net/remote/fetched_urls.ts";
import type { ProviderEntry } from "../../../core/catalog/schema.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RateRefusal } from "../../../core/limits/rate_book.ts";
import {
  isSpendingLimit,
  type LimitName,
  type LimitSubject,
  limitTable,
  type MadeUnits,
  type PeriodMeter,
  type RateMeter,
  type SpendingLimitName,
} from "../../../core/limits/limit_table.ts";
import type {
  BudgetRefusal,
  KeyLimitRefusal,
  LimitRefusal,
} from "../../../kv/services/limits/limit_book.ts";
import { counted } from "../../http/query.ts";
import { withAllowedRoutes } from "../../../core/calls/request/call_settings.ts";
import { type ChatRequest, firstImagePath } from "../../../core/calls/request/chat_request.ts";
import { bindsCall, type Budget } from "../../../core/limits/budgets.ts";
import type { ReservationRange } from "../../../core/billing/price.ts";
import type { Refusal } from "../../../kv/money/wallet/mod.ts";
import { type CallMoney, type MoneySources, reserveMoney } from "./call_money.ts";

/** Begin of a call, and its place in a trace. */
export interface CallStart {
  readonly startedAtMs: number;
  readonly startedMonotonicMs: number;
  /** The context of a trace; `undefined` if nothing traces. */
  readonly origin: unknown;
}

/** Starts the clock of a call. An endpoint does this first. */
export function startCall(gateway: Gateway): CallStart {
  return {
    startedAtMs: gateway.clock.nowMs(),
    startedMonotonicMs: gateway.clock.monotonicMs(),
    origin: gateway.observer.begin(),
  };
}

/** A model, and the name that was sent if it is not the model's id. */
export interface ChosenModel {
  /** The catalogue of the whole call, whatever is in force when it ends. */
  readonly catalog: Catalog;
  readonly model: Model;
  readonly mappedFrom: string | undefined;
  /** The order of routes that the name asks for. */
  readonly sort?: RouteOrder | undefined;
}

/**
 * Terms of a call: who calls which model, since when and at which price. Never refers to the request, whose body may be
 * large.
 */
export interface Terms extends ChosenModel {
  readonly requestId: RequestId;
  readonly principal: Principal;
  readonly start: CallStart;
  readonly style: RouteStyle;
  readonly stream: boolean;
  readonly price: AppliedPrice;
  readonly tags: CallTags | undefined;
}

/**
 * Reads the tags of a call.
 *
 * @throws {GatewayError} `invalid_request` for a malformed header, or without a tag that the account requires
 */
export function callTags(
  { request: { headers }, masked }: {
    readonly request: Pick<HttpRequest, "headers">;
    /** The rules that masked text of the request. */
    readonly masked?: readonly string[];
  },
  { requiredTags: required }: Principal,
  style: RouteStyle,
  body: OutlineObject,
): CallTags | undefined {
  const header = headers.get(requestHeaders.tags);
  const sent = readSentTags(style, body, { header, app: sentAppName(headers), required });
  return masked === undefined ? sent : withTag(sent, maskedTag(masked));
}

/**
 * Resolves the hosts of the URLs; `undefined` if no name has to be resolved. The promise is rejected with a
 * {@linkcode GatewayError} `invalid_request` that names the place of a host that is not public.
 */
export function vetUrls(
  { media }: Pick<Gateway, "media">,
  urls: readonly FetchedUrl[],
  providers: readonly (ProviderEntry | undefined)[],
): Promise<void> | undefined {
  if (urls.length === 0) return undefined;
  const isVetted = providers.some((one) => one?.kind === "http" && !one.unresolvedNames);
  return isVetted ? refuseInternalNames(urls, (host) => media.names.isPublic(host)) : undefined;
}

/** The limits that a refusal names in counted units. A spending limit of a day or month has words of its own. */
type CountedLimitName = Exclude<LimitName, SpendingLimitName>;

const unitOf: Record<CountedLimitName, readonly [one: string, more: string]> = {
  requestsPerMinute: ["request per minute", "requests per minute"],
  tokensPerMinute: ["token per minute", "tokens per minute"],
  vndPerHour: ["VND per hour", "VND per hour"],
  callsAtOnce: ["call at once", "calls at once"],
  imagesPerDay: ["image per day", "images per day"],
};

function subjectInWords(scope: LimitSubject, { id }: Pick<Model, "id">): string {
  switch (scope) {
    case "account":
      return "this account";
    case "key":
      return "this API key";
    case "model":
      return `the model ${id}`;
    case "account_model":
      return `this account on the model ${id}`;
  }
}

/** Words of a refusal for calls that need different amounts of a limit. */
const amountTexts: Record<RateMeter | PeriodMeter, {
  /** Why a call can never be admitted. */
  readonly tooLarge: (needed: string, rule: string) => string;
  /** Words for what is left, after the limit. */
  readonly left: (left: string, needed: string) => string;
}> = {
  calls: { tooLarge: (_needed, rule) => `The rate limit is ${rule}`, left: () => "" },
  tokens: {
    tooLarge: (needed, rule) =>
      `Request too large: the prompt needs about ${needed} tokens, and the rate limit is ${rule}. ` +
      "Send a shorter prompt",
    left: (left, needed) => `; ${left} are left and this call is expected to need ${needed}`,
  },
  money: {
    tooLarge: (needed, rule) =>
      `Request too large: it is expected to cost ${needed} VND, and the rate limit is ${rule}. Ask for less at once`,
    left: (_left, needed) => `; this call is expected to cost ${needed} VND`,
  },
  images: {
    tooLarge: (needed, rule) =>
      `Request too large: it asks for ${needed} images, and the rate limit is ${rule}. Ask for less at once`,
    left: (left, needed) => `; ${left} are left and this call asks for ${needed}`,
  },
};

/** A refusal by a counted limit. */
interface CountedRefusal {
  readonly limitName: CountedLimitName;
  readonly limit: number;
  readonly scope: LimitSubject;
  readonly needed: number;
  readonly remaining: number;
  /** `undefined`: the call needs more than the limit. */
  readonly retryAfterMs: number | undefined;
}

function countedRefusalError(
  { limitName, limit, scope, needed, remaining, retryAfterMs }: CountedRefusal,
  model: Pick<Model, "id">,
): GatewayError {
  const { meter, window } = limitTable[limitName];
  const texts = amountTexts[meter];
  const unit = unitOf[limitName][limit === 1 ? 0 : 1];
  const rule = `${counted(limit)} ${unit} for ${subjectInWords(scope, model)}`;
  const figures = { kind: "rate_limit", limitName, limit } as const;
  if (retryAfterMs === undefined) {
    return new GatewayError("rate_limit_reached", texts.tooLarge(counted(needed), rule), {
      retry: false,
      figures,
    });
  }
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const left = texts.left(counted(remaining), counted(needed));
  const then = window === "at_once"
    ? "Try again when one of them has ended"
    : `Try again in ${retryAfterSeconds} s`;
  return new GatewayError("rate_limit_reached", `Rate limit reached: ${rule}${left}. ${then}`, {
    retryAfterSeconds,
    figures: { ...figures, retryAfterSeconds },
  });
}

/** The error of a call that a rate limit refused. */
export function rateRefusalError(refusal: RateRefusal, model: Pick<Model, "id">): GatewayError {
  const kind = limitTable[refusal.limitName];
  const header = "header" in kind ? kind.header : undefined;
  const remaining = header === undefined ? 0 : refusal.figures[header]?.remaining ?? 0;
  return countedRefusalError({ ...refusal, remaining }, model);
}

const periodInWords = { day: "daily", month: "monthly" } as const;

/** Seconds after which a call that failed because of other calls' reservations may be sent again. */
const reservationRetrySeconds = 5;

/** The error of a call that a limit of its key of a day or month, or a budget refused. */
export function limitError(refusal: LimitRefusal, model: Pick<Model, "id">): GatewayError {
  return refusal.reason === "budget" ? budgetError(refusal) : keyLimitError(refusal, model);
}

/** The error with which a stream ends that has used up a limit of its key or a budget. */
export function limitEndError(refusal: LimitRefusal): GatewayError {
  if (refusal.reason === "budget") {
    return new GatewayError(
      "budget_exceeded",
      `The budget "${refusal.budget.name}" is used up: the answer ends here. ${
        resetOf(refusal.resetsAtMs)
      }`,
    );
  }
  const period = periodInWords[limitTable[refusal.limitName].window];
  return new GatewayError(
    "spending_limit_reached",
    `The ${period} limit of this API key is reached: the answer ends here. ` +
      "The owner of the key can change the limit",
  );
}

function resetOf(resetsAtMs: number | undefined): string {
  return resetsAtMs === undefined
    ? "It does not reset: whoever manages budgets can raise it"
    : `It resets at ${vietnamIsoTime(resetsAtMs).slice(0, 19)}+07:00`;
}

function budgetError(
  { budget: { id, name }, limit, used, needed, resetsAtMs, isHeld }: BudgetRefusal,
): GatewayError {
  const figures = {
    kind: "budget",
    id,
    name,
    limitMicroVnd: limit,
    usedMicroVnd: used,
    neededMicroVnd: needed,
    ...defined({ resetsAtMs }),
  } as const;
  if (isHeld === true) {
    return new GatewayError(
      "balance_on_hold",
      `The budget "${name}" is held by calls in flight: this call needs ${
        formatVnd(needed)
      } VND to begin. Try again when they end`,
      { retryAfterSeconds: reservationRetrySeconds, figures },
    );
  }
  return new GatewayError(
    "budget_exceeded",
    `The budget "${name}" is ${formatVnd(limit)} VND; ${
      formatVnd(used)
    } VND are spent or held by calls in flight, and this call needs ${
      formatVnd(needed)
    } VND to begin. ${resetOf(resetsAtMs)}`,
    { figures },
  );
}

function keyLimitError(refusal: KeyLimitRefusal, model: Pick<Model, "id">): GatewayError {
  const { limitName, limit, used, needed, endsInMs } = refusal;
  if (!isSpendingLimit(limitName)) {
    return countedRefusalError({
      limitName,
      limit: Number(limit),
      scope: "key",
      needed: Number(needed),
      remaining: Math.max(0, Number(limit - used)),
      retryAfterMs: needed > limit ? undefined : endsInMs,
    }, model);
  }
  const figures = {
    kind: "spending_limit",
    limitName,
    limitMicroVnd: limit,
    usedMicroVnd: used,
    neededMicroVnd: needed,
  } as const;
  if (refusal.isHeld === true) {
    return new GatewayError(
      "balance_on_hold",
      `The limit of this API key is held by calls in flight: this call needs ${
        formatVnd(needed)
      } VND to begin. Try again when they end`,
      { retryAfterSeconds: reservationRetrySeconds, figures },
    );
  }
  return new GatewayError(
    "spending_limit_reached",
    `The ${periodInWords[limitTable[limitName].window]} limit of this API key is ${
      formatVnd(limit)
    } VND; ${formatVnd(used)} VND are spent or held by calls in flight, and this call ` +
      `needs ${formatVnd(needed)} VND to begin. The owner of the key can change the limit`,
    { figures },
  );
}

const endpointOfKind: Record<ModelKind, string> = {
  chat: "/v1/messages or /v1/chat/completions",
  image: "/v1/images/generations or /v1/images/edits",
  speech: "/v1/audio/speech",
  video: "/v1/videos",
  embedding: "/v1/embeddings",
  transcription: "/v1/audio/transcriptions or /v1/audio/translations",
  rerank: "/v1/rerank",
  moderation: "/v1/moderations",
  completion: "/v1/completions",
};

const kindInWords: Record<ModelKind, string> = {
  chat: "a chat model",
  image: "an image model",
  speech: "a speech model",
  video: "a video model",
  embedding: "an embedding model",
  transcription: "a transcription model",
  rerank: "a rerank model",
  moderation: "a moderation model",
  completion: "a completion model",
};

/** Models that an error names: a screen of them. */
const maxNamedModels = 10;

/** Names the models of a kind that a key may use. */
function offeredModels(
  { models }: Catalog,
  kind: ModelKind,
  { allowedModels }: Principal,
): string {
  const ids = models
    .filter((model) => model.kind === kind && allowedModels?.has(model.id) !== false)
    .map(({ id }) => id);
  if (ids.length === 0) return "There is no model for this endpoint";
  const named = ids.slice(0, maxNamedModels).join(", ");
  return `Models for this endpoint: ${named}${ids.length > maxNamedModels ? ", …" : ""}`;
}

/** Why a name selects no model. */
function unknownName(name: string, kind: ModelKind): string {
  return asksForMore(name)
    ? "this name asks for a stored prompt, another offer, or a choice that only chat calls have: name a model"
    : `there is no ${kind} model of this name`;
}

/**
 * Finds the model for a name, if this key may use it.
 *
 * @param param where the request has the name
 * @throws {GatewayError} `invalid_request` for a model of another kind (naming the right endpoint) or an unknown name
 * without a fallback model, `permission_denied` for a model that the key may not use
 */
export function chooseModel(
  catalog: Catalog,
  name: string,
  kind: ModelKind,
  principal: Principal,
  param = "model",
): ChosenModel {
  const resolution = catalog.resolve(name, kind);
  // Only the model of the request may be an unknown name: among others, each name is there for its own sake.
  if (!resolution.found || (param !== "model" && resolution.isDefault === true)) {
    throw new GatewayError(
      "invalid_request",
      `${param}: ${unknownName(name, kind)}. ${offeredModels(catalog, kind, principal)}`,
      { param },
    );
  }
  const { model, mappedFrom, sort } = resolution;
  if (model.kind !== kind) {
    throw new GatewayError(
      "invalid_request",
      `${param}: ${model.id} is ${kindInWords[model.kind]}; use ${endpointOfKind[model.kind]}. ` +
        offeredModels(catalog, kind, principal),
      { param },
    );
  }
  if (principal.allowedModels?.has(model.id) === false) {
    throw new GatewayError("permission_denied", `This API key may not use the model ${model.id}`, {
      param,
    });
  }
  return { catalog, model, mappedFrom, ...(sort !== undefined && { sort }) };
}

/**
 * Finds the model for a name, as {@linkcode chooseModel} does, with the routes that the settings of the key allow.
 *
 * @throws {GatewayError} as {@linkcode chooseModel}, and `invalid_request` if they allow none
 */
export function chooseRoutes(...named: Parameters<typeof chooseModel>): ChosenModel {
  const [, , , principal] = named;
  return withRulesOf(principal, chooseModel(...named));
}

/**
 * Leaves the routes out that the settings of a key do not allow.
 *
 * @throws {GatewayError} `invalid_request` if they allow none
 */
export function withRulesOf({ callRules }: Principal, chosen: ChosenModel): ChosenModel {
  if (callRules?.bounds === undefined) return chosen;
  const model = withAllowedRoutes(chosen.model, callRules, chosen.catalog);
  if (model !== undefined) return { ...chosen, model };
  throw new GatewayError(
    "invalid_request",
    `model: the settings of calls of this API key allow no provider of the model ${chosen.model.id}`,
    { param: "model" },
  );
}

/**
 * Refuses pictures for a model without the Vision label: the provider would refuse them too, or bill pictures that
 * the model cannot see.
 *
 * @throws {GatewayError} `invalid_request` naming where the picture is
 */
export function refuseUnseenImages(model: Model, body: OutlineObject): void {
  const path = model.vision ? undefined : firstImagePath(body);
  if (path === undefined) return;
  throw new GatewayError(
    "invalid_request",
    `${path}: the model ${model.id} takes no images; use one with "vision": true in /v1/models`,
    { param: path },
  );
}

/**
 * Refuses several answers in one call where the price is per call, since all but one would be free.
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function refuseFreeChoices(model: Model, request: ChatRequest, body: OutlineObject): void {
  if (request.choices === 1 || model.price.unit === "token") return;
  const field = request.style === "gemini"
    ? "generationConfig.candidateCount"
    : typeof body["n"] === "number" && body["n"] > 1
    ? "n"
    : "best_of";
  throw new GatewayError(
    "invalid_request",
    `${field}: the model ${model.id} is priced per call, so it gives one answer per call`,
    { param: field },
  );
}

/** The budgets in which a call counts, and that refuse calls; `undefined` where there are none. */
function refusingBudgets(
  { principal: { key, budgets }, model, tags }: Pick<Terms, "principal" | "model" | "tags">,
): readonly Budget[] | undefined {
  if (budgets === undefined) return undefined;
  const call = { key, model: model.id, tags };
  const binding = budgets.filter(({ atLimit, subject }) =>
    atLimit === "refuse" && bindsCall(subject, call)
  );
  return binding.length === 0 ? undefined : binding;
}

/** The reservation of a call, which may begin with less than it may cost. */
export interface RangeRequest {
  readonly range: ReservationRange;
  /** Reserved instead if the money does not suffice for `range`. */
  readonly otherwise?: ReservationRange | undefined;
  /** Units that the call asks for; absent where no meter counts them. */
  readonly makes?: MadeUnits | undefined;
  /** Finds the error of a request that would be refused whatever the balance; called only before a 402 is sent. */
  readonly localError: () => Promise<GatewayError | undefined>;
}

/**
 * Reserves as much of a range as a call can have.
 *
 * @throws {GatewayError} 402 naming the least amount of the range and what is available; 429 if calls in flight still
 * hold it after a wait, or naming the limit of the key for a day that has no room; 402 naming the budget; 503 if the ledger cannot be reached
 */
export async function reserveWithin(
  sources: MoneySources,
  terms: Pick<Terms, "principal" | "model" | "start" | "tags">,
  { range, otherwise, makes, localError }: RangeRequest,
): Promise<CallMoney> {
  const { principal: { key }, model, start: { startedAtMs } } = terms;
  const limited = { key, budgets: refusingBudgets(terms) };
  const reserved = (some: ReservationRange) =>
    reserveMoney(sources, limited, { money: some, makes }, startedAtMs);
  const outcome = reserved(range);
  let result = outcome instanceof Promise ? await outcome : outcome;
  if (!result.ok && result.reason !== "unavailable" && otherwise !== undefined) {
    result = await reserved(otherwise);
  }
  if (result.ok) return result;
  const unpaid = result.reason === "key_limit" || result.reason === "budget"
    ? limitError(result, model)
    : unpaidError(result);
  throw (unpaid.code !== "maintenance" ? await localError() : undefined) ?? unpaid;
}

/** Books the money of a call under the limits that bind it with another model, in place of those before. */
export function moveBooking(
  { limits }: MoneySources,
  terms: Pick<Terms, "principal" | "model" | "start" | "tags">,
  money: CallMoney,
): Promise<LimitRefusal | undefined> {
  const { principal: { key }, start: { startedAtMs } } = terms;
  return money.moveBooking(limits, { key, budgets: refusingBudgets(terms) }, startedAtMs);
}

/** Maps a reservation that the wallet refused to the client's error. */
export function unpaidError(result: Refusal): GatewayError {
  const needed = formatVnd(result.neededMicroVnd);
  const available = formatVnd(result.availableMicroVnd);
  const figures = {
    kind: "balance",
    neededMicroVnd: result.neededMicroVnd,
    availableMicroVnd: result.availableMicroVnd,
    heldMicroVnd: result.reservedMicroVnd,
  } as const;
  const owed = result.owedMicroVnd > 0n ? `; ${formatVnd(result.owedMicroVnd)} VND are owed` : "";
  switch (result.reason) {
    case "insufficient":
      return new GatewayError(
        "insufficient_balance",
        `Insufficient balance: this call needs ${needed} VND to begin and ${available} VND are available${owed}. ` +
          "Top up and continue with the same key",
        { figures },
      );
    case "on_hold":
      return new GatewayError(
        "balance_on_hold",
        `Balance on hold: this call needs ${needed} VND to begin; ${available} VND are free and ` +
          `${
            formatVnd(result.reservedMicroVnd)
          } VND are held by calls in flight. Try again when they end, ` +
          "stream the answer, or ask for fewer output tokens",
        { retryAfterSeconds: reservationRetrySeconds, figures },
      );
    case "unavailable":
      return new GatewayError(
        "maintenance",
        "The ledger cannot be reached at the moment; try again",
        {
          retryAfterSeconds: 2,
        },
      );
  }
}
