/** The second step of a sign-in: a code of an authenticator app, a passkey, or a recovery code. */
import { type Context, Hono } from "hono";
import { sameSecret } from "../../../../core/lib/hash/sha256.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { SecondFactorKind } from "../../../../core/people/accounts/session_rules.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { type Account, getAccount, mailReaderOf } from "../../../../kv/people/accounts/accounts.ts";
import { useRecoveryCode } from "../../../../kv/people/accounts/recovery_codes.ts";
import { hasPasskey } from "../../../../kv/people/accounts/passkeys.ts";
import { hasApp, passWithSignIn, useCode } from "../../../../kv/people/accounts/second_factor.ts";
import {
  type OpenGrant,
  passwordMark,
  type PendingSignIn,
  readPendingSignIn,
} from "../../../../kv/people/accounts/tokens.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import type { MailJob } from "../../../../core/people/mail/mail.ts";
import { assertionOptions, type PasskeyAsk, verifyAssertion } from "../../../auth/passkeys.ts";
import { checkCode, countCodeTry } from "../../../auth/one_time_codes.ts";
import {
  AskSupport,
  Card,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { createCookies } from "../../visitor/cookies.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { formPage } from "./form_parts.tsx";
import { answerOptions, holderOf, PasskeyForm } from "./passkey.tsx";
import { clientAddress, whenceOf } from "../../visitor/doer.ts";
import { personAt, writePersonAct } from "../../../../kv/people/accounts/person_activity.ts";
import { secondFactorPath, startSession } from "./start_session.ts";
import { signInTexts } from "./texts.ts";

const passkeyPath = `${secondFactorPath}/passkey`;

/** A sign-in that waits, with its account. */
interface Waiting {
  readonly open: OpenGrant<PendingSignIn>;
  readonly account: Account;
}

/** Finds the sign-in of this browser that waits; a change of the password since then has ended it. */
async function waitingSignIn(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
): Promise<Waiting | undefined> {
  const token = createCookies(deps.baseUrl).read(c, "pending");
  if (token === undefined) return undefined;
  const open = await readPendingSignIn(deps.kv, token, deps.clock.nowMs());
  if (open === undefined) return undefined;
  const account = await getAccount(deps.kv, open.grant.accountId);
  const isGone = account === undefined || account.deletedAtMs !== undefined ||
    account.blockedAtMs !== undefined;
  if (isGone) return undefined;
  const mark = await passwordMark(await getPasswordHash(deps.kv, account.id));
  return await sameSecret(mark, open.grant.passwordMark) ? { open, account } : undefined;
}

/** The field of a six-digit code. */
export function CodeField({ visitor, error, autofocus = false }: {
  visitor: Visitor;
  error?: string | undefined;
  autofocus?: boolean;
}) {
  return (
    <TextField
      name="code"
      label={signInTexts[visitor.locale].code}
      inputmode="numeric"
      autocomplete="one-time-code"
      required
      maxlength={8}
      error={error}
      autofocus={autofocus}
    />
  );
}

/** The field of a recovery code. */
export function RecoveryCodeField({ visitor }: { visitor: Visitor }) {
  const t = signInTexts[visitor.locale];
  return (
    <TextField
      name="recoveryCode"
      label={t.recoveryCode}
      hint={t.recoveryCodeHint}
      autocomplete="off"
      required
      maxlength={40}
    />
  );
}

async function secondFactorPage(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  { account }: Waiting,
  error?: string,
) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const [isApp, isPasskey] = await Promise.all([
    hasApp(deps.kv, account.id),
    hasPasskey(deps.kv, account.id),
  ]);
  return await formPage(
    c,
    {
      title: t.secondTitle,
      lead: t.secondLead,
      refused: error !== undefined,
      scripts: ["passkey.js"],
    },
    <>
      <Card>
        {error !== undefined && <Notice tone="danger">{error}</Notice>}
        {isPasskey && (
          <PasskeyForm
            visitor={visitor}
            baseUrl={deps.baseUrl}
            action={passkeyPath}
            act="get"
            tone={isApp ? "plain" : "primary"}
            button={t.passkeySecond}
          />
        )}
        {isPasskey && !isApp && <p data-passkey-missing>{t.passkeyMissing}</p>}
        {isApp && (
          <PostForm visitor={visitor} action={secondFactorPath}>
            <CodeField visitor={visitor} autofocus />
            <SubmitButton>{t.signInButton}</SubmitButton>
          </PostForm>
        )}
      </Card>
      <details class="card">
        <summary>{t.noDevice}</summary>
        <PostForm visitor={visitor} action={secondFactorPath}>
          <RecoveryCodeField visitor={visitor} />
          <SubmitButton tone="plain">{t.recoveryButton}</SubmitButton>
        </PostForm>
        <AskSupport visitor={visitor}>{t.noCodesEither}</AskSupport>
      </details>
      <p class="below-card">
        <a href="/sign-in">{t.back}</a>
      </p>
    </>,
  );
}

/** Mails the owner of an account that its second factor changed. */
export async function mailFactorChange(
  deps: SignInDeps,
  account: Account,
  change: Extract<MailJob, { kind: "second_factor_changed" }>["change"],
): Promise<void> {
  const reader = mailReaderOf(account, "second_factor_changed");
  if (reader === undefined) return;
  const atomic = deps.kv.atomic();
  const nowMs = deps.clock.nowMs();
  addMail(atomic, { kind: "second_factor_changed", ...reader, change, atMs: nowMs }, { nowMs });
  await atomic.commit();
  deps.hintMail();
}

/** Second factor that was shown, or why it does not count. */
export type ShownFactor =
  | { readonly ok: true; readonly kind: SecondFactorKind }
  | { readonly ok: false; readonly why: string };

/** Uses up the code or recovery code of a form; each try counts. */
export async function useShownCode(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  account: Account,
): Promise<ShownFactor> {
  const t = signInTexts[c.get("visitor").locale];
  const { kv, clock } = deps;
  const nowMs = clock.nowMs();
  const tries = await countCodeTry(kv, account.id, clientAddress(c), nowMs);
  if (!tries.allowed) return { ok: false, why: t.tooMany(tries.retryAfterSeconds) };
  const form = await readForm(c);
  const recoveryCode = form.text("recoveryCode");
  if (recoveryCode !== "") {
    const by = personAt(account, whenceOf(c));
    const used = await useRecoveryCode(kv, account.id, recoveryCode, { by, nowMs });
    if (!used) return await wrongFactor(c, deps, account, t.recoveryWrong);
    await mailFactorChange(deps, account, "recovery_code_used");
    return { ok: true, kind: "recovery_code" };
  }
  const checked = await checkCode(deps, account.id, form.text("code"));
  if (checked.kind === "no_secret") return { ok: false, why: t.codeUnreadable };
  const used = checked.kind === "right" && checked.entry.value.confirmedAtMs !== undefined &&
    await useCode(kv, checked.entry, { step: checked.step, nowMs });
  return used ? { ok: true, kind: "code" } : await wrongFactor(c, deps, account, t.codeWrong);
}

/** Logs a wrong code: whoever sent it has passed the first factor. */
async function wrongFactor(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  { id }: Account,
  why: string,
): Promise<ShownFactor> {
  await writePersonAct(deps.kv, id, "second_factor_failed", {
    by: { kind: "stranger", ...whenceOf(c) },
    nowMs: deps.clock.nowMs(),
  });
  return { ok: false, why };
}

/** Opens the session of a sign-in whose second factor was right. */
async function finishSignIn(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  { open, account }: Waiting,
  secondFactor: SecondFactorKind,
) {
  if (!await open.use()) return c.redirect("/sign-in", 303);
  const { method, next, organisationId, companyId } = open.grant;
  const shown = { method, secondFactor, ...defined({ organisationId, companyId }) };
  const session = await startSession(c, deps, account.id, shown);
  const { email } = account;
  if (secondFactor === "code" && email !== undefined && deps.operators.includes(email)) {
    const operator = { accountId: account.id, email };
    const nowMs = deps.clock.nowMs();
    await passWithSignIn(deps.kv, { operator, sessionId: session.id, nowMs });
  }
  return c.redirect(next, 303);
}

async function takeCode(c: Context<DashboardEnv>, deps: SignInDeps, waiting: Waiting) {
  const shown = await useShownCode(c, deps, waiting.account);
  return shown.ok
    ? await finishSignIn(c, deps, waiting, shown.kind)
    : await secondFactorPage(c, deps, waiting, shown.why);
}

async function askOf(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  { account }: Waiting,
): Promise<PasskeyAsk> {
  const holder = await holderOf(c, deps, "pending");
  return { act: "second_factor", holder, accountId: account.id };
}

async function takePasskey(c: Context<DashboardEnv>, deps: SignInDeps, waiting: Waiting) {
  const credential = (await readForm(c)).exact("credential");
  const accountId = await verifyAssertion(deps, credential, await askOf(c, deps, waiting));
  return accountId === undefined
    ? await secondFactorPage(c, deps, waiting, signInTexts[c.get("visitor").locale].passkeyWrong)
    : await finishSignIn(c, deps, waiting, "passkey");
}

/** The page that asks for the second factor, between the first one and the session. */
export const secondFactorPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes(deps) {
    const whileWaiting = (
      act: (c: Context<DashboardEnv>, deps: SignInDeps, waiting: Waiting) => Promise<Response>,
    ) =>
    async (c: Context<DashboardEnv>) => {
      const waiting = await waitingSignIn(c, deps);
      return waiting === undefined ? c.redirect("/sign-in", 303) : await act(c, deps, waiting);
    };
    return new Hono<DashboardEnv>()
      .get(secondFactorPath, whileWaiting(secondFactorPage))
      .post(secondFactorPath, whileWaiting(takeCode))
      .post(passkeyPath, whileWaiting(takePasskey))
      .post(
        `${passkeyPath}/options`,
        whileWaiting((c, _, waiting) =>
          answerOptions(
            c,
            deps,
            async () => await assertionOptions(deps, await askOf(c, deps, waiting)),
          )
        ),
      );
  },
};
