/**
 * Starts sessions: a new session and a new cookie; nothing of the visitor before is kept. A person with a second factor
 * shows it first.
 */
import type { Context } from "hono";
import { deviceName, type Session } from "../../../../core/people/accounts/session_rules.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { newSecretToken } from "../../../../core/people/accounts/secret_token.ts";
import {
  closeSession,
  isNewBrowser,
  openSession,
  rememberPlaces,
} from "../../../../kv/people/accounts/sessions.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { ensureOrganisation } from "../../../../kv/people/organisations/organisations.ts";
import { hasSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { passwordMark, savePendingSignIn } from "../../../../kv/people/accounts/tokens.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { isBrowserToken, type Origin, placesOf } from "../../../auth/sign_in_budgets.ts";
import { clientAddress } from "../../visitor/doer.ts";
import { createCookies } from "../../visitor/cookies.ts";
import type { PageDeps } from "../../page/page_deps.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { createFirstKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { listInvitationsFor } from "../../../../kv/people/organisations/invitations.ts";
import { grantSignupCredit } from "../../../../kv/money/credits/topup_bonus.ts";
import { defineTexts } from "../../text/i18n.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";

/** Returns the origin of a request, for the budgets of tries. */
export function originOf(c: Context<DashboardEnv>, deps: Pick<PageDeps, "baseUrl">): Origin {
  return { browser: createCookies(deps.baseUrl).read(c, "browser"), address: clientAddress(c) };
}

/** The page that asks for the second factor. */
export const secondFactorPath = "/sign-in/second-factor";

/**
 * Goes on after a right first factor: signs in, or asks for the second factor of an account that has one.
 *
 * @param way how the person came in, and the page that follows
 */
export async function passFirstFactor(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  accountId: AccountId,
  { method, next: asked, organisationId, companyId }:
    & Pick<Session, "method" | "organisationId" | "companyId">
    & { readonly next: string },
): Promise<Response> {
  const next = await arrivalPath(deps, accountId, asked);
  const organisation = defined({ organisationId, companyId });
  if (!await hasSecondFactor(deps.kv, accountId)) {
    await startSession(c, deps, accountId, { method, ...organisation });
    return c.redirect(next, 303);
  }
  const mark = await passwordMark(await getPasswordHash(deps.kv, accountId));
  const pending = { accountId, method, passwordMark: mark, next, ...organisation };
  const token = await savePendingSignIn(deps.kv, pending, deps.clock.nowMs());
  createCookies(deps.baseUrl).write(c, "pending", token);
  return c.redirect(secondFactorPath, 303);
}

/** Signs the browser in, ends its previous session, and remembers the place as known. */
export async function startSession(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  accountId: AccountId,
  shown: Pick<Session, "method" | "secondFactor" | "organisationId" | "companyId">,
): Promise<Session> {
  const cookies = createCookies(deps.baseUrl);
  const former = cookies.read(c, "session");
  if (former !== undefined) await closeSession(deps.kv, former);
  const nowMs = deps.clock.nowMs();
  const { method, secondFactor, organisationId, companyId } = shown;
  const actingId = await ensureOrganisation(deps.kv, accountId, shown, nowMs);
  const { browser, places } = await knownOrigin(c, deps);
  const [place] = places;
  const device = deviceName(c.req.header("user-agent"));
  const address = clientAddress(c);
  const { token, session } = await openSession(deps.kv, {
    accountId,
    nowMs,
    method,
    ...defined({ secondFactor, organisationId, companyId, actingId }),
    device,
    address,
    isNewBrowser: place !== undefined && await isNewBrowser(deps.kv, accountId, place, nowMs),
  });
  cookies.write(c, "session", token);
  cookies.write(c, "browser", browser);
  const { loggedIn = [] } = session;
  const seen = place === undefined ? undefined : { place, device, address, loggedIn };
  if (await rememberPlaces(deps.kv, accountId, places, nowMs, seen)) deps.hintMail();
  cookies.remove(c, "visitor");
  cookies.remove(c, "flow");
  cookies.remove(c, "pending");
  return session;
}

/** Returns what the browser is known by, made now if it has nothing, and the places of the request. */
async function knownOrigin(c: Context<DashboardEnv>, deps: SignInDeps) {
  const { browser: former, address } = originOf(c, deps);
  const browser = isBrowserToken(former) ? former : newSecretToken();
  return { browser, places: await placesOf({ browser, address }) };
}

// Equips a new account for its first call: a key, and what the operator gives to try the service.

const texts = defineTexts({
  en: { keyName: "First key" },
  vi: { keyName: "Khoá đầu tiên" },
});

/**
 * Gives a new account its first key, and what there is to try the service: the credit of a campaign, or the play
 * money of a sandbox. The account exists already, so a failure of either is
 * reported and does not keep its owner out.
 */
export async function equipAccount(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  account: Account,
): Promise<void> {
  const { kv, masterKeys, clock, spendGranted = "first" } = deps;
  const { id } = account;
  const nowMs = clock.nowMs();
  const name = texts[c.get("visitor").locale].keyName;
  const done = await Promise.allSettled([
    createFirstKey(kv, masterKeys, id, { name, nowMs }),
    grantSignupCredit(kv, { account, clientAddress: clientAddress(c), nowMs, spendGranted }),
    deps.openingCredit?.(id),
  ]);
  for (const one of done) {
    if (one.status === "rejected") deps.report?.("page", one.reason);
  }
}

/** Path at which invitations are answered. */
const invitationsPath = "/organisations";

/** Whether an invitation waits for an answer of a person: it comes before their own account. */
async function isInvited(
  { kv, clock }: Pick<SignInDeps, "kv" | "clock">,
  { email }: Pick<Account, "email">,
): Promise<boolean> {
  return email !== undefined && (await listInvitationsFor(kv, email, clock.nowMs())).length > 0;
}

/** Returns where a new account begins: at its invitation, or at the page that greets it and then leads to `next`. */
export async function firstPath(
  deps: SignInDeps,
  account: Pick<Account, "email">,
  next: string,
): Promise<string> {
  if (await isInvited(deps, account)) return invitationsPath;
  return next === "/" ? "/welcome" : `/welcome?${new URLSearchParams({ next })}`;
}

/** Returns where a person goes after signing in: at an invitation that waits, unless a certain page was asked for. */
export async function arrivalPath(
  deps: SignInDeps,
  accountId: AccountId,
  next: string,
): Promise<string> {
  if (next !== "/") return next;
  const account = await getAccount(deps.kv, accountId);
  return account !== undefined && await isInvited(deps, account) ? invitationsPath : next;
}
