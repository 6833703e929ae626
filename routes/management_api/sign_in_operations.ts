/**
 * Operations on how people of an organisation sign in: its domains, and its OpenID provider. Which provider it is, and
 * whether it is the only way in, is set in a browser with a confirmation: whoever chooses the provider can open every
 * account with an address of a verified domain, and a leaked key must not.
 */
import { z } from "zod";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  isoTime,
  nullableField,
  objectField,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import { givenRoles } from "../../core/people/organisations/acts.ts";
import {
  maxDomains,
  parseDomain,
  type VerificationRecord,
  verificationRecordOf,
} from "../../core/people/organisations/domain.ts";
import { countTry } from "../../kv/people/accounts/rate_limits.ts";
import {
  addCompanyDomain,
  type CompanyDomain,
  type CompanyOpenId,
  type DomainVerification,
  getCompanyOpenId,
  listCompanyDomains,
  lookUpDomain,
  removeCompanyDomain,
  setCompanyOpenId,
  stateOf,
} from "../../kv/people/organisations/company_sign_in.ts";
import { maxClientSecretChars, sealClientSecret } from "../auth/company_openid.ts";
import { callbackPath } from "../auth/openid.ts";
import { rateRules } from "../auth/sign_in_budgets.ts";
import { wrongParameter } from "../http/query.ts";
import { listing } from "./lists.ts";
import {
  type AnswerShape,
  goneFields,
  goneShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

/** How the people of an organisation sign in. */
interface SignIn {
  readonly provider: CompanyOpenId | undefined;
  readonly isRequired: boolean;
  readonly redirectUri: string;
}

const roleSchema: JsonObject = { type: "string", enum: [...givenRoles] };

const providerFields: readonly DescribedField<CompanyOpenId>[] = [
  always("issuer", text, ({ issuer }) => issuer),
  always("client_id", text, ({ clientId }) => clientId),
  // What people become who join.
  always("role", roleSchema, ({ role }) => role),
];

const signInFields: readonly DescribedField<SignIn>[] = [
  constant("object", "company_sign_in"),
  nullableField(
    "provider",
    "The OpenID provider; null: none.",
    providerFields,
    ({ provider }: SignIn) => provider,
  ),
  // Whether members sign in there and nowhere else.
  always("is_required", { type: "boolean" }, ({ isRequired }) => isRequired),
  // What to register at the provider.
  always("redirect_uri", text, ({ redirectUri }) => redirectUri),
];

const signIn = {
  path: "/v1/organisation/sign-in",
  answer: {
    name: "CompanySignIn",
    description: "How the people of an organisation sign in.",
    fields: signInFields,
  },
} as const;

function signInJson(
  { deps, account }: ManagementCall<unknown>,
  provider: CompanyOpenId | undefined,
): JsonObject {
  return fieldsJson(signInFields, {
    provider,
    isRequired: account.companySignInRequired === true,
    redirectUri: deps.baseUrl + callbackPath,
  });
}

const providerBody = z.strictObject({
  client_secret: z.string().min(1).max(maxClientSecretChars).optional(),
  role: z.enum(givenRoles).optional(),
});

async function changeProvider(
  call: ManagementCall<z.infer<typeof providerBody>>,
): Promise<JsonObject> {
  const { deps: { kv, masterKeys }, account: { id }, by, nowMs, body } = call;
  const stored = await getCompanyOpenId(kv, id);
  if (stored === undefined) {
    throw new GatewayError("not_found", "No provider is connected: connect one on the page");
  }
  const sealedSecret = body.client_secret === undefined
    ? stored.sealedSecret
    : await sealClientSecret(masterKeys, id, body.client_secret);
  const changed = { ...stored, sealedSecret, role: body.role ?? stored.role };
  await setCompanyOpenId(kv, id, changed, { by, nowMs });
  return signInJson(call, changed);
}

const providerOperations: readonly ManagementOperation[] = [
  {
    ...signIn,
    id: "getCompanySignIn",
    method: "get",
    summary: "Sign-in of the organisation",
    description: "The OpenID provider of the organisation, without its secret.",
    act: "change_organisation",
    errors: [],
    run: async (call) => signInJson(call, await getCompanyOpenId(call.deps.kv, call.account.id)),
  },
  withBody({
    ...signIn,
    id: "changeCompanySignIn",
    method: "patch",
    summary: "Replace the client secret, or the role of who joins",
    description:
      "Issuer and client ID, and whether the provider is the only way in, are set in a browser with a confirmation: a " +
      "provider can open every account with an address of a verified domain.",
    act: "change_organisation",
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: providerBody, example: { client_secret: "new-secret" } },
    run: changeProvider,
  }),
];

/** The states of a domain, by their names in the activity log. */
const domainStates = {
  "not verified": "not_verified",
  verified: "verified",
  "record missing": "record_missing",
} as const satisfies Record<NonNullable<ReturnType<typeof stateOf>>, string>;

const recordFields: readonly DescribedField<VerificationRecord>[] = [
  constant("type", "TXT"),
  always("name", text, ({ name }) => name),
  always("value", text, ({ value }) => value),
];

const domainFields: readonly DescribedField<CompanyDomain>[] = [
  constant("object", "domain"),
  always("id", text, ({ domain }) => domain),
  always(
    "state",
    { type: "string", enum: Object.values(domainStates) },
    (row) => domainStates[stateOf(row) ?? "not verified"],
  ),
  objectField(
    "record",
    "The record that verifies the domain.",
    recordFields,
    ({ domain, token }: CompanyDomain) => verificationRecordOf(domain, token),
  ),
  always("added_at", dateTime, ({ addedAtMs }) => isoTime(addedAtMs)),
  optional("verified_at", dateTime, ({ verifiedAtMs }) => verifiedAtMs && isoTime(verifiedAtMs)),
  // Since when the record of a verified domain is away.
  optional("missing_since", dateTime, (row) => row.missingSinceMs && isoTime(row.missingSinceMs)),
];

const domainShape: AnswerShape = {
  name: "Domain",
  description: "A domain of the addresses of an organisation.",
  fields: domainFields,
};

function missing(): GatewayError {
  return new GatewayError("not_found", "There is no such domain");
}

async function domainOf(
  { deps, account }: ManagementCall<unknown>,
  domain: string | undefined,
): Promise<CompanyDomain> {
  const rows = await listCompanyDomains(deps.kv, account.id);
  const row = rows.find((one) => one.domain === domain);
  if (row === undefined) throw missing();
  return row;
}

const domainBody = z.strictObject({ domain: z.string().max(300) });

async function add(call: ManagementCall<z.infer<typeof domainBody>>): Promise<JsonObject> {
  const { deps, account, by, nowMs, body } = call;
  const domain = parseDomain(body.domain);
  if (domain === undefined) throw wrongParameter("domain", "must be a domain such as acme.example");
  const isAdded = await addCompanyDomain(deps.kv, account.id, domain, { by, nowMs });
  if (!isAdded) throw wrongParameter("domain", `an organisation has at most ${maxDomains} domains`);
  return fieldsJson(domainFields, await domainOf(call, domain));
}

/** What a look at a record leads to, where the domain is not verified. */
function verificationError(
  result: Exclude<DomainVerification, "verified">,
  { domain, token }: CompanyDomain,
): GatewayError {
  const { name } = verificationRecordOf(domain, token);
  switch (result) {
    case "gone":
      return missing();
    case "no_record":
      return wrongParameter("id", `there is no TXT record ${name} with the text of the domain yet`);
    case "taken":
      return wrongParameter("id", "another organisation has verified it, and its record is there");
    case "busy":
      return new GatewayError("overloaded", "The domain is being changed; try again");
  }
}

async function verify(call: ManagementCall<unknown>): Promise<JsonObject> {
  const { deps: { kv, resolveTxt }, account, key, by, nowMs, param } = call;
  const row = await domainOf(call, parseDomain(param("id")));
  const tries = await countTry(kv, rateRules.changesByAccount, key.id, nowMs);
  if (!tries.allowed) {
    const { retryAfterSeconds } = tries;
    throw new GatewayError("rate_limit_reached", "Too many looks at records in an hour", {
      retryAfterSeconds,
    });
  }
  const result = await lookUpDomain(kv, account.id, row.domain, { resolveTxt, by, nowMs });
  if (result !== "verified") throw verificationError(result, row);
  return fieldsJson(domainFields, await domainOf(call, row.domain));
}

async function remove(call: ManagementCall<unknown>): Promise<JsonObject> {
  const { deps, account, by, nowMs, param } = call;
  const { domain } = await domainOf(call, parseDomain(param("id")));
  await removeCompanyDomain(deps.kv, account.id, domain, { by, nowMs });
  return fieldsJson(goneFields, { id: domain });
}

const domainsPath = "/v1/organisation/domains";

const domainOperations: readonly ManagementOperation[] = [
  listing({
    id: "listDomains",
    path: domainsPath,
    summary: "Domains",
    description: "The domains of the organisation, by name, each with the record that verifies it.",
    act: "change_organisation",
    item: domainShape,
    rows: ({ deps, account }) => listCompanyDomains(deps.kv, account.id),
    idOf: ({ domain }) => domain,
    json: (row) => fieldsJson(domainFields, row),
  }),
  withBody({
    id: "addDomain",
    method: "post",
    path: domainsPath,
    summary: "Add a domain",
    description: "The answer has the TXT record to publish; one that is there keeps its record.",
    act: "change_organisation",
    answer: domainShape,
    errors: ["invalid_request", "not_found"],
    body: { schema: domainBody, example: { domain: "acme.example" } },
    run: add,
  }),
  {
    id: "verifyDomain",
    method: "post",
    path: `${domainsPath}/{id}/verify`,
    summary: "Verify a domain",
    description: "Looks up the record; 400 while it is not there.",
    act: "change_organisation",
    answer: domainShape,
    errors: ["not_found", "overloaded"],
    run: verify,
  },
  {
    id: "removeDomain",
    method: "delete",
    path: `${domainsPath}/{id}`,
    summary: "Remove a domain",
    description:
      "Its people stay members, and the provider opens no account of the domain any more.",
    act: "change_organisation",
    answer: goneShape,
    errors: ["not_found"],
    run: remove,
  },
];

/** The operations. */
export const signInOperations: readonly ManagementOperation[] = [
  ...domainOperations,
  ...providerOperations,
];
