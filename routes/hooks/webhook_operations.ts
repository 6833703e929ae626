/**
 * What customers do with their webhooks: each operation has one schema of its input, one result and one set of
 * refusals, for pages and programs.
 */
import { z } from "zod";
import { isOneLine, oneLineForm } from "../../core/lib/base/plain_text.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { type AccountId, parseId, type WebhookEndpointId } from "../../core/lib/ids/ids.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import {
  type EndpointUrlProblem,
  maxEndpointUrlChars,
  parseEndpointUrl,
} from "../../core/people/webhooks/endpoint_url.ts";
import { webhookKinds } from "../../core/people/webhooks/events.ts";
import { countTry, type RateRule } from "../../kv/people/accounts/rate_limits.ts";
import {
  type EndpointCondition,
  getTry,
  listTries,
  readConditions,
  sendAgain,
  sendTest,
  type WebhookTry,
} from "../../kv/people/webhooks/deliveries.ts";
import {
  addEndpoint,
  deleteEndpoint,
  editEndpoint,
  getEndpoint,
  listEndpoints,
  maxWebhookEndpoints,
  type NewWebhookSecret,
  type NotChanged,
  rotateEndpointSecret,
  type WebhookEndpoint,
} from "../../kv/people/webhooks/endpoints.ts";
import type { Doer } from "../../kv/people/audit/account_activity.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { rateRules } from "../auth/sign_in_budgets.ts";

/** Characters of the name of an endpoint: a line of a list. */
export const maxEndpointNameChars = 80;

/** Tries on one page of the log. */
const triesPerPage = 25;

/** What the operations need. */
export interface WebhookDeps {
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  /** Whether endpoints may be on this machine. */
  readonly isLocalAllowed: boolean;
  /** Called after a delivery was added to the queue. */
  readonly hintDelivery: () => void;
}

/** Whose endpoints, and when. */
export interface WebhookAct {
  readonly accountId: AccountId;
  readonly nowMs: number;
  /** Who does it, for the activity log. */
  readonly by: Doer;
}

/** Why nothing was done. */
export type WebhookRefusal =
  | NotChanged["reason"]
  /** The log has the try no more. */
  | "forgotten"
  | { readonly url: EndpointUrlProblem }
  | { readonly retryAfterSeconds: number };

/** A refusal, as pages say it in their words and programs read it as an error. */
export interface RefusedWebhookAct {
  readonly ok: false;
  readonly why: WebhookRefusal;
  readonly error: GatewayError;
}

type Result<Body> = { readonly ok: true; readonly body: Body } | RefusedWebhookAct;

/** An operation. `input` reads what a form or a program wrote. */
export interface WebhookOperation<Input extends z.ZodType, Body> {
  readonly input: Input;
  run(deps: WebhookDeps, act: WebhookAct, input: z.infer<Input>): Promise<Result<Body>>;
}

function operation<Input extends z.ZodType, Body>(
  declared: WebhookOperation<Input, Body>,
): WebhookOperation<Input, Body> {
  return declared;
}

function refused(why: WebhookRefusal): RefusedWebhookAct {
  return { ok: false, why, error: errorOf(why) };
}

function errorOf(why: WebhookRefusal): GatewayError {
  if (typeof why !== "string") {
    return "url" in why
      ? new GatewayError("invalid_request", `url: ${why.url}`, { param: "url" })
      : new GatewayError("rate_limit_reached", "Too many acts on webhooks in an hour", {
        retryAfterSeconds: why.retryAfterSeconds,
      });
  }
  switch (why) {
    case "missing":
      return new GatewayError("not_found", "There is no such endpoint");
    case "forgotten":
      return new GatewayError("not_found", "The log has no such try any more");
    case "full":
      return new GatewayError(
        "invalid_request",
        `An account has at most ${maxWebhookEndpoints} endpoints`,
      );
    case "sent":
      return new GatewayError("invalid_request", "This request was carried out before");
    case "conflict":
      return new GatewayError("overloaded", "The endpoints are being changed; try again");
  }
}

const endpointId = z.custom<WebhookEndpointId>(
  (text) => typeof text === "string" && parseId("webhookEndpoint", text) !== undefined,
  "must be the id of an endpoint",
);
const url = z.string().trim().min(1).max(maxEndpointUrlChars);
const name = z.string().trim().max(maxEndpointNameChars).refine(isOneLine, oneLineForm);
const kinds = z.array(z.enum(webhookKinds)).min(1).max(webhookKinds.length);
/** The same for every try to send one form or request, so that it is carried out once. */
const formId = z.string().min(1).max(64);

async function countAct(
  { kv }: WebhookDeps,
  rule: RateRule,
  { accountId, nowMs }: WebhookAct,
): Promise<RefusedWebhookAct | undefined> {
  const verdict = await countTry(kv, rule, accountId, nowMs);
  return verdict.allowed ? undefined : refused({ retryAfterSeconds: verdict.retryAfterSeconds });
}

function resultOf<Body>(
  changed: { readonly ok: true; readonly done: Body } | NotChanged,
): Result<Body> {
  return changed.ok ? { ok: true, body: changed.done } : refused(changed.reason);
}

/** An endpoint, and how it fares. */
export interface ListedWebhook extends EndpointCondition {
  readonly endpoint: WebhookEndpoint;
}

/** Lists the endpoints of an account, oldest first. */
export const listWebhooks = operation({
  input: z.strictObject({}),
  async run({ kv }, { accountId }): Promise<Result<readonly ListedWebhook[]>> {
    const endpoints = await listEndpoints(kv, accountId);
    return { ok: true, body: await readConditions(kv, accountId, endpoints) };
  },
});

/** Reads one endpoint, and how it fares. */
export const readWebhook = operation({
  input: z.strictObject({ endpoint: endpointId }),
  async run({ kv }, { accountId }, { endpoint }): Promise<Result<ListedWebhook>> {
    const found = await getEndpoint(kv, accountId, endpoint);
    if (found === undefined) return refused("missing");
    const [listed] = await readConditions(kv, accountId, [found]);
    return listed === undefined ? refused("missing") : { ok: true, body: listed };
  },
});

/** Adds an endpoint, and gives its secret this once. */
export const addWebhook = operation({
  input: z.strictObject({ url, name, kinds, formId }),
  async run(deps, act, input): Promise<Result<NewWebhookSecret>> {
    const parsed = parseEndpointUrl(input.url, deps);
    if (typeof parsed === "string") return refused({ url: parsed });
    const tooMany = await countAct(deps, rateRules.changesByAccount, act);
    if (tooMany !== undefined) return tooMany;
    const { accountId, nowMs, by } = act;
    const options = { ...input, url: parsed.href, nowMs, by };
    return resultOf(await addEndpoint(deps.kv, deps.masterKeys, accountId, options));
  },
});

/** Changes the address, the name or the kinds of an endpoint, or switches it on or off. */
export const editWebhook = operation({
  input: z.strictObject({
    endpoint: endpointId,
    url: url.optional(),
    name: name.optional(),
    kinds: kinds.optional(),
    isOn: z.boolean().optional(),
  }),
  async run(deps, act, { endpoint, url, name, kinds, isOn }): Promise<Result<WebhookEndpoint>> {
    const parsed = url === undefined ? undefined : parseEndpointUrl(url, deps);
    if (typeof parsed === "string") return refused({ url: parsed });
    const change = {
      nowMs: act.nowMs,
      by: act.by,
      ...(parsed !== undefined && { url: parsed.href }),
      ...(name !== undefined && { name }),
      ...(kinds !== undefined && { kinds }),
      ...(isOn !== undefined && { isOn }),
    };
    return resultOf(await editEndpoint(deps.kv, act.accountId, endpoint, change));
  },
});

/** Gives an endpoint a new secret; the former one signs, too, for a day. */
export const rotateWebhookSecret = operation({
  input: z.strictObject({ endpoint: endpointId, formId }),
  async run(deps, act, { endpoint, formId }): Promise<Result<NewWebhookSecret>> {
    const tooMany = await countAct(deps, rateRules.changesByAccount, act);
    if (tooMany !== undefined) return tooMany;
    const { kv, masterKeys } = deps;
    const { accountId, nowMs, by } = act;
    const form = { formId, nowMs, by };
    return resultOf(await rotateEndpointSecret(kv, masterKeys, accountId, endpoint, form));
  },
});

/** Deletes an endpoint and its log. */
export const deleteWebhook = operation({
  input: z.strictObject({ endpoint: endpointId }),
  async run(deps, act, { endpoint }): Promise<Result<null>> {
    return resultOf(await deleteEndpoint(deps.kv, act.accountId, endpoint, act));
  },
});

/** Sends an endpoint the example of a kind of event, whatever kinds it gets and whether it is on. */
export const testWebhook = operation({
  input: z.strictObject({ endpoint: endpointId, kind: z.enum(webhookKinds) }),
  async run(deps, act, { endpoint, kind }): Promise<Result<{ readonly eventId: string }>> {
    const { kv, hintDelivery } = deps;
    const { accountId, nowMs } = act;
    if (await getEndpoint(kv, accountId, endpoint) === undefined) return refused("missing");
    const tooMany = await countAct(deps, rateRules.webhookSendsByAccount, act);
    if (tooMany !== undefined) return tooMany;
    const eventId = await sendTest(kv, accountId, endpoint, kind, nowMs);
    if (eventId === "conflict") return refused("conflict");
    hintDelivery();
    return { ok: true, body: { eventId } };
  },
});

/** A page of the log. */
export interface WebhookTryPage {
  readonly tries: readonly WebhookTry[];
  readonly hasMore: boolean;
}

/** Lists the tries of an endpoint, newest first, a page of them. */
export const listWebhookTries = operation({
  input: z.strictObject({
    endpoint: endpointId,
    before: z.int().min(1).optional(),
    count: z.int().min(1).default(triesPerPage),
  }),
  async run({ kv }, { accountId }, { endpoint, before, count }): Promise<Result<WebhookTryPage>> {
    if (await getEndpoint(kv, accountId, endpoint) === undefined) return refused("missing");
    const page = await listTries(kv, accountId, endpoint, { count, before });
    return { ok: true, body: page };
  },
});

const oneTry = z.strictObject({ endpoint: endpointId, number: z.int().min(1) });

/** Reads one try. */
export const readWebhookTry = operation({
  input: oneTry,
  async run({ kv }, { accountId }, { endpoint, number }): Promise<Result<WebhookTry>> {
    const found = await getTry(kv, accountId, endpoint, number);
    return found === undefined ? refused("forgotten") : { ok: true, body: found };
  },
});

/** Sends the event of a try once more, with the same id and body. */
export const resendWebhook = operation({
  input: oneTry,
  async run(deps, act, { endpoint, number }): Promise<Result<{ readonly eventId: string }>> {
    const { kv, hintDelivery } = deps;
    const { accountId, nowMs } = act;
    if (await getEndpoint(kv, accountId, endpoint) === undefined) return refused("missing");
    const found = await getTry(kv, accountId, endpoint, number);
    if (found === undefined) return refused("forgotten");
    const tooMany = await countAct(deps, rateRules.webhookSendsByAccount, act);
    if (tooMany !== undefined) return tooMany;
    const sent = await sendAgain(kv, accountId, endpoint, found, nowMs);
    if (sent === "conflict") return refused(sent);
    hintDelivery();
    return { ok: true, body: { eventId: found.eventId } };
  },
});
