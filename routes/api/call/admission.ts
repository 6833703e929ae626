/** Admits calls: chooses the model, refuses what the model cannot do, and reserves money. */
import type { Catalog, Model, ModelKind } from "../../../core/catalog/catalog.ts";
import { type ChatRequest, firstImagePath } from "../../../core/calls/request/chat_request.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { OutlineObject } from "../../../core/lib/json/json.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { bindsCall, type Budget } from "../../../core/limits/budgets.ts";
import type { ReservationRange } from "../../../core/billing/price.ts";
import type { Refusal } from "../../../kv/money/wallet/mod.ts";
import { type CallMoney, type MoneySources, reserveMoney } from "./call_money.ts";
import { limitError, reservationRetrySeconds } from "./limit_refusals.ts";
import type { ChosenModel, Terms } from "./terms.ts";

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

/**
 * Finds the model for a name, if this key may use it.
 *
 * @throws {GatewayError} `invalid_request` for a model of another kind (naming the right endpoint) or an unknown name
 * without a fallback model, `permission_denied` for a model that the key may not use
 */
export function chooseModel(
  catalog: Catalog,
  name: string,
  kind: ModelKind,
  principal: Principal,
): ChosenModel {
  const resolution = catalog.resolve(name, kind);
  if (!resolution.found) {
    throw new GatewayError(
      "invalid_request",
      `model: there is no ${kind} model of this name. ${offeredModels(catalog, kind, principal)}`,
      { param: "model" },
    );
  }
  const { model, mappedFrom } = resolution;
  if (model.kind !== kind) {
    throw new GatewayError(
      "invalid_request",
      `model: ${model.id} is ${kindInWords[model.kind]}; use ${endpointOfKind[model.kind]}. ` +
        offeredModels(catalog, kind, principal),
      { param: "model" },
    );
  }
  if (principal.allowedModels?.has(model.id) === false) {
    throw new GatewayError("permission_denied", `This API key may not use the model ${model.id}`, {
      param: "model",
    });
  }
  return { catalog, model, mappedFrom };
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
  /** Images that the call asks for; absent where it is no call for images. */
  readonly images?: number | undefined;
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
  { range, otherwise, images, localError }: RangeRequest,
): Promise<CallMoney> {
  const { principal: { key }, model, start: { startedAtMs } } = terms;
  const limited = { key, budgets: refusingBudgets(terms) };
  const reserved = (some: ReservationRange) =>
    reserveMoney(sources, limited, { money: some, images }, startedAtMs);
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
