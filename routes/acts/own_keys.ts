/**
 * Acts on the provider keys of an organisation, which its calls use before those of the operator. A key is tried when it
 * is entered, sealed, and never shown again.
 */
import { z } from "zod";
import { type Catalog, takesOwnKeys } from "../../core/catalog/catalog.ts";
import { maxModelNameChars } from "../../core/lib/base/limits.ts";
import { secretProblem } from "../../core/lib/environment/environment.ts";
import { seal } from "../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../core/people/api_keys/seal_owners.ts";
import {
  changeOwnKey,
  listOwnKeys,
  maxOwnKeyChars,
  maxOwnKeys,
  type OwnKey,
} from "../../kv/people/api_keys/own_keys.ts";
import { fingerprintOf } from "../../kv/services/vault/stored_keys.ts";
import { type ActDeps, done, operation, refused } from "./operation.ts";

/** Result of trying a key: `unknown`: the provider did not say. */
export type OwnKeyVerdict = "accepted" | "refused" | "unknown";

/** Needs of changing provider keys. */
export interface OwnKeyDeps extends Pick<ActDeps, "kv" | "control" | "masterKeys"> {
  readonly catalog: Pick<Catalog, "providers" | "ownKeyFee">;
  /** Tries a key at a provider. */
  readonly checkOwnKey: (provider: string, secret: string) => Promise<OwnKeyVerdict>;
}

/** Returns the providers at which organisations can have keys; `undefined`: the operator offers none. */
export function ownKeyProviders(
  { providers, ownKeyFee }: OwnKeyDeps["catalog"],
): readonly string[] | undefined {
  if (ownKeyFee === undefined) return undefined;
  return Object.keys(providers).filter((name) => takesOwnKeys(providers[name])).sort();
}

const keyForm = `must have 1 to ${maxOwnKeyChars} characters`;

const key = z.string().trim().min(1, keyForm).max(maxOwnKeyChars, keyForm).superRefine(
  (text, context) => {
    const message = secretProblem(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  },
);

const provider = z.string().min(1).max(maxModelNameChars);

/** Sets the key for a provider, or how the one that is there is used. */
export const ownKeySetting = operation({
  name: "setProviderKey",
  act: "change_organisation",
  line: "provider_key_changed",
  input: z.strictObject({
    provider,
    /** Absent: the one that is there. */
    key: key.exactOptional(),
    /** Absent: as it was, and calls of a new key do not go on to the operator's. */
    fallback: z.boolean().exactOptional(),
  }),
  refusals: {
    not_offered: {
      code: "invalid_request",
      field: "provider",
      message: "the operator offers no keys of your own",
    },
    provider: {
      code: "invalid_request",
      field: "provider",
      message: "takes no keys of organisations, or does not exist",
    },
    key: { code: "invalid_request", field: "key", message: "is missing" },
    refused: { code: "invalid_request", field: "key", message: "the provider refuses it" },
    full: {
      code: "invalid_request",
      field: "provider",
      message: `there are ${maxOwnKeys} keys already`,
    },
  },
  async run(deps: OwnKeyDeps, { account: { id }, by, nowMs }, sent) {
    const { kv, control, catalog } = deps;
    const offered = ownKeyProviders(catalog);
    if (offered === undefined) return refused("not_offered");
    if (!offered.includes(sent.provider)) return refused("provider");
    const entered = sent.key === undefined
      ? undefined
      : await entry(deps, id, sent.provider, sent.key);
    if (entered === "refused") return refused("refused");
    const change = (former: OwnKey | undefined): OwnKey | undefined => {
      const fallback = sent.fallback ?? former?.fallback ?? false;
      if (entered === undefined) return former && { ...former, fallback };
      return { provider: sent.provider, ...entered, fallback, setAtMs: nowMs };
    };
    const changed = await changeOwnKey(kv, id, { provider: sent.provider, change, by, nowMs });
    await control.refresh();
    if (changed !== "changed") return refused(changed === "full" ? "full" : "key");
    const set = (await listOwnKeys(kv, id)).find((one) => one.provider === sent.provider);
    return set === undefined ? refused("key") : done(set);
  },
});

/** Tries a key and seals it. */
async function entry(
  { checkOwnKey, masterKeys }: OwnKeyDeps,
  organisationId: Parameters<typeof sealOwners.own_keys>[0],
  provider: string,
  secret: string,
): Promise<Pick<OwnKey, "sealed" | "fingerprint" | "isTested"> | "refused"> {
  const verdict = await checkOwnKey(provider, secret);
  if (verdict === "refused") return "refused";
  return {
    sealed: await seal(masterKeys, secret, sealOwners.own_keys(organisationId, provider)),
    fingerprint: await fingerprintOf(secret),
    isTested: verdict === "accepted",
  };
}

/** Removes the key for a provider. Also where the operator offers none any more. */
export const ownKeyRemoval = operation({
  name: "removeProviderKey",
  act: "change_organisation",
  line: "provider_key_changed",
  input: z.strictObject({ id: provider }),
  refusals: { missing: { code: "not_found", message: "There is no key for this provider" } },
  async run(
    { kv, control }: Pick<ActDeps, "kv" | "control">,
    { account, by, nowMs },
    { id: provider },
  ) {
    const change = () => undefined;
    const changed = await changeOwnKey(kv, account.id, { provider, change, by, nowMs });
    await control.refresh();
    return changed === "changed" ? done(provider) : refused("missing");
  },
});
