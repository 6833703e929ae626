/** Acts on the endpoints of webhooks. */
import { z } from "zod";
import { defined } from "../../core/lib/base/defined.ts";
import { optionalNameOf } from "../../core/lib/base/names.ts";
import { isLoopbackUrl } from "../../core/net/addresses/local_address.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import {
  botServers,
  botToken,
  type ChatAddress,
  chatIdForm,
  type DestinationKind,
  destinationKinds,
  hasBot,
} from "../../core/people/webhooks/destinations.ts";
import {
  type EndpointUrlProblem,
  maxEndpointUrlChars,
  parseEndpointUrl,
} from "../../core/people/webhooks/endpoint_url.ts";
import { webhookKinds } from "../../core/people/webhooks/events.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { getTry, sendAgain, sendTest } from "../../kv/people/webhooks/deliveries.ts";
import {
  addChat,
  addEndpoint,
  deleteEndpoint,
  editEndpoint,
  getEndpoint,
  maxWebhookEndpoints,
  newChatAddress,
  type NewWebhookSecret,
  type NotChanged,
  rotateEndpointSecret,
  type WebhookEndpoint,
} from "../../kv/people/webhooks/endpoints.ts";
import { type Acting, done, idOf, operation, type RefusalRow, refused } from "./operation.ts";

/** Characters of the name of an endpoint: a line of a list. */
export const maxEndpointNameChars = 80;

/** Needs of these operations. */
interface Deps {
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  readonly webhooks: WebhookDeps;
}

/** Addresses that webhooks may reach, and the hint that one waits. */
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
const destination = z.enum(destinationKinds);
const token = z.string().trim().regex(botToken, "must be the token of a bot");
const chatId = z.string().trim().regex(chatIdForm, "must be the id of a chat");
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

const wrongAddresses = {
  ...wrongUrls,
  no_bot: {
    code: "invalid_request",
    field: "chatId",
    message: "This endpoint has an address, and no bot with a token and a chat",
  },
  token_needed: {
    code: "invalid_request",
    field: "token",
    message: "is needed for another chat or server",
  },
} as const satisfies Readonly<Record<string, RefusalRow>>;

/**
 * Why nothing was done. `forgotten`: the log has the try no more. `not_signed`: a chat has no signing secret. `no_bot`: a
 * token or a chat was named for an endpoint without a bot. `token_needed`: a token goes to no other place than that for
 * which it was entered.
 */
export type WebhookRefusal =
  | NotChanged["reason"]
  | "forgotten"
  | "not_signed"
  | keyof typeof wrongAddresses;

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

/** The parts of an address, as far as they are named. */
interface NamedAddress {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly chatId?: string | undefined;
}

/** Reads the address of an endpoint. */
async function readAddress(
  kind: DestinationKind,
  { url = hasBot(kind) ? botServers[kind] : "", token, chatId }: NamedAddress,
  webhooks: WebhookDeps,
): Promise<ChatAddress | EndpointUrlProblem> {
  const parsed = await readUrl(url, webhooks);
  if (typeof parsed === "string") return parsed;
  if (!hasBot(kind)) return { url: parsed.href };
  // Nothing of a path is kept, into which somebody may have copied the token.
  return { url: parsed.origin, bot: { token: token ?? "", chatId: chatId ?? "" } };
}

const creationInput = z.strictObject({
  destination: destination.default("webhook"),
  url: url.optional(),
  token: token.optional(),
  chatId: chatId.optional(),
  name: name.default(""),
  kinds,
}).superRefine((input, context) => {
  const isBot = hasBot(input.destination);
  const needed = isBot ? ["token", "chatId"] as const : ["url"] as const;
  for (const member of needed) {
    if (input[member] === undefined) {
      context.addIssue({ code: "custom", path: [member], message: "is required" });
    }
  }
  for (const member of ["token", "chatId"] as const) {
    if (!isBot && input[member] !== undefined) {
      const message = "is for destinations with a bot";
      context.addIssue({ code: "custom", path: [member], message });
    }
  }
});

/** An endpoint that was added. One that gets signed webhooks has a secret, which is given this once. */
export interface NewEndpoint extends Partial<NewWebhookSecret> {
  readonly endpoint: WebhookEndpoint;
}

/** Adds an endpoint. */
export const webhookCreation = operation({
  name: "createWebhook",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: creationInput,
  refusals: { ...wrongUrls, ...notChanged },
  async run({ kv, masterKeys, webhooks }: Deps, acting, { destination, name, kinds, ...named }) {
    const address = await readAddress(destination, named, webhooks);
    if (typeof address === "string") return refused(address);
    const options = { name, kinds, ...formOf(acting) };
    const { id } = acting.account;
    const added: { readonly ok: true; readonly done: NewEndpoint } | NotChanged =
      destination === "webhook"
        ? await addEndpoint(kv, masterKeys, id, { ...options, url: address.url })
        : await addChat(kv, masterKeys, id, { ...options, chat: { kind: destination, address } });
    return added.ok ? done(added.done) : refused(added.reason);
  },
});

/**
 * Returns what a change makes of the address of an endpoint. What a chat is reached by is sealed as a whole, so its secret
 * is entered again with each change.
 */
async function changedAddress(
  { masterKeys, webhooks }: Deps,
  { account }: Pick<Acting, "account">,
  { id, chat, ...former }: WebhookEndpoint,
  { url, token, chatId }: NamedAddress,
): Promise<Partial<Awaited<ReturnType<typeof newChatAddress>>> | keyof typeof wrongAddresses> {
  if (chat === undefined || !hasBot(chat)) {
    if ((token ?? chatId) !== undefined) return "no_bot";
    if (url === undefined) return {};
    const address = await readAddress("webhook", { url }, webhooks);
    if (typeof address === "string") return address;
    return chat === undefined
      ? { url: address.url }
      : await newChatAddress(masterKeys, account.id, id, { kind: chat, address });
  }
  const address = await readAddress(chat, {
    url: url ?? former.url,
    token,
    chatId: chatId ?? former.chatId,
  }, webhooks);
  if (typeof address === "string") return address;
  if (token !== undefined) {
    return await newChatAddress(masterKeys, account.id, id, { kind: chat, address });
  }
  const isSame = address.url === former.url && address.bot?.chatId === former.chatId;
  return isSame ? {} : "token_needed";
}

/** Changes the address, the name or the kinds of an endpoint, or switches it on or off. */
export const webhookChange = operation({
  name: "changeWebhook",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: z.strictObject({
    id,
    url: url.optional(),
    token: token.optional(),
    chatId: chatId.optional(),
    name: name.optional(),
    kinds: kinds.optional(),
    isOn: z.boolean().optional(),
  }),
  refusals: { ...wrongAddresses, ...notChanged },
  async run(deps: Deps, acting, { id, name, kinds, isOn, ...named }) {
    const { account, by, nowMs } = acting;
    const former = await getEndpoint(deps.kv, account.id, id);
    if (former === undefined) return refused("missing");
    const address = await changedAddress(deps, acting, former, named);
    if (typeof address === "string") return refused(address);
    const change = { ...defined({ name, kinds, isOn }), ...address, by, nowMs };
    const edited = await editEndpoint(deps.kv, account.id, id, change);
    return edited.ok ? done(edited.done) : refused(edited.reason);
  },
});

/** Gives an endpoint a new secret; the former one signs, too, for a day. */
export const webhookRotation = operation({
  name: "rotateWebhookSecret",
  act: "change_webhooks",
  line: "webhooks_changed",
  input: z.strictObject({ id }),
  refusals: {
    ...notChanged,
    not_signed: {
      code: "invalid_request",
      message: "A chat has no signing secret; change its address instead",
    },
  },
  async run({ kv, masterKeys }: Deps, acting, { id }) {
    const former = await getEndpoint(kv, acting.account.id, id);
    if (former?.chat !== undefined) return refused("not_signed");
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
