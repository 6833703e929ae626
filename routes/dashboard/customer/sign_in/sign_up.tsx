/**
 * Sign-up. An account is created only after its address is proven, so nobody can take another person's address.
 *
 * The answer and its timing are the same for every address; whether it has an account is checked when the mail is sent.
 * In the browser that began the sign-up (known by a cookie) the mail's link finishes it at once; elsewhere it asks for
 * the chosen password. So a stranger who signs up with your address and hopes that you click gains nothing: you do not
 * know the password they chose.
 */
import { type Context, Hono } from "hono";
import { normaliseEmail, returnPath } from "../../../../core/people/accounts/email_address.ts";
import { passwordProblem } from "../../../../core/people/accounts/password_policy.ts";
import { addressBlock } from "../../../../core/net/addresses/ip_address.ts";
import { hashSecret, newSecretToken } from "../../../../core/people/accounts/secret_token.ts";
import { sameSecret } from "../../../../core/lib/hash/sha256.ts";
import {
  type Account,
  getAccount,
  tryCreateAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import {
  type MailGrantOf,
  type OpenGrant,
  passwordMark,
  readMailToken,
} from "../../../../kv/people/accounts/tokens.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PasswordField, PostForm, SubmitButton } from "../../components/mod.ts";
import { createCookies } from "../../visitor/cookies.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import {
  deadEndPage,
  EmailField,
  formPage,
  NextField,
  nextQuery,
  ProviderWays,
} from "./form_parts.tsx";
import { mailSentPage, TokenField } from "./mail_request.tsx";
import { equipAccount, firstPath, startSession } from "./start_session.ts";
import { clientAddress } from "../../visitor/doer.ts";
import { readRunningOffers } from "../../../../kv/money/credits/running_offers.ts";
import { formatMoney } from "../../text/format.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";

// Resolves the token of a mailed link, for password resets and sign-in by mail.

/** The purposes of tokens that let their holder into an account. */
export type OpeningPurpose = "reset_password" | "sign_in";

/** A valid token with its account. */
export interface Openable<Purpose extends OpeningPurpose> {
  readonly open: OpenGrant<MailGrantOf<Purpose>>;
  readonly account: Account & { readonly email: string };
}

/**
 * Finds the account that a token opens: it exists, is not blocked, and has the same password as when the mail was sent.
 */
export async function findOpenable<Purpose extends OpeningPurpose>(
  deps: SignInDeps,
  purpose: Purpose,
  token: string,
  nowMs: number,
): Promise<Openable<Purpose> | undefined> {
  const open = await readMailToken(deps.kv, purpose, token, nowMs);
  if (open === undefined) return undefined;
  const grant: MailGrantOf<OpeningPurpose> = open.grant;
  const account = await getAccount(deps.kv, grant.accountId);
  if (account?.email === undefined || account.blockedAtMs !== undefined) return undefined;
  const mark = await passwordMark(await getPasswordHash(deps.kv, account.id));
  if (!await sameSecret(mark, grant.passwordMark)) return undefined;
  return { open, account: { ...account, email: account.email } };
}

interface SignUpForm {
  readonly email?: string;
  readonly next?: string | undefined;
  readonly error?: string;
  readonly emailError?: string;
  readonly passwordError?: string;
}

async function signUpPage(c: Context<DashboardEnv>, deps: SignInDeps, form: SignUpForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const refused = form.error ?? form.emailError ?? form.passwordError;
  const { signup } = await readRunningOffers(deps.kv, { atMs: deps.clock.nowMs() });
  return await formPage(
    c,
    { title: t.signUpTitle, lead: t.signUpLead, refused: refused !== undefined },
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        {signup !== undefined && (
          <Notice tone="success">
            {t.signUpCredit(
              formatMoney(signup.amountMicroVnd, visitor.locale),
              signup.expiresAfterDays,
            )}
          </Notice>
        )}
        <ProviderWays providers={deps.providers} next={form.next} locale={visitor.locale} />
        <PostForm visitor={visitor} action="/sign-up">
          <NextField next={form.next} />
          <EmailField value={form.email} error={form.emailError} locale={visitor.locale} />
          <PasswordField
            name="password"
            of="future"
            label={t.password}
            hint={t.passwordHint}
            error={form.passwordError}
          />
          <SubmitButton>{t.signUpButton}</SubmitButton>
        </PostForm>
      </Card>
      <p class="below-card">
        {t.haveAccount} <a href={`/sign-in${nextQuery(form.next)}`}>{t.signInButton}</a>
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

  const { signUpByAddress } = rateRules;
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
  // Beyond the limit no mail is sent, and the page is the same as always.
  if (await mayMail(deps, email, clientAddress(c), nowMs)) {
    const browserHash = await hashSecret("flow-browser", browser);
    const atomic = deps.kv.atomic();
    addMail(atomic, { kind: "sign_up", to: email, locale, passwordHash, browserHash, next }, {
      nowMs,
    });
    await atomic.commit();
    deps.hintMail();
  }
  return await mailSentPage(c, t.sentSignUp(email), { path: "/sign-up" });
}

/** Whether another sign-up mail may be sent to an address: one machine alone cannot use up the shared budget. */
async function mayMail(
  { kv }: SignInDeps,
  email: string,
  address: string,
  nowMs: number,
): Promise<boolean> {
  const { signUpMailByAddress, signUpMailByEmail } = rateRules;
  const subject = `${email} ${addressBlock(address)}`;
  if (!(await countTry(kv, signUpMailByAddress, subject, nowMs)).allowed) return false;
  return (await countTry(kv, signUpMailByEmail, email, nowMs)).allowed;
}

interface VerifyForm {
  readonly token?: string;
  readonly askPassword?: boolean;
  readonly passwordError?: string;
}

function verifyPage(c: Context<DashboardEnv>, form: VerifyForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const asks = form.askPassword === true;
  return formPage(
    c,
    { title: t.verifyTitle, lead: asks ? t.verifyPassword : t.verifyLead, refused: asks },
    <Card>
      <PostForm visitor={visitor} action="/verify">
        <TokenField token={form.token} locale={visitor.locale} />
        {asks && (
          <PasswordField
            name="password"
            of="now"
            label={t.password}
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
  const way = { href: "/sign-up", text: t.startAgain };
  return deadEndPage(c, { title: t.verifyTitle, why: t.linkDead, way });
}

/** Another sign-up with the same address was finished meanwhile. */
function alreadyTherePage(c: Context<DashboardEnv>) {
  const t = signInTexts[c.get("visitor").locale];
  const way = { href: "/sign-in", text: t.signInButton };
  return deadEndPage(c, { title: t.verifyTitle, tone: "info", why: t.alreadyThere, way });
}

/** Whether this browser began the sign-up, or the chosen password was entered. */
async function mayFinish(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  grant: MailGrantOf<"sign_up">,
  password: string,
): Promise<boolean> {
  const browser = createCookies(deps.baseUrl).read(c, "flow");
  if (
    browser !== undefined &&
    await sameSecret(await hashSecret("flow-browser", browser), grant.browserHash)
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
      ...defined({ passwordError }),
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
  await equipAccount(c, deps, account);
  await startSession(c, deps, account.id, { method: "password" });
  return c.redirect(await firstPath(deps, account, returnPath(grant.next, "/")), 303);
}

/** Registers `/sign-up` and `/verify`. */
function createSignUpPages(deps: SignInDeps): Hono<DashboardEnv> {
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

export const signUpPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createSignUpPages,
};
