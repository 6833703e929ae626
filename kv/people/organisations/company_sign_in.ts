/**
 * Stores how people of an organisation sign in: its OpenID provider, and its verified domains. People
 * with an address of such a domain join when they come from the provider.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { newSecretToken } from "../../../core/people/accounts/secret_token.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { GivenRole } from "../../../core/people/organisations/acts.ts";
import { maxDomains, verificationRecordOf } from "../../../core/people/organisations/domain.ts";
import {
  accountKey,
  companyDomainKey,
  companyDomainsPrefix,
  companyOpenIdKey,
  verifiedDomainKey,
} from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks, isClosed, writeAccount } from "../accounts/accounts.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { addMember, type Joined } from "./members.ts";
import { wasRemoved } from "./removed_members.ts";

/** The row of the provider of an organisation. Its secret is sealed with the master keys. */
export interface CompanyOpenId {
  readonly issuer: string;
  readonly clientId: string;
  readonly sealedSecret: string;
  /** Role of people who join by their domain. */
  readonly role: GivenRole;
}

/** Whether a secret that is stored for one client may be used for another: only where both are the same. */
export function isSameClient(
  one: Pick<CompanyOpenId, "issuer" | "clientId">,
  other: Pick<CompanyOpenId, "issuer" | "clientId">,
): boolean {
  return one.issuer === other.issuer && one.clientId === other.clientId;
}

/** The row of a domain. */
export interface CompanyDomain {
  readonly domain: string;
  /** Text that its TXT record has to have. No secret. */
  readonly token: string;
  readonly addedAtMs: number;
  /** Moment at which its record was found; absent: not yet. */
  readonly verifiedAtMs?: number;
  /** Moment at which a verified one was last looked at; absent: not since. */
  readonly checkedAtMs?: number;
  /** Since when the record of a verified one is away; it loses its effect after `domainGraceMs`. */
  readonly missingSinceMs?: number;
}

/** State of a domain, as the activity log says it. */
export function stateOf(
  row: CompanyDomain | undefined,
): "not verified" | "verified" | "record missing" | undefined {
  if (row === undefined) return undefined;
  if (row.verifiedAtMs === undefined) return "not verified";
  return row.missingSinceMs === undefined ? "verified" : "record missing";
}

/** Adds the line of a change of a domain to its commit. */
export function addDomainLine(
  operation: AtomicWrite,
  organisationId: AccountId,
  done: Done,
  change: {
    readonly domain: string;
    readonly before?: CompanyDomain;
    readonly after?: CompanyDomain;
  },
): void {
  addAct(operation, organisationId, "company_domain_changed", done, {
    subject: change.domain,
    before: { state: stateOf(change.before) },
    after: { state: stateOf(change.after) },
  });
}

/** Reads the provider of an organisation. */
export async function getCompanyOpenId(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<CompanyOpenId | undefined> {
  return (await kv.get<CompanyOpenId>(companyOpenIdKey(organisationId))).value ?? undefined;
}

/** Facts of a provider in the activity log: no secret. */
function shownOf(openId: CompanyOpenId | null | undefined): object {
  if (openId === null || openId === undefined) return {};
  const { issuer, clientId, role } = openId;
  return { issuer, clientId, role };
}

/** Replaces the provider of an organisation; `undefined` removes it, and the requirement to sign in there. */
export async function setCompanyOpenId(
  kv: KeyValueStore,
  organisationId: AccountId,
  openId: CompanyOpenId | undefined,
  done: Done,
): Promise<void> {
  await writeAccount<void>(async () => {
    const [entry, former] = await kv.getMany<[Account, CompanyOpenId]>([
      accountKey(organisationId),
      companyOpenIdKey(organisationId),
    ]);
    if (entry.value === null || hasOnlyBooks(entry.value)) return { done: undefined };
    if (openId !== undefined && former.value?.sealedSecret === openId.sealedSecret) {
      invariant(isSameClient(former.value, openId), "A stored secret stays with its client");
    }
    const { companySignInRequired: _, ...free } = entry.value;
    const operation = kv.atomic().check(entry).check(former)
      .set(entry.key, openId === undefined ? free : entry.value);
    if (openId === undefined) operation.delete(former.key);
    else operation.set(former.key, openId);
    const change = { before: shownOf(former.value), after: shownOf(openId) };
    addAct(operation, organisationId, "company_sign_in_changed", done, change);
    return (await operation.commit()).ok ? { done: undefined } : "again";
  });
}

/**
 * Requires, or no longer requires, that members sign in at the provider of the organisation. Works from the next request
 * on, also in sessions that are open.
 *
 * @returns `not_set_up` without a provider or a verified domain: nobody could sign in there
 */
export async function requireCompanySignIn(
  kv: KeyValueStore,
  organisationId: AccountId,
  isRequired: boolean,
  done: Done,
): Promise<"changed" | "not_set_up"> {
  return await writeAccount<"changed" | "not_set_up">(async () => {
    const [entry, openId] = await kv.getMany<[Account, CompanyOpenId]>([
      accountKey(organisationId),
      companyOpenIdKey(organisationId),
    ]);
    const isVerified = (await listCompanyDomains(kv, organisationId))
      .some(({ verifiedAtMs }) => verifiedAtMs !== undefined);
    const isSetUp = entry.value !== null && openId.value !== null && isVerified;
    if (entry.value === null || (isRequired && !isSetUp)) return { done: "not_set_up" };
    const { companySignInRequired: was, ...free } = entry.value;
    const account: Account = isRequired ? { ...free, companySignInRequired: true } : free;
    const operation = kv.atomic().check(entry).check(openId).set(entry.key, account);
    addAct(operation, organisationId, "company_sign_in_changed", done, {
      before: { required: was === true },
      after: { required: isRequired },
    });
    return (await operation.commit()).ok ? { done: "changed" } : "again";
  });
}

/** Lists the domains of an organisation, by name. */
export async function listCompanyDomains(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<CompanyDomain[]> {
  const prefix = companyDomainsPrefix(organisationId);
  const rows = await Array.fromAsync(kv.list<CompanyDomain>({ prefix }, { limit: maxDomains }));
  return rows.map(({ value }) => value);
}

/** Adds a domain, to be verified. One that is there keeps its token. `false`: the organisation has as many as it may. */
export async function addCompanyDomain(
  kv: KeyValueStore,
  organisationId: AccountId,
  domain: string,
  done: Done,
): Promise<boolean> {
  const domains = await listCompanyDomains(kv, organisationId);
  if (domains.some((one) => one.domain === domain)) return true;
  if (domains.length >= maxDomains) return false;
  const key = companyDomainKey(organisationId, domain);
  const row: CompanyDomain = { domain, token: newSecretToken(), addedAtMs: done.nowMs };
  const operation = kv.atomic().check({ key, versionstamp: null }).set(key, row);
  addDomainLine(operation, organisationId, done, { domain, after: row });
  await operation.commit();
  return true;
}

/** Attempts of a check-and-set on a domain: only acts of its organisations compete. */
export const domainAttempts = 4;

/** Result of a look at the record of a domain. */
export type DomainVerification = "verified" | "no_record" | "taken" | "gone" | "busy";

/**
 * Notes that a domain belongs to an organisation, if its record says so. A domain that another organisation has verified
 * changes hands once the record of that one is gone.
 *
 * @param isPublished whether the domain's records have a token
 */
export async function verifyDomain(
  kv: KeyValueStore,
  organisationId: AccountId,
  domain: string,
  { isPublished, ...done }: Done & { readonly isPublished: (token: string) => boolean },
): Promise<DomainVerification> {
  const outcome = await compareAndSet<DomainVerification>(async () => {
    const [row, verified] = await kv.getMany<[CompanyDomain, AccountId]>([
      companyDomainKey(organisationId, domain),
      verifiedDomainKey(domain),
    ]);
    if (row.value === null) return { done: "gone" };
    if (!isPublished(row.value.token)) return { done: "no_record" };
    const { missingSinceMs: _, ...known } = row.value;
    const after: CompanyDomain = { ...known, verifiedAtMs: done.nowMs, checkedAtMs: done.nowMs };
    const operation = kv.atomic().check(row).check(verified)
      .set(row.key, after)
      .set(verified.key, organisationId);
    if (stateOf(row.value) !== "verified") {
      addDomainLine(operation, organisationId, done, { domain, before: row.value, after });
    }
    if (verified.value !== null && verified.value !== organisationId) {
      const other = await kv.get<CompanyDomain>(companyDomainKey(verified.value, domain));
      if (other.value !== null) {
        if (isPublished(other.value.token)) return { done: "taken" };
        const { verifiedAtMs: _at, missingSinceMs: _since, ...unverified } = other.value;
        operation.check(other).set(other.key, unverified);
        const taken = { domain, before: other.value, after: unverified };
        const byGateway: Done = { by: { kind: "gateway" }, nowMs: done.nowMs };
        addDomainLine(operation, verified.value, byGateway, taken);
      }
    }
    return (await operation.commit()).ok ? { done: "verified" } : "again";
  }, { attempts: domainAttempts });
  return outcome === "conflict" ? "busy" : outcome.done;
}

/**
 * Looks up the record of a domain, and notes that the domain belongs to an organisation if the record says so. What
 * cannot be read does not verify.
 */
export async function lookUpDomain(
  kv: KeyValueStore,
  organisationId: AccountId,
  domain: string,
  { resolveTxt, by, nowMs }: Done & {
    readonly resolveTxt: (name: string) => Promise<readonly string[]>;
  },
): Promise<DomainVerification> {
  const { name } = verificationRecordOf(domain, "");
  const texts = await resolveTxt(name).catch((): string[] => []);
  const isPublished = (token: string) => texts.includes(verificationRecordOf(domain, token).value);
  return await verifyDomain(kv, organisationId, domain, { isPublished, by, nowMs });
}

/**
 * Removes a domain of an organisation; its people stay members.
 *
 * @returns `busy` if others kept changing it: then it is still there
 */
export async function removeCompanyDomain(
  kv: KeyValueStore,
  organisationId: AccountId,
  domain: string,
  done: Done,
): Promise<"removed" | "gone" | "busy"> {
  const outcome = await compareAndSet<"removed" | "gone">(async () => {
    const [row, verified] = await kv.getMany<[CompanyDomain, AccountId]>([
      companyDomainKey(organisationId, domain),
      verifiedDomainKey(domain),
    ]);
    if (row.value === null) return { done: "gone" };
    const operation = kv.atomic().check(row).check(verified).delete(row.key);
    addDomainLine(operation, organisationId, done, { domain, before: row.value });
    if (verified.value === organisationId) operation.delete(verified.key);
    return (await operation.commit()).ok ? { done: "removed" } : "again";
  }, { attempts: domainAttempts });
  return outcome === "conflict" ? "busy" : outcome.done;
}

/** The organisation of a domain, with its provider. */
export interface CompanySignIn {
  readonly organisationId: AccountId;
  readonly openId: CompanyOpenId;
}

/** Finds where people of a domain sign in; `undefined` if no organisation has verified it, or none has a provider. */
export async function findCompanySignIn(
  kv: KeyValueStore,
  domain: string,
): Promise<CompanySignIn | undefined> {
  const { value: organisationId } = await kv.get<AccountId>(verifiedDomainKey(domain));
  if (organisationId === null) return undefined;
  const [account, openId] = await kv.getMany<[Account, CompanyOpenId]>([
    accountKey(organisationId),
    companyOpenIdKey(organisationId),
  ]);
  const isOpen = account.value !== null && !isClosed(account.value);
  return isOpen && openId.value !== null ? { organisationId, openId: openId.value } : undefined;
}

/**
 * Makes a person a member who came from the provider of an organisation; members keep their role.
 *
 * @returns `removed` if the person was removed from the organisation, and nobody has let them in again
 */
export async function joinByDomain(
  kv: KeyValueStore,
  organisationId: AccountId,
  member: { readonly person: Account; readonly role: GivenRole; readonly nowMs: number },
): Promise<Joined | "gone" | "removed"> {
  return await writeAccount<Joined | "gone" | "removed">(async () => {
    const [entry, { value: person }] = await kv.getMany<[Account, Account]>([
      accountKey(organisationId),
      accountKey(member.person.id),
    ]);
    const isGone = entry.value === null || hasOnlyBooks(entry.value) || person === null;
    if (isGone) return { done: "gone" };
    const operation = kv.atomic();
    // Read after the row of the organisation, which a removal writes: it is seen, or this commit fails.
    const isRemoved = await wasRemoved(kv, organisationId, person);
    const joined = await addMember(kv, operation, entry, member);
    if (joined === "joined" && isRemoved) return { done: "removed" };
    if (joined !== "joined") return { done: joined };
    return (await operation.commit()).ok ? { done: joined } : "again";
  });
}
