/** Stores the usual buyer of the invoices of an account, which fills the form of a request. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { InvoiceBuyer, InvoiceSettings } from "../../../core/trade/invoices/invoice.ts";
import { accountKey, invoiceProfileKey, invoiceSettingsKey } from "../../engine/schema/keys.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Reads the invoice settings of an account. */
export async function getInvoiceSettings(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<InvoiceSettings> {
  return (await kv.get<InvoiceSettings>(invoiceSettingsKey(accountId))).value ?? {};
}

/** Replaces the settings. `false` if the account is gone or changed at the same time. */
export async function setInvoiceSettings(
  kv: KeyValueStore,
  accountId: AccountId,
  settings: InvoiceSettings,
): Promise<boolean> {
  const account = await kv.get<Account>(accountKey(accountId));
  if (account.value === null || account.value.deletedAtMs !== undefined) return false;
  // Without the check, the data of a person deleted in between would stay.
  const operation = kv.atomic().check(account).set(invoiceSettingsKey(accountId), settings);
  return (await operation.commit()).ok;
}

/**
 * Returns the initial data of the next request: the settings of the account, completed from the
 * buyer of the last request.
 */
export async function usualBuyer(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<InvoiceSettings> {
  const [last, settings] = await kv.getMany<[InvoiceBuyer, InvoiceSettings]>([
    invoiceProfileKey(accountId),
    invoiceSettingsKey(accountId),
  ]);
  if (settings.value?.taxCode === undefined) return { ...last.value, ...settings.value };
  // Name, address and confirmation of another tax code do not apply to this one.
  const isSame = last.value?.taxCode === settings.value.taxCode;
  return isSame ? { ...last.value, ...settings.value } : settings.value;
}
