/** Sign-in at the provider of an organisation, which the domain of the address leads to. */
import { type Context, Hono } from "hono";
import { normaliseEmail, returnPath } from "../../../../core/people/accounts/email_address.ts";
import { domainOf } from "../../../../core/people/organisations/domain.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import {
  findCompanySignIn,
  getCompanyOpenId,
  joinByDomain,
} from "../../../../kv/people/organisations/company_sign_in.ts";
import { companyClient } from "../../../auth/company_openid.ts";
import type { OpenIdClaims, OpenIdClient } from "../../../auth/openid.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, PostForm, SubmitButton } from "../../components/mod.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { EmailField, formPage, NextField } from "./form_parts.tsx";
import { clientAddress } from "../../visitor/doer.ts";
import { signInTexts } from "./texts.ts";

/** Path at which people type the address whose domain leads to their organisation. */
export const companyPath = "/sign-in/company";
/** Path of the link that leaves for the provider. */
export const companyStartPath = "/auth/openid/company";

/** The client of an organisation's provider, as it is at this moment. */
export async function clientOfCompany(
  deps: SignInDeps,
  organisationId: AccountId,
): Promise<OpenIdClient | undefined> {
  const { companySignIn, masterKeys, clock } = deps;
  const openId = await getCompanyOpenId(deps.kv, organisationId);
  if (companySignIn === undefined || openId === undefined) return undefined;
  const { fetch } = companySignIn;
  return await companyClient({ masterKeys, clock, fetch }, organisationId, openId);
}

/**
 * Whether an organisation may say who has an address: it has verified the domain. Asked of the address in the claims, and
 * of that of the account: an organisation opens no account of another domain, even one that it opened before.
 */
export async function isOfCompany(
  { kv }: SignInDeps,
  organisationId: AccountId,
  email: string | undefined,
): Promise<boolean> {
  if (email === undefined) return false;
  return (await findCompanySignIn(kv, domainOf(email)))?.organisationId === organisationId;
}

/** Returns the address of the claims, if the provider has verified it and the organisation has verified its domain. */
export async function companyEmail(
  deps: SignInDeps,
  organisationId: AccountId,
  { verifiedEmail }: OpenIdClaims,
): Promise<string | "openIdNoEmail" | "companyOtherDomain"> {
  const email = verifiedEmail === undefined ? undefined : normaliseEmail(verifiedEmail);
  if (email === undefined) return "openIdNoEmail";
  return await isOfCompany(deps, organisationId, email) ? email : "companyOtherDomain";
}

/** Makes who came from the provider a member, or says why not. */
export async function joinCompany(
  { kv, clock }: SignInDeps,
  organisationId: AccountId,
  person: Account,
): Promise<"member" | "companyFull" | "companyRemoved"> {
  const openId = await getCompanyOpenId(kv, organisationId);
  if (openId === undefined) return "companyFull";
  const member = { person, role: openId.role, nowMs: clock.nowMs() };
  const joined = await joinByDomain(kv, organisationId, member);
  if (joined === "removed") return "companyRemoved";
  return joined === "joined" || joined === "already" ? "member" : "companyFull";
}

interface CompanyForm {
  readonly email?: string;
  readonly next: string;
  readonly error?: string;
}

function companyPage(c: Context<DashboardEnv>, { email, next, error }: CompanyForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  return formPage(
    c,
    { title: t.companyTitle, lead: t.companyLead, refused: error !== undefined },
    <>
      <Card>
        <PostForm visitor={visitor} action={companyPath}>
          <NextField next={next} />
          <EmailField value={email} error={error} autofocus locale={visitor.locale} />
          <SubmitButton>{t.companyButton}</SubmitButton>
        </PostForm>
      </Card>
      <p class="below-card">
        <a href="/sign-in">{t.back}</a>
      </p>
    </>,
  );
}

/** Shows where the address leads. A link goes on: the policy of pages lets forms go to this site only. */
async function showWay(c: Context<DashboardEnv>, deps: SignInDeps) {
  const t = signInTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const typed = form.text("email").slice(0, 254);
  const next = returnPath(form.text("next"), "/");
  const rule = rateRules.openIdByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), deps.clock.nowMs());
  const refuse = (error: string) => companyPage(c, { email: typed, next, error });
  if (!tries.allowed) return await refuse(t.tooMany(tries.retryAfterSeconds));
  const email = normaliseEmail(typed);
  if (email === undefined) return await refuse(t.emailInvalid);
  const domain = domainOf(email);
  const found = await findCompanySignIn(deps.kv, domain);
  if (found === undefined) return await refuse(t.companyNone(domain));
  const { host } = new URL(found.openId.issuer);
  return await formPage(
    c,
    { title: t.companyTitle, refused: false },
    <>
      <Card>
        <p>{t.companyLeave(host)}</p>
        <a
          class="button wide-button"
          href={`${companyStartPath}?${new URLSearchParams({ domain, next })}`}
        >
          {t.continueWith(host)}
        </a>
      </Card>
      <p class="below-card">
        <a href="/sign-in">{t.back}</a>
      </p>
    </>,
  );
}

/** The page of the address; without the network for it there is none. */
export const companyPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes(deps) {
    const app = new Hono<DashboardEnv>();
    if (deps.companySignIn === undefined) return app;
    return app
      .get(companyPath, (c) => companyPage(c, { next: returnPath(c.req.query("next"), "/") }))
      .post(companyPath, (c) => showWay(c, deps));
  },
};
