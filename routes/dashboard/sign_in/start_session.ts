/** The one way to become signed in: a fresh session, a fresh cookie, nothing left of the visitor before. */
import type { Context } from "hono";
import { deviceName, type Session } from "../../../core/accounts/session_rules.ts";
import type { AccountId } from "../../../core/ids.ts";
import { closeSession, openSession } from "../../../kv/sessions.ts";
import { createCookies } from "../cookies.ts";
import type { PageDeps } from "../deps.ts";
import type { DashboardEnv } from "../visitor.ts";

/** The IP address of the caller, as the server determined it. */
export function clientAddress(c: Context<DashboardEnv>): string {
  return c.env?.clientAddress ?? "127.0.0.1";
}

/** Signs the browser in. Whatever session it had before ends: its token is worth nothing afterwards. */
export async function startSession(
  c: Context<DashboardEnv>,
  deps: PageDeps,
  accountId: AccountId,
  method: Session["method"],
): Promise<Session> {
  const cookies = createCookies(deps.baseUrl);
  const former = cookies.read(c, "session");
  if (former !== undefined) await closeSession(deps.kv, former);
  const { token, session } = await openSession(deps.kv, {
    accountId,
    nowMs: deps.clock.nowMs(),
    method,
    device: deviceName(c.req.header("user-agent")),
    address: clientAddress(c),
  });
  cookies.write(c, "session", token);
  cookies.remove(c, "visitor");
  cookies.remove(c, "flow");
  return session;
}
