/**
 * The table of all operations of operators. What operators do is here, each act once: the operator's API, the commands of
 * `deno task admin` and the pages call these operations.
 *
 * - Folder `routes/operator/operations/`: the operations of operators, a file for each subject, and their table.
 * - In: input as a program or a person wrote it, and who acts.
 * - Out: bodies of answers, refusals, changes with their audit lines.
 * - Never: reads an HTTP request, or moves money without the authority of a person.
 */
import {
  limitAccount,
  noteAccount,
  notesOfAccount,
  pageOfAccounts,
  showAccount,
  signOutAccount,
  turnAccount,
} from "./accounts.ts";
import { decideRequest, listApprovalRequests } from "./money/approvals.ts";
import {
  agreeToCampaign,
  makeCodes,
  newestCampaigns,
  startCampaign,
  turnCampaign,
} from "./money/campaigns.ts";
import { addAnnouncementUpdate, announce, latestAnnouncements } from "./announcements.ts";
import { listAudit } from "./audit_log.ts";
import { listCalls, showCall } from "./calls.ts";
import {
  exportInvoiceQueue,
  issueInvoice,
  listInvoiceRequests,
  rejectInvoice,
  replaceInvoice,
  sendInvoice,
} from "./money/invoices.ts";
import { adjustAccount, assignNotice } from "./money/movements.ts";
import {
  closeUnreadable,
  listNotices,
  listUnreadableNotices,
  listWaitingNotices,
  resolveNotice,
} from "./money/notices.ts";
import { listTopups } from "./money/topups.ts";
import { forgetLetter, listLetters, reviveLetter } from "./outbox.ts";
import {
  listCatalogVersions,
  putCatalog,
  rollBackTo,
  showCatalog,
  showCatalogVersion,
  tryCatalog,
  withdrawScheduledVersion,
} from "./catalog.ts";
import {
  addProviderKey,
  listProviderKeys,
  removeProviderKey,
  replaceProviderKey,
  resealProviderKeys,
} from "./provider_keys.ts";
import { showMargins, showSheet } from "./money/costs.ts";
import type { Operation } from "./contract/operation.ts";
import type { OperationName } from "./contract/paths.ts";
import { tryRoute } from "./route_tests.ts";
import { listClaims, listRoutes, showMaintenance, turnMaintenance, turnRoute } from "./service.ts";

/** All operations, by name: an operation without a path, or a path without an operation, does not compile. */
export const operations: Readonly<Record<OperationName, Operation>> = {
  "routes.list": listRoutes,
  "routes.test": tryRoute,
  "routes.switch": turnRoute,
  "claims.list": listClaims,
  "maintenance.show": showMaintenance,
  "maintenance.set": turnMaintenance,
  "catalog.show": showCatalog,
  "catalog.preview": tryCatalog,
  "catalog.apply": putCatalog,
  "catalog.rollback": rollBackTo,
  "catalog.withdraw": withdrawScheduledVersion,
  "catalog.versions": listCatalogVersions,
  "provider_keys.list": listProviderKeys,
  "provider_keys.add": addProviderKey,
  "provider_keys.replace": replaceProviderKey,
  "provider_keys.remove": removeProviderKey,
  "provider_keys.reseal": resealProviderKeys,
  "accounts.list": pageOfAccounts,
  "accounts.show": showAccount,
  "accounts.block": turnAccount,
  "accounts.adjust": adjustAccount,
  "accounts.limits": limitAccount,
  "accounts.sign_out": signOutAccount,
  "accounts.notes": notesOfAccount,
  "accounts.note": noteAccount,
  "campaigns.list": newestCampaigns,
  "campaigns.make": startCampaign,
  "campaigns.pause": turnCampaign,
  "campaigns.approve": agreeToCampaign,
  "campaigns.codes": makeCodes,
  "margins.show": showMargins,
  "margins.sheet": showSheet,
  "audit.list": listAudit,
  "announcements.list": latestAnnouncements,
  "announcements.publish": announce,
  "announcements.update": addAnnouncementUpdate,
  "approvals.list": listApprovalRequests,
  "approvals.decide": decideRequest,
  "topups.list": listTopups,
  "notices.list": listNotices,
  "notices.waiting": listWaitingNotices,
  "notices.unreadable": listUnreadableNotices,
  "notices.set_aside": closeUnreadable,
  "notices.assign": assignNotice,
  "notices.resolve": resolveNotice,
  "invoices.list": listInvoiceRequests,
  "invoices.export": exportInvoiceQueue,
  "invoices.issue": issueInvoice,
  "invoices.send": sendInvoice,
  "invoices.reject": rejectInvoice,
  "invoices.replace": replaceInvoice,
  "outbox.list": listLetters,
  "outbox.revive": reviveLetter,
  "outbox.forget": forgetLetter,
  "calls.list": listCalls,
  "calls.show": showCall,
  "catalog.version": showCatalogVersion,
};
