/** Says who acts on a page, as the acts of customers take it (`routes/acts/`). */
import type { Context } from "hono";
import type { Acting } from "../../acts/operation.ts";
import type { DashboardEnv } from "../page/visitor.ts";
import { clientAddress, doneBy } from "./doer.ts";

/** Returns the signed-in person as who acts for the organisation of the session. */
export function actingOf(c: Context<DashboardEnv>, nowMs: number): Acting {
  const { account, person, role } = c.get("signedIn");
  return {
    account,
    personId: person.id,
    roles: [role],
    actorName: person.email ?? person.id,
    address: clientAddress(c),
    locale: c.get("visitor").locale,
    ...doneBy(c, nowMs),
  };
}
