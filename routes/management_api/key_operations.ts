/** Operations on the API keys of an organisation. */
import { microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  isoTime,
  listOf,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import {
  limitTable,
  periodKind,
  periodLimitNames,
  rateLimitsOf,
} from "../../core/limits/limit_table.ts";
import { keyMember } from "../../core/limits/budgets.ts";
import {
  type ApiKeyRecord,
  getApiKey,
  isActive,
  listApiKeys,
} from "../../kv/people/api_keys/api_keys.ts";
import {
  keyMoverNames,
  type KeyMovers,
  keyMovers,
} from "../../kv/people/organisations/key_rules.ts";
import {
  keyChange,
  keyCreation,
  type KeyLimitName,
  keyRevocation,
  keyRotation,
  keyRulesChange,
  type KeyWithSecret,
  limitMember,
} from "../acts/keys.ts";
import { callSettingsJson } from "./call_settings_operations.ts";
import { listing } from "./lists.ts";
import {
  actOperation,
  found,
  type ManagementCall,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
  snakeName,
} from "./operation.ts";

/** Names a limit as this API does: `dailyLimit` is `daily_limit_vnd`. */
function apiName(name: KeyLimitName): string {
  return snakeName(limitMember(name));
}

/** A key as it is now, with the secret that was just made. */
interface ShownKey extends KeyWithSecret {
  readonly nowMs: number;
}

function limitsJson(record: ApiKeyRecord): JsonObject {
  const periods = periodLimitNames.flatMap((name): [string, number][] => {
    const limit = record[limitTable[name].stored];
    if (limit === undefined) return [];
    const isMoney = periodKind(name).meter === "money";
    return [[apiName(name), Number(isMoney ? limit / microVndPerVnd : limit)]];
  });
  const rates = rateLimitsOf("key").flatMap((name): [string, number][] => {
    const limit = record.rateLimits?.[name];
    return limit === undefined ? [] : [[apiName(name), limit]];
  });
  return Object.fromEntries([...periods, ...rates]);
}

const keyShape = shape<ShownKey>("ManagedKey", "An API key.", [
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
  optional("app_name", text, ({ record }) => record.app?.name),
  optional("app_host", text, ({ record }) => record.app?.host),
  optional("member_id", text, ({ record }) => keyMember(record)),
  optional("allowed_models", listOf(text), ({ record }) => record.allowedModels?.slice()),
  optional("allowed_ips", listOf(text), ({ record }) => record.allowedIps?.slice()),
  always(
    "reads_only_own_calls",
    { type: "boolean" },
    ({ record }) => record.readsOnlyOwnCalls === true,
  ),
  always("limits", { type: "object" }, ({ record }) => limitsJson(record)),
  optional(
    "calls",
    { type: "object" },
    ({ record: { calls } }) => calls && callSettingsJson(calls),
  ),
  // In the answer that makes it only.
  optional("secret", text, ({ secret }) => secret),
]);

function shown(record: ApiKeyRecord, { nowMs }: ManagementCall<unknown>): ShownKey {
  return { record, nowMs };
}

function withSecret(made: KeyWithSecret, { nowMs }: ManagementCall<unknown>): ShownKey {
  return { ...made, nowMs };
}

const rulesShape = shape<KeyMovers>("KeyRules", "Rules of API keys.", [
  constant("object", "key_rules"),
  always("moved_by", { type: "string", enum: [...keyMoverNames] }, (movers) => movers),
]);

const rulesPath = `${organisationPath}/key-rules`;
const keysPath = `${organisationPath}/keys`;

const example: JsonObject = {
  name: "production server",
  limits: { monthly_limit_vnd: 5_000_000, requests_per_minute: 60 },
};

/** The operations. */
export const keyOperations: readonly ManagementOperation[] = [
  listing({
    id: "listKeys",
    path: keysPath,
    summary: "API keys",
    description: "The API keys of the organisation, oldest first, revoked ones included.",
    act: "view_keys",
    item: keyShape,
    rows: async (call) =>
      (await listApiKeys(call.deps.kv, call.account.id)).map((record) => shown(record, call)),
  }),
  actOperation({
    operation: keyCreation,
    method: "post",
    path: keysPath,
    summary: "Make an API key",
    description:
      "The answer has the secret; no later one does. Limits of money are in whole VND. " +
      "Unless `reads_only_own_calls` says otherwise, a key with limits reads only its own calls.",
    answer: keyShape,
    example,
    rowOf: withSecret,
  }),
  reading({
    id: "getKey",
    path: `${keysPath}/{id}`,
    summary: "One API key",
    description: "An API key by its id.",
    act: "view_keys",
    answer: keyShape,
    async read(call) {
      const id = parseId("apiKey", call.param("id"));
      const record = id && await getApiKey(call.deps.kv, call.account.id, id);
      return shown(found(record, "key"), call);
    },
  }),
  actOperation({
    operation: keyChange,
    method: "patch",
    path: `${keysPath}/{id}`,
    summary: "Change an API key",
    description:
      "What is left out stays as it is, `null` clears; `limits` replaces all limits of the key.",
    answer: keyShape,
    example: { name: "staging server" },
    rowOf: shown,
  }),
  actOperation({
    operation: keyRotation,
    method: "post",
    path: `${keysPath}/{id}/rotate`,
    summary: "Give a key a new secret",
    description: "The old secret works for `grace_hours` more.",
    answer: keyShape,
    example: { grace_hours: 24 },
    rowOf: withSecret,
  }),
  actOperation({
    operation: keyRevocation,
    method: "delete",
    path: `${keysPath}/{id}`,
    summary: "Revoke an API key",
    description:
      "For good, on every instance within two seconds. Revoking it again changes nothing.",
    answer: keyShape,
    rowOf: shown,
  }),
  reading({
    id: "getKeyRules",
    path: rulesPath,
    summary: "Rules of API keys",
    description: "Who moves API keys between teams.",
    act: "view_members",
    answer: rulesShape,
    read: ({ account }) => keyMovers(account),
  }),
  actOperation({
    operation: keyRulesChange,
    method: "patch",
    path: rulesPath,
    summary: "Change the rules of API keys",
    description:
      "`admins`: only members who may change members move a key into a team or out of one. " +
      "`makers`: whoever may change a key may also move it.",
    answer: rulesShape,
    example: { moved_by: "makers" },
  }),
];
