/** Says who acts on a page, for the activity log of the account that is acted on. */
import type { Context } from "hono";
import { deviceName } from "../../../core/people/accounts/session_rules.ts";
import type { Doer, Done, Whence } from "../../../kv/people/audit/account_activity.ts";
import { personAt } from "../../../kv/people/accounts/person_activity.ts";
import type { DashboardEnv } from "../page/visitor.ts";

/** Returns the IP address of the caller as the server determined it. */
export function clientAddress(c: Context<DashboardEnv>): string {
  return c.env?.clientAddress ?? "127.0.0.1";
}

/** Returns from where a request comes. */
export function whenceOf(c: Context<DashboardEnv>): Whence {
  return { address: clientAddress(c), browser: deviceName(c.req.header("user-agent")) };
}

/** Returns the signed-in person as the doer of an act. */
export function personDoer(c: Context<DashboardEnv>): Doer {
  return personAt(c.get("signedIn").person, whenceOf(c));
}

/** Returns the signed-in person and the time, as acts take them. */
export function doneBy(c: Context<DashboardEnv>, nowMs: number): Done & { readonly by: Doer } {
  return { by: personDoer(c), nowMs };
}
