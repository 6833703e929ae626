/** Keeps features that cost the operator more than tokens away from routes that do not allow them. */
import type { Model, Route } from "../../catalog/catalog.ts";
import type { ProviderStyle } from "../../wire/contract/contract.ts";
import {
  type BillableFeature,
  billableFeatureWords,
  hostedToolFeatures,
} from "../../wire/contract/features.ts";
import {
  type AskedFeature,
  askedTier,
  findBillableFeatures,
} from "../../wire/billable_features/asked_for.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { OutlineObject } from "../../lib/json/json.ts";

/** A request in one wire style. */
export interface StyledRequest {
  readonly style: ProviderStyle;
  readonly body: OutlineObject;
}

/** A request on its way to a route, to be checked for billable features. */
export interface BillableCheck {
  readonly model: Model;
  readonly route: Route;
  /** The request as it would go to the provider. */
  readonly sent: StyledRequest;
  /** The request of the client: a refusal names the fields as the client wrote them. */
  readonly asked: StyledRequest;
  /** A feature that the gateway provides itself. */
  readonly except?: BillableFeature;
}

/**
 * Lists the top-level fields that must not go to this route; nearly every call has none.
 *
 * @throws {GatewayError} `invalid_request` naming the first place that the model does not offer on any route,
 * `feature_unavailable` if another route offers it: the call moves on to that one, if it is in service
 */
export function fieldsLeftOut(check: BillableCheck): readonly string[] {
  const fields: string[] = [];
  for (const found of findBillableFeatures(check.sent.style, check.sent.body)) {
    if (found.feature === check.except) continue;
    if (check.route.allow.has(found.feature) && hasFactor(check, found)) continue;
    if (!found.spare) throw refusal(check, found);
    fields.push(found.path);
  }
  return fields;
}

/** Whether a tier of service has a price. A price without any factors leaves the tiers to the route. */
function hasFactor({ model: { price }, sent }: BillableCheck, { feature }: AskedFeature): boolean {
  if (feature !== "service_tier" || price.unit !== "token") return true;
  const { serviceTiers } = price;
  return serviceTiers === undefined ||
    Object.hasOwn(serviceTiers, askedTier(sent.style, sent.body));
}

/** Lists the hosted tools that a request asks for; a route that allows them runs them. */
export function hostedToolsAskedFor(asked: StyledRequest): readonly BillableFeature[] {
  return findBillableFeatures(asked.style, asked.body)
    .map(({ feature }) => feature)
    .filter((feature) => hostedToolFeatures.has(feature));
}

function refusal(check: BillableCheck, found: AskedFeature): GatewayError {
  const { model, sent, asked } = check;
  const { feature } = found;
  const said = sent.body === asked.body
    ? found
    : findBillableFeatures(asked.style, asked.body).find((one) => one.feature === feature) ?? found;
  const subject = `${said.path}: ${billableFeatureWords[feature]}`;
  const param = said.path;
  if (hasFactor(check, found) && model.routes.some((route) => route.allow.has(feature))) {
    return new GatewayError(
      "feature_unavailable",
      `${subject} is out of service for this model at the moment`,
      { param },
    );
  }
  const offer = feature === "web_search"
    ? " (the operator can, by allow of a route or by webSearchModel in gateway.json)"
    : "";
  const hint = feature === "web_search" && asked.style === "responses"
    ? ' (in Codex: web_search = "disabled")'
    : "";
  return new GatewayError(
    "invalid_request",
    `${subject} costs extra at the provider, and this gateway does not offer it for this model${offer}; leave it out${hint}`,
    { param },
  );
}
