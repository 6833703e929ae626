/** Acts on API keys, on management keys, and on the rule about who moves API keys between teams. */
import { z } from "zod";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { nameOf } from "../../core/lib/base/names.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { hourMs } from "../../core/lib/time/durations.ts";
import { keyMember } from "../../core/limits/budgets.ts";
import {
  limitTable,
  periodLimitNames,
  periodLimitsFrom,
  rateLimitsOf,
} from "../../core/limits/limit_table.ts";
import { limitsAnything, rateLimitsFrom } from "../../core/limits/rate_limits.ts";
import { isAddressRange } from "../../core/people/api_keys/api_key.ts";
import { hasOnlyBooks, mailReaderOf } from "../../kv/people/accounts/accounts.ts";
import {
  createApiKey,
  hasSettings,
  revealMadeByForm,
  revokeApiKey,
  rotateApiKey,
  type SentBefore,
  updateApiKey,
} from "../../kv/people/api_keys/api_key_changes.ts";
import {
  type ApiKeyOptions,
  type ApiKeyRecord,
  getApiKey,
  isActive,
  type KeyApp,
} from "../../kv/people/api_keys/api_keys.ts";
import { keyMoverNames, keyMovers, setKeyMovers } from "../../kv/people/organisations/key_rules.ts";
import { listTeams } from "../../kv/people/organisations/teams.ts";
import {
  callSettingsOf,
  callSettingsRefusals,
  keyCallSettingsInput,
  unknownInCallSettings,
} from "./call_settings.ts";
import {
  type ActDeps,
  type Acting,
  done,
  idOf,
  mayAct,
  operation,
  type Refused,
  refused,
} from "./operation.ts";
import {
  createManagementKey,
  type ManagementKey,
  managementRoles,
  maxManagementKeys,
  revokeManagementKey,
} from "../../kv/people/management_keys/management_keys.ts";

/** The largest limit of a day or month: above any wallet, and exact in a number. */
const maxPeriodLimit = 1_000_000_000_000;
/** The largest limit of a minute or at once: more is no limit. */
const maxRateLimit = 999_999_999;
/** Most addresses and ranges of a key. */
export const maxAddressRanges = 50;
/** Most models of a key: more than a catalogue has. */
const maxModels = 500;
const maxModelChars = 256;
/** Most hours for which the old secret of a rotated key works: a week, to reach every deployment. */
const maxGraceHours = 168;

const keyRateNames = rateLimitsOf("key");

/** The limits that a key can have, in the order of forms. */
export const keyLimitNames = [...periodLimitNames, ...keyRateNames] as const;

/** A limit that a key can have. */
export type KeyLimitName = typeof keyLimitNames[number];

/** Names the member of the input that sets a limit: money is in whole VND, and says so. */
export function limitMember(name: KeyLimitName): string {
  return limitTable[name].meter === "money" ? `${name}Vnd` : name;
}

function isPeriodLimit(name: KeyLimitName): boolean {
  return periodLimitNames.some((one) => one === name);
}

/** The largest value of a limit. */
export function maxLimitOf(name: KeyLimitName): number {
  return isPeriodLimit(name) ? maxPeriodLimit : maxRateLimit;
}

const limits = z.strictObject(Object.fromEntries(
  keyLimitNames.map((name) => [
    limitMember(name),
    z.int().min(1).max(maxLimitOf(name)).exactOptional(),
  ]),
));

const id = idOf("apiKey", "must be the id of an API key");

const listed = (one: z.ZodString, maxCount: number) =>
  z.array(one).min(1).max(maxCount).transform((some) => [...new Set(some)]);

const address = z.string().refine(isAddressRange, "must be an address or a range");
const model = z.string().min(1).max(maxModelChars);

/** Settings of a key beside its name: what is left out stays as it is, `null` clears. */
const settings = {
  teamId: idOf("team", "must be the id of a team").nullable().exactOptional(),
  expiresAt: z.iso.datetime().transform((text) => Date.parse(text)).nullable().exactOptional(),
  allowedModels: listed(model, maxModels).nullable().exactOptional(),
  allowedIps: listed(address, maxAddressRanges).nullable().exactOptional(),
  /** Absent of a new key: one with limits does, another one reads the whole account. */
  readsOnlyOwnCalls: z.boolean().exactOptional(),
  /** They replace all settings of its calls. */
  calls: keyCallSettingsInput.nullable().exactOptional(),
  /** They replace all limits of the key. */
  limits: limits.exactOptional(),
};

/** The input of a new key. */
export const newKey = z.strictObject({ name: nameOf(), ...settings });
const changedKey = z.strictObject({ id, name: nameOf().exactOptional(), ...settings });

type Settings = Omit<z.output<typeof changedKey>, "id">;

/** The settings of a key once they are changed; `before` is absent of a new key. */
function settingsAfter(
  sent: Settings & Pick<ApiKeyOptions, "name">,
  before: ApiKeyOptions | undefined,
): ApiKeyOptions {
  const kept = <Value>(value: Value | null | undefined, old: Value | undefined) =>
    value === undefined ? old : value ?? undefined;
  const { teamId, ...limiting } = {
    teamId: kept(sent.teamId, before?.teamId),
    expiresAtMs: kept(sent.expiresAt, before?.expiresAtMs),
    allowedModels: kept<readonly string[]>(sent.allowedModels, before?.allowedModels),
    allowedIps: kept<readonly string[]>(sent.allowedIps, before?.allowedIps),
    ...limitsAfter(sent.limits, before),
  };
  const bounds = defined(limiting);
  const isLimited = Object.keys(bounds).length > 0;
  const readsOnlyOwnCalls = sent.readsOnlyOwnCalls ??
    (before === undefined ? isLimited : before.readsOnlyOwnCalls === true);
  const calls = sent.calls === undefined
    ? before?.calls
    : sent.calls === null
    ? undefined
    : callSettingsOf(sent.calls);
  return {
    name: sent.name,
    ...defined({ teamId, calls }),
    ...bounds,
    ...(readsOnlyOwnCalls && { readsOnlyOwnCalls }),
  };
}

function limitsAfter(
  sent: Settings["limits"],
  before: ApiKeyOptions | undefined,
): Partial<ApiKeyOptions> {
  const sentOf = (name: KeyLimitName) => sent?.[limitMember(name)];
  const periods = periodLimitsFrom((name) => {
    if (sent === undefined) return before?.[limitTable[name].stored];
    const limit = sentOf(name);
    if (limit === undefined) return undefined;
    return limitTable[name].meter === "money" ? fromVnd(limit) : BigInt(limit);
  });
  const rates = sent === undefined
    ? before?.rateLimits ?? {}
    : rateLimitsFrom(keyRateNames, sentOf);
  return { ...periods, ...(limitsAnything(rates) && { rateLimits: rates }) };
}

/** Whether somebody moves a key between teams, or out of one: its maker may where the organisation lets makers do it. */
export function mayMoveKey(
  acting: Pick<Acting, "account" | "roles" | "personId">,
  record: ApiKeyRecord,
): boolean {
  return keyMovers(acting.account) === "makers" ||
    mayAct(acting, "change_members", keyMember(record));
}

const wrong = (field: string, message: string) =>
  ({ code: "invalid_request", field, message }) as const;

/** Why settings of a key are refused. */
export const settingRefusals = {
  past: wrong("expiresAt", "must be in the future"),
  model: wrong("allowedModels", "there is no such model"),
  team: wrong("teamId", "there is no such team"),
  ...callSettingsRefusals,
} as const;

/** The refusal of one key too many. */
export const fullRefusal = {
  code: "invalid_request",
  message: "The organisation has as many active keys as it may",
} as const;

const busy = {
  code: "overloaded",
  message: "The keys are being changed by others; try again",
} as const;

const keyRefusals = {
  missing: { code: "not_found", message: "There is no such key" },
  not_own: { code: "permission_denied", message: "The role allows this on own keys only" },
} as const;

const ended = { code: "invalid_request", message: "The key is not active" } as const;

/** Why settings are refused that each have the right form. */
export async function settingsProblem(
  { kv, catalog }: ActDeps,
  acting: Acting,
  { expiresAt, allowedModels, teamId, calls }: Settings,
  before?: ApiKeyRecord,
): Promise<keyof typeof settingRefusals | undefined> {
  if (typeof expiresAt === "number" && expiresAt <= acting.nowMs) return "past";
  // A model of the key that has left the catalogue still limits it, and may return.
  const isModel = (id: string) =>
    catalog.find(id)?.id === id || before?.allowedModels?.includes(id) === true;
  if (allowedModels?.every(isModel) === false) return "model";
  const wrongCalls = calls && unknownInCallSettings(calls, catalog, before?.calls);
  if (wrongCalls) return wrongCalls;
  if (typeof teamId !== "string") return undefined;
  const teams = await listTeams(kv, acting.account.id);
  return teams.some(({ id }) => id === teamId) ? undefined : "team";
}

/** Whether a key comes to another team, or leaves its own; a team that was deleted counts as none. */
async function isMove(
  { kv }: ActDeps,
  { account }: Acting,
  { teamId }: Settings,
  before: ApiKeyRecord,
): Promise<boolean> {
  if (teamId === undefined || teamId === before.teamId) return false;
  if (teamId !== null) return true;
  return (await listTeams(kv, account.id)).some(({ id }) => id === before.teamId);
}

/** A key with the secret that was just made; without it where a repeat comes too late to get it again. */
export interface KeyWithSecret {
  readonly record: ApiKeyRecord;
  readonly secret?: string;
}

/**
 * Owner of a new key: operators make keys for the owner, programs for nobody, unless their role reaches own keys only.
 */
function makerOf(
  acting: Acting,
): { memberId?: AccountId; madeByProgram?: true; app?: KeyApp } {
  if (acting.operator !== undefined) return {};
  if (acting.app !== undefined) return { memberId: acting.personId, app: acting.app };
  const isProgram = acting.by.kind === "management_key";
  return isProgram && mayAct(acting, "change_keys", undefined)
    ? { madeByProgram: true }
    : { memberId: acting.personId };
}

/** The id of a form as the store has it: it counts for whoever sent it alone, since its repeat shows a secret. */
export function keptFormId(
  { by, personId, formId }: Pick<Acting, "by" | "personId" | "formId">,
): string | undefined {
  const sender = by.kind === "management_key" ? by.keyId : personId;
  return formId === undefined ? undefined : `${sender} ${formId}`;
}

/** Act that makes and tells secrets. */
function keyAct(acting: Acting) {
  const { account, nowMs, by, operator } = acting;
  return {
    nowMs,
    by: operator,
    doneBy: by,
    notify: mailReaderOf(account, "key_changed"),
    ...defined({ formId: keptFormId(acting) }),
  };
}

/** Answer to a request that was carried out before: the secret again, for a short time. */
async function madeBefore(
  { kv, masterKeys }: ActDeps,
  { account, nowMs }: Acting,
  { made }: SentBefore,
): Promise<KeyWithSecret | undefined> {
  const shown = await revealMadeByForm(kv, masterKeys, account.id, made, nowMs);
  if (shown !== undefined) return { record: shown.record, secret: shown.secret };
  const record = await getApiKey(kv, account.id, made.keyId);
  return record && { record };
}

/** Makes a key, and gives its secret. */
export const keyCreation = operation({
  name: "createKey",
  act: "change_keys",
  line: "api_key_made",
  input: newKey,
  refusals: {
    ...settingRefusals,
    full: fullRefusal,
    busy,
    used: {
      code: "idempotency_key_reused",
      message: "This request has made another key before",
    },
    closed: { code: "not_found", message: "The organisation was deleted" },
  },
  async run(deps, acting, input) {
    const { kv, masterKeys, keysPerMember, hintMail } = deps;
    const { account } = acting;
    if (hasOnlyBooks(account)) return refused("closed");
    const problem = await settingsProblem(deps, acting, input);
    if (problem !== undefined) return refused(problem);
    const options = settingsAfter(input, undefined);
    const made = await createApiKey(kv, masterKeys, account.id, {
      ...options,
      ...keyAct(acting),
      ...makerOf(acting),
      keysPerMember,
    });
    hintMail();
    if (made.ok) return done<KeyWithSecret>({ record: made.record, secret: made.secret });
    if (made.reason === "limit") return refused("full");
    if (made.reason === "conflict") return refused("busy");
    // Other settings under the same id ask for another key.
    const earlier = await madeBefore(deps, acting, made);
    const isSame = earlier !== undefined && hasSettings(earlier.record, options);
    return isSame ? done(earlier) : refused("used");
  },
});

/** Finds a key that is to be changed; some roles change only the keys that they have made. */
async function keyOf(
  { kv }: ActDeps,
  acting: Acting,
  id: ApiKeyRecord["id"],
): Promise<ApiKeyRecord | Refused<keyof typeof keyRefusals>> {
  const record = await getApiKey(kv, acting.account.id, id);
  if (record === undefined) return refused("missing");
  return mayAct(acting, "change_keys", keyMember(record)) ? record : refused("not_own");
}

/** Changes the settings of a key: what is left out stays as it is. */
export const keyChange = operation({
  name: "changeKey",
  act: "change_keys",
  line: "api_key_changed",
  input: changedKey,
  refusals: {
    ...keyRefusals,
    ...settingRefusals,
    move: {
      code: "permission_denied",
      field: "teamId",
      message: "only members who may change members can move keys between teams",
    },
    ended,
  },
  async run(deps, acting, { id, ...sent }) {
    const found = await keyOf(deps, acting, id);
    if ("ok" in found) return found;
    if (!isActive(found, acting.nowMs)) return refused("ended");
    const problem = await settingsProblem(deps, acting, sent, found);
    if (problem !== undefined) return refused(problem);
    const { account, by: doneBy, nowMs } = acting;
    let mayNotMove = false;
    const changed = await updateApiKey(
      deps.kv,
      account.id,
      id,
      async (record) => {
        // Decided on the key as it is written over: others may have moved it meanwhile.
        mayNotMove = !mayMoveKey(acting, record) && await isMove(deps, acting, sent, record);
        if (mayNotMove) return undefined;
        return settingsAfter({ ...sent, name: sent.name ?? record.name }, record);
      },
      { doneBy, nowMs },
    );
    if (mayNotMove) return refused("move");
    await deps.control.refresh();
    return changed === undefined ? refused("missing") : done(changed);
  },
});

/** Gives a key another secret; the former one works on for as long as is asked for. */
export const keyRotation = operation({
  name: "rotateKey",
  act: "change_keys",
  line: "api_key_rotated",
  input: z.strictObject({ id, graceHours: z.int().min(0).max(maxGraceHours).default(0) }),
  refusals: { ...keyRefusals, ended },
  async run(deps, acting, { id, graceHours }) {
    const { kv, masterKeys, hintMail, control } = deps;
    const found = await keyOf(deps, acting, id);
    if ("ok" in found) return found;
    const { by: _operator, ...act } = keyAct(acting);
    const options = { ...act, graceMs: graceHours * hourMs };
    const rotated = await rotateApiKey(kv, masterKeys, acting.account.id, id, options);
    hintMail();
    await control.refresh();
    if (rotated === undefined) return refused("ended");
    if (rotated.ok) return done<KeyWithSecret>({ record: rotated.record, secret: rotated.secret });
    const earlier = await madeBefore(deps, acting, rotated);
    return earlier === undefined ? refused("missing") : done(earlier);
  },
});

/** Revokes a key for good; to revoke it again changes nothing. */
export const keyRevocation = operation({
  name: "revokeKey",
  act: "change_keys",
  line: "api_key_revoked",
  input: z.strictObject({ id }),
  refusals: keyRefusals,
  async run(deps, acting, { id }) {
    const { kv, hintMail, control } = deps;
    const found = await keyOf(deps, acting, id);
    if ("ok" in found) return found;
    const { nowMs, ...act } = keyAct(acting);
    const revoked = await revokeApiKey(kv, acting.account.id, id, nowMs, act);
    hintMail();
    await control.refresh();
    return revoked === undefined ? refused("missing") : done(revoked);
  },
});

/** Says who moves API keys between teams. */
export const keyRulesChange = operation({
  name: "changeKeyRules",
  act: "change_organisation",
  line: "key_rules_changed",
  input: z.strictObject({ movedBy: z.enum(keyMoverNames) }),
  refusals: { closed: { code: "not_found", message: "The organisation was deleted" } },
  async run({ kv }, { account, by, nowMs }, { movedBy }) {
    const changed = await setKeyMovers(kv, account.id, movedBy, { by, nowMs });
    return changed ? done(movedBy) : refused("closed");
  },
});

// Acts on management keys. They are made on a page only: a key that makes keys would outlive its own revocation.

const managementKeyId = idOf("managementKey", "must be the id of a management key");

/** Makes a management key, and gives its secret, which is not stored. */
export const managementKeyCreation = operation({
  name: "createManagementKey",
  act: "change_management_keys",
  line: "management_key_made",
  input: z.strictObject({ name: nameOf(), role: z.enum(managementRoles) }),
  refusals: {
    too_many: {
      code: "invalid_request",
      field: "name",
      message: `there are ${maxManagementKeys} active management keys already`,
    },
  },
  async run({ kv }, { account, personId: memberId, by, nowMs }, { name, role }) {
    const options = { name, role, memberId, by, nowMs };
    const made: { readonly key: ManagementKey; readonly secret: string } | "too_many" =
      await createManagementKey(kv, account.id, options);
    return made === "too_many" ? refused(made) : done(made);
  },
});

/** Revokes a management key for good; to revoke it again changes nothing. */
export const managementKeyRevocation = operation({
  name: "revokeManagementKey",
  act: "change_management_keys",
  line: "management_key_revoked",
  input: z.strictObject({ id: managementKeyId }),
  refusals: { missing: { code: "not_found", message: "There is no such management key" } },
  async run({ kv }, { account, by, nowMs }, { id }) {
    const isGone = await revokeManagementKey(kv, account.id, id, { by, nowMs });
    return isGone ? done(id) : refused("missing");
  },
});
