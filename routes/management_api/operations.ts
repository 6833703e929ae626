/** All operations of the management API, in the order of the reference. */
import { budgetOperations } from "./budget_operations.ts";
import { callSettingsOperations } from "./call_settings_operations.ts";
import { invoiceOperations } from "./invoice_operations.ts";
import { keyOperations } from "./key_operations.ts";
import { managementKeyOperations } from "./management_key_operations.ts";
import type { ManagementOperation } from "./operation.ts";
import { peopleOperations } from "./people_operations.ts";
import { signInOperations } from "./sign_in_operations.ts";
import { topupOperations } from "./topup_operations.ts";
import { walletOperations } from "./wallet_operations.ts";
import { webhookOperations } from "./webhook_operations.ts";

export const managementOperations: readonly ManagementOperation[] = [
  ...peopleOperations,
  ...keyOperations,
  ...callSettingsOperations,
  ...walletOperations,
  ...topupOperations,
  ...invoiceOperations,
  ...budgetOperations,
  ...webhookOperations,
  ...managementKeyOperations,
  ...signInOperations,
];
