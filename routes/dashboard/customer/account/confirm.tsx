/**
 * `/account/confirm`: asks for the password once more before somebody changes what an account signs in with. A browser
 * that was left open, or a stolen session, gets no further.
 */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { isFresh } from "../../../../core/people/accounts/session_rules.ts";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { closeSession, confirmSession } from "../../../../kv/people/accounts/sessions.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, PasswordField, PostForm, SubmitButton } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import { securityPath } from "../../visitor/second_factor_gate.ts";
import { doneBy } from "../../visitor/doer.ts";
import { createCookies } from "../../visitor/cookies.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { accountTexts } from "./texts.ts";
import { securityTexts } from "./security_texts.ts";

const confirmPath = "/account/confirm";
/** Writes the address of the page that confirms, and then leads back. */
export function confirmAddress(next: string): string {
  return `${confirmPath}?${new URLSearchParams({ next })}`;
}

/**
 * Admits sessions whose owner has signed in, or confirmed, a moment ago; others do so first.
 *
 * @param formPage the page that has the forms, to which a form that was not sent leads back
 */
export function requireFresh(
  { clock }: Pick<DashboardDeps, "clock">,
  formPage = securityPath,
): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    if (isFresh(c.get("signedIn").session, clock.nowMs())) return await next();
    const back = c.req.method === "GET" ? c.req.path : formPage;
    return c.redirect(confirmAddress(back), 303);
  };
}

/** Verifies the current password. Returns the message to show if it is wrong. */
export async function passwordRefusal(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  password: string,
): Promise<string | undefined> {
  const { person: account } = c.get("signedIn");
  const t = accountTexts[c.get("visitor").locale];
  const nowMs = deps.clock.nowMs();
  const tries = await countTry(deps.kv, rateRules.passwordByAccount, account.id, nowMs);
  if (!tries.allowed) return t.tooMany(tries.retryAfterSeconds);
  const hash = await getPasswordHash(deps.kv, account.id);
  return await deps.passwords.verify(password, hash) ? undefined : t.wrongPassword;
}

async function confirmPage(c: Context<DashboardEnv>, deps: DashboardDeps, error?: string) {
  const visitor = c.get("visitor");
  const t = securityTexts[visitor.locale];
  const hash = await getPasswordHash(deps.kv, c.get("signedIn").person.id);
  const next = returnPath(c.req.query("next"), securityPath);
  return await renderPage(
    c,
    {
      title: t.confirmTitle,
      lead: t.confirmLead,
      narrow: true,
      status: error === undefined ? 200 : 422,
    },
    <Card>
      <PostForm visitor={visitor} action={confirmAddress(next)}>
        {hash === undefined ? <p>{t.confirmBySignIn}</p> : (
          <PasswordField
            name="password"
            of="now"
            label={accountTexts[visitor.locale].currentPassword}
            error={error}
            autofocus
          />
        )}
        <SubmitButton>{hash === undefined ? t.signInAgain : t.confirmButton}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

async function confirm(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const next = returnPath(c.req.query("next"), securityPath);
  const cookies = createCookies(deps.baseUrl);
  const token = cookies.read(c, "session");
  if (await getPasswordHash(deps.kv, c.get("signedIn").person.id) === undefined) {
    const done = doneBy(c, deps.clock.nowMs());
    if (token !== undefined) await closeSession(deps.kv, token, done);
    cookies.remove(c, "session");
    return c.redirect(`/sign-in?${new URLSearchParams({ next })}`, 303);
  }
  const refusal = await passwordRefusal(c, deps, (await readForm(c)).exact("password"));
  if (refusal !== undefined) return await confirmPage(c, deps, refusal);
  if (token !== undefined) await confirmSession(deps.kv, token, deps.clock.nowMs());
  return c.redirect(next, 303);
}

/** Registers the page. */
export function createConfirmPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(confirmPath, (c) => confirmPage(c, deps))
    .post(confirmPath, (c) => confirm(c, deps));
}
