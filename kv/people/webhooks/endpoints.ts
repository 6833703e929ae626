/**
 * Stores the endpoints of an account that get webhooks, all in one row, with their sealed secrets.
 *
 * - Folder `kv/people/webhooks/`: endpoints, events that wait to be passed on, deliveries and the log of their tries.
 * - In: facts in the commit that makes them true, acts of customers, outcomes of tries.
 * - Out: rows of the outbox, and the log that pages show.
 * - Never: opens a connection (`routes/hooks/` does), or shows a secret a second time.
 */
import { defined } from "../../../core/lib/base/defined.ts";
import { type AccountId, newId, type WebhookEndpointId } from "../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { type MasterKeys, open, seal } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import {
  type ChatAddress,
  chatAddressText,
  type ChatKind,
  shownAddress,
} from "../../../core/people/webhooks/destinations.ts";
import { isWebhookKind, type WebhookKind } from "../../../core/people/webhooks/events.ts";
import type { SwitchOffReason } from "../../../core/people/webhooks/retries.ts";
import { newWebhookSecret } from "../../../core/people/webhooks/signature.ts";
import {
  webhookEndpointsKey,
  webhookStateKey,
  webhookTriesPrefix,
} from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { deleteRows } from "../../engine/store/delete_rows.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addAct, type Done } from "../audit/account_activity.ts";

/** Endpoints of one account: one for each system of a large company. */
export const maxWebhookEndpoints = 10;

/** Milliseconds for which both secrets sign after a rotation: a day to put the new one in place. */
export const secretGraceMs = dayMs;

/** Attempts of a check-and-set: the owner competes with switching off after failures. */
const writeAttempts = 10;

/** An endpoint. Contains no secret. */
export interface WebhookEndpoint {
  readonly id: WebhookEndpointId;
  /** The chat service to which its events go; absent: a server gets signed webhooks. */
  readonly chat?: ChatKind;
  /** Of a chat whose address is a secret, as much as pages show. */
  readonly url: string;
  /** The chat in which a bot writes. */
  readonly chatId?: string;
  /** Name that its owner gave it; may be empty. */
  readonly name: string;
  /** The kinds of events that it gets. Those of later versions are kept. */
  readonly kinds: readonly string[];
  readonly isOn: boolean;
  readonly createdAtMs: number;
  /** Moment at which it was switched on again, if ever: earlier failures count no more. */
  readonly onSinceMs?: number;
  /** Until then the secret before the last rotation signs, too. */
  readonly graceUntilMs?: number;
  /** Why and when it was switched off, if not by its owner. */
  readonly switchedOff?: { readonly why: SwitchOffReason; readonly atMs: number };
}

interface EndpointSecrets {
  /** The signing secret, or the whole address of a chat. */
  readonly sealed: string;
  /** The form that created this secret: sent again, it creates no other. */
  readonly formId: string;
  readonly previous?: { readonly sealed: string; readonly untilMs: number };
}

/** The row of an account. */
export interface WebhookRow {
  readonly endpoints: readonly WebhookEndpoint[];
  readonly secrets: Readonly<Record<WebhookEndpointId, EndpointSecrets>>;
}

const emptyRow: WebhookRow = { endpoints: [], secrets: {} };

/** Reads the endpoints of an account, oldest first. */
export async function listEndpoints(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<readonly WebhookEndpoint[]> {
  return (await kv.get<WebhookRow>(webhookEndpointsKey(accountId))).value?.endpoints ?? [];
}

/** Finds an endpoint of an account. */
export async function getEndpoint(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
): Promise<WebhookEndpoint | undefined> {
  return (await listEndpoints(kv, accountId)).find(({ id }) => id === endpointId);
}

/** Returns the row with one endpoint replaced. */
export function withEndpoint(row: WebhookRow, endpoint: WebhookEndpoint): WebhookRow {
  return { ...row, endpoints: row.endpoints.map((one) => one.id === endpoint.id ? endpoint : one) };
}

/** Why nothing was changed. `sent`: the form was sent before. */
export interface NotChanged {
  readonly ok: false;
  readonly reason: "missing" | "full" | "sent" | "conflict";
}

type Changed<Result> = { readonly ok: true; readonly row: WebhookRow; readonly done: Result };

async function changeRow<Result>(
  kv: KeyValueStore,
  accountId: AccountId,
  change: (row: WebhookRow, operation: AtomicWrite) => Changed<Result> | NotChanged,
): Promise<{ readonly ok: true; readonly done: Result } | NotChanged> {
  const outcome = await compareAndSet<{ readonly ok: true; readonly done: Result } | NotChanged>(
    async () => {
      const entry = await kv.get<WebhookRow>(webhookEndpointsKey(accountId));
      const operation = kv.atomic().check(entry);
      const changed = change(entry.value ?? emptyRow, operation);
      if (!changed.ok) return { done: changed };
      operation.set(entry.key, changed.row);
      return (await operation.commit()).ok ? { done: { ok: true, done: changed.done } } : "again";
    },
    { attempts: writeAttempts },
  );
  return outcome === "conflict" ? { ok: false, reason: "conflict" } : outcome.done;
}

/** Adds the line of a change to its commit, if it is known who makes it. The line has no secret. */
export function addEndpointLine(
  operation: AtomicWrite,
  accountId: AccountId,
  done: Done,
  change: Partial<Record<"before" | "after", WebhookEndpoint>>,
): void {
  const shown = (
    { chat, url, chatId, name, kinds, isOn, graceUntilMs, switchedOff }: Partial<WebhookEndpoint> =
      {},
  ) => ({
    ...defined({ chat, chatId }),
    url,
    name,
    kinds,
    isOn,
    formerSecretUntilAtMs: graceUntilMs,
    why: switchedOff?.why,
  });
  addAct(operation, accountId, "webhooks_changed", done, {
    ...defined({ subject: (change.after ?? change.before)?.id }),
    before: shown(change.before),
    after: shown(change.after),
  });
}

/** A secret that is shown once, with its endpoint. */
export interface NewWebhookSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}

/** A chat, and where its messages go. */
export interface Chat {
  readonly kind: ChatKind;
  readonly address: ChatAddress;
}

/** Options of an endpoint that its owner decides. */
export interface EndpointOptions {
  readonly url: string;
  readonly name: string;
  readonly kinds: readonly WebhookKind[];
}

function newEndpoint(
  { id, url, name, kinds, nowMs }: EndpointOptions & Pick<WebhookEndpoint, "id"> & Done,
): WebhookEndpoint {
  return { id, url, name, kinds, isOn: true, createdAtMs: nowMs };
}

/** Adds an endpoint with its secret to the row, unless there is no place or the form was sent before. */
async function addSealed<Result>(
  kv: KeyValueStore,
  accountId: AccountId,
  { endpoint, sealed, formId, done }: {
    readonly endpoint: WebhookEndpoint;
    readonly done: Result;
  } & Pick<EndpointSecrets, "sealed" | "formId">,
  by: Done,
): Promise<{ readonly ok: true; readonly done: Result } | NotChanged> {
  return await changeRow(kv, accountId, (row, operation) => {
    if (Object.values(row.secrets).some((one) => one.formId === formId)) {
      return { ok: false, reason: "sent" };
    }
    if (row.endpoints.length >= maxWebhookEndpoints) return { ok: false, reason: "full" };
    addEndpointLine(operation, accountId, by, { after: endpoint });
    return {
      ok: true,
      row: {
        endpoints: [...row.endpoints, endpoint],
        secrets: { ...row.secrets, [endpoint.id]: { sealed, formId } },
      },
      done,
    };
  });
}

/** Adds an endpoint, which is on. The secret is in the result and is never shown again. */
export async function addEndpoint(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  { formId, ...options }: EndpointOptions & Done & { readonly formId: string },
): Promise<{ readonly ok: true; readonly done: NewWebhookSecret } | NotChanged> {
  const id = newId("webhookEndpoint", options.nowMs);
  const secret = newWebhookSecret();
  const sealed = await seal(masterKeys, secret, sealOwners.webhook_endpoints(accountId, id));
  const endpoint = newEndpoint({ ...options, id });
  const added = { endpoint, sealed, formId, done: { endpoint, secret } };
  return await addSealed(kv, accountId, added, options);
}

/** Address of a chat, as its endpoint shows it. */
function shownChat({ kind, address }: Chat): Pick<WebhookEndpoint, "url" | "chatId"> {
  return {
    url: shownAddress(kind, address.url),
    ...defined({ chatId: address.bot?.chatId }),
  };
}

/** Adds a chat, which is on. Its address is sealed and never shown again. */
export async function addChat(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  { formId, chat, ...options }:
    & Omit<EndpointOptions, "url">
    & Done
    & { readonly formId: string; readonly chat: Chat },
): Promise<
  { readonly ok: true; readonly done: { readonly endpoint: WebhookEndpoint } } | NotChanged
> {
  const id = newId("webhookEndpoint", options.nowMs);
  const owner = sealOwners.webhook_endpoints(accountId, id);
  const sealed = await seal(masterKeys, chatAddressText(chat.address), owner);
  const { url, chatId } = shownChat(chat);
  const endpoint = {
    ...newEndpoint({ ...options, url, id }),
    chat: chat.kind,
    ...defined({ chatId }),
  };
  return await addSealed(kv, accountId, { endpoint, sealed, formId, done: { endpoint } }, options);
}

/** Seals the new address of a chat, for {@linkcode editEndpoint}. */
export async function newChatAddress(
  masterKeys: MasterKeys,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  chat: Chat,
): Promise<Pick<WebhookEndpoint, "url" | "chatId"> & Pick<EndpointSecrets, "sealed">> {
  const owner = sealOwners.webhook_endpoints(accountId, endpointId);
  return {
    ...shownChat(chat),
    sealed: await seal(masterKeys, chatAddressText(chat.address), owner),
  };
}

/** Changes an endpoint. Switching it on forgets its failures; kinds of later versions stay. */
export async function editEndpoint(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  { nowMs, by, sealed, ...change }:
    & Partial<EndpointOptions & Pick<WebhookEndpoint, "isOn" | "chatId">>
    & Partial<Pick<EndpointSecrets, "sealed">>
    & Done,
): Promise<{ readonly ok: true; readonly done: WebhookEndpoint } | NotChanged> {
  return await changeRow(kv, accountId, (row, operation) => {
    const former = row.endpoints.find(({ id }) => id === endpointId);
    if (former === undefined) return { ok: false, reason: "missing" };
    const { switchedOff, ...rest } = former;
    const isSwitched = change.isOn !== undefined && change.isOn !== former.isOn;
    const endpoint: WebhookEndpoint = {
      ...rest,
      ...defined({ switchedOff: isSwitched ? undefined : switchedOff }),
      ...change,
      ...(change.kinds !== undefined && {
        kinds: [...change.kinds, ...former.kinds.filter((kind) => !isWebhookKind(kind))],
      }),
      ...(isSwitched && change.isOn === true && { onSinceMs: nowMs }),
    };
    addEndpointLine(operation, accountId, { by, nowMs }, { before: former, after: endpoint });
    const secret = row.secrets[endpointId];
    const secrets = sealed === undefined || secret === undefined
      ? row.secrets
      : { ...row.secrets, [endpointId]: { ...secret, sealed } };
    return { ok: true, row: { ...withEndpoint(row, endpoint), secrets }, done: endpoint };
  });
}

/** Gives an endpoint a new secret. The former one signs, too, for `secretGraceMs`; an older one ends now. */
export async function rotateEndpointSecret(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  { formId, nowMs, by }: Done & { readonly formId: string },
): Promise<{ readonly ok: true; readonly done: NewWebhookSecret } | NotChanged> {
  const secret = newWebhookSecret();
  const sealed = await seal(
    masterKeys,
    secret,
    sealOwners.webhook_endpoints(accountId, endpointId),
  );
  return await changeRow(kv, accountId, (row, operation) => {
    const former = row.endpoints.find(({ id }) => id === endpointId);
    const secrets = row.secrets[endpointId];
    if (former === undefined || secrets === undefined) return { ok: false, reason: "missing" };
    if (secrets.formId === formId) return { ok: false, reason: "sent" };
    const untilMs = nowMs + secretGraceMs;
    const endpoint = { ...former, graceUntilMs: untilMs };
    addEndpointLine(operation, accountId, { by, nowMs }, { before: former, after: endpoint });
    const rotated = { sealed, formId, previous: { sealed: secrets.sealed, untilMs } };
    return {
      ok: true,
      row: {
        ...withEndpoint(row, endpoint),
        secrets: { ...row.secrets, [endpointId]: rotated },
      },
      done: { endpoint, secret },
    };
  });
}

/** Deletes an endpoint with its log. What waits to be sent to it is dropped. */
export async function deleteEndpoint(
  kv: KeyValueStore,
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  done?: Done,
): Promise<{ readonly ok: true; readonly done: null } | NotChanged> {
  const changed = await changeRow<null>(kv, accountId, (row, operation) => {
    const endpoint = row.endpoints.find(({ id }) => id === endpointId);
    if (endpoint === undefined) return { ok: false, reason: "missing" };
    const endpoints = row.endpoints.filter((one) => one !== endpoint);
    if (done !== undefined) addEndpointLine(operation, accountId, done, { before: endpoint });
    const { [endpointId]: _, ...secrets } = row.secrets;
    operation.delete(webhookStateKey(accountId, endpointId));
    return { ok: true, row: { endpoints, secrets }, done: null };
  });
  // A try that ends meanwhile finds no endpoint and writes no row.
  if (changed.ok) await deleteRows(kv, { prefix: webhookTriesPrefix(accountId, endpointId) });
  return changed;
}

/** Opens the secrets that sign now, the newest first, or the address of a chat; empty if none can be opened. */
export async function openSecrets(
  masterKeys: MasterKeys,
  accountId: AccountId,
  { secrets }: WebhookRow,
  { endpointId, nowMs }: { readonly endpointId: WebhookEndpointId; readonly nowMs: number },
): Promise<readonly string[]> {
  const { sealed, previous } = secrets[endpointId] ?? {};
  const former = previous !== undefined && nowMs < previous.untilMs ? previous.sealed : undefined;
  const texts = [sealed, former].filter((text) => text !== undefined);
  const opened = await Promise.all(
    texts.map((text) =>
      open(masterKeys, text, sealOwners.webhook_endpoints(accountId, endpointId))
    ),
  );
  return opened.filter((secret) => secret !== undefined);
}
