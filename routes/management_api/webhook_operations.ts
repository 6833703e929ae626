/** Operations on the webhooks of an organisation, over those that the pages call. */
import { z } from "zod";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  isoTime,
  listOf,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import { webhookKinds } from "../../core/people/webhooks/events.ts";
import type { EndpointCondition, WebhookTry } from "../../kv/people/webhooks/deliveries.ts";
import type { WebhookEndpoint } from "../../kv/people/webhooks/endpoints.ts";
import {
  addWebhook,
  deleteWebhook,
  editWebhook,
  listWebhooks,
  listWebhookTries,
  readWebhook,
  readWebhookTry,
  resendWebhook,
  rotateWebhookSecret,
  testWebhook,
  type WebhookAct,
  type WebhookOperation,
} from "../hooks/webhook_operations.ts";
import { listing, pagedListing } from "./lists.ts";
import {
  type AnswerShape,
  goneFields,
  goneShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

const maxTextChars = 2_000;
const kinds = z.array(z.enum(webhookKinds)).min(1);
const newBody = z.strictObject({
  url: z.string().max(maxTextChars),
  name: z.string().max(maxTextChars).default(""),
  kinds,
});
const changeBody = z.strictObject({
  url: z.string().max(maxTextChars).optional(),
  name: z.string().max(maxTextChars).optional(),
  kinds: kinds.optional(),
  is_on: z.boolean().optional(),
});
const testBody = z.strictObject({ kind: z.enum(webhookKinds) });

/** An endpoint with how it fares, or with the secret that was just made. */
interface ShownEndpoint extends Partial<EndpointCondition> {
  readonly endpoint: WebhookEndpoint;
  readonly secret?: string;
}

const endpointFields: readonly DescribedField<ShownEndpoint>[] = [
  constant("object", "webhook"),
  always("id", text, ({ endpoint }) => endpoint.id),
  always("url", text, ({ endpoint }) => endpoint.url),
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
];

const endpointShape: AnswerShape = {
  name: "Webhook",
  description: "An endpoint that gets webhooks.",
  fields: endpointFields,
};

const eventFields: readonly DescribedField<{ readonly eventId: string }>[] = [
  constant("object", "webhook_event"),
  always("event_id", text, ({ eventId }) => eventId),
];

const listedTryFields: readonly DescribedField<WebhookTry>[] = [
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
  optional("reason", text, ({ outcome }) => outcome.kind === "failed" ? outcome.reason : undefined),
  optional("next_at", dateTime, ({ nextAtMs }) => nextAtMs && isoTime(nextAtMs)),
];

const tryFields: readonly DescribedField<WebhookTry>[] = [
  ...listedTryFields,
  // As it was signed and sent; not in lists.
  optional("body", text, ({ body }) => body),
];

const tryShape: AnswerShape = {
  name: "WebhookDelivery",
  description: "A try to deliver an event, as the log keeps it.",
  fields: tryFields,
};

/** The number of a try in a path; 0 for any other text: no try has it. */
function numberOf(text: string): number {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}

/** The try that the path names. */
function tryOf({ param }: ManagementCall<unknown>) {
  const number = numberOf(param("number"));
  if (number === 0) throw new GatewayError("not_found", "The log has no such try");
  return { endpoint: param("id"), number };
}

/** Runs an operation of the pages; what it refuses becomes the error. */
async function act<Input extends z.ZodType, Body>(
  { deps, account, by, nowMs }: ManagementCall<unknown>,
  { input, run }: WebhookOperation<Input, Body>,
  sent: unknown,
): Promise<Body> {
  const who: WebhookAct = { accountId: account.id, by, nowMs };
  const { kv, masterKeys, webhooks } = deps;
  const result = await run({ kv, masterKeys, ...webhooks }, who, input.parse(sent));
  if (!result.ok) throw result.error;
  return result.body;
}

/** The same for each try of a request; without an idempotency key each request is another one. */
const formOf = ({ formId }: ManagementCall<unknown>) => formId ?? crypto.randomUUID();

async function create(call: ManagementCall<z.infer<typeof newBody>>): Promise<JsonObject> {
  const made = await act(call, addWebhook, { ...call.body, formId: formOf(call) });
  return fieldsJson(endpointFields, made);
}

async function change(call: ManagementCall<z.infer<typeof changeBody>>): Promise<JsonObject> {
  const { is_on: isOn, ...rest } = call.body;
  const sent = { endpoint: call.param("id"), ...rest, ...(isOn !== undefined && { isOn }) };
  const endpoint = await act(call, editWebhook, sent);
  return fieldsJson(endpointFields, { endpoint });
}

async function rotate(call: ManagementCall<unknown>): Promise<JsonObject> {
  const sent = { endpoint: call.param("id"), formId: formOf(call) };
  const made = await act(call, rotateWebhookSecret, sent);
  return fieldsJson(endpointFields, made);
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
    rows: (call) => act(call, listWebhooks, {}),
    idOf: ({ endpoint }) => endpoint.id,
    json: (one) => fieldsJson(endpointFields, one),
  }),
  withBody({
    id: "createWebhook",
    method: "post",
    path: webhooksPath,
    summary: "Add a webhook",
    description: "The answer has the signing secret; no later one does.",
    act: "change_webhooks",
    answer: endpointShape,
    errors: ["invalid_request", "overloaded"],
    body: { schema: newBody, example },
    run: create,
  }),
  {
    id: "getWebhook",
    method: "get",
    path: `${webhooksPath}/{id}`,
    summary: "One webhook",
    description: "An endpoint by its id.",
    act: "change_webhooks",
    answer: endpointShape,
    errors: ["invalid_request", "not_found"],
    run: async (call) => {
      const one = await act(call, readWebhook, { endpoint: call.param("id") });
      return fieldsJson(endpointFields, one);
    },
  },
  withBody({
    id: "changeWebhook",
    method: "patch",
    path: `${webhooksPath}/{id}`,
    summary: "Change a webhook",
    description: "What is left out stays as it is.",
    act: "change_webhooks",
    answer: endpointShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: changeBody, example: { is_on: false } },
    run: change,
  }),
  {
    id: "rotateWebhookSecret",
    method: "post",
    path: `${webhooksPath}/{id}/rotate`,
    summary: "Give a webhook a new secret",
    description: "The former secret signs, too, for a day.",
    act: "change_webhooks",
    answer: endpointShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    run: rotate,
  },
  withBody({
    id: "testWebhook",
    method: "post",
    path: `${webhooksPath}/{id}/test`,
    summary: "Send a test event",
    description: "Sends the example of a kind, whatever kinds the endpoint gets.",
    act: "change_webhooks",
    answer: { name: "WebhookTest", description: "An event on its way.", fields: eventFields },
    errors: ["invalid_request", "not_found"],
    body: { schema: testBody, example: { kind: "topup.credited" } },
    run: async (call) => {
      const sent = { endpoint: call.param("id"), kind: call.body.kind };
      return fieldsJson(eventFields, await act(call, testWebhook, sent));
    },
  }),
  pagedListing({
    id: "listWebhookDeliveries",
    path: `${webhooksPath}/{id}/deliveries`,
    summary: "Log of a webhook",
    description: "The tries to deliver events, newest first.",
    act: "change_webhooks",
    item: tryShape,
    errors: ["not_found"],
    async page(call, { count, after }) {
      const before = after === undefined ? undefined : numberOf(after);
      if (before === 0) return [];
      const log = await act(call, listWebhookTries, { endpoint: call.param("id"), before, count });
      return log.tries;
    },
    idOf: ({ number }) => String(number),
    json: (one) => fieldsJson(listedTryFields, one),
  }),
  {
    id: "getWebhookDelivery",
    method: "get",
    path: `${webhooksPath}/{id}/deliveries/{number}`,
    summary: "One try of a webhook",
    description: "A try by its number.",
    act: "change_webhooks",
    answer: tryShape,
    errors: ["invalid_request", "not_found"],
    run: async (call) => fieldsJson(tryFields, await act(call, readWebhookTry, tryOf(call))),
  },
  {
    id: "resendWebhookDelivery",
    method: "post",
    path: `${webhooksPath}/{id}/deliveries/{number}/again`,
    summary: "Send an event again",
    description: "With the same id and body, once.",
    act: "change_webhooks",
    answer: { name: "WebhookTest", description: "An event on its way.", fields: eventFields },
    errors: ["invalid_request", "not_found"],
    run: async (call) => fieldsJson(eventFields, await act(call, resendWebhook, tryOf(call))),
  },
  {
    id: "deleteWebhook",
    method: "delete",
    path: `${webhooksPath}/{id}`,
    summary: "Delete a webhook",
    description: "Its log is deleted, too.",
    act: "change_webhooks",
    answer: goneShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    run: async (call) => {
      await act(call, deleteWebhook, { endpoint: call.param("id") });
      return fieldsJson(goneFields, { id: call.param("id") });
    },
  },
];
