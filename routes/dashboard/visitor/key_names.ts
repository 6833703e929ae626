/** The names of the API keys of an organisation, for those of its members who may see keys. */
import { may } from "../../../core/people/organisations/acts.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import type { SignedIn } from "../page/visitor.ts";

/** Reads the names by the ids of the keys; `undefined`: the role does not see keys. */
export async function readKeyNames(
  kv: KeyValueStore,
  { account, role }: Pick<SignedIn, "account" | "role">,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (!may(role, "view_keys")) return undefined;
  return new Map((await listApiKeys(kv, account.id)).map(({ id, name }) => [id, name]));
}
