/**
 * Deletes accounts: the person, the organisation with the same id, or both. The id stays, which ledger rows and receipts
 * name.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { subscriberHash } from "../../../core/people/mail/switch_off.ts";
import { maxDomains } from "../../../core/people/organisations/domain.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import {
  accountByEmailKey,
  accountByIdentityKey,
  accountKey,
  accountMailsKey,
  accountNotesKey,
  accountPasswordKey,
  accountWebhookTriesPrefix,
  budgetMarksKey,
  budgetsKey,
  companyDomainsPrefix,
  companyOpenIdKey,
  invoiceProfileKey,
  invoiceSettingsKey,
  lowBalanceWatchKey,
  statusSubscriberKey,
  verifiedDomainKey,
  webhookEndpointsKey,
  webhookStatesPrefix,
} from "../../engine/schema/keys.ts";
import { deleteRows } from "../../engine/store/delete_rows.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, writeAccount } from "./accounts.ts";
import { addEndOfFactors } from "./second_factor.ts";

/** What stays of an account whose person and organisation are gone. */
function onlyId(
  { id, createdAtMs, blockedAtMs }: Account,
  { nowMs, givenUpMicroVnd }: { readonly nowMs: number; readonly givenUpMicroVnd: bigint },
): Account {
  return {
    ...(givenUpMicroVnd > 0n && { givenUpMicroVnd }),
    id,
    createdAtMs,
    deletedAtMs: nowMs,
    blockedAtMs: blockedAtMs ?? nowMs,
  };
}

/** Adds the end of the provider and the domains of an organisation to a commit. */
async function addEndOfCompanySignIn(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisationId: AccountId,
): Promise<void> {
  operation.delete(companyOpenIdKey(organisationId));
  const domains = kv.list<{ readonly domain: string }>(
    { prefix: companyDomainsPrefix(organisationId) },
    { limit: maxDomains },
  );
  for await (const { key, value: { domain } } of domains) {
    const holder = await kv.get<AccountId>(verifiedDomainKey(domain));
    operation.delete(key);
    if (holder.value === organisationId) operation.delete(holder.key);
  }
}

/** What stays of an account whose organisation belongs to somebody else. */
function withoutPerson({ email: _, identities: _of, mailsOff: _off, ...rest }: Account): Account {
  return rest;
}

/**
 * Removes the personal data of an account and keeps its id, which ledger rows and receipts name.
 * E-mail address, password, second factor, identities, preferences, notes and the buyer of invoices are deleted; issued
 * invoices must be kept by law. The address can be used for a new account at once. An organisation with this id that was
 * handed over goes on without the person.
 *
 * @param givenUpMicroVnd what its owner gives up; it stays in the wallet
 * @param closesOrganisation the organisation ends, of which only the owner is left; no person has its id
 */
export async function forgetPerson(
  kv: KeyValueStore,
  accountId: AccountId,
  nowMs: number,
  givenUpMicroVnd = 0n,
  closesOrganisation = false,
): Promise<void> {
  const isGone = await writeAccount<boolean>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    const account = entry.value;
    if (account === null || account.deletedAtMs !== undefined) return { done: true };
    if (closesOrganisation && (account.organisation?.memberCount ?? 1) > 1) {
      throw new GatewayError("overloaded", "A member has just joined the organisation");
    }
    const isOfOthers = !closesOrganisation && account.organisation !== undefined &&
      account.organisation.ownerId !== accountId;
    const atomic = bumpKeysEpoch(kv.atomic()).check(entry)
      .set(
        entry.key,
        isOfOthers ? withoutPerson(account) : onlyId(account, { nowMs, givenUpMicroVnd }),
      )
      .delete(accountPasswordKey(accountId));
    if (!isOfOthers) {
      atomic.delete(accountMailsKey(accountId))
        .delete(accountNotesKey(accountId))
        .delete(budgetMarksKey(accountId))
        .delete(budgetsKey(accountId))
        .delete(invoiceProfileKey(accountId))
        .delete(invoiceSettingsKey(accountId))
        .delete(lowBalanceWatchKey(accountId))
        .delete(webhookEndpointsKey(accountId));
      await addEndOfCompanySignIn(kv, atomic, accountId);
    }
    await addEndOfFactors(kv, atomic, accountId);
    if (account.email !== undefined) {
      atomic.delete(accountByEmailKey(account.email))
        .delete(statusSubscriberKey(await subscriberHash(account.email)));
    }
    for (const { issuer, subject } of account.identities ?? []) {
      atomic.delete(accountByIdentityKey(issuer, subject));
    }
    return (await atomic.commit()).ok ? { done: !isOfOthers } : "again";
  });
  if (!isGone) return;
  // More rows than one commit takes. Without the endpoints no try adds to them.
  await deleteRows(kv, { prefix: webhookStatesPrefix(accountId) });
  await deleteRows(kv, { prefix: accountWebhookTriesPrefix(accountId) });
}
