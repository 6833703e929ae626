/**
 * Calls that name several models, or leave the choice to the gateway: which of them may answer, what is reserved for all of them, and how one takes over from
 * another before the first output.
 *
 * Each model keeps its own price, bounds and limits. The reservation covers the dearest of them. Limits of a model and
 * budgets that bind only its calls are asked when its turn comes; a model that they refuse is passed over.
 */
import { automaticOrder, type Catalog, type RouteOrder } from "../../../core/catalog/catalog.ts";
import {
  automaticModels,
  type ModelNeeds,
  needsOf,
} from "../../../core/calls/request/automatic_models.ts";
import { withAllowedRoutes } from "../../../core/calls/request/call_settings.ts";
import type { ChatRequest } from "../../../core/calls/request/chat_request.ts";
import type { OutlineObject } from "../../../core/lib/json/json.ts";
import type { Router } from "../../../core/routing/contract/router.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { ReservationRange } from "../../../core/billing/price.ts";
import {
  type RoutePreferences,
  takePreferences,
} from "../../../core/calls/request/route_preferences.ts";
import { isRouteFault } from "../../../core/calls/attempts/attempt_loop.ts";
import type { ErrorCode } from "../../../core/lib/errors/errors.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { chooseModel, chooseRoutes, type ChosenModel, withRulesOf } from "../call/admission.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { JsonBody } from "../../../core/calls/body/json_body.ts";

/** A model of a request, by the name that the request has for it. */
export interface RequestedModel {
  readonly chosen: ChosenModel;
  readonly name: string;
}

/**
 * Returns the models of a request in the order to try, each once: that of `model`, then the others.
 *
 * @param name the model of the request
 * @throws {GatewayError} for a name that is unknown, of another kind, or not allowed for the key: it is not left out in
 * silence
 */
export function requestedModels(
  name: string,
  { models }: Pick<RoutePreferences, "models">,
  { catalog, principal }: { readonly catalog: Catalog; readonly principal: Principal },
): RequestedModel[] {
  const requested = [{ chosen: chooseModel(catalog, name, "chat", principal), name }];
  for (const { name: other, path, isDefault } of models) {
    const chosen = isDefault === true
      ? usableModel(other, path, { catalog, principal })
      : chooseModel(catalog, other, "chat", principal, path);
    if (chosen === undefined) continue;
    if (requested.some(({ chosen: { model } }) => model === chosen.model)) continue;
    requested.push({ chosen: { ...chosen, mappedFrom: name }, name: other });
  }
  return requested;
}

/** A model that settings name, if the key may use it: another one would fail all calls without a word in them. */
function usableModel(
  name: string,
  path: string,
  { catalog, principal }: { readonly catalog: Catalog; readonly principal: Principal },
): ChosenModel | undefined {
  try {
    return chooseModel(catalog, name, "chat", principal, path);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** A request that leaves the choice of its model to the gateway. */
export interface AutomaticRequest {
  readonly request: ChatRequest;
  readonly body: OutlineObject;
  readonly catalog: Catalog;
  readonly principal: Principal;
  readonly router: Pick<Router, "measured">;
}

/**
 * Returns the models that meet the needs of a request, the best first: of those that it names, or of all that the key may
 * use. See {@linkcode automaticModels}.
 *
 * @throws {GatewayError} `invalid_request` naming the needs, if no model meets them
 */
export function chosenModels(
  order: RouteOrder,
  { models, sort = order }: Pick<RoutePreferences, "models" | "sort">,
  { request, body, catalog, principal, router }: AutomaticRequest,
): [RequestedModel, ...RequestedModel[]] {
  const { model: name, stream } = request;
  const allowed = () =>
    catalog.models
      .filter(({ id, kind }) => kind === "chat" && principal.allowedModels?.has(id) !== false)
      .filter((model) => withAllowedRoutes(model, principal.callRules, catalog) !== undefined);
  // Models of settings are there for calls that name one.
  const named = models.filter(({ isDefault }) => isDefault !== true);
  const pool = named.length === 0
    ? allowed()
    : named.map(({ name: other, path }) =>
      chooseModel(catalog, other, "chat", principal, path).model
    );
  const operation = stream ? "chat_stream" : "chat";
  const needs = needsOf(request, body);
  const ordered = automaticModels([...new Set(pool)], needs, {
    sort,
    measured: (model, figure) => router.measured(model, operation, figure),
  });
  const [best, ...others] = ordered.map((model): RequestedModel => ({
    chosen: {
      catalog,
      model,
      mappedFrom: name,
      ...(order !== "price" && { sort: order }),
    },
    name: model.id,
  }));
  if (best === undefined) throw noModelMeets(needs);
  return [best, ...others];
}

/** A request whose tokens are counted. */
export interface CountedRequest {
  readonly request: ChatRequest;
  /** The body as it was sent, with the preferences of the route. */
  readonly sent: JsonBody;
  readonly principal: Principal;
  readonly headers: Pick<Headers, "get">;
}

/**
 * Returns the model whose tokens a count is of: that of the request, or the best of those that the gateway would choose
 * among.
 *
 * @throws {GatewayError} for a model that is unknown or not allowed, or if no model meets the needs
 */
export function countedModel(
  { catalog: { current: catalog }, router }: Pick<Gateway, "catalog" | "router">,
  { request, sent, principal, headers }: CountedRequest,
): ChosenModel {
  const order = automaticOrder(request.model);
  if (order === undefined) return chooseRoutes(catalog, request.model, "chat", principal);
  const { preferences, sent: { outline: body } } = takePreferences({
    style: request.style,
    body: sent,
    header: headers.get(requestHeaders.route),
    providers: catalog.providers,
  });
  const [best] = chosenModels(order, preferences, { request, body, catalog, principal, router });
  return withRulesOf(principal, best.chosen);
}

function noModelMeets(
  { inputTokens, outputTokens, hasImages, hasSchema, forcesTool }: ModelNeeds,
): GatewayError {
  const needs = [
    `a context for ${inputTokens} tokens of input and up to ${outputTokens} of output`,
    ...(hasImages ? ["images"] : []),
    ...(hasSchema ? ["a schema for the answer"] : []),
    ...(forcesTool ? ["a tool that must be called"] : []),
  ];
  return new GatewayError(
    "invalid_request",
    `model: no model that this key may use meets what the request needs: ${needs.join(", ")}`,
    { param: "model" },
  );
}

/**
 * Checks a request for each of its models; one that it does not fit is passed over.
 *
 * @param maxModels models that are enough
 * @throws {GatewayError} the error of the first model, if it fits none
 */
export function fitting<Checked>(
  requested: readonly RequestedModel[],
  check: (model: RequestedModel) => Checked,
  maxModels = Infinity,
): [Checked, ...Checked[]] {
  const checked: Checked[] = [];
  let refusal: unknown;
  for (const model of requested) {
    if (checked.length >= maxModels) break;
    try {
      checked.push(check(model));
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status !== 400) throw error;
      refusal ??= error;
    }
  }
  const [first, ...others] = checked;
  if (first === undefined) throw refusal;
  return [first, ...others];
}

/** Returns the range that covers every one of several calls, of which one runs. */
export function coveringRange(ranges: readonly ReservationRange[]): ReservationRange {
  const most = (of: (range: ReservationRange) => bigint) =>
    ranges.map(of).reduce((one, other) => one > other ? one : other);
  return {
    ...ranges[0],
    wantedMicroVnd: most(({ wantedMicroVnd }) => wantedMicroVnd),
    expectedMicroVnd: most(({ expectedMicroVnd }) => expectedMicroVnd),
    leastMicroVnd: most(({ leastMicroVnd }) => leastMicroVnd),
  };
}

/** Limits and budgets that may bind one model and not another. */
const modelLimits: ReadonlySet<ErrorCode> = new Set(["rate_limit_reached", "budget_exceeded"]);

/** Whether a call was refused by what may bind its model alone, so that another one may begin it. */
export function isLimitOfModel(error: unknown): boolean {
  return error instanceof GatewayError && modelLimits.has(error.code);
}

/** Errors of a model, beside those of its routes, after which another model may answer. */
const modelFaults: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  // Too long for this one, refused by its filter, or more than it offers.
  "context_length_exceeded",
  "request_too_large",
  "content_policy_violation",
  "conversion_refused",
  "feature_unavailable",
  ...modelLimits,
  "balance_on_hold",
]);

/** Whether the next model of a request may be tried after this error. */
export function mayFallBack(error: GatewayError): boolean {
  return isRouteFault(error) || modelFaults.has(error.code) || error.marks === "ability";
}
