/** Operations on the API keys of an organisation. */
import { z } from "zod";
import { fromVnd, microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { type ApiKeyId, parseId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  isoTime,
  listOf,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import {
  limitTable,
  periodKind,
  type PeriodLimitName,
  periodLimitNames,
  periodLimitsFrom,
  rateLimitsOf,
} from "../../core/limits/limit_table.ts";
import { keyMember } from "../../core/limits/budgets.ts";
import { limitsAnything, rateLimitsFrom } from "../../core/limits/rate_limits.ts";
import { hourMs } from "../../core/lib/time/durations.ts";
import { isAddressRange } from "../../core/people/api_keys/api_key.ts";
import { mailReaderOf } from "../../kv/people/accounts/accounts.ts";
import {
  createApiKey,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from "../../kv/people/api_keys/api_key_changes.ts";
import {
  type ApiKeyOptions,
  type ApiKeyRecord,
  getApiKey,
  isActive,
  listApiKeys,
} from "../../kv/people/api_keys/api_keys.ts";
import { listTeams } from "../../kv/people/organisations/teams.ts";
import { mayAct } from "../acts/operation.ts";
import { wrongParameter } from "../http/query.ts";
import { listing } from "./lists.ts";
import {
  actingOf,
  type AnswerShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

/** Above any wallet, and small enough for a safe integer: in whole VND. */
const maxLimitVnd = 1_000_000_000_000;
/** Most of a rate: more is no limit. */
const maxRate = 1_000_000_000;
const maxNameChars = 60;
const maxRanges = 50;
const maxModels = 500;
/** Most hours for which the old secret of a rotated key works: a week, to reach every deployment. */
const maxGraceHours = 168;

const keyRateNames = rateLimitsOf("key");

/** Names a limit as the API does: `dailyLimit` is `daily_limit_vnd`. */
function apiName(name: PeriodLimitName | (typeof keyRateNames)[number]): string {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return limitTable[name].meter === "money" && !snake.endsWith("_vnd") ? `${snake}_vnd` : snake;
}

const limitSchemas = Object.fromEntries([
  ...periodLimitNames.map((name) =>
    [apiName(name), z.int().min(1).max(maxLimitVnd).optional()] as const
  ),
  ...keyRateNames.map((name) => [apiName(name), z.int().min(1).max(maxRate).optional()] as const),
]);

const settings = {
  name: z.string().trim().min(1).max(maxNameChars),
  team_id: z.string().nullable().optional(),
  expires_at: z.iso.datetime().nullable().optional(),
  allowed_models: z.array(z.string()).min(1).max(maxModels).nullable().optional(),
  allowed_ips: z.array(z.string()).min(1).max(maxRanges).nullable().optional(),
  reads_only_own_calls: z.boolean().optional(),
  limits: z.strictObject(limitSchemas).optional(),
};

const newKeyBody = z.strictObject(settings);
const changedKeyBody = z.strictObject({ ...settings, name: settings.name.optional() });
const rotationBody = z.strictObject({ grace_hours: z.int().min(0).max(maxGraceHours).default(0) });

type Settings = z.infer<typeof changedKeyBody>;

/** A key with the secret that was just made. */
interface ShownKey {
  readonly record: ApiKeyRecord;
  readonly nowMs: number;
  readonly secret?: string;
}

function limitsJson(record: ApiKeyRecord): JsonObject {
  const periods = periodLimitNames.flatMap((name): [string, number][] => {
    const limit = record[limitTable[name].stored];
    if (limit === undefined) return [];
    const isMoney = periodKind(name).meter === "money";
    return [[apiName(name), Number(isMoney ? limit / microVndPerVnd : limit)]];
  });
  const rates = keyRateNames.flatMap((name): [string, number][] => {
    const limit = record.rateLimits?.[name];
    return limit === undefined ? [] : [[apiName(name), limit]];
  });
  return Object.fromEntries([...periods, ...rates]);
}

const keyFields: readonly DescribedField<ShownKey>[] = [
  constant("object", "api_key"),
  always("id", text, ({ record }) => record.id),
  always("name", text, ({ record }) => record.name),
  always("masked", text, ({ record }) => record.masked),
  always("state", { type: "string", enum: ["active", "expired", "revoked"] }, (shown) => {
    const { record, nowMs } = shown;
    if (record.revokedAtMs !== undefined) return "revoked";
    return isActive(record, nowMs) ? "active" : "expired";
  }),
  always("created_at", dateTime, ({ record }) => isoTime(record.createdAtMs)),
  optional(
    "revoked_at",
    dateTime,
    ({ record }) => record.revokedAtMs && isoTime(record.revokedAtMs),
  ),
  optional(
    "expires_at",
    dateTime,
    ({ record }) => record.expiresAtMs && isoTime(record.expiresAtMs),
  ),
  optional("team_id", text, ({ record }) => record.teamId),
  optional("member_id", text, ({ record }) => keyMember(record)),
  optional("allowed_models", listOf(text), ({ record }) => record.allowedModels?.slice()),
  optional("allowed_ips", listOf(text), ({ record }) => record.allowedIps?.slice()),
  always(
    "reads_only_own_calls",
    { type: "boolean" },
    ({ record }) => record.readsOnlyOwnCalls === true,
  ),
  always("limits", { type: "object" }, ({ record }) => limitsJson(record)),
  // In the answer that makes it only.
  optional("secret", text, ({ secret }) => secret),
];

const keyShape: AnswerShape = {
  name: "ManagedKey",
  description: "An API key.",
  fields: keyFields,
};

/** Reads settings over those of a key; what is left out stays, `null` clears. */
async function optionsOf(
  { deps, account, nowMs }: ManagementCall<unknown>,
  sent: Settings,
  before?: ApiKeyRecord,
): Promise<ApiKeyOptions> {
  const name = sent.name ?? before?.name;
  if (name === undefined) throw wrongParameter("name", "is missing");
  const kept = <Value>(value: Value | null | undefined, old: Value | undefined) =>
    value === undefined ? old : value ?? undefined;
  const range = sent.allowed_ips?.find((one) => !isAddressRange(one));
  if (range !== undefined) throw wrongParameter("allowed_ips", `"${range}" is no address or range`);
  const model = sent.allowed_models?.find((id) =>
    deps.catalog.find(id)?.id !== id && before?.allowedModels?.includes(id) !== true
  );
  if (model !== undefined) throw wrongParameter("allowed_models", `there is no model "${model}"`);
  const teams = typeof sent.team_id === "string" ? await listTeams(deps.kv, account.id) : [];
  const team = teams.find(({ id }) => id === sent.team_id)?.id;
  if (typeof sent.team_id === "string" && team === undefined) {
    throw wrongParameter("team_id", "there is no such team");
  }
  const expiresAtMs = kept(
    sent.expires_at === null || sent.expires_at === undefined
      ? sent.expires_at
      : Date.parse(sent.expires_at),
    before?.expiresAtMs,
  );
  if (typeof sent.expires_at === "string" && (expiresAtMs ?? 0) <= nowMs) {
    throw wrongParameter("expires_at", "must be in the future");
  }
  return {
    name,
    ...limitsOf(sent.limits, before),
    ...defined({
      teamId: kept(sent.team_id === null ? null : team, before?.teamId),
      expiresAtMs,
      allowedModels: kept(sent.allowed_models, before?.allowedModels),
      allowedIps: kept(sent.allowed_ips, before?.allowedIps),
    }),
    ...((sent.reads_only_own_calls ?? before?.readsOnlyOwnCalls) === true &&
      { readsOnlyOwnCalls: true as const }),
  };
}

/** Reads limits; if some are sent, they replace all that the key has. */
function limitsOf(
  sent: Settings["limits"],
  before: ApiKeyRecord | undefined,
): Pick<ApiKeyOptions, "rateLimits"> & Partial<ApiKeyOptions> {
  const numberOf = (name: Parameters<typeof apiName>[0]) => sent?.[apiName(name)];
  const periods = periodLimitsFrom((name) => {
    if (sent === undefined) return before?.[limitTable[name].stored];
    const limit = numberOf(name);
    if (limit === undefined) return undefined;
    return periodKind(name).meter === "money" ? fromVnd(limit) : BigInt(limit);
  });
  const rates = sent === undefined
    ? before?.rateLimits ?? {}
    : rateLimitsFrom(keyRateNames, numberOf);
  return { ...periods, ...(limitsAnything(rates) && { rateLimits: rates }) };
}

async function keyOf({ deps: { kv }, account, param }: ManagementCall<unknown>) {
  const id: ApiKeyId | undefined = parseId("apiKey", param("id"));
  const record = id === undefined ? undefined : await getApiKey(kv, account.id, id);
  if (record === undefined) throw new GatewayError("not_found", "There is no such key");
  return record;
}

/** Finds the key that is to be changed; some roles change only the keys that they have made. */
async function changeableKeyOf(call: ManagementCall<unknown>): Promise<ApiKeyRecord> {
  const record = await keyOf(call);
  if (mayAct(actingOf(call), "change_keys", keyMember(record))) return record;
  throw new GatewayError("permission_denied", "The role allows this on own keys only");
}

function shown(call: ManagementCall<unknown>, record: ApiKeyRecord, secret?: string): JsonObject {
  return fieldsJson(keyFields, { record, nowMs: call.nowMs, ...defined({ secret }) });
}

async function create(call: ManagementCall<z.infer<typeof newKeyBody>>): Promise<JsonObject> {
  const { deps, account, nowMs, formId } = call;
  const made = await createApiKey(deps.kv, deps.masterKeys, account.id, {
    ...await optionsOf(call, call.body),
    nowMs,
    // Who may change only their own keys makes keys that are theirs, and end with their membership.
    ...(mayAct(actingOf(call), "change_keys", undefined)
      ? { madeByProgram: true as const }
      : { memberId: call.key.memberId }),
    keysPerMember: deps.keysPerMember,
    doneBy: call.by,
    notify: mailReaderOf(account, "key_changed"),
    ...defined({ formId }),
  });
  deps.hintMail();
  if (made.ok) return shown(call, made.record, made.secret);
  if (made.reason === "limit") {
    throw wrongParameter(
      "name",
      `the organisation has ${made.limit} active keys, which is the most`,
    );
  }
  if (made.reason === "conflict") {
    throw new GatewayError("overloaded", "The keys are being changed by others; try again");
  }
  const record = await getApiKey(deps.kv, account.id, made.made.keyId);
  if (record === undefined) throw new GatewayError("not_found", "There is no such key");
  return shown(call, record);
}

async function change(call: ManagementCall<Settings>): Promise<JsonObject> {
  const { deps, account, by, nowMs } = call;
  const record = await changeableKeyOf(call);
  if (record.revokedAtMs !== undefined) throw wrongParameter("id", "the key is revoked");
  const options = await optionsOf(call, call.body, record);
  const changed = await updateApiKey(deps.kv, account.id, record.id, options, {
    doneBy: by,
    nowMs,
  });
  await deps.control.refresh();
  return shown(call, changed ?? record);
}

async function rotate(call: ManagementCall<z.infer<typeof rotationBody>>): Promise<JsonObject> {
  const { deps, account, nowMs, formId, body } = call;
  const { id } = await changeableKeyOf(call);
  const rotated = await rotateApiKey(deps.kv, deps.masterKeys, account.id, id, {
    nowMs,
    graceMs: body.grace_hours * hourMs,
    doneBy: call.by,
    notify: mailReaderOf(account, "key_changed"),
    ...defined({ formId }),
  });
  deps.hintMail();
  await deps.control.refresh();
  if (rotated === undefined) throw wrongParameter("id", "the key is not active");
  return rotated.ok ? shown(call, rotated.record, rotated.secret) : shown(call, await keyOf(call));
}

async function revoke(call: ManagementCall<unknown>): Promise<JsonObject> {
  const { deps, account, by, nowMs } = call;
  const { id } = await changeableKeyOf(call);
  const notify = mailReaderOf(account, "key_changed");
  const revoked = await revokeApiKey(deps.kv, account.id, id, nowMs, { notify, doneBy: by });
  deps.hintMail();
  await deps.control.refresh();
  if (revoked === undefined) throw new GatewayError("not_found", "There is no such key");
  return shown(call, revoked);
}

const example: JsonObject = {
  name: "production server",
  limits: { monthly_limit_vnd: 5_000_000, requests_per_minute: 60 },
};

/** The operations. */
export const keyOperations: readonly ManagementOperation[] = [
  listing({
    id: "listKeys",
    path: "/v1/organisation/keys",
    summary: "API keys",
    description: "The API keys of the organisation, oldest first, revoked ones included.",
    act: "view_keys",
    item: keyShape,
    rows: (call) => listApiKeys(call.deps.kv, call.account.id),
    idOf: ({ id }) => id,
    json: (record, call) => shown(call, record),
  }),
  withBody({
    id: "createKey",
    method: "post",
    path: "/v1/organisation/keys",
    summary: "Make an API key",
    description: "The answer has the secret; no later one does. Limits of money are in whole VND.",
    act: "change_keys",
    answer: keyShape,
    errors: ["invalid_request", "overloaded"],
    body: { schema: newKeyBody, example },
    run: create,
  }),
  {
    id: "getKey",
    method: "get",
    path: "/v1/organisation/keys/{id}",
    summary: "One API key",
    description: "An API key by its id.",
    act: "view_keys",
    answer: keyShape,
    errors: ["not_found"],
    run: async (call) => shown(call, await keyOf(call)),
  },
  withBody({
    id: "changeKey",
    method: "patch",
    path: "/v1/organisation/keys/{id}",
    summary: "Change an API key",
    description:
      "What is left out stays as it is, `null` clears; `limits` replaces all limits of the key.",
    act: "change_keys",
    answer: keyShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: changedKeyBody, example: { name: "staging server" } },
    run: change,
  }),
  withBody({
    id: "rotateKey",
    method: "post",
    path: "/v1/organisation/keys/{id}/rotate",
    summary: "Give a key a new secret",
    description: "The old secret works for `grace_hours` more.",
    act: "change_keys",
    answer: keyShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: rotationBody, example: { grace_hours: 24 } },
    run: rotate,
  }),
  {
    id: "revokeKey",
    method: "delete",
    path: "/v1/organisation/keys/{id}",
    summary: "Revoke an API key",
    description:
      "For good, on every instance within two seconds. Revoking it again changes nothing.",
    act: "change_keys",
    answer: keyShape,
    errors: ["not_found", "overloaded"],
    run: revoke,
  },
];
