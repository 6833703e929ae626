/** Sign-in at an OpenID provider: the redirect to it, and the return. */
import { type Context, Hono } from "hono";
import { normaliseEmail, returnPath } from "../../../../core/people/accounts/email_address.ts";
import { hashSecret, newSecretToken } from "../../../../core/people/accounts/secret_token.ts";
import { sameSecret } from "../../../../core/lib/hash/sha256.ts";
import { addIdentity } from "../../../../kv/people/accounts/account_credentials.ts";
import {
  type Account,
  findAccountByEmail,
  findAccountByIdentity,
  tryCreateAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { saveSignInFlow, takeSignInFlow } from "../../../../kv/people/accounts/tokens.ts";
import type { OpenIdClaims, OpenIdClient } from "../../../auth/openid.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { createCookies } from "../../visitor/cookies.ts";
import type { Locale } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { deadEndPage } from "./form_parts.tsx";
import { equipAccount, passFirstFactor, welcomePath } from "./start_session.ts";
import { clientAddress } from "../../visitor/doer.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";

const callbackPath = "/auth/openid/callback";

/** The account of a person, and whether it was just created. */
interface Found {
  readonly account: Account;
  readonly isNew: boolean;
}

type Failure = "openIdFailed" | "openIdNoEmail" | "blocked";

function failurePage(c: Context<DashboardEnv>, failure: Failure) {
  const t = signInTexts[c.get("visitor").locale];
  const way = { href: "/sign-in", text: t.back };
  return deadEndPage(c, { title: t.signInTitle, why: t[failure], way });
}

async function leave(c: Context<DashboardEnv>, deps: SignInDeps, openId: OpenIdClient) {
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.openIdByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!tries.allowed) return await failurePage(c, "openIdFailed");
  const secrets = {
    state: newSecretToken(),
    nonce: newSecretToken(),
    codeVerifier: newSecretToken(),
  };
  const browser = newSecretToken();
  let target: URL;
  try {
    target = await openId.begin(secrets, deps.baseUrl + callbackPath);
  } catch (error) {
    deps.report?.("openid", error);
    return await failurePage(c, "openIdFailed");
  }
  await saveSignInFlow(deps.kv, secrets.state, {
    codeVerifier: secrets.codeVerifier,
    nonce: secrets.nonce,
    browserHash: await hashSecret("flow-browser", browser),
    next: returnPath(c.req.query("next"), "/"),
  }, nowMs);
  createCookies(deps.baseUrl).write(c, "flow", browser);
  return c.redirect(target.href, 303);
}

/**
 * Finds the account of a person whom the provider has identified: by identity, else by verified address, else a new
 * one.
 */
async function accountOf(
  deps: SignInDeps,
  claims: OpenIdClaims,
  locale: Locale,
): Promise<Found | Failure> {
  const identity = { issuer: claims.issuer, subject: claims.subject };
  const known = await findAccountByIdentity(deps.kv, identity);
  if (known !== undefined) return { account: known, isNew: false };
  const email = claims.verifiedEmail === undefined
    ? undefined
    : normaliseEmail(claims.verifiedEmail);
  if (email === undefined) return "openIdNoEmail";
  const byEmail = await findAccountByEmail(deps.kv, email);
  if (byEmail !== undefined) {
    const added = await addIdentity(deps.kv, byEmail.id, identity);
    return added ? { account: byEmail, isNew: false } : "openIdFailed";
  }
  const nowMs = deps.clock.nowMs();
  const created = await tryCreateAccount(deps.kv, { nowMs, email, locale, identity });
  return created === undefined ? "openIdFailed" : { account: created, isNew: true };
}

async function comeBack(c: Context<DashboardEnv>, deps: SignInDeps, openId: OpenIdClient) {
  const state = c.req.query("state") ?? "";
  const flow = await takeSignInFlow(deps.kv, state, deps.clock.nowMs());
  const browser = createCookies(deps.baseUrl).read(c, "flow");
  const sameBrowser = flow !== undefined && browser !== undefined &&
    await sameSecret(await hashSecret("flow-browser", browser), flow.browserHash);
  if (!sameBrowser) return await failurePage(c, "openIdFailed");
  let claims: OpenIdClaims;
  try {
    const callback = new URL(deps.baseUrl + callbackPath + new URL(c.req.url).search);
    const { nonce, codeVerifier } = flow;
    const secrets = { state, nonce, codeVerifier };
    claims = await openId.finish(callback, secrets, deps.baseUrl + callbackPath);
  } catch (error) {
    deps.report?.("openid", error);
    return await failurePage(c, "openIdFailed");
  }
  const { locale } = c.get("visitor");
  const found = await accountOf(deps, claims, locale);
  if (typeof found === "string") return await failurePage(c, found);
  const { account, isNew } = found;
  if (account.blockedAtMs !== undefined) return await failurePage(c, "blocked");
  if (isNew) await equipAccount(c, deps, account);
  const next = isNew ? welcomePath(flow.next) : flow.next;
  return await passFirstFactor(c, deps, account.id, { method: "openid", next });
}

/** Registers `/auth/openid/*`; without a configured provider they are pages that do not exist. */
function createOpenIdPages(deps: SignInDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const { openId } = deps;
  if (openId === undefined) return app.all("/auth/*", (c) => c.notFound());
  return app
    .get("/auth/openid/start", (c) => leave(c, deps, openId))
    .get(callbackPath, (c) => comeBack(c, deps, openId));
}

export const openIdPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createOpenIdPages,
};
