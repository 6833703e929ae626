/** Lets a session act for another organisation of its person: by the switch on a page, or by the link of a mail. */
import type { Context, MiddlewareHandler } from "hono";
import { organisationParameter } from "../../../core/people/mail/mail.ts";
import { returnPath } from "../../../core/people/accounts/email_address.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import { setSessionOrganisation } from "../../../kv/people/accounts/sessions.ts";
import {
  isAdmitted,
  type Membership,
  readMembership,
} from "../../../kv/people/organisations/organisations.ts";
import type { PageDeps } from "../page/page_deps.ts";
import type { DashboardEnv, SignedIn } from "../page/visitor.ts";
import { createCookies } from "./cookies.ts";
import { doneBy } from "./doer.ts";

/** Lets the session act for an organisation from now on. One that does not admit it says so on every page. */
export async function actFor(
  c: Context<DashboardEnv>,
  { kv, clock, baseUrl }: PageDeps,
  membership: Membership,
  { session }: Pick<SignedIn, "session">,
): Promise<void> {
  const token = createCookies(baseUrl).read(c, "session");
  if (token === undefined) return;
  const { by, nowMs } = doneBy(c, clock.nowMs());
  const done = { by: isAdmitted(membership, session) ? by : undefined, nowMs };
  await setSessionOrganisation(kv, token, membership.account.id, done);
}

/** Path at which somebody learns that a link is about an organisation of others. */
const notMemberPath = "/organisations?foreign";

/**
 * Follows the links of mails, which name the account that they are about: a session that acts for another one switches
 * first. Who is not signed in comes back here after signing in. A link that others set can only switch between
 * organisations of the person, as the menu does.
 */
export function followOrganisation(deps: PageDeps): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    const { signedIn } = c.get("visitor");
    const named = c.req.method === "GET" ? c.req.query(organisationParameter) : undefined;
    if (named === undefined || signedIn === undefined) return await next();
    const url = new URL(c.req.url);
    url.searchParams.delete(organisationParameter);
    // A path of two slashes would lead to another host.
    const target = returnPath(url.pathname + url.search, "/");
    const id = parseId("account", named);
    if (id === signedIn.account.id) return c.redirect(target, 303);
    const { person, session } = signedIn;
    const membership = id === undefined ? undefined : await readMembership(deps.kv, id, person.id);
    if (membership === undefined) return c.redirect(notMemberPath, 303);
    if (!isAdmitted(membership, session)) {
      return c.redirect(`/sign-in/company?${new URLSearchParams({ next: target })}`, 303);
    }
    c.set("signedIn", signedIn);
    await actFor(c, deps, membership, signedIn);
    return c.redirect(target, 303);
  };
}
