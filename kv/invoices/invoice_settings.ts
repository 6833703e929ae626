/** Who invoices of an account usually go to, as set in the account: fills the form of a request. */
import type { AccountId } from "../../core/lib/ids.ts";
import type { InvoiceBuyer, InvoiceSettings } from "../../core/invoices/invoice.ts";
import { accountKey, invoiceProfileKey, invoiceSettingsKey } from "../schema/keys.ts";
import type { Account } from "../accounts/accounts.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

export async function getInvoiceSettings(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<InvoiceSettings> {
  return (await kv.get<InvoiceSettings>(invoiceSettingsKey(accountId))).value ?? {};
}

/** Sets them as a whole. `false` if the account is gone, or was changed at the same moment. */
export async function setInvoiceSettings(
  kv: KeyValueStore,
  accountId: AccountId,
  settings: InvoiceSettings,
): Promise<boolean> {
  const account = await kv.get<Account>(accountKey(accountId));
  if (account.value === null || account.value.deletedAtMs !== undefined) return false;
  // Deleted in between, the person's data would stay.
  const operation = kv.atomic().check(account).set(invoiceSettingsKey(accountId), settings);
  return (await operation.commit()).ok;
}

/** What the next request begins with: what is set in the account, and for the rest the buyer of the last request. */
export async function usualBuyer(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<InvoiceSettings> {
  const [last, settings] = await kv.getMany<[InvoiceBuyer, InvoiceSettings]>([
    invoiceProfileKey(accountId),
    invoiceSettingsKey(accountId),
  ]);
  if (settings.value?.taxCode === undefined) return { ...last.value, ...settings.value };
  // The name, address and confirmation of another tax code say nothing about this one.
  const isSame = last.value?.taxCode === settings.value.taxCode;
  return isSame ? { ...last.value, ...settings.value } : settings.value;
}
