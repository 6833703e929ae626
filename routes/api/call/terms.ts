/** What is known of a call once its request is read. It stays as it is until the receipt, which says the same. */
import type { Catalog, Model } from "../../../core/catalog/catalog.ts";
import type { CallTags } from "../../../core/billing/usage/call_tags.ts";
import type { AppliedPrice } from "../../../core/billing/usage/receipt.ts";
import { readSentTags } from "../../../core/calls/body/sent_tags.ts";
import type { RouteStyle } from "../../../core/catalog/entries/model.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import type { OutlineObject } from "../../../core/lib/json/json.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { requestHeaders } from "../../http/own_headers.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";

/** When a call began, and its place in a trace. */
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
}

/** Who calls which model, since when and at which price. Never refers to the request, whose body may be large. */
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
  { headers }: Pick<HttpRequest, "headers">,
  { requiredTags: required }: Principal,
  style: RouteStyle,
  body: OutlineObject,
): CallTags | undefined {
  return readSentTags(style, body, { header: headers.get(requestHeaders.tags), required });
}
