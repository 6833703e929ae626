/**
 * Acts on how people of an organisation sign in: its OpenID provider and its domains, and what it requires of them.
 * Whoever chooses the provider can open every account with an address of a verified domain.
 */
import { z } from "zod";
import { parsedText } from "../../core/lib/base/parsed_text.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { newSecretToken } from "../../core/people/accounts/secret_token.ts";
import { parseRemoteUrl } from "../../core/net/remote/remote_url.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { givenRoles } from "../../core/people/organisations/acts.ts";
import {
  maxDomains,
  parseDomain,
  verificationRecordOf,
} from "../../core/people/organisations/domain.ts";
import { updateAccount } from "../../kv/people/accounts/accounts.ts";
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
} from "../../kv/people/organisations/company_sign_in.ts";
import { companyClient, maxClientSecretChars, sealClientSecret } from "../auth/company_openid.ts";
import { callbackPath } from "../auth/openid.ts";
import { type ActDeps, type Acting, done, operation, refused } from "./operation.ts";

/** Characters of a client id: far more than those of any provider. */
export const maxClientIdChars = 255;

type KvDeps = Pick<ActDeps, "kv">;

/** Needs of connecting a provider. */
interface ProviderDeps extends KvDeps {
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Reaches public addresses only: organisations name the addresses. */
  readonly fetch: typeof fetch;
  /** Called with the reason why a provider does not answer. */
  readonly report?: ((what: "openid", error: unknown) => void) | undefined;
}

const clientSecret = z.string().max(maxClientSecretChars);
const role = z.enum(givenRoles);

/** An https address without query and fragment. */
const issuer = z.string().max(500).refine((typed) => {
  const url = parseRemoteUrl(typed);
  return typeof url !== "string" && url.protocol === "https:" && url.search === "" &&
    url.hash === "";
}, "must be an https address without query and fragment");

/** Whether a provider answers: its metadata say where people sign in. */
async function answers(
  { masterKeys, clock, fetch, baseUrl, report }: ProviderDeps,
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

/** Connects a provider that answers; an empty secret keeps the one that is stored for the same client. */
export const providerConnection = operation({
  name: "connectCompanySignIn",
  act: "change_organisation",
  line: "company_sign_in_changed",
  input: z.strictObject({
    issuer,
    clientId: z.string().min(1).max(maxClientIdChars),
    clientSecret,
    role,
  }),
  refusals: {
    secret: { code: "invalid_request", field: "clientSecret", message: "is missing" },
    secret_again: {
      code: "invalid_request",
      field: "clientSecret",
      message: "is stored for another issuer or client ID",
    },
    unreachable: {
      code: "invalid_request",
      field: "issuer",
      message: "no OpenID provider answers at this address",
    },
  },
  async run(deps: ProviderDeps, { account: { id }, by, nowMs }, { clientSecret, ...client }) {
    const { kv, masterKeys } = deps;
    const stored = await getCompanyOpenId(kv, id);
    if (clientSecret === "" && stored === undefined) return refused("secret");
    const isKept = clientSecret === "" && stored !== undefined;
    // A secret goes to nobody but the provider for which it was entered.
    if (isKept && !isSameClient(stored, client)) return refused("secret_again");
    const sealedSecret = isKept
      ? stored.sealedSecret
      : await sealClientSecret(masterKeys, id, clientSecret);
    const openId: CompanyOpenId = { ...client, sealedSecret };
    if (!await answers(deps, id, openId)) return refused("unreachable");
    await setCompanyOpenId(kv, id, openId, { by, nowMs });
    return done(openId);
  },
});

/** Replaces the secret, or the role of who joins, of the provider that is connected. */
export const providerChange = operation({
  name: "changeCompanySignIn",
  act: "change_organisation",
  line: "company_sign_in_changed",
  input: z.strictObject({
    clientSecret: clientSecret.min(1).optional(),
    role: role.optional(),
  }),
  refusals: {
    missing: { code: "not_found", message: "No provider is connected: connect one on the page" },
  },
  async run(
    { kv, masterKeys }: KvDeps & Pick<ProviderDeps, "masterKeys">,
    { account: { id }, by, nowMs },
    { clientSecret, role },
  ) {
    const stored = await getCompanyOpenId(kv, id);
    if (stored === undefined) return refused("missing");
    const sealedSecret = clientSecret === undefined
      ? stored.sealedSecret
      : await sealClientSecret(masterKeys, id, clientSecret);
    const changed: CompanyOpenId = { ...stored, sealedSecret, role: role ?? stored.role };
    await setCompanyOpenId(kv, id, changed, { by, nowMs });
    return done(changed);
  },
});

/** Removes the provider; whoever has signed in there signs in with a password or an emailed link. */
export const providerRemoval = operation({
  name: "disconnectCompanySignIn",
  act: "change_organisation",
  line: "company_sign_in_changed",
  input: z.strictObject({}),
  refusals: {},
  async run({ kv }: KvDeps, { account, by, nowMs }) {
    await setCompanyOpenId(kv, account.id, undefined, { by, nowMs });
    return done(null);
  },
});

/** Requires the provider of all members, or no longer; who is not exempt has come from it, and so keeps a way in. */
export const providerRequirement = operation({
  name: "requireCompanySignIn",
  act: "change_organisation",
  line: "company_sign_in_changed",
  input: z.strictObject({ isRequired: z.boolean() }),
  refusals: {
    first_self: { code: "permission_denied", message: "Sign in at the provider yourself first" },
    not_set_up: { code: "invalid_request", message: "There is no provider or no verified domain" },
  },
  async run({ kv }: KvDeps, { account, roles, companyId, by, nowMs }, { isRequired }) {
    const keepsWay = roles.includes("owner") || companyId === account.id;
    if (isRequired && !keepsWay) return refused("first_self");
    const result = await requireCompanySignIn(kv, account.id, isRequired, { by, nowMs });
    return result === "not_set_up" ? refused(result) : done(isRequired);
  },
});

/** Requires a second factor of all members, or no longer. */
export const secondFactorRequirement = operation({
  name: "requireSecondFactor",
  act: "change_organisation",
  line: "second_factor_requirement_changed",
  input: z.strictObject({ isRequired: z.boolean() }),
  refusals: { closed: { code: "not_found", message: "The organisation was deleted" } },
  async run({ kv }: KvDeps, { account, by, nowMs }, { isRequired }) {
    const change = { secondFactorRequired: isRequired ? true as const : undefined };
    const line = { act: "second_factor_requirement_changed", by, nowMs } as const;
    const changed = await updateAccount(kv, account.id, change, line);
    return changed === undefined ? refused("closed") : done(isRequired);
  },
});

/** Normalised where it enters, so that it is found again in any spelling. */
const domain = parsedText(
  z.string().max(300),
  parseDomain,
  "must be a domain such as acme.example",
);

const noDomain = { code: "not_found", message: "There is no such domain" } as const;
const busyDomain = {
  code: "overloaded",
  message: "The domain is being changed; try again",
} as const;

async function domainOf(
  { kv }: KvDeps,
  { account }: Acting,
  name: string,
): Promise<CompanyDomain | undefined> {
  return (await listCompanyDomains(kv, account.id)).find(({ domain }) => domain === name);
}

/** Adds a domain, to be verified; one that is there keeps its record. */
export const domainAddition = operation({
  name: "addDomain",
  act: "change_organisation",
  line: "company_domain_changed",
  input: z.strictObject({ domain }),
  refusals: {
    too_many: {
      code: "invalid_request",
      field: "domain",
      message: `an organisation has at most ${maxDomains} domains`,
    },
    gone: noDomain,
  },
  async run(deps: KvDeps, acting, { domain }) {
    const { account, by, nowMs } = acting;
    const isAdded = await addCompanyDomain(deps.kv, account.id, domain, { by, nowMs });
    if (!isAdded) return refused("too_many");
    const row = await domainOf(deps, acting, domain);
    return row === undefined ? refused("gone") : done(row);
  },
});

/** Looks up the record of a domain, and verifies the domain if it is there. */
export const domainVerification = operation({
  name: "verifyDomain",
  act: "change_organisation",
  line: "company_domain_changed",
  input: z.strictObject({ id: domain }),
  refusals: {
    gone: noDomain,
    no_record: { code: "invalid_request", field: "id", message: "its record is not there yet" },
    taken: {
      code: "invalid_request",
      field: "id",
      message: "another organisation has verified it, and its record is there",
    },
    busy: busyDomain,
  },
  async run(
    deps: KvDeps & { readonly resolveTxt: (name: string) => Promise<readonly string[]> },
    acting,
    { id },
  ) {
    if (await domainOf(deps, acting, id) === undefined) return refused("gone");
    const { account, by, nowMs } = acting;
    const { kv, resolveTxt } = deps;
    const result = await lookUpDomain(kv, account.id, id, { resolveTxt, by, nowMs });
    if (result === "no_record") {
      const { name } = verificationRecordOf(id, "");
      const message = `there is no TXT record ${name} with the text of the domain yet`;
      return refused(result, { issues: [{ field: "id", message }] });
    }
    if (result !== "verified") return refused(result);
    const row = await domainOf(deps, acting, id);
    return row === undefined ? refused("gone") : done(row);
  },
});

/** Removes a domain; its people stay members. */
export const domainRemoval = operation({
  name: "removeDomain",
  act: "change_organisation",
  line: "company_domain_changed",
  input: z.strictObject({ id: domain }),
  refusals: { gone: noDomain, busy: busyDomain },
  async run({ kv }: KvDeps, { account, by, nowMs }, { id }) {
    const outcome = await removeCompanyDomain(kv, account.id, id, { by, nowMs });
    return outcome === "removed" ? done(id) : refused(outcome);
  },
});
