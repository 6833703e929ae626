/** Sign-in at a provider, one of the operator's or that of an organisation: the redirect to it, and the return. */
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
import {
  saveSignInFlow,
  type SignInFlow,
  takeSignInFlow,
} from "../../../../kv/people/accounts/tokens.ts";
import { callbackPathOf, type ProviderId } from "../../../../core/config/sign_in_providers.ts";
import { parseDomain } from "../../../../core/people/organisations/domain.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { findCompanySignIn } from "../../../../kv/people/organisations/company_sign_in.ts";
import {
  clientOfCompany,
  companyEmail,
  companyStartPath,
  isOfCompany,
  joinCompany,
} from "./company.tsx";
import type { OpenIdClaims, OpenIdClient } from "../../../auth/openid.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { createCookies } from "../../visitor/cookies.ts";
import type { Locale } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { deadEndPage, providerStartPath } from "./form_parts.tsx";
import { equipAccount, firstPath, passFirstFactor } from "./start_session.ts";
import { clientAddress, whenceOf } from "../../visitor/doer.ts";
import { personAt } from "../../../../kv/people/accounts/person_activity.ts";
import type { Whence } from "../../../../kv/people/audit/account_activity.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";

/** Arrival of somebody who comes back. */
interface Arrival {
  readonly locale: Locale;
  readonly whence: Whence;
}

/** The account of a person, and whether it was just created. */
interface Found {
  readonly account: Account;
  readonly isNew: boolean;
}

type Failure =
  | "openIdFailed"
  | "openIdNoEmail"
  | "companyOtherDomain"
  | "companyFull"
  | "companyRemoved"
  | "blocked";

function failurePage(c: Context<DashboardEnv>, failure: Failure) {
  const t = signInTexts[c.get("visitor").locale];
  const way = { href: "/sign-in", text: t.back };
  return deadEndPage(c, { title: t.signInTitle, why: t[failure], way });
}

/** Destination for which somebody leaves. */
interface Destination {
  readonly id: ProviderId;
  readonly client: OpenIdClient;
  /** The organisation whose provider it is; absent: the operator's. */
  readonly organisationId?: AccountId;
}

async function leave(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  destination: () => Promise<Destination | undefined>,
) {
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.openIdByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  const found = tries.allowed ? await destination() : undefined;
  if (found === undefined) return await failurePage(c, "openIdFailed");
  const { id, client, organisationId } = found;
  const secrets = {
    state: newSecretToken(),
    nonce: newSecretToken(),
    codeVerifier: newSecretToken(),
  };
  const browser = newSecretToken();
  let target: URL;
  try {
    target = await client.begin(secrets, deps.baseUrl + callbackPathOf(id));
  } catch (error) {
    deps.report?.("openid", error);
    return await failurePage(c, "openIdFailed");
  }
  await saveSignInFlow(deps.kv, secrets.state, {
    codeVerifier: secrets.codeVerifier,
    nonce: secrets.nonce,
    browserHash: await hashSecret("flow-browser", browser),
    ...defined({ organisationId }),
    provider: id,
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
  { locale, whence }: Arrival,
): Promise<Found | Failure> {
  const nowMs = deps.clock.nowMs();
  const identity = { issuer: claims.issuer, subject: claims.subject };
  const known = await findAccountByIdentity(deps.kv, identity);
  if (known !== undefined) return { account: known, isNew: false };
  const email = claims.verifiedEmail === undefined
    ? undefined
    : normaliseEmail(claims.verifiedEmail);
  if (email === undefined) return "openIdNoEmail";
  const byEmail = await findAccountByEmail(deps.kv, email);
  if (byEmail !== undefined) {
    const done = { by: personAt(byEmail, whence), nowMs };
    const added = await addIdentity(deps.kv, byEmail.id, identity, done);
    return added ? { account: byEmail, isNew: false } : "openIdFailed";
  }
  const created = await tryCreateAccount(deps.kv, { nowMs, email, locale, identity });
  return created === undefined ? "openIdFailed" : { account: created, isNew: true };
}

/** The same for a person whom the provider of an organisation has identified: the organisation has to own the domain. */
async function companyAccountOf(
  deps: SignInDeps,
  organisationId: AccountId,
  claims: OpenIdClaims,
  arrival: Arrival,
): Promise<Found | Failure> {
  const email = await companyEmail(deps, organisationId, claims);
  if (email === "openIdNoEmail" || email === "companyOtherDomain") return email;
  const found = await accountOf(deps, claims, arrival);
  if (typeof found === "string") return found;
  const { account } = found;
  if (!await isOfCompany(deps, organisationId, account.email)) return "companyOtherDomain";
  if (account.blockedAtMs !== undefined) return "blocked";
  const joined = await joinCompany(deps, organisationId, account);
  return joined === "member" ? found : joined;
}

/** Reads who the person is, by the provider that the flow left for. */
async function claimsOf(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  flow: SignInFlow,
  { state, id }: { readonly state: string; readonly id: ProviderId },
): Promise<OpenIdClaims | undefined> {
  try {
    const { nonce, codeVerifier, organisationId, provider = "openid" } = flow;
    // An answer of another provider than the one that was asked.
    if (provider !== id) return undefined;
    const client = organisationId === undefined
      ? deps.providers?.find((one) => one.id === id)?.client
      : await clientOfCompany(deps, organisationId);
    if (client === undefined) return undefined;
    const redirectUri = deps.baseUrl + callbackPathOf(id);
    const callback = new URL(redirectUri + new URL(c.req.url).search);
    const secrets = { state, nonce, codeVerifier };
    return await client.finish(callback, secrets, redirectUri);
  } catch (error) {
    deps.report?.("openid", error);
    return undefined;
  }
}

async function comeBack(c: Context<DashboardEnv>, deps: SignInDeps, id: ProviderId) {
  const state = c.req.query("state") ?? "";
  const flow = await takeSignInFlow(deps.kv, state, deps.clock.nowMs());
  const browser = createCookies(deps.baseUrl).read(c, "flow");
  const sameBrowser = flow !== undefined && browser !== undefined &&
    await sameSecret(await hashSecret("flow-browser", browser), flow.browserHash);
  if (!sameBrowser) return await failurePage(c, "openIdFailed");
  const claims = await claimsOf(c, deps, flow, { state, id });
  if (claims === undefined) return await failurePage(c, "openIdFailed");
  const arrival = { locale: c.get("visitor").locale, whence: whenceOf(c) };
  const { organisationId } = flow;
  const found = organisationId === undefined
    ? await accountOf(deps, claims, arrival)
    : await companyAccountOf(deps, organisationId, claims, arrival);
  if (typeof found === "string") return await failurePage(c, found);
  const { account, isNew } = found;
  if (account.blockedAtMs !== undefined) return await failurePage(c, "blocked");
  // Who joins an organisation uses its keys and its money.
  const isAlone = isNew && organisationId === undefined;
  if (isAlone) await equipAccount(c, deps, account);
  const next = isAlone ? await firstPath(deps, account, flow.next) : flow.next;
  const from = defined({ organisationId, companyId: organisationId });
  const way = { method: "openid", next, ...from } as const;
  return await passFirstFactor(c, deps, account.id, way);
}

/** Finds the provider of the domain that a link names. */
async function companyOf(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
): Promise<Destination | undefined> {
  const domain = parseDomain(c.req.query("domain") ?? "");
  const found = domain === undefined ? undefined : await findCompanySignIn(deps.kv, domain);
  if (found === undefined) return undefined;
  const { organisationId } = found;
  const client = await clientOfCompany(deps, organisationId);
  return client && { id: "openid", client, organisationId };
}

/** Registers a start and a return for each configured provider; those of others are pages that do not exist. */
function createOpenIdPages(deps: SignInDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const { providers = [], companySignIn } = deps;
  for (const provider of providers) {
    app.get(providerStartPath(provider.id), (c) => leave(c, deps, () => Promise.resolve(provider)));
    app.get(callbackPathOf(provider.id), (c) => comeBack(c, deps, provider.id));
  }
  if (companySignIn !== undefined) {
    app.get(companyStartPath, (c) => leave(c, deps, () => companyOf(c, deps)));
  }
  if (companySignIn !== undefined && !providers.some(({ id }) => id === "openid")) {
    app.get(callbackPathOf("openid"), (c) => comeBack(c, deps, "openid"));
  }
  return app.all("/auth/*", (c) => c.notFound());
}

export const openIdPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createOpenIdPages,
};
