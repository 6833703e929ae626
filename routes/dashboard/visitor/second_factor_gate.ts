/** Leads people to set up a second factor, where their account requires one, before they see anything else. */
import type { MiddlewareHandler } from "hono";
import { requiresSecondFactor } from "../../../kv/people/accounts/accounts.ts";
import { hasSecondFactor } from "../../../kv/people/accounts/second_factor.ts";
import type { PageDeps } from "../page/page_deps.ts";
import type { DashboardEnv } from "../page/visitor.ts";

/** Path at which second factors are set up. */
export const securityPath = "/account/security";

/** Paths that people need to set one up, or to leave. */
const openPaths: readonly string[] = [
  securityPath,
  "/account/confirm",
  // Other organisations of the person may require nothing.
  "/organisations",
  "/preferences",
  "/sign-in",
  "/sign-out",
];

function isOpen(path: string): boolean {
  return openPaths.some((open) => path === open || path.startsWith(`${open}/`));
}

/**
 * Redirects who is signed in without the second factor that the account requires. The organisation decides that the
 * person acts for, the person's own factors count.
 */
export function leadToSecondFactor(
  { kv }: Pick<PageDeps, "kv">,
): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    const { signedIn } = c.get("visitor");
    const isAsked = signedIn !== undefined && requiresSecondFactor(signedIn.account) &&
      !isOpen(c.req.path);
    if (!isAsked || await hasSecondFactor(kv, signedIn.person.id)) return await next();
    // htmx would insert the page into a part of another; this header makes it navigate.
    if (c.req.header("hx-request") === "true") {
      return c.body(null, 403, { "hx-redirect": securityPath });
    }
    return c.redirect(securityPath, 303);
  };
}
