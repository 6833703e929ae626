/** `/organisation/sign-in`: the OpenID provider of an organisation and its domains. */
import { type Context, Hono } from "hono";
import { isFresh } from "../../../../core/people/accounts/session_rules.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { newSecretToken } from "../../../../core/people/accounts/secret_token.ts";
import { parseRemoteUrl } from "../../../../core/net/remote/remote_url.ts";
import { givenRoles, parseGivenRole } from "../../../../core/people/organisations/acts.ts";
import {
  domainGraceMs,
  domainOf,
  parseDomain,
  verificationRecordOf,
} from "../../../../core/people/organisations/domain.ts";
import { listMembers, type Member } from "../../../../kv/people/organisations/members.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import {
  addCompanyDomain,
  type CompanyDomain,
  type CompanyOpenId,
  getCompanyOpenId,
  isSameClient,
  listCompanyDomains,
  lookUpDomain,
  removeCompanyDomain,
  requireCompanySignIn,
  setCompanyOpenId,
  stateOf,
} from "../../../../kv/people/organisations/company_sign_in.ts";
import {
  companyClient,
  maxClientSecretChars,
  sealClientSecret,
} from "../../../auth/company_openid.ts";
import { callbackPath } from "../../../auth/openid.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import {
  Badge,
  Card,
  CopyRow,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { CompanySignInDeps } from "../../page/sign_in_deps.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { renderPage } from "../../frame/layout.tsx";
import { roleNames } from "../../text/role_names.ts";
import { doneBy } from "../../visitor/doer.ts";
import { confirmAddress, requireFresh } from "../account/confirm.tsx";
import { companySignInTexts } from "./sign_in_texts.ts";

/** Where the page is. */
export const companySignInPath = "/organisation/sign-in";

/** Characters of a client id: far more than those of any provider. */
const maxClientIdChars = 255;

/** Members that the card names who cannot sign in at the provider. */
const maxOutsidersNamed = 10;

type Texts = typeof companySignInTexts["en"];

/** The provider as it was typed, and what is wrong with it. */
interface ProviderForm {
  readonly issuer: string;
  readonly clientId: string;
  readonly role: string;
  readonly errors: {
    readonly issuer?: string;
    readonly clientId?: string;
    readonly clientSecret?: string;
    readonly role?: string;
  };
}

/** What a form did: a short name for the notice after the redirect, or what the page says instead. */
type Outcome = keyof Texts["done"] | { readonly problem: string } | { readonly form: ProviderForm };

/** What the cards show. */
interface View {
  readonly visitor: Visitor;
  readonly baseUrl: string;
  readonly openId: CompanyOpenId | undefined;
  readonly domains: readonly CompanyDomain[];
  /** Only the provider admits members. */
  readonly isRequired: boolean;
  /** Some members whom the provider does not admit: their address is of no verified domain. */
  readonly outsiders: readonly string[];
  /** Changes need no further confirmation. */
  readonly fresh: boolean;
  readonly form: ProviderForm;
}

async function signInPage(
  c: Context<DashboardEnv>,
  deps: Pick<DashboardDeps, "kv" | "clock" | "baseUrl">,
  state: Partial<{ notice: string; problem: string; form: ProviderForm }> = {},
) {
  const visitor = c.get("visitor");
  const t = companySignInTexts[visitor.locale];
  const { account, session } = c.get("signedIn");
  const [openId, domains, members] = await Promise.all([
    getCompanyOpenId(deps.kv, account.id),
    listCompanyDomains(deps.kv, account.id),
    listMembers(deps.kv, account),
  ]);
  const { issuer = "", clientId = "", role = "developer" } = openId ?? {};
  const view: View = {
    visitor,
    baseUrl: deps.baseUrl,
    openId,
    domains,
    isRequired: account.companySignInRequired === true,
    outsiders: outsidersOf(members, domains),
    fresh: isFresh(session, deps.clock.nowMs()),
    form: state.form ?? { issuer, clientId, role, errors: {} },
  };
  const failed = state.problem !== undefined || state.form !== undefined;
  return await renderPage(
    c,
    { title: t.title, lead: t.lead, status: failed ? 422 : 200 },
    <>
      {state.notice !== undefined && <Notice tone="success">{state.notice}</Notice>}
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {!view.fresh && (
        <Notice tone="info">
          {t.confirmFirst} <a href={confirmAddress(companySignInPath)}>{t.confirmLink}</a>
        </Notice>
      )}
      <DomainsCard {...view} />
      <ProviderCard {...view} />
      <RequirementCard {...view} />
      <p class="below-card">
        <a href="/organisation">{t.back}</a>
      </p>
    </>,
  );
}

/** Members beside the owner whose address is of no verified domain; a few names, since pages show them in a sentence. */
function outsidersOf(
  members: readonly Member[],
  domains: readonly CompanyDomain[],
): readonly string[] {
  const verified = domains.filter(({ verifiedAtMs }) => verifiedAtMs !== undefined)
    .map(({ domain }) => domain);
  return members
    .filter(({ role, email }) =>
      role !== "owner" && (email === undefined || !verified.includes(domainOf(email)))
    )
    .map(({ email, personId }) => email ?? personId).slice(0, maxOutsidersNamed);
}

function DomainsCard({ visitor, domains, fresh }: View) {
  const t = companySignInTexts[visitor.locale];
  return (
    <Card title={t.domains}>
      <p class="muted">{t.domainsText}</p>
      {domains.length > 0 && (
        <DataTable
          label={t.domains}
          rows={domains}
          columns={[
            { head: t.domain, cell: ({ domain }) => domain },
            {
              head: t.state,
              cell: (row) => <DomainState row={row} visitor={visitor} />,
            },
            {
              head: t.drop,
              hiddenHead: true,
              kind: "buttons",
              cell: (row) => fresh && <DomainForms domain={row.domain} visitor={visitor} />,
            },
          ]}
        />
      )}
      {domains.filter((row) => stateOf(row) !== "verified").map(({ domain, token }) => (
        <RecordRows domain={domain} token={token} visitor={visitor} />
      ))}
      {fresh && (
        <PostForm visitor={visitor} action={`${companySignInPath}/domains`}>
          <TextField name="domain" label={t.domain} required maxlength={253} autocomplete="off" />
          <SubmitButton tone="plain">{t.add}</SubmitButton>
        </PostForm>
      )}
    </Card>
  );
}

function DomainState({ row, visitor: { locale } }: { row: CompanyDomain; visitor: Visitor }) {
  const t = companySignInTexts[locale];
  const { missingSinceMs } = row;
  if (missingSinceMs === undefined) {
    const isVerified = row.verifiedAtMs !== undefined;
    return <Badge tone={isVerified ? "good" : "busy"}>{isVerified ? t.verified : t.open}</Badge>;
  }
  return (
    <>
      <Badge tone="bad">{t.missing}</Badge> {t.missingUntil}{" "}
      <Time atMs={missingSinceMs + domainGraceMs} locale={locale} />
    </>
  );
}

/** The record that a domain has to publish. */
function RecordRows({ domain, token, visitor: { locale } }: {
  domain: string;
  token: string;
  visitor: Visitor;
}) {
  const t = companySignInTexts[locale];
  const { name, value } = verificationRecordOf(domain, token);
  return (
    <>
      <CopyRow label={t.recordName} value={name} locale={locale} />
      <CopyRow label={t.recordValue} value={value} locale={locale} />
    </>
  );
}

function DomainForms({ domain, visitor }: { domain: string; visitor: Visitor }) {
  const t = companySignInTexts[visitor.locale];
  return (
    <>
      <PostForm visitor={visitor} action={`${companySignInPath}/domains/verify`}>
        <input type="hidden" name="domain" value={domain} />
        <button type="submit" class="outline small" aria-label={t.verifyOne(domain)}>
          {t.verify}
        </button>
      </PostForm>
      <RowForm
        visitor={visitor}
        action={`${companySignInPath}/domains/remove`}
        confirm={t.dropSure(domain)}
        field={["domain", domain]}
        label={t.dropOne(domain)}
      >
        {t.drop}
      </RowForm>
    </>
  );
}

function ProviderCard({ visitor, openId, fresh, form, baseUrl }: View) {
  const { locale } = visitor;
  const t = companySignInTexts[locale];
  return (
    <Card title={t.provider}>
      <p class="muted">{t.providerText}</p>
      <CopyRow label={t.redirectUri} value={baseUrl + callbackPath} locale={locale} />
      {fresh && (
        <PostForm visitor={visitor} action={companySignInPath}>
          <TextField
            name="issuer"
            label={t.issuer}
            hint={t.issuerHint}
            value={form.issuer}
            placeholder="https://login.example.com"
            required
            maxlength={500}
            error={form.errors.issuer}
          />
          <TextField
            name="clientId"
            label={t.clientId}
            value={form.clientId}
            required
            autocomplete="off"
            maxlength={maxClientIdChars}
            error={form.errors.clientId}
          />
          <TextField
            name="clientSecret"
            type="password"
            label={t.clientSecret}
            hint={openId === undefined ? undefined : t.secretKept}
            autocomplete="off"
            maxlength={maxClientSecretChars}
            error={form.errors.clientSecret}
          />
          <SelectField
            name="role"
            label={t.role}
            value={form.role}
            options={givenRoles.map((role) => ({ value: role, label: roleNames[locale][role] }))}
            error={form.errors.role}
          />
          <SubmitButton>{t.save}</SubmitButton>
        </PostForm>
      )}
      {fresh && openId !== undefined && (
        <PostForm
          visitor={visitor}
          action={`${companySignInPath}/remove`}
          confirm={t.removeSure}
        >
          <SubmitButton tone="danger">{t.remove}</SubmitButton>
        </PostForm>
      )}
    </Card>
  );
}

/** The switch that makes the provider the only way in for members. */
function RequirementCard({ visitor, openId, domains, fresh, isRequired, outsiders }: View) {
  const t = companySignInTexts[visitor.locale];
  const isSetUp = openId !== undefined &&
    domains.some(({ verifiedAtMs }) => verifiedAtMs !== undefined);
  if (!isSetUp && !isRequired) return null;
  return (
    <Card
      title={t.requirement}
      actions={
        <Badge tone={isRequired ? "good" : "neutral"}>
          {isRequired ? t.requirementOn : t.requirementOff}
        </Badge>
      }
    >
      <p class="muted">{t.requirementText}</p>
      <p class="muted">{t.requirementOwner}</p>
      {outsiders.length > 0 && (
        <Notice tone="warning">{t.requirementOutsiders(outsiders.join(", "))}</Notice>
      )}
      {fresh && (
        <PostForm
          visitor={visitor}
          action={`${companySignInPath}/require`}
          confirm={isRequired ? undefined : t.requirementConfirm}
        >
          <input type="hidden" name="required" value={isRequired ? "no" : "yes"} />
          <SubmitButton tone="plain">
            {isRequired ? t.requirementEnd : t.requirementBegin}
          </SubmitButton>
        </PostForm>
      )}
    </Card>
  );
}

/** Reads an issuer: an https address without query and fragment. */
function parseIssuer(typed: string): string | undefined {
  const url = parseRemoteUrl(typed);
  if (typeof url === "string" || url.protocol !== "https:") return undefined;
  return url.search === "" && url.hash === "" ? typed : undefined;
}

/** What the forms need. */
interface FormDeps
  extends Pick<DashboardDeps, "kv" | "clock" | "baseUrl" | "masterKeys" | "report"> {
  readonly companySignIn: CompanySignInDeps;
}

/** An act of a form; it has passed the table of roles and acts. */
type FormAct = (c: Context<DashboardEnv>, deps: FormDeps, t: Texts) => Promise<Outcome>;

const saveProvider: FormAct = async (c, deps, t) => {
  const { id } = c.get("signedIn").account;
  const posted = await readForm(c);
  const typed = {
    issuer: posted.text("issuer"),
    clientId: posted.text("clientId"),
    role: posted.text("role"),
  };
  const secret = posted.text("clientSecret");
  const refuse = (errors: ProviderForm["errors"]) => ({ form: { ...typed, errors } });
  const role = parseGivenRole(typed.role);
  if (parseIssuer(typed.issuer) === undefined) return refuse({ issuer: t.issuerInvalid });
  if (typed.clientId === "" || typed.clientId.length > maxClientIdChars) {
    return refuse({ clientId: t.idInvalid });
  }
  if (role === undefined) return refuse({ role: t.roleInvalid });
  const stored = await getCompanyOpenId(deps.kv, id);
  if ((secret === "" && stored === undefined) || secret.length > maxClientSecretChars) {
    return refuse({ clientSecret: t.secretInvalid });
  }
  const isKept = secret === "" && stored !== undefined;
  // A secret goes to nobody but the provider for which it was entered.
  if (isKept && !isSameClient(stored, typed)) return refuse({ clientSecret: t.secretAgain });
  const sealedSecret = isKept
    ? stored.sealedSecret
    : await sealClientSecret(deps.masterKeys, id, secret);
  const openId: CompanyOpenId = { ...typed, role, sealedSecret };
  if (!await answers(deps, id, openId)) return refuse({ issuer: t.unreachable });
  await setCompanyOpenId(deps.kv, id, openId, doneBy(c, deps.clock.nowMs()));
  return "saved";
};

/** Whether a provider answers: its metadata say where people sign in. */
async function answers(
  { companySignIn: { fetch }, masterKeys, clock, baseUrl, report }: FormDeps,
  id: AccountId,
  openId: CompanyOpenId,
): Promise<boolean> {
  const client = await companyClient({ masterKeys, clock, fetch }, id, openId);
  const [state, nonce, codeVerifier] = [newSecretToken(), newSecretToken(), newSecretToken()];
  try {
    await client?.begin({ state, nonce, codeVerifier }, baseUrl + callbackPath);
    return client !== undefined;
  } catch (error) {
    report?.("openid", error);
    return false;
  }
}

const removeProvider: FormAct = async (c, { kv, clock }) => {
  const done = doneBy(c, clock.nowMs());
  await setCompanyOpenId(kv, c.get("signedIn").account.id, undefined, done);
  return "removed";
};

/** Requires the provider of everybody, or no longer; who is not exempt has come from it, and so keeps a way in. */
const switchRequirement: FormAct = async (c, { kv, clock }, t) => {
  const { account, role, session } = c.get("signedIn");
  const isRequired = (await readForm(c)).text("required") === "yes";
  const keepsWay = role === "owner" || session.companyId === account.id;
  if (isRequired && !keepsWay) return { problem: t.requirementFirstSelf };
  const done = doneBy(c, clock.nowMs());
  const result = await requireCompanySignIn(kv, account.id, isRequired, done);
  if (result === "not_set_up") return { problem: t.requirementNotSetUp };
  return isRequired ? "required" : "notRequired";
};

const addDomain: FormAct = async (c, { kv, clock }, t) => {
  const domain = parseDomain((await readForm(c)).text("domain"));
  if (domain === undefined) return { problem: t.domainInvalid };
  const added = await addCompanyDomain(
    kv,
    c.get("signedIn").account.id,
    domain,
    doneBy(c, clock.nowMs()),
  );
  return added ? "added" : { problem: t.tooManyDomains };
};

const checkDomain: FormAct = async (c, { kv, clock, companySignIn }, t) => {
  const domain = parseDomain((await readForm(c)).text("domain"));
  if (domain === undefined) return { problem: t.domainInvalid };
  const done = doneBy(c, clock.nowMs());
  const { id } = c.get("signedIn").account;
  const result = await lookUpDomain(kv, id, domain, { ...companySignIn, ...done });
  return result === "verified" ? "verified" : { problem: t.verifications[result](domain) };
};

const dropDomain: FormAct = async (c, { kv, clock }, t) => {
  const domain = parseDomain((await readForm(c)).text("domain"));
  if (domain === undefined) return { problem: t.domainInvalid };
  const done = doneBy(c, clock.nowMs());
  await removeCompanyDomain(kv, c.get("signedIn").account.id, domain, done);
  return "dropped";
};

/** Runs a form, counted with the other changes of the person, and shows the page with its outcome. */
function onForm(deps: FormDeps, act: FormAct) {
  return async (c: Context<DashboardEnv>): Promise<Response> => {
    const t = companySignInTexts[c.get("visitor").locale];
    const rule = rateRules.changesByAccount;
    const nowMs = deps.clock.nowMs();
    const tries = await countTry(deps.kv, rule, c.get("signedIn").person.id, nowMs);
    if (!tries.allowed) {
      return await signInPage(c, deps, { problem: t.tooMany(tries.retryAfterSeconds) });
    }
    const outcome = await act(c, deps, t);
    return typeof outcome === "string"
      ? c.redirect(`${companySignInPath}?done=${outcome}`, 303)
      : await signInPage(c, deps, outcome);
  };
}

/** Registers the page and its forms; without the network for providers there is none. */
export function createCompanySignInPages(deps: DashboardDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const { kv, clock, baseUrl, masterKeys, report, companySignIn } = deps;
  if (companySignIn === undefined) return app;
  const world: FormDeps = { kv, clock, baseUrl, masterKeys, report, companySignIn };
  const fresh = requireFresh(deps, companySignInPath);
  return app
    .get(companySignInPath, (c) => {
      const { done } = companySignInTexts[c.get("visitor").locale];
      const notice = Object.entries(done).find(([name]) => name === c.req.query("done"))?.[1];
      return signInPage(c, deps, notice === undefined ? {} : { notice });
    })
    .post(companySignInPath, fresh, onForm(world, saveProvider))
    .post(`${companySignInPath}/require`, fresh, onForm(world, switchRequirement))
    .post(`${companySignInPath}/remove`, fresh, onForm(world, removeProvider))
    .post(`${companySignInPath}/domains`, fresh, onForm(world, addDomain))
    .post(`${companySignInPath}/domains/verify`, fresh, onForm(world, checkDomain))
    .post(`${companySignInPath}/domains/remove`, fresh, onForm(world, dropDomain));
}
