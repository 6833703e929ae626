/**
 * The key that an account has from its beginning, so that its owner's first call needs no page of
 * keys. It is claimed like the key of a form, once per account: whoever revokes it does not get it
 * again.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { apiKeyOfFormKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { createApiKey, type MadeByForm, revealMadeByForm } from "./api_key_changes.ts";
import { type ApiKeyRecord, getApiKey } from "./api_keys.ts";

/** The claim of the first key. The ids of posted forms are UUIDs, so no form has it. */
const firstKeyForm = "first-key";

/** The first key of an account. */
export interface FirstKey {
  readonly record: ApiKeyRecord;
  /** Present for a short time after the key was made; later it takes the password. */
  readonly secret?: string | undefined;
}

/** Creates the first key of an account; does nothing if it was created before. */
export async function createFirstKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  { name, nowMs }: { readonly name: string; readonly nowMs: number },
): Promise<void> {
  await createApiKey(kv, masterKeys, accountId, { name, nowMs, formId: firstKeyForm });
}

/** Reads the first key of an account; `undefined` if it never had one. */
export async function readFirstKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  nowMs: number,
): Promise<FirstKey | undefined> {
  const claim = await kv.get<MadeByForm>(apiKeyOfFormKey(accountId, firstKeyForm));
  if (claim.value === null) return undefined;
  const shown = await revealMadeByForm(kv, masterKeys, accountId, claim.value, nowMs);
  if (shown !== undefined) return shown;
  const record = await getApiKey(kv, accountId, claim.value.keyId);
  return record === undefined ? undefined : { record };
}
