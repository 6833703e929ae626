/**
 * The table of all operations of operators. What operators do is here, each act once: the operator's API, the commands of
 * `deno task admin` and the pages call these operations.
 *
 * - Folder `routes/operator/operations/`: the operations of operators, a file for each subject, and their table.
 * - In: input as a program or a person wrote it, and who acts.
 * - Out: bodies of answers, refusals, changes with their audit lines.
 * - Never: reads an HTTP request, or moves money without the authority of a person.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { recordOf } from "../../../core/lib/base/record_of.ts";
import * as accounts from "./accounts.ts";
import * as announcements from "./announcements.ts";
import * as auditLog from "./audit_log.ts";
import * as calls from "./calls.ts";
import * as catalog from "./catalog.ts";
import type { Operation } from "./contract/operation.ts";
import { operationNames } from "./contract/paths.ts";
import * as approvals from "./money/approvals.ts";
import * as campaigns from "./money/campaigns.ts";
import * as costs from "./money/costs.ts";
import * as invoices from "./money/invoices.ts";
import * as movements from "./money/movements.ts";
import * as notices from "./money/notices.ts";
import * as topups from "./money/topups.ts";
import * as outbox from "./outbox.ts";
import * as providerKeys from "./provider_keys.ts";
import * as routeTests from "./route_tests.ts";
import * as service from "./service.ts";

function isOperation(value: unknown): value is Operation {
  return typeof value === "object" && value !== null && "call" in value && "schemas" in value;
}

/** The operations of each subject, which say their names themselves. */
const declared = [
  ...[accounts, announcements, auditLog, calls, catalog, outbox, providerKeys, routeTests, service],
  ...[approvals, campaigns, costs, invoices, movements, notices, topups],
].flatMap((subject) => Object.values<unknown>(subject)).filter(isOperation);

/** All operations, by name: one without a path does not compile, a path without an operation does not load. */
export const operations = recordOf(operationNames, (name): Operation => {
  const found = declared.find((one) => one.name === name);
  invariant(found !== undefined, `an operation is called ${name}`);
  return found;
});
