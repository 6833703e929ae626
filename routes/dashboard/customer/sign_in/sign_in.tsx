/**
 * Sign-in with a password, and sign-out.
 *
 * - Folder `routes/dashboard/customer/sign_in/`: the pages around becoming signed in: passwords, mailed links,
 *   OpenID, sign-up, reset.
 * - In: forms of visitors, tokens of mails.
 * - Out: HTML, sessions, mails in the outbox.
 * - Never: reveals by the answer to a mail request whether an address has an account.
 */
import { type Context, Hono } from "hono";
import { normaliseEmail, returnPath } from "../../../../core/people/accounts/email_address.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { type Account, findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import { closeSession } from "../../../../kv/people/accounts/sessions.ts";
import { countPasswordTry } from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PasswordField, PostForm, SubmitButton } from "../../components/mod.ts";
import { createCookies } from "../../visitor/cookies.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { companyPath } from "./company.tsx";
import { EmailField, formPage, NextField, nextQuery, ProviderWays } from "./form_parts.tsx";
import { LinkInstead } from "./mail_link.tsx";
import { PasskeyWay } from "./passkey.tsx";
import { originOf, passFirstFactor } from "./start_session.ts";
import { whenceOf } from "../../visitor/doer.ts";
import { personAt, writePersonAct } from "../../../../kv/people/accounts/person_activity.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";

interface SignInForm {
  readonly email?: string;
  readonly next?: string | undefined;
  readonly error?: string;
  /** Passwords are not checked for a while; the mailed link still works. */
  readonly isLimited?: boolean;
  /** This browser began a sign-up that nobody has finished. Whether the address has an account stays unsaid. */
  readonly isUnconfirmed?: boolean;
  /** A form was sent after the session had ended, without effect. */
  readonly ended?: boolean;
}

function signInPage(c: Context<DashboardEnv>, deps: SignInDeps, form: SignInForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  return formPage(
    c,
    { title: t.signInTitle, refused: form.error !== undefined, scripts: ["passkey.js"] },
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        {form.isUnconfirmed === true && (
          <Notice tone="warning">
            {t.unconfirmed} <a href={`/sign-up${nextQuery(form.next)}`}>{t.anotherLink}</a>
          </Notice>
        )}
        {form.isLimited === true && (
          <LinkInstead email={form.email ?? ""} next={form.next ?? ""} visitor={visitor} />
        )}
        {form.ended === true && <Notice tone="warning">{t.ended}</Notice>}
        <ProviderWays providers={deps.providers} next={form.next} locale={visitor.locale} />
        <PostForm visitor={visitor} action="/sign-in">
          <NextField next={form.next} />
          <EmailField
            value={form.email}
            autofocus={form.email === undefined}
            locale={visitor.locale}
          />
          <PasswordField
            name="password"
            of="now"
            label={t.password}
            hint={<a href="/forgot">{t.forgotLink}</a>}
          />
          <SubmitButton>{t.signInButton}</SubmitButton>
        </PostForm>
        <PasskeyWay visitor={visitor} baseUrl={deps.baseUrl} next={form.next} />
      </Card>
      <p class="below-card">
        <a href={`/sign-in/link${nextQuery(form.next)}`}>{t.linkWay}</a>
      </p>
      {deps.companySignIn !== undefined && (
        <p class="below-card">
          <a href={`${companyPath}${nextQuery(form.next)}`}>{t.companyWay}</a>
        </p>
      )}
      <p class="below-card">
        {t.noAccount} <a href={`/sign-up${nextQuery(form.next)}`}>{t.createOne}</a>
      </p>
    </>,
  );
}

/** Finds the account of an e-mail address and password, in the same time whether or not there is one. */
async function checkPassword(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  email: string | undefined,
  password: string,
): Promise<Account | undefined> {
  const account = email === undefined ? undefined : await findAccountByEmail(deps.kv, email);
  const hash = account === undefined ? undefined : await getPasswordHash(deps.kv, account.id);
  const fits = await deps.passwords.verify(password, hash);
  if (!fits && account !== undefined) noteFailure(c, deps, account);
  return fits ? account : undefined;
}

/** Logs a wrong password. It is not waited for: how long the answer takes must not tell that there is an account. */
function noteFailure(c: Context<DashboardEnv>, deps: SignInDeps, { id }: Account): void {
  writePersonAct(deps.kv, id, "sign_in_failed", {
    by: { kind: "stranger", ...whenceOf(c) },
    nowMs: deps.clock.nowMs(),
  }).catch((error: unknown) => deps.report?.("page", error));
}

async function signIn(c: Context<DashboardEnv>, deps: SignInDeps) {
  const t = signInTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const typed = form.text("email").slice(0, 254);
  const next = returnPath(form.text("next"), "/");
  const refuse = (error: string) => signInPage(c, deps, { email: typed, next, error });

  const nowMs = deps.clock.nowMs();
  const email = normaliseEmail(typed);
  const tries = await countPasswordTry(deps.kv, { email, typed, nowMs }, originOf(c, deps));
  if (!tries.allowed) {
    const error = t.tooMany(tries.retryAfterSeconds);
    return await signInPage(c, deps, { email: typed, next, error, isLimited: true });
  }

  const account = await checkPassword(c, deps, email, form.exact("password"));
  if (account === undefined) {
    const isUnconfirmed = createCookies(deps.baseUrl).read(c, "flow") !== undefined;
    return await signInPage(c, deps, { email: typed, next, error: t.wrong, isUnconfirmed });
  }
  if (account.blockedAtMs !== undefined) {
    const { support } = c.get("visitor");
    const ask = support === undefined ? [] : [t.askSupport(support.text)];
    return await refuse([t.blocked, ...ask].join(" "));
  }
  return await passFirstFactor(c, deps, account.id, { method: "password", next });
}

/** Registers `/sign-in` and `/sign-out`. */
function createSignInPages(deps: SignInDeps): Hono<DashboardEnv> {
  const cookies = createCookies(deps.baseUrl);
  return new Hono<DashboardEnv>()
    .get("/sign-in", (c) => {
      const next = returnPath(c.req.query("next"), "/");
      if (c.get("visitor").signedIn !== undefined) return c.redirect(next, 303);
      const ended = c.req.query("ended") !== undefined;
      return signInPage(c, deps, { next: next === "/" ? undefined : next, ended });
    })
    .post("/sign-in", (c) => signIn(c, deps))
    .post("/sign-out", async (c) => {
      const token = cookies.read(c, "session");
      const { signedIn } = c.get("visitor");
      const done = signedIn && {
        by: personAt(signedIn.person, whenceOf(c)),
        nowMs: deps.clock.nowMs(),
      };
      if (token !== undefined) await closeSession(deps.kv, token, done);
      cookies.remove(c, "session");
      return c.redirect("/", 303);
    });
}

export const signInPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createSignInPages,
};
