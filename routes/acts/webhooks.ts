/** Acts on the endpoints of webhooks. */
import { z } from "zod";
import { defined } from "../../core/lib/base/defined.ts";
import { optionalNameOf } from "../../core/lib/base/names.ts";
import { isLoopbackUrl } from "../../core/net/addresses/local_address.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import {
  type EndpointUrlProblem,
  maxEndpointUrlChars,
  parseEndpointUrl,
} from "../../core/people/webhooks/endpoint_url.ts";
import { webhookKinds } from "../../core/people/webhooks/events.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { getTry, sendAgain, sendTest } from "../../kv/people/webhooks/deliveries.ts";
import {
  addEndpoint,
  deleteEndpoint,
  editEndpoint,
  getEndpoint,
  maxWebhookEndpoints,
  type NotChanged,
  rotateEndpointSecret,
} from "../../kv/people/webhooks/endpoints.ts";
import { type Acting, done, idOf, operation, type RefusalRow, refused } from "./operation.ts";

/** Characters of the name of an endpoint: a line of a list. */
export const maxEndpointNameChars = 80;

/** What these operations need of the gateway. */
interface Deps {
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  readonly webhooks: WebhookDeps;
}

/** What webhooks may reach, and the hint that one waits. */
export interface WebhookDeps {
  /** Whether endpoints may be on this machine. */
  readonly isLocalAllowed: boolean;
  /** Whether a host has an address that is not public, as far as name servers say now. */
  readonly hasPrivateAddress: (host: string) => Promise<boolean>;
  /** Called after a delivery was added to the queue. */
  readonly hintDelivery: () => void;
}

const id = idOf("webhookEndpoint", "must be the id of an endpoint");
const url = z.string().trim().min(1).max(maxEndpointUrlChars);
const name = optionalNameOf(maxEndpointNameChars);
const kinds = z.array(z.enum(webhookKinds)).min(1).max(webhookKinds.length);
const kind = z.enum(webhookKinds);

/** The number of a try in its endpoint's log, as paths write it. */
export const tryNumber = z.string().regex(/^[1-9]\d{0,14}$/).transform(Number);

const notChanged = {
  missing: { code: "not_found", message: "There is no such endpoint" },
  full: { code: "invalid_request", message: `There are ${maxWebhookEndpoints} endpoints already` },
  sent: { code: "invalid_request", message: "This request was carried out before" },
  conflict: { code: "overloaded", message: "The endpoints are being changed; try again" },
} as const satisfies Readonly<Record<NotChanged["reason"], RefusalRow>>;

const { missing, conflict } = notChanged;

const wrongUrl = (problem: EndpointUrlProblem) =>
  ({ code: "invalid_request", field: "url", message: problem }) as const;

const wrongUrls = {
  "is not a URL": wrongUrl("is not a URL"),
  "is too long": wrongUrl("is too long"),
  "must begin with http:// or https://": wrongUrl("must begin with http:// or https://"),
  "must begin with https://": wrongUrl("must begin with https://"),
  "must not carry a user name or password": wrongUrl("must not carry a user name or password"),
  "must use port 80, 443, 8080 or 8443": wrongUrl("must use port 80, 443, 8080 or 8443"),
  "must point to a public address": wrongUrl("must point to a public address"),
} satisfies Readonly<Record<EndpointUrlProblem, RefusalRow>>;

/** Why nothing was done. `forgotten`: the log has the try no more. */
export type WebhookRefusal = NotChanged["reason"] | "forgotten" | EndpointUrlProblem;

/** Without an id each request is another one. */
function formOf({ formId, by, nowMs }: Acting) {
  return { formId: formId ?? crypto.randomUUID(), by, nowMs };
}

/**
 * Reads the address of an endpoint, or says what is wrong with it. One whose name leads inside a network would never get
 * anything: every connection is checked, also for names that lead elsewhere later.
 */
async function readUrl(text: string, webhooks: WebhookDeps): Promise<URL | EndpointUrlProblem> {
  const parsed = parseEndpointUrl(text, webhooks);
  if (typeof parsed === "string") return parsed;
  const isLocal = webhooks.isLocalAllowed && isLoopbackUrl(parsed.href);
  const isPrivate = !isLocal && await webhooks.hasPrivateAddress(parsed.hostname);
  return isPrivate ? "must point to a public address" : parsed;
}

/** Adds an endpoint, and gives its secret this once. */
export const webhookCreation = operation({
  name: "createWebhook",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: z.strictObject({ url, name: name.default(""), kinds }),
  refusals: { ...wrongUrls, ...notChanged },
  async run({ kv, masterKeys, webhooks }: Deps, acting, input) {
    const parsed = await readUrl(input.url, webhooks);
    if (typeof parsed === "string") return refused(parsed);
    const options = { ...input, url: parsed.href, ...formOf(acting) };
    const added = await addEndpoint(kv, masterKeys, acting.account.id, options);
    return added.ok ? done(added.done) : refused(added.reason);
  },
});

/** Changes the address, the name or the kinds of an endpoint, or switches it on or off. */
export const webhookChange = operation({
  name: "changeWebhook",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: z.strictObject({
    id,
    url: url.optional(),
    name: name.optional(),
    kinds: kinds.optional(),
    isOn: z.boolean().optional(),
  }),
  refusals: { ...wrongUrls, ...notChanged },
  async run({ kv, webhooks }: Deps, { account, by, nowMs }, { id, url, ...change }) {
    const parsed = url === undefined ? undefined : await readUrl(url, webhooks);
    if (typeof parsed === "string") return refused(parsed);
    const edited = await editEndpoint(kv, account.id, id, {
      ...defined({ ...change, url: parsed?.href }),
      by,
      nowMs,
    });
    return edited.ok ? done(edited.done) : refused(edited.reason);
  },
});

/** Gives an endpoint a new secret; the former one signs, too, for a day. */
export const webhookRotation = operation({
  name: "rotateWebhookSecret",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: z.strictObject({ id }),
  refusals: notChanged,
  async run({ kv, masterKeys }: Deps, acting, { id }) {
    const form = formOf(acting);
    const rotated = await rotateEndpointSecret(kv, masterKeys, acting.account.id, id, form);
    return rotated.ok ? done(rotated.done) : refused(rotated.reason);
  },
});

/** Deletes an endpoint and its log. */
export const webhookDeletion = operation({
  name: "deleteWebhook",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: z.strictObject({ id }),
  refusals: notChanged,
  async run({ kv }: Deps, acting, { id }) {
    const deleted = await deleteEndpoint(kv, acting.account.id, id, acting);
    return deleted.ok ? done(id) : refused(deleted.reason);
  },
});

/** Sends an endpoint the example of a kind of event, whatever kinds it gets and whether it is on. */
export const webhookTest = operation({
  name: "testWebhook",
  act: "change_webhooks",
  // The log of the endpoint has the try.
  line: undefined,
  input: z.strictObject({ id, kind }),
  refusals: { missing, conflict },
  async run({ kv, webhooks }: Deps, { account, nowMs }, { id, kind }) {
    if (await getEndpoint(kv, account.id, id) === undefined) return refused("missing");
    const eventId = await sendTest(kv, account.id, id, kind, nowMs);
    if (eventId === "conflict") return refused("conflict");
    webhooks.hintDelivery();
    return done(eventId);
  },
});

/** Sends the event of a try once more, with the same id and body. */
export const webhookResending = operation({
  name: "resendWebhookDelivery",
  act: "change_webhooks",
  // The log of the endpoint has the try.
  line: undefined,
  input: z.strictObject({ id, number: tryNumber }),
  refusals: {
    missing,
    conflict,
    forgotten: { code: "not_found", message: "The log has no such try any more" },
  },
  async run({ kv, webhooks }: Deps, { account, nowMs }, { id, number }) {
    if (await getEndpoint(kv, account.id, id) === undefined) return refused("missing");
    const found = await getTry(kv, account.id, id, number);
    if (found === undefined) return refused("forgotten");
    const again = await sendAgain(kv, account.id, id, found, nowMs);
    if (again === "conflict") return refused("conflict");
    webhooks.hintDelivery();
    return done(found.eventId);
  },
});
