/** Paths at which the operator's API serves each operation. The socket of `deno task admin` has the same ones. */

/** The method and path of an operation, below `/operator`. */
export interface OperationPath {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** As Hono writes it. */
  readonly path: string;
}

/**
 * The paths of all operations. A table of its own, so that a start need not load the operations. Below `/api` are those
 * that came later: without it, some would be the addresses of pages. No path may be ambiguous beside another: the router
 * would change to one that is slower and does not match ids with slashes.
 */
export const operationPaths = {
  "routes.list": { method: "GET", path: "/routes" },
  "routes.test": { method: "POST", path: "/api/route-test" },
  "routes.switch": { method: "POST", path: "/routes/:id{.+}/:action{disable|enable|drain}" },
  "claims.list": { method: "GET", path: "/provider-claims" },
  "maintenance.show": { method: "GET", path: "/maintenance" },
  "maintenance.set": { method: "POST", path: "/maintenance" },
  "catalog.show": { method: "GET", path: "/catalog" },
  "catalog.preview": { method: "POST", path: "/catalog/preview" },
  "catalog.apply": { method: "PUT", path: "/catalog" },
  "catalog.rollback": { method: "POST", path: "/catalog/rollback" },
  "catalog.withdraw": { method: "DELETE", path: "/catalog/scheduled" },
  "catalog.versions": { method: "GET", path: "/catalog/versions" },
  "provider_keys.list": { method: "GET", path: "/api/provider-keys" },
  "provider_keys.add": { method: "POST", path: "/api/provider-keys" },
  "provider_keys.replace": { method: "PUT", path: "/api/provider-keys/:key" },
  "provider_keys.remove": { method: "DELETE", path: "/api/provider-keys/:key" },
  "provider_keys.reseal": { method: "POST", path: "/api/provider-key-seals" },
  "accounts.list": { method: "GET", path: "/api/accounts" },
  "accounts.show": { method: "GET", path: "/api/accounts/:account" },
  "accounts.block": { method: "POST", path: "/api/accounts/:account/block" },
  "accounts.adjust": { method: "POST", path: "/api/accounts/:account/credit" },
  "accounts.limits": { method: "PUT", path: "/api/accounts/:account/limits" },
  "accounts.sign_out": { method: "POST", path: "/api/accounts/:account/sign-out" },
  "accounts.notes": { method: "GET", path: "/api/accounts/:account/notes" },
  "accounts.note": { method: "POST", path: "/api/accounts/:account/notes" },
  "campaigns.list": { method: "GET", path: "/api/campaigns" },
  "campaigns.make": { method: "POST", path: "/api/campaigns" },
  "campaigns.pause": { method: "POST", path: "/api/campaigns/:campaign/pause" },
  "campaigns.approve": { method: "POST", path: "/api/campaigns/:campaign/approve" },
  "campaigns.codes": { method: "POST", path: "/api/campaigns/:campaign/codes" },
  "margins.show": { method: "GET", path: "/api/margins" },
  "margins.sheet": { method: "GET", path: "/api/provider-sheet" },
  "audit.list": { method: "GET", path: "/api/audit" },
  "announcements.list": { method: "GET", path: "/api/announcements" },
  "announcements.publish": { method: "POST", path: "/api/announcements" },
  "announcements.update": { method: "POST", path: "/api/announcements/:announcement/updates" },
  "approvals.list": { method: "GET", path: "/api/approvals" },
  "approvals.decide": { method: "POST", path: "/api/approvals/:approval/decision" },
  "topups.list": { method: "GET", path: "/api/topups" },
  "notices.list": { method: "GET", path: "/api/bank-notices" },
  "notices.waiting": { method: "GET", path: "/api/bank-notices/waiting" },
  "notices.unreadable": { method: "GET", path: "/api/bank-notices/unreadable" },
  "notices.set_aside": { method: "POST", path: "/api/bank-notices/unreadable" },
  "notices.assign": { method: "POST", path: "/api/bank-notices/assignments" },
  "notices.resolve": { method: "POST", path: "/api/bank-notices/verdicts" },
  "invoices.list": { method: "GET", path: "/api/invoices" },
  "invoices.export": { method: "POST", path: "/api/invoice-export" },
  "invoices.issue": { method: "POST", path: "/api/invoices/:invoice/issue" },
  "invoices.send": { method: "POST", path: "/api/invoices/:invoice/send" },
  "invoices.reject": { method: "POST", path: "/api/invoices/:invoice/reject" },
  "invoices.replace": { method: "POST", path: "/api/invoices/:invoice/replace" },
  "outbox.list": { method: "GET", path: "/api/outbox" },
  "outbox.revive": { method: "POST", path: "/api/outbox/:letter/revive" },
  "outbox.forget": { method: "DELETE", path: "/api/outbox/:letter" },
  "calls.list": { method: "GET", path: "/api/calls" },
  "calls.show": { method: "GET", path: "/api/calls/:call" },
  "catalog.version": { method: "GET", path: "/catalog/versions/:version{[0-9]+}" },
} as const satisfies Readonly<Record<string, OperationPath>>;

/** The name of an operation: its subject and what is done. */
export type OperationName = keyof typeof operationPaths;

/** The names of all operations. */
export const operationNames: readonly OperationName[] = Object.keys(operationPaths).filter(
  (name): name is OperationName => name in operationPaths,
);
