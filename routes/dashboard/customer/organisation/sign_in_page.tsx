/** `/organisation/sign-in`: the OpenID provider of an organisation and its domains. */
import { type Context, Hono } from "hono";
import type { z } from "zod";
import { isFresh } from "../../../../core/people/accounts/session_rules.ts";
import { givenRoles } from "../../../../core/people/organisations/acts.ts";
import {
  domainGraceMs,
  domainOf,
  verificationRecordOf,
} from "../../../../core/people/organisations/domain.ts";
import { listMembers, type Member } from "../../../../kv/people/organisations/members.ts";
import {
  type CompanyDomain,
  type CompanyOpenId,
  getCompanyOpenId,
  listCompanyDomains,
  stateOf,
} from "../../../../kv/people/organisations/company_sign_in.ts";
import type { Operation } from "../../../acts/operation.ts";
import {
  domainAddition,
  domainRemoval,
  domainVerification,
  maxClientIdChars,
  providerConnection,
  providerRemoval,
  providerRequirement,
} from "../../../acts/sign_in.ts";
import type { ActName } from "../../../acts/spending.ts";
import { maxClientSecretChars } from "../../../auth/company_openid.ts";
import { callbackPath } from "../../../auth/openid.ts";
import {
  Badge,
  Card,
  CopyRow,
  DataTable,
  fieldsOf,
  Notice,
  PostForm,
  RowForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { type PostedForm, readForm } from "../../page/form_data.ts";
import type { CompanySignInDeps } from "../../page/sign_in_deps.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { notAllowedPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { roleNames } from "../../text/role_names.ts";
import { performForm, refusalView, type RefusalViews } from "../../visitor/acting.ts";
import { confirmAddress, requireFresh } from "../account/confirm.tsx";
import { companySignInTexts } from "./sign_in_texts.ts";

/** Path of the page. */
export const companySignInPath = "/organisation/sign-in";

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

/** Outcome of a form: a short name for the notice after the redirect, or what the page says instead. */
type Outcome = keyof Texts["done"] | { readonly problem: string } | { readonly form: ProviderForm };

/** Content of the cards. */
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

function ProviderCard({ visitor, openId, fresh, form: { errors, ...typed }, baseUrl }: View) {
  const { locale } = visitor;
  const t = companySignInTexts[locale];
  const field = fieldsOf(t, { ...typed, clientSecret: undefined }, errors);
  return (
    <Card title={t.provider}>
      <p class="muted">{t.providerText}</p>
      <CopyRow label={t.redirectUri} value={baseUrl + callbackPath} locale={locale} />
      {fresh && (
        <PostForm visitor={visitor} action={companySignInPath}>
          <TextField
            {...field("issuer")}
            hint={t.issuerHint}
            placeholder="https://login.example.com"
            required
            maxlength={500}
          />
          <TextField
            {...field("clientId")}
            required
            autocomplete="off"
            maxlength={maxClientIdChars}
          />
          <TextField
            {...field("clientSecret")}
            type="password"
            hint={openId === undefined ? undefined : t.secretKept}
            autocomplete="off"
            maxlength={maxClientSecretChars}
          />
          <SelectField
            {...field("role")}
            options={givenRoles.map((role) => ({ value: role, label: roleNames[locale][role] }))}
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

/** Needs of the forms. */
type FormDeps =
  & Pick<DashboardDeps, "kv" | "clock" | "baseUrl" | "masterKeys" | "report">
  & CompanySignInDeps;

/** Meaning of a form, in the words of the page. */
interface FormWords<Why extends string>
  extends Omit<RefusalViews<Why, Outcome>, "spent" | "otherwise"> {
  readonly done: keyof Texts["done"];
}

/** Registers a form: reads it, performs its act, and shows the page with what came of it. */
function onForm<Name extends ActName, Input extends z.ZodType, Body, Why extends string>(
  deps: FormDeps,
  operation: Operation<Name, Input, Body, Why, FormDeps>,
  sentOf: (form: PostedForm) => Readonly<Record<string, unknown>>,
  wordsOf: (t: Texts, form: PostedForm) => FormWords<Why>,
) {
  return async (c: Context<DashboardEnv>): Promise<Response> => {
    const t = companySignInTexts[c.get("visitor").locale];
    const form = await readForm(c);
    const came = await performForm(c, deps, operation, sentOf(form));
    const { done, ...words } = wordsOf(t, form);
    const outcome = came.ok
      ? done
      : refusalView<Why, Outcome | undefined>(came, c.get("visitor").locale, {
        ...words,
        spent: (problem) => ({ problem }),
        otherwise: undefined,
      });
    if (outcome === undefined) return await notAllowedPage(c);
    return typeof outcome === "string"
      ? c.redirect(`${companySignInPath}?done=${outcome}`, 303)
      : await signInPage(c, deps, outcome);
  };
}

const typedProvider = (form: PostedForm) => ({
  issuer: form.text("issuer"),
  clientId: form.text("clientId"),
  role: form.text("role"),
});

const saveProvider = (deps: FormDeps) =>
  onForm(
    deps,
    providerConnection,
    (form) => ({ ...typedProvider(form), clientSecret: form.text("clientSecret") }),
    (t, form) => {
      const wrong = (errors: ProviderForm["errors"]): Outcome => ({
        form: { ...typedProvider(form), errors },
      });
      return {
        done: "saved",
        refusals: {
          secret: wrong({ clientSecret: t.secretInvalid }),
          secret_again: wrong({ clientSecret: t.secretAgain }),
          unreachable: wrong({ issuer: t.unreachable }),
        },
        fields: {
          issuer: wrong({ issuer: t.issuerInvalid }),
          clientId: wrong({ clientId: t.idInvalid }),
          clientSecret: wrong({ clientSecret: t.secretInvalid }),
          role: wrong({ role: t.roleInvalid }),
        },
      };
    },
  );

const switchRequirement = (deps: FormDeps) =>
  onForm(
    deps,
    providerRequirement,
    (form) => ({ isRequired: form.yesOrNo("required") }),
    (t, form) => ({
      done: form.yesOrNo("required") ? "required" : "notRequired",
      refusals: {
        first_self: { problem: t.requirementFirstSelf },
        not_set_up: { problem: t.requirementNotSetUp },
      },
    }),
  );

const domainField = (form: PostedForm) => ({ id: form.text("domain") });

const addDomain = (deps: FormDeps) =>
  onForm(deps, domainAddition, (form) => ({ domain: form.text("domain") }), (t, form) => ({
    done: "added",
    refusals: {
      too_many: { problem: t.tooManyDomains },
      gone: { problem: t.verifications.gone(form.text("domain")) },
    },
    fields: { domain: { problem: t.domainInvalid } },
  }));

const checkDomain = (deps: FormDeps) =>
  onForm(deps, domainVerification, domainField, (t, form) => {
    const say = (why: keyof Texts["verifications"]): Outcome => ({
      problem: t.verifications[why](form.text("domain")),
    });
    return {
      done: "verified",
      refusals: {
        gone: say("gone"),
        no_record: say("no_record"),
        taken: say("taken"),
        busy: say("busy"),
      },
      fields: { id: { problem: t.domainInvalid } },
    };
  });

const dropDomain = (deps: FormDeps) =>
  onForm(deps, domainRemoval, domainField, (t, form) => ({
    done: "dropped",
    refusals: {
      gone: { problem: t.verifications.gone(form.text("domain")) },
      busy: { problem: t.verifications.busy(form.text("domain")) },
    },
    fields: { id: { problem: t.domainInvalid } },
  }));

/** Registers the page and its forms; without the network for providers there is none. */
export function createCompanySignInPages(deps: DashboardDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const { kv, clock, baseUrl, masterKeys, report, companySignIn } = deps;
  if (companySignIn === undefined) return app;
  const world: FormDeps = { kv, clock, baseUrl, masterKeys, report, ...companySignIn };
  const fresh = requireFresh(deps, companySignInPath);
  const remove = onForm(
    world,
    providerRemoval,
    () => ({}),
    () => ({ done: "removed", refusals: {} }),
  );
  return app
    .get(companySignInPath, (c) => {
      const { done } = companySignInTexts[c.get("visitor").locale];
      const notice = Object.entries(done).find(([name]) => name === c.req.query("done"))?.[1];
      return signInPage(c, deps, notice === undefined ? {} : { notice });
    })
    .post(companySignInPath, fresh, saveProvider(world))
    .post(`${companySignInPath}/require`, fresh, switchRequirement(world))
    .post(`${companySignInPath}/remove`, fresh, remove)
    .post(`${companySignInPath}/domains`, fresh, addDomain(world))
    .post(`${companySignInPath}/domains/verify`, fresh, checkDomain(world))
    .post(`${companySignInPath}/domains/remove`, fresh, dropDomain(world));
}
