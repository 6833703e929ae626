/** Operations on the webhooks of an organisation. */
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import {
  always,
  constant,
  count,
  dateTime,
  isoTime,
  listOf,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import { destinationKinds } from "../../core/people/webhooks/destinations.ts";
import {
  type EndpointCondition,
  getTry,
  listTries,
  readConditions,
  type WebhookTry,
} from "../../kv/people/webhooks/deliveries.ts";
import {
  getEndpoint,
  listEndpoints,
  type WebhookEndpoint,
} from "../../kv/people/webhooks/endpoints.ts";
import {
  tryNumber,
  webhookChange,
  webhookCreation,
  webhookDeletion,
  webhookResending,
  webhookRotation,
  webhookTest,
} from "../acts/webhooks.ts";
import { listing, pagedListing } from "./lists.ts";
import {
  actOperation,
  found,
  goneShape,
  type ManagementCall,
  type ManagementOperation,
  reading,
  shape,
} from "./operation.ts";

/** An endpoint with how it fares, or with the secret that was just made. */
interface ShownEndpoint extends Partial<EndpointCondition> {
  readonly endpoint: WebhookEndpoint;
  readonly secret?: string;
}

const endpointShape = shape<ShownEndpoint>("Webhook", "An endpoint that gets webhooks.", [
  constant("object", "webhook"),
  always("id", text, ({ endpoint }) => endpoint.id),
  always(
    "destination",
    { type: "string", enum: [...destinationKinds] },
    ({ endpoint }) => endpoint.chat ?? "webhook",
  ),
  // Of Slack the server alone: the rest is a secret.
  always("url", text, ({ endpoint }) => endpoint.url),
  // Of bots. Their tokens are in no answer.
  optional("chat_id", text, ({ endpoint }) => endpoint.chatId),
  always("name", text, ({ endpoint }) => endpoint.name),
  always("kinds", listOf(text), ({ endpoint }) => endpoint.kinds.slice()),
  always("is_on", { type: "boolean" }, ({ endpoint }) => endpoint.isOn),
  always("created_at", dateTime, ({ endpoint }) => isoTime(endpoint.createdAtMs)),
  // In answers that read it: events that wait, and the last ones that were dropped because too many waited.
  optional("waiting", count, ({ waiting }) => waiting),
  optional("dropped", count, ({ dropped }) => dropped?.count),
  optional("dropped_since", dateTime, ({ dropped }) => dropped && isoTime(dropped.sinceMs)),
  optional("dropped_last_at", dateTime, ({ dropped }) => dropped && isoTime(dropped.lastAtMs)),
  // In the answer that makes it only.
  optional("secret", text, ({ secret }) => secret),
]);

const eventShape = shape<string>("WebhookTest", "An event on its way.", [
  constant("object", "webhook_event"),
  always("event_id", text, (eventId) => eventId),
]);

/** A try; lists leave out its body. */
type ShownTry = Omit<WebhookTry, "body"> & Partial<Pick<WebhookTry, "body">>;

const tryShape = shape<ShownTry>(
  "WebhookDelivery",
  "A try to deliver an event, as the log keeps it.",
  [
    constant("object", "webhook_delivery"),
    // Numbers the tries of the endpoint.
    always("number", count, ({ number }) => number),
    always("event_id", text, ({ eventId }) => eventId),
    always("type", text, ({ type }) => type),
    // 1 for the first try of its delivery.
    always("attempt", count, ({ attempt }) => attempt),
    always("at", dateTime, ({ atMs }) => isoTime(atMs)),
    always("duration_ms", { type: "number" }, ({ durationMs }) => durationMs),
    always("outcome", { type: "string", enum: ["delivered", "failed"] }, (one) => one.outcome.kind),
    optional("status", { type: "integer" }, ({ outcome }) => outcome.status),
    optional(
      "reason",
      text,
      ({ outcome }) => outcome.kind === "failed" ? outcome.reason : undefined,
    ),
    // What a chat service said.
    optional("answer", text, ({ outcome }) => outcome.answer),
    optional("next_at", dateTime, ({ nextAtMs }) => nextAtMs && isoTime(nextAtMs)),
    // As it was signed and sent; not in lists.
    optional("body", text, ({ body }) => body),
  ],
);

/** The endpoint that the path names. */
async function endpointOf(
  { deps: { kv }, account, param }: ManagementCall<unknown>,
): Promise<WebhookEndpoint> {
  const id = parseId("webhookEndpoint", param("id"));
  return found(id && await getEndpoint(kv, account.id, id), "endpoint");
}

const webhooksPath = "/v1/organisation/webhooks";
const example: JsonObject = {
  url: "https://example.com/hooks",
  name: "accounting",
  kinds: ["topup.credited", "budget.reached"],
};

/** The operations. */
export const webhookOperations: readonly ManagementOperation[] = [
  listing({
    id: "listWebhooks",
    path: webhooksPath,
    summary: "Webhooks",
    description: "The endpoints that get webhooks, oldest first.",
    act: "change_webhooks",
    item: endpointShape,
    rows: async ({ deps: { kv }, account }) =>
      await readConditions(kv, account.id, await listEndpoints(kv, account.id)),
  }),
  actOperation({
    operation: webhookCreation,
    method: "post",
    path: webhooksPath,
    summary: "Add a webhook",
    description:
      "To a server (the answer has the signing secret; no later one does) or to a chat: Slack by its `url`, Telegram and Zalo by `token` and `chat_id`.",
    answer: endpointShape,
    example,
  }),
  reading({
    id: "getWebhook",
    path: `${webhooksPath}/{id}`,
    summary: "One webhook",
    description: "An endpoint by its id.",
    act: "change_webhooks",
    answer: endpointShape,
    async read(call) {
      const endpoint = await endpointOf(call);
      const [condition] = await readConditions(call.deps.kv, call.account.id, [endpoint]);
      return { endpoint, ...condition };
    },
  }),
  actOperation({
    operation: webhookChange,
    method: "patch",
    path: `${webhooksPath}/{id}`,
    summary: "Change a webhook",
    description:
      "What is left out stays as it is. Another `chat_id` or server of a bot needs its `token`.",
    answer: endpointShape,
    example: { is_on: false },
    rowOf: (endpoint) => ({ endpoint }),
  }),
  actOperation({
    operation: webhookRotation,
    method: "post",
    path: `${webhooksPath}/{id}/rotate`,
    summary: "Give a webhook a new secret",
    description: "The former secret signs, too, for a day.",
    answer: endpointShape,
  }),
  actOperation({
    operation: webhookTest,
    method: "post",
    path: `${webhooksPath}/{id}/test`,
    summary: "Send a test event",
    description: "Sends the example of a kind, whatever kinds the endpoint gets.",
    answer: eventShape,
    example: { kind: "topup.credited" },
  }),
  pagedListing({
    id: "listWebhookDeliveries",
    path: `${webhooksPath}/{id}/deliveries`,
    summary: "Log of a webhook",
    description: "The tries to deliver events, newest first.",
    act: "change_webhooks",
    item: tryShape,
    async page(call, { count, after }) {
      const { id } = await endpointOf(call);
      const before = tryNumber.safeParse(after).data;
      if (after !== undefined && before === undefined) return [];
      const { tries } = await listTries(call.deps.kv, call.account.id, id, { before, count });
      return tries.map(({ body: _, ...listed }) => listed);
    },
    cursorOf: ({ number }) => String(number),
  }),
  reading({
    id: "getWebhookDelivery",
    path: `${webhooksPath}/{id}/deliveries/{number}`,
    summary: "One try of a webhook",
    description: "A try by its number.",
    act: "change_webhooks",
    answer: tryShape,
    async read(call) {
      const { id } = await endpointOf(call);
      const number = tryNumber.safeParse(call.param("number")).data;
      const one = number && await getTry(call.deps.kv, call.account.id, id, number);
      if (!one) throw new GatewayError("not_found", "The log has no such try any more");
      return one;
    },
  }),
  actOperation({
    operation: webhookResending,
    method: "post",
    path: `${webhooksPath}/{id}/deliveries/{number}/again`,
    summary: "Send an event again",
    description: "With the same id and body, once.",
    answer: eventShape,
  }),
  actOperation({
    operation: webhookDeletion,
    method: "delete",
    path: `${webhooksPath}/{id}`,
    summary: "Delete a webhook",
    description: "Its log is deleted, too.",
    answer: goneShape,
  }),
];
