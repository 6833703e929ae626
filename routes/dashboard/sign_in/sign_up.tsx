/**
 * Signing up. An account exists only once its address is proven, so nobody can take an address that is not theirs.
 *
 * The answer is the same for every address and takes the same time: whether it has an account already is found out when
 * the mail is sent. The mail's link finishes the sign-up at once in the browser that began it (told by a cookie);
 * elsewhere it asks for the chosen password. So a stranger who signs up with your address, hoping that you click, ends
 * with nothing: you do not know the password they chose.
 */
import { type Context, Hono } from "hono";
import { normaliseEmail } from "../../../core/accounts/email_address.ts";
import { passwordProblem } from "../../../core/accounts/password_policy.ts";
import { returnPath } from "../../../core/accounts/return_path.ts";
import { hashSecret, newSecretToken, sameSecret } from "../../../core/accounts/secret_token.ts";
import { tryCreateAccount } from "../../../kv/accounts.ts";
import { addMail } from "../../../kv/mail.ts";
import { countTry } from "../../../kv/rate_limits.ts";
import { type MailGrantOf, readMailToken } from "../../../kv/tokens.ts";
import { countTryByAddress, rateRules } from "../../auth/rate_rules.ts";
import { Card, Notice, PostForm, SubmitButton, TextField } from "../components/mod.ts";
import { createCookies } from "../cookies.ts";
import { readForm } from "../form_data.ts";
import { renderPage } from "../layout.tsx";
import type { DashboardEnv } from "../visitor.ts";
import type { SignInDeps } from "./deps.ts";
import { mailSentPage, TokenField } from "./mail_pages.tsx";
import { clientAddress, startSession } from "./start_session.ts";
import { signInTexts } from "./texts.ts";

interface SignUpForm {
  readonly email?: string;
  readonly next?: string | undefined;
  readonly error?: string;
  readonly emailError?: string;
  readonly passwordError?: string;
}

function signUpPage(c: Context<DashboardEnv>, deps: SignInDeps, form: SignUpForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const query = form.next === undefined ? "" : `?next=${encodeURIComponent(form.next)}`;
  const refused = form.error ?? form.emailError ?? form.passwordError;
  const options = {
    title: t.signUpTitle,
    lead: t.signUpLead,
    narrow: true,
    status: refused === undefined ? 200 : 422,
  } as const;
  return renderPage(
    c,
    options,
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        <PostForm visitor={visitor} action="/sign-up">
          <input type="hidden" name="next" value={form.next ?? ""} />
          <TextField
            name="email"
            type="email"
            label={t.email}
            value={form.email}
            autocomplete="username"
            required
            error={form.emailError}
          />
          <TextField
            name="password"
            type="password"
            label={t.password}
            autocomplete="new-password"
            required
            hint={t.passwordHint}
            error={form.passwordError}
          />
          <SubmitButton>{t.signUpButton}</SubmitButton>
        </PostForm>
        {deps.openId !== undefined && (
          <>
            <div class="or">{t.or}</div>
            <a class="button outline wide-button" href={`/auth/openid/start${query}`}>
              {t.continueWith(deps.openId.label)}
            </a>
          </>
        )}
      </Card>
      <p class="below-card">
        {t.haveAccount} <a href={`/sign-in${query}`}>{t.signInButton}</a>
      </p>
    </>,
  );
}

async function signUp(c: Context<DashboardEnv>, deps: SignInDeps) {
  const { locale } = c.get("visitor");
  const t = signInTexts[locale];
  const form = await readForm(c);
  const typed = form.text("email").slice(0, 254);
  const next = returnPath(form.text("next"), "/");
  const nowMs = deps.clock.nowMs();

  const { signUpByAddress, mailByEmail } = rateRules;
  const byAddress = await countTryByAddress(deps.kv, signUpByAddress, clientAddress(c), nowMs);
  if (!byAddress.allowed) {
    const error = t.tooMany(byAddress.retryAfterSeconds);
    return await signUpPage(c, deps, { email: typed, next, error });
  }
  const email = normaliseEmail(typed);
  if (email === undefined) {
    return await signUpPage(c, deps, { email: typed, next, emailError: t.emailInvalid });
  }
  const password = form.exact("password");
  const problem = passwordProblem(password, email);
  if (problem !== undefined) {
    const passwordError = t.passwordProblems[problem];
    return await signUpPage(c, deps, { email: typed, next, passwordError });
  }

  const passwordHash = await deps.passwords.hash(password);
  const browser = newSecretToken();
  createCookies(deps.baseUrl).write(c, "flow", browser);
  // Beyond the limit no mail goes out, and the page says what it always says.
  if ((await countTry(deps.kv, mailByEmail, email, nowMs)).allowed) {
    const browserHash = await hashSecret("flow-browser", browser);
    const atomic = deps.kv.atomic();
    addMail(atomic, { kind: "sign_up", to: email, locale, passwordHash, browserHash, next }, {
      nowMs,
    });
    await atomic.commit();
    deps.hintMail();
  }
  return await mailSentPage(c, t.sentSignUp(email));
}

interface VerifyForm {
  readonly token?: string;
  readonly askPassword?: boolean;
  readonly passwordError?: string;
}

function verifyPage(c: Context<DashboardEnv>, form: VerifyForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const options = {
    title: t.verifyTitle,
    lead: form.askPassword === true ? t.verifyPassword : t.verifyLead,
    narrow: true,
    status: form.askPassword === true ? 422 : 200,
  } as const;
  return renderPage(
    c,
    options,
    <Card>
      <PostForm visitor={visitor} action="/verify">
        <TokenField token={form.token} locale={visitor.locale} />
        {form.askPassword === true && (
          <TextField
            name="password"
            type="password"
            label={t.password}
            autocomplete="current-password"
            required
            autofocus
            error={form.passwordError}
          />
        )}
        <SubmitButton>{t.verifyButton}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

function deadLinkPage(c: Context<DashboardEnv>) {
  const t = signInTexts[c.get("visitor").locale];
  return renderPage(
    c,
    { title: t.verifyTitle, narrow: true, status: 422 },
    <Card>
      <Notice tone="danger">{t.linkDead}</Notice>
      <p>
        <a href="/sign-up">{t.startAgain}</a>
      </p>
    </Card>,
  );
}

/** Somebody finished another sign-up with the same address meanwhile. */
function alreadyTherePage(c: Context<DashboardEnv>) {
  const t = signInTexts[c.get("visitor").locale];
  return renderPage(
    c,
    { title: t.verifyTitle, narrow: true, status: 422 },
    <Card>
      <Notice tone="info">{t.alreadyThere}</Notice>
      <p>
        <a href="/sign-in">{t.signInButton}</a>
      </p>
    </Card>,
  );
}

/** Whether this browser began the sign-up, or its user knows the password that was chosen. */
async function mayFinish(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  grant: MailGrantOf<"sign_up">,
  password: string,
): Promise<boolean> {
  const browser = createCookies(deps.baseUrl).read(c, "flow");
  if (
    browser !== undefined &&
    sameSecret(await hashSecret("flow-browser", browser), grant.browserHash)
  ) return true;
  return password !== "" && await deps.passwords.verify(password, grant.passwordHash);
}

async function verify(c: Context<DashboardEnv>, deps: SignInDeps) {
  const t = signInTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const token = form.text("token");
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.tokenByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!tries.allowed) {
    const passwordError = t.tooMany(tries.retryAfterSeconds);
    return await verifyPage(c, { token, askPassword: true, passwordError });
  }
  const open = await readMailToken(deps.kv, "sign_up", token, nowMs);
  if (open === undefined) return await deadLinkPage(c);
  const { grant } = open;
  const password = form.exact("password");
  if (!await mayFinish(c, deps, grant, password)) {
    const passwordError = password === "" ? undefined : t.verifyWrong;
    return await verifyPage(c, {
      token,
      askPassword: true,
      ...(passwordError !== undefined && { passwordError }),
    });
  }
  if (!await open.use()) return await deadLinkPage(c);
  const account = await tryCreateAccount(deps.kv, {
    nowMs,
    email: grant.email,
    locale: grant.locale,
    passwordHash: grant.passwordHash,
  });
  if (account === undefined) return await alreadyTherePage(c);
  await startSession(c, deps, account.id, "password");
  return c.redirect(returnPath(grant.next, "/"), 303);
}

/** `/sign-up` and `/verify`. */
export function createSignUpPages(deps: SignInDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/sign-up", (c) => {
      const next = returnPath(c.req.query("next"), "/");
      if (c.get("visitor").signedIn !== undefined) return c.redirect(next, 303);
      return signUpPage(c, deps, { next: next === "/" ? undefined : next });
    })
    .post("/sign-up", (c) => signUp(c, deps))
    .get("/verify", (c) => verifyPage(c, {}))
    .post("/verify", (c) => verify(c, deps));
}
