/** Acts on management keys. They are made on a page only: a key that makes keys would outlive its own revocation. */
import { z } from "zod";
import { nameOf } from "../../core/lib/base/names.ts";
import {
  createManagementKey,
  type ManagementKey,
  managementRoles,
  maxManagementKeys,
  revokeManagementKey,
} from "../../kv/people/management_keys/management_keys.ts";
import { done, idOf, operation, refused } from "./operation.ts";

const id = idOf("managementKey", "must be the id of a management key");

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
  input: z.strictObject({ id }),
  refusals: { missing: { code: "not_found", message: "There is no such management key" } },
  async run({ kv }, { account, by, nowMs }, { id }) {
    const isGone = await revokeManagementKey(kv, account.id, id, { by, nowMs });
    return isGone ? done(id) : refused("missing");
  },
});
