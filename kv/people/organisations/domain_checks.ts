/**
 * Checks the records of verified domains again. A domain whose record stays away loses its effect after a grace period,
 * of which its organisation is told when it begins: a domain that was sold must not lead to the organisation that had it.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import { domainGraceMs, verificationRecordOf } from "../../../core/people/organisations/domain.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import {
  accountKey,
  companyDomainKey,
  domainOfKey,
  verifiedDomainKey,
  verifiedDomainsPrefix,
} from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, accountName, mailReaderOf } from "../accounts/accounts.ts";
import type { Done } from "../audit/account_activity.ts";
import { addDomainLine, type CompanyDomain, domainAttempts, stateOf } from "./company_sign_in.ts";

/** Milliseconds between two checks of a domain, whichever instance makes them: a grace period has many of them. */
const checkEveryMs = 6 * hourMs;

/** Names that are resolved at the same time, each for some seconds at most. */
const namesAtOnce = 16;

/** World that a check needs. */
export interface DomainCheckWorld {
  readonly kv: KeyValueStore;
  readonly nowMs: number;
  /** Reads the texts of the TXT records of a name. Rejects if they are not known, which says nothing of the domain. */
  readonly resolveTxt: (name: string) => Promise<readonly string[]>;
}

/** Adds the line and the mail about a domain whose record is not there. Returns whether there is a mail. */
function addNews(
  operation: AtomicWrite,
  account: Account,
  { domain, before, after, nowMs }: {
    readonly domain: string;
    readonly before: CompanyDomain;
    readonly after: CompanyDomain;
    readonly nowMs: number;
  },
): boolean {
  const done: Done = { by: { kind: "gateway" }, nowMs };
  addDomainLine(operation, account.id, done, { domain, before, after });
  const reader = mailReaderOf(account, "company_domain_missing");
  if (reader === undefined) return false;
  const names = { organisation: accountName(account), domain };
  const untilMs = stateOf(after) === "record missing" ? nowMs + domainGraceMs : undefined;
  addMail(operation, { kind: "company_domain_missing", ...reader, ...names, untilMs }, { nowMs });
  return true;
}

/** Notes what a look at a verified domain has found. Returns whether a mail was queued. */
async function noteCheck(
  { kv, nowMs }: DomainCheckWorld,
  { domain, organisationId, texts }: {
    readonly domain: string;
    readonly organisationId: AccountId;
    readonly texts: readonly string[];
  },
): Promise<boolean> {
  const outcome = await compareAndSet<boolean>(async () => {
    const [row, verified, account] = await kv.getMany<[CompanyDomain, AccountId, Account]>([
      companyDomainKey(organisationId, domain),
      verifiedDomainKey(domain),
      accountKey(organisationId),
    ]);
    // Removed, or taken over by another organisation, meanwhile.
    if (row.value === null || account.value === null) return { done: false };
    if (verified.value !== organisationId) return { done: false };
    const { missingSinceMs, ...known } = row.value;
    const isThere = texts.includes(verificationRecordOf(domain, known.token).value);
    const isLost = !isThere && missingSinceMs !== undefined &&
      nowMs >= missingSinceMs + domainGraceMs;
    const operation = kv.atomic().check(row).check(verified);
    const { verifiedAtMs: _, ...unverified } = known;
    const after: CompanyDomain = isThere
      ? { ...known, checkedAtMs: nowMs }
      : isLost
      ? unverified
      : { ...known, checkedAtMs: nowMs, missingSinceMs: missingSinceMs ?? nowMs };
    operation.set(row.key, after);
    if (isLost) operation.delete(verified.key);
    const isNews = stateOf(row.value) !== stateOf(after);
    const news = { domain, before: row.value, after, nowMs };
    const isMailed = isNews && !isThere && addNews(operation, account.value, news);
    return (await operation.commit()).ok ? { done: isMailed } : "again";
  }, { attempts: domainAttempts });
  return outcome !== "conflict" && outcome.done;
}

/** Checks one domain, unless another instance has just done so. Returns whether a mail was queued. */
async function checkOne(
  world: DomainCheckWorld,
  domain: string,
  organisationId: AccountId,
): Promise<boolean> {
  const { kv, nowMs, resolveTxt } = world;
  const { value } = await kv.get<CompanyDomain>(companyDomainKey(organisationId, domain));
  const checkedAtMs = value?.checkedAtMs ?? value?.verifiedAtMs;
  const isDue = checkedAtMs !== undefined && nowMs >= checkedAtMs + checkEveryMs;
  if (!isDue) return false;
  // A resolver that fails says nothing of the domain.
  const texts = await resolveTxt(verificationRecordOf(domain, "").name).catch(() => undefined);
  return texts !== undefined && await noteCheck(world, { domain, organisationId, texts });
}

/** Checks all verified domains that are due. Returns how many mails were queued. */
export async function recheckDomains(world: DomainCheckWorld): Promise<number> {
  let mails = 0;
  let batch: Promise<boolean>[] = [];
  const flush = async () => {
    mails += (await Promise.all(batch)).filter((isMailed) => isMailed).length;
    batch = [];
  };
  for await (
    const { key, value } of world.kv.list<AccountId>({ prefix: verifiedDomainsPrefix() })
  ) {
    batch.push(checkOne(world, domainOfKey(key), value));
    if (batch.length >= namesAtOnce) await flush();
  }
  await flush();
  return mails;
}
