/**
 * Operations on management keys: they are listed and revoked. They are made on the page only: a key that makes keys would
 * outlive its own revocation.
 */
import {
  always,
  constant,
  dateTime,
  isoTime,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import {
  listManagementKeys,
  type ManagementKey,
  managementRoles,
} from "../../kv/people/management_keys/management_keys.ts";
import { managementKeyRevocation } from "../acts/keys.ts";
import { listing } from "./lists.ts";
import { actOperation, goneShape, type ManagementOperation, shape } from "./operation.ts";

const keyShape = shape<ManagementKey>("ManagementKey", "A management key, without its secret.", [
  constant("object", "management_key"),
  always("id", text, ({ id }) => id),
  always("name", text, ({ name }) => name),
  always("role", { type: "string", enum: [...managementRoles] }, ({ role }) => role),
  always("masked", text, ({ masked }) => masked),
  // The member who made it.
  always("member_id", text, ({ memberId }) => memberId),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
  optional("revoked_at", dateTime, ({ revokedAtMs }) => revokedAtMs && isoTime(revokedAtMs)),
]);

const keysPath = "/v1/organisation/management-keys";

/** The operations. */
export const managementKeyOperations: readonly ManagementOperation[] = [
  listing({
    id: "listManagementKeys",
    path: keysPath,
    summary: "Management keys",
    description: "The management keys of the organisation, oldest first, revoked ones included.",
    act: "change_management_keys",
    item: keyShape,
    rows: ({ deps, account }) => listManagementKeys(deps.kv, account.id),
  }),
  actOperation({
    operation: managementKeyRevocation,
    method: "delete",
    path: `${keysPath}/{id}`,
    summary: "Revoke a management key",
    description:
      "For good, from the next request on; a key may revoke itself. New ones are made on the page: a key that makes keys " +
      "would outlive its own revocation.",
    answer: goneShape,
  }),
];
