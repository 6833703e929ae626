/** Operations on the keys of providers that are sealed in the store. No answer has a secret. */
import { z } from "zod";
import { storedKeyName } from "../../../core/catalog/schema.ts";
import { providerSecretProblem } from "../../../core/config/catalog_reading.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { withoutLineEnd } from "../../../core/lib/environment/environment.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { LiveVault } from "../../../kv/services/vault/live_vault.ts";
import {
  addStoredKey,
  isSealedWithNewest,
  listStoredKeys,
  maxSecretChars,
  maxStoredKeys,
  providersOfStoredKeys,
  removeStoredKey,
  replaceStoredKey,
  resealStoredKeys,
  type StoredKey,
  type StoredKeyChange,
} from "../../../kv/services/vault/stored_keys.ts";
import {
  type Done,
  operation,
  type OperationDeps,
  type Refused,
  refused,
  type RefusedWithBody,
} from "./contract/operation.ts";

/** Bytes of a body: the longest secret with each character escaped, and a name. */
const maxBodyBytes = 64 * 1024;

const secret = z.string().max(maxSecretChars + 2, `must have at most ${maxSecretChars} characters`)
  .transform(withoutLineEnd)
  .pipe(
    z.string().min(1, "must not be empty").max(maxSecretChars).superRefine((text, context) => {
      const message = providerSecretProblem(text);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }),
  )
  .describe("The key as the provider gave it. It is never shown again.");

const keyRow = z.object({
  name: z.string(),
  fingerprint: z.string().describe("Its last four characters, or the begin of its SHA-256."),
  added_at: z.iso.datetime(),
  added_by: z.string(),
  replaced_at: z.iso.datetime().optional(),
  replaced_by: z.string().optional(),
});

const listedKey = keyRow.extend({
  providers: z.array(z.string()).readonly()
    .describe("Providers that name it in the catalogue in force, or in the one that waits."),
  newest_master_key: z.boolean().describe("Whether the newest master key sealed it."),
  problem: z.string().optional().describe("Why it cannot be opened here."),
});

function keyJson(
  { name, fingerprint, addedAtMs, addedBy, replacedAtMs, replacedBy }: StoredKey,
): z.infer<typeof keyRow> {
  return {
    name,
    fingerprint,
    added_at: new Date(addedAtMs).toISOString(),
    added_by: addedBy,
    ...defined({
      replaced_at: replacedAtMs === undefined ? undefined : new Date(replacedAtMs).toISOString(),
      replaced_by: replacedBy,
    }),
  };
}

/** Providers name the key. */
interface InUse extends RefusedWithBody<"in_use"> {
  readonly providers: readonly string[];
}

type KeyAnswer =
  | Done<z.infer<typeof keyRow>>
  | Refused<"missing" | "exists" | "full">
  | InUse;

function inUse(name: string, providers: readonly string[]): InUse {
  const message = `${name} is in use by ${providers.join(", ")}: with force they do without it`;
  return {
    ok: false,
    why: "in_use",
    status: 409,
    providers,
    body: { error: { code: "in_use", message }, providers },
  };
}

/** Makes the change known here at once, and answers. */
async function answerTo(
  { editing, log }: OperationDeps,
  what: string,
  name: string,
  change: StoredKeyChange,
): Promise<KeyAnswer> {
  if (change.ok) {
    log?.event("warn", `provider key ${what}`, { key: name, fingerprint: change.key.fingerprint });
    await editing.refresh();
    return { ok: true, body: keyJson(change.key) };
  }
  switch (change.reason) {
    case "missing":
      return refused("missing", "not_found", "There is no such key");
    case "exists": {
      const text = "There is a key of that name; replace it, or choose another name";
      return refused("exists", "invalid_request", text, "name");
    }
    case "full": {
      const text = `There are ${maxStoredKeys} keys already; remove those that no provider names`;
      return refused("full", "invalid_request", text);
    }
    case "in_use":
      return inUse(name, change.providers);
    case "conflict":
      throw new GatewayError("overloaded", "The key is being changed by others; try again");
  }
}

function listedJson(
  vault: LiveVault,
  key: StoredKey,
  providers: readonly string[],
): z.infer<typeof listedKey> {
  return {
    ...keyJson(key),
    providers,
    newest_master_key: isSealedWithNewest(vault.masterKeys, key),
    ...defined({ problem: vault.problemOf(key.name) }),
  };
}

/** Lists the keys. */
export const listProviderKeys = operation({
  name: "provider_keys.list",
  summary: `The keys of providers that are sealed in the store, at most ${maxStoredKeys}`,
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({ object: z.literal("list"), data: z.array(listedKey) }),
  async run({ kv, editing: { vault } }) {
    await vault.refresh();
    const providers = await providersOfStoredKeys(kv);
    const data = (await listStoredKeys(kv))
      .map((key) => listedJson(vault, key, providers.get(key.name) ?? []));
    return { ok: true, body: { object: "list" as const, data } };
  },
});

/** Adds a key. */
export const addProviderKey = operation({
  name: "provider_keys.add",
  summary: "Seals a key of a provider in the store, under a name that providers refer to",
  effect: "acts",
  input: z.strictObject({ name: storedKeyName, secret }),
  output: keyRow,
  maxBodyBytes,
  async run(deps, wanted, act) {
    const { kv, editing: { vault } } = deps;
    const change = await addStoredKey(kv, vault.masterKeys, wanted, act);
    return await answerTo(deps, "added", wanted.name, change);
  },
});

/** Replaces the secret of a key. */
export const replaceProviderKey = operation({
  name: "provider_keys.replace",
  summary: "Puts another secret in the place of a key; all instances use it within two seconds",
  effect: "acts",
  input: z.strictObject({ key: storedKeyName, secret }),
  output: keyRow,
  maxBodyBytes,
  async run(deps, { key: name, secret }, act) {
    const { kv, editing: { vault } } = deps;
    const change = await replaceStoredKey(kv, vault.masterKeys, { name, secret }, act);
    return await answerTo(deps, "replaced", name, change);
  },
});

/** Removes a key. */
export const removeProviderKey = operation({
  name: "provider_keys.remove",
  summary: "Removes a key for good; with force also one that providers of the catalogue name",
  effect: "acts",
  refusals: {
    409: {
      description: "Providers name it: `providers` lists them.",
      body: z.object({
        error: z.object({ code: z.string(), message: z.string() }),
        providers: z.array(z.string()).readonly(),
      }),
    },
  },
  input: z.strictObject({ key: storedKeyName, force: z.boolean().default(false) }),
  output: keyRow,
  async run(deps, { key: name, force: isForced }, act) {
    const change = await removeStoredKey(deps.kv, name, { ...act, isForced });
    return await answerTo(deps, "removed", name, change);
  },
});

/** Seals keys anew. */
export const resealProviderKeys = operation({
  name: "provider_keys.reseal",
  summary: "Seals the keys with the newest master key, so that an older one can be given up",
  effect: "acts",
  input: z.strictObject({}),
  output: z.object({
    ok: z.boolean().describe("Whether all are sealed with the newest master key now."),
    resealed: z.array(z.string()).readonly(),
    problems: z.array(z.string()).readonly(),
  }),
  async run({ kv, editing }, _, act) {
    const { resealed, problems } = await resealStoredKeys(kv, editing.vault.masterKeys, act);
    await editing.refresh();
    return { ok: true, body: { ok: problems.length === 0, resealed, problems } };
  },
});
