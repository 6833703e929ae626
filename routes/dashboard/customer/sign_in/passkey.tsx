/** Sign-in with a passkey alone, and the form of everything that asks for one. */
import { type Context, Hono } from "hono";
import type { PropsWithChildren } from "hono/jsx";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { hashSecret } from "../../../../core/people/accounts/secret_token.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  assertionOptions,
  type PasskeyAsk,
  passkeyObstacle,
  verifyAssertion,
} from "../../../auth/passkeys.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { type ButtonTone, PostForm, SubmitButton } from "../../components/mod.ts";
import { createCookies, type SecretCookie } from "../../visitor/cookies.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { PageDeps } from "../../page/page_deps.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { deadEndPage, NextField } from "./form_parts.tsx";
import { clientAddress } from "../../visitor/doer.ts";
import { arrivalPath, startSession } from "./start_session.ts";
import { signInTexts } from "./texts.ts";

const passkeyPath = "/sign-in/passkey";

/** Hashes what only this browser has, so that nobody else can answer its challenge. */
export async function holderOf(
  c: Context<DashboardEnv>,
  deps: Pick<PageDeps, "baseUrl">,
  ...names: readonly SecretCookie[]
): Promise<string> {
  const cookies = createCookies(deps.baseUrl);
  const values = names.map((name) => cookies.read(c, name)).filter((value) => value !== undefined);
  return await hashSecret("passkey-holder", values[0] ?? "");
}

/**
 * A form that asks the browser for a passkey, hidden until `passkey.js` finds that the browser can do it. Its options
 * come from `action` and `/options`.
 */
export function PasskeyForm(
  { visitor, baseUrl, action, act, tone, button, children }: PropsWithChildren<{
    visitor: Visitor;
    baseUrl: string;
    action: string;
    act: "create" | "get";
    tone: ButtonTone;
    button: string;
  }>,
) {
  const { passkeyWords } = signInTexts[visitor.locale];
  const passkey = {
    act,
    origin: new URL(baseUrl).origin,
    words: JSON.stringify(passkeyWords),
  };
  return (
    <PostForm visitor={visitor} action={action} passkey={passkey}>
      <input type="hidden" name="credential" value="" />
      {children}
      <small class="field-error" role="alert" data-passkey-problem hidden></small>
      <SubmitButton tone={tone}>{button}</SubmitButton>
    </PostForm>
  );
}

/** The way in with a passkey alone; nothing where the address has no passkeys. */
export function PasskeyWay({ visitor, baseUrl, next }: {
  visitor: Visitor;
  baseUrl: string;
  next: string | undefined;
}) {
  if (passkeyObstacle(baseUrl) !== undefined) return null;
  return (
    <PasskeyForm
      visitor={visitor}
      baseUrl={baseUrl}
      action={passkeyPath}
      act="get"
      tone="plain"
      button={signInTexts[visitor.locale].passkeyButton}
    >
      <NextField next={next} />
    </PasskeyForm>
  );
}

/** Answers a script that asks what a passkey is to sign; requests are counted by IP address. */
export async function answerOptions(
  c: Context<DashboardEnv>,
  deps: PageDeps,
  options: () => Promise<unknown>,
): Promise<Response> {
  const t = signInTexts[c.get("visitor").locale];
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.passkeyByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  return tries.allowed
    ? Response.json({ options: await options() })
    : Response.json({ problem: t.tooMany(tries.retryAfterSeconds) }, { status: 429 });
}

async function askOf(c: Context<DashboardEnv>, deps: SignInDeps): Promise<PasskeyAsk> {
  return { act: "sign_in", holder: await holderOf(c, deps, "session", "visitor") };
}

async function signInByPasskey(c: Context<DashboardEnv>, deps: SignInDeps) {
  const t = signInTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const accountId = await verifyAssertion(deps, form.exact("credential"), await askOf(c, deps));
  const account = accountId === undefined ? undefined : await getAccount(deps.kv, accountId);
  const isGone = account === undefined || account.deletedAtMs !== undefined;
  if (isGone || account.blockedAtMs !== undefined) {
    const way = { href: "/sign-in", text: t.back };
    const why = isGone ? t.passkeyWrong : t.blocked;
    return await deadEndPage(c, { title: t.signInTitle, why, way });
  }
  await startSession(c, deps, account.id, { method: "passkey" });
  return c.redirect(await arrivalPath(deps, account.id, returnPath(form.text("next"), "/")), 303);
}

/** A passkey verifies its person, so it is two factors at once: no code is asked for. */
export const passkeyPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: (deps) =>
    new Hono<DashboardEnv>()
      .post(
        `${passkeyPath}/options`,
        (c) =>
          answerOptions(c, deps, async () => await assertionOptions(deps, await askOf(c, deps))),
      )
      .post(passkeyPath, (c) => signInByPasskey(c, deps)),
};
