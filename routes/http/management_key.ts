/**
 * Finds the program behind a management key and says whether it may do an act: the one place that decides, for the
 * management API and for the usage API.
 */
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { minuteMs } from "../../core/lib/time/durations.ts";
import { deviceName } from "../../core/people/accounts/session_rules.ts";
import { isWellFormedApiKey } from "../../core/people/api_keys/api_key.ts";
import { type Act, may, type Role } from "../../core/people/organisations/acts.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import type { Account } from "../../kv/people/accounts/accounts.ts";
import { countTry } from "../../kv/people/accounts/rate_limits.ts";
import type { Doer } from "../../kv/people/audit/account_activity.ts";
import {
  findManagementKey,
  type ManagementKey,
} from "../../kv/people/management_keys/management_keys.ts";
import { bearerOf, blockedError } from "./authenticate.ts";
import { readMembership } from "../../kv/people/organisations/organisations.ts";

/** Requests of a management key: a program that looks once a second has room for its changes. */
const requestRule = { name: "management_key", count: 600, windowMs: minuteMs };

/** A program that may do what it asks for. */
export interface ManagementCaller {
  /** The organisation. */
  readonly account: Account;
  readonly key: ManagementKey;
  /** The roles that have to allow what the program does: the key's, and now that of the member who made it. */
  readonly roles: readonly [Role, Role];
  /** The program, for the activity log. */
  readonly by: Extract<Doer, { kind: "management_key" }>;
}

/** Request of a program, and the place that it came from. */
export interface ManagementRequest {
  readonly headers: Headers;
  readonly clientAddress: string | undefined;
  readonly act: Act;
  readonly nowMs: number;
}

function secretOf(headers: Headers): string | undefined {
  return bearerOf(headers.get("authorization") ?? "");
}

/** Whether a request names a management key: where both kinds of keys are taken, its form tells them apart. */
export function hasManagementKey(headers: Headers): boolean {
  return secretOf(headers)?.startsWith("mk-") === true;
}

/**
 * Finds whose request it is, and whether it may do what it asks for: what the role of the key allows, as far as the
 * member who made the key may do it, too. Otherwise an admin who became a viewer would still be one with a key.
 *
 * @throws {GatewayError} `invalid_api_key`, `organisation_blocked`, `rate_limit_reached` or `permission_denied`
 */
export async function authoriseManagement(
  kv: KeyValueStore,
  { headers, clientAddress, act, nowMs }: ManagementRequest,
): Promise<ManagementCaller> {
  const secret = secretOf(headers);
  if (secret === undefined || !isWellFormedApiKey(secret, "mk")) {
    throw new GatewayError(
      "invalid_api_key",
      "Send a management key as `Authorization: Bearer mk-…`; an owner or admin makes one on the page of the organisation",
    );
  }
  const found = await findManagementKey(kv, secret);
  if (found === undefined) {
    throw new GatewayError("invalid_api_key", "The management key is wrong or revoked");
  }
  if (found.account.blockedAtMs !== undefined) throw blockedError("management key");
  const tries = await countTry(kv, requestRule, found.key.id, nowMs);
  if (!tries.allowed) {
    throw new GatewayError("rate_limit_reached", "Too many requests with this management key", {
      retryAfterSeconds: tries.retryAfterSeconds,
    });
  }
  const { id: keyId, role, memberId } = found.key;
  const maker = await readMembership(kv, found.account.id, memberId);
  if (maker === undefined) {
    throw new GatewayError("invalid_api_key", "Who made the management key is no member any more");
  }
  if (!may(role, act) || !may(maker.role, act)) {
    const least = may(role, act)
      ? `made by a member with the role ${maker.role}`
      : `with the role ${role}`;
    throw new GatewayError("permission_denied", `A management key ${least} may not do this`);
  }
  const address = clientAddress ?? "127.0.0.1";
  const browser = deviceName(headers.get("user-agent") ?? undefined);
  return {
    ...found,
    roles: [role, maker.role],
    by: { kind: "management_key", keyId, address, browser },
  };
}
