/** Says who acts on a page, as the acts of customers take it (`routes/acts/`). */
import type { Context } from "hono";
import { defined } from "../../../core/lib/base/defined.ts";
import type { Acting } from "../../acts/operation.ts";
import type { PostedForm } from "../page/form_data.ts";
import type { DashboardEnv } from "../page/visitor.ts";
import { clientAddress, doneBy } from "./doer.ts";

/**
 * Returns the signed-in person as who acts for the organisation of the session.
 *
 * @param form the form of an act that is done once however often it is sent
 */
export function actingOf(
  c: Context<DashboardEnv>,
  nowMs: number,
  form?: Pick<PostedForm, "formId">,
): Acting {
  const { account, person, role } = c.get("signedIn");
  return {
    account,
    personId: person.id,
    roles: [role],
    actorName: person.email ?? person.id,
    address: clientAddress(c),
    locale: c.get("visitor").locale,
    ...doneBy(c, nowMs),
    ...defined({ formId: form?.formId() }),
  };
}
