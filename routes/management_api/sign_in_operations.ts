/**
 * Operations on how people of an organisation sign in: its domains, and its OpenID provider. Which provider it is, and
 * whether it is the only way in, is set in a browser with a confirmation: whoever chooses the provider can open every
 * account with an address of a verified domain, and a leaked key must not.
 */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { givenRoles } from "../../core/people/organisations/acts.ts";
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
import {
  type VerificationRecord,
  verificationRecordOf,
} from "../../core/people/organisations/domain.ts";
import {
  type CompanyDomain,
  type CompanyOpenId,
  getCompanyOpenId,
  listCompanyDomains,
  stateOf,
} from "../../kv/people/organisations/company_sign_in.ts";
import {
  domainAddition,
  domainRemoval,
  domainVerification,
  providerChange,
} from "../acts/sign_in.ts";
import { callbackPath } from "../auth/openid.ts";
import { listing } from "./lists.ts";
import {
  actOperation,
  goneShape,
  type ManagementCall,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
} from "./operation.ts";

/** Sign-in of the people of an organisation. */
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

const signInShape = shape<SignIn>("CompanySignIn", "How the people of an organisation sign in.", [
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
]);

const signInPath = `${organisationPath}/sign-in`;

function signInOf(
  provider: CompanyOpenId | undefined,
  { deps, account }: ManagementCall<unknown>,
): SignIn {
  return {
    provider,
    isRequired: account.companySignInRequired === true,
    redirectUri: deps.baseUrl + callbackPath,
  };
}

const providerOperations: readonly ManagementOperation[] = [
  reading({
    id: "getCompanySignIn",
    path: signInPath,
    summary: "Sign-in of the organisation",
    description: "The OpenID provider of the organisation, without its secret.",
    act: "change_organisation",
    answer: signInShape,
    read: async (call) => signInOf(await getCompanyOpenId(call.deps.kv, call.account.id), call),
  }),
  actOperation({
    operation: providerChange,
    method: "patch",
    path: signInPath,
    summary: "Replace the client secret, or the role of who joins",
    description:
      "Issuer and client ID, and whether the provider is the only way in, are set in a browser with a confirmation: a " +
      "provider can open every account with an address of a verified domain.",
    answer: signInShape,
    example: { client_secret: "new-secret" },
    rowOf: signInOf,
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

const domainShape = shape<CompanyDomain>(
  "Domain",
  "A domain of the addresses of an organisation.",
  [
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
  ],
);

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
  }),
  actOperation({
    operation: domainAddition,
    method: "post",
    path: domainsPath,
    summary: "Add a domain",
    description: "The answer has the TXT record to publish; one that is there keeps its record.",
    answer: domainShape,
    example: { domain: "acme.example" },
  }),
  actOperation({
    operation: domainVerification,
    method: "post",
    path: `${domainsPath}/{id}/verify`,
    summary: "Verify a domain",
    description: "Looks up the record; 400 while it is not there.",
    answer: domainShape,
  }),
  actOperation({
    operation: domainRemoval,
    method: "delete",
    path: `${domainsPath}/{id}`,
    summary: "Remove a domain",
    description:
      "Its people stay members, and the provider opens no account of the domain any more.",
    answer: goneShape,
  }),
];

/** The operations. */
export const signInOperations: readonly ManagementOperation[] = [
  ...domainOperations,
  ...providerOperations,
];
