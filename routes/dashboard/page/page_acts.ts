/**
 * The act that each page and form of an organisation is: the one place between paths and the table of roles and acts
 * (`core/people/organisations/acts.ts`). Navigation, forms and the middleware in front of all pages read it. Pages that
 * everybody may see, and those about the person alone, are not here.
 */
import { type Act, may } from "../../../core/people/organisations/acts.ts";
import { segmentAt } from "./navigation.ts";
import type { SignedIn } from "./visitor.ts";

/**
 * Acts by `METHOD /path`, with the paths as the pages register them; `*` is any rest. `everyone`: no role decides. What
 * a page does, a program does too: `tests/routes/management_api/page_parity_test.ts` names the operation of each.
 */
export const pageActs = {
  "GET /welcome": "change_keys",
  "GET /welcome/call": "change_keys",
  "GET /keys": "view_keys",
  "POST /keys": "change_keys",
  "GET /keys/new": "change_keys",
  "GET /keys/:id": "view_keys",
  "POST /keys/:id": "change_keys",
  "POST /keys/:id/show": "change_keys",
  "POST /keys/:id/rotate": "change_keys",
  "POST /keys/:id/revoke": "change_keys",
  "GET /usage": "view_usage",
  "GET /usage/live": "view_usage",
  "POST /usage/views": "view_usage",
  "POST /usage/views/remove": "view_usage",
  "GET /usage/export.csv": "view_usage",
  "GET /usage/export.json": "view_usage",
  "GET /receipts": "view_usage",
  "GET /receipts/:id": "view_usage",
  "GET /receipts/:id/proof": "view_usage",
  "GET /search": "view_usage",
  "GET /search/suggestions": "view_usage",
  "GET /wallet": "view_money",
  "POST /wallet/orders": "top_up",
  "GET /wallet/orders/:code": "view_money",
  "GET /wallet/orders/:code/panel": "view_money",
  "GET /wallet/orders/:code/qr.png": "view_money",
  "POST /wallet/orders/:code/cancel": "top_up",
  "GET /wallet/statement": "view_money",
  "GET /wallet/statement.csv": "view_money",
  "GET /wallet/statements/:file": "view_money",
  "POST /wallet/vouchers": "top_up",
  "POST /wallet/low-balance": "top_up",
  "GET /invoices": "view_invoices",
  // Who has the link of the mail about an invoice.
  "GET /invoices/shared": "everyone",
  "POST /invoices/shared": "everyone",
  "POST /invoices/shared/files/:fileId": "everyone",
  "GET /invoices/new": "change_invoices",
  "POST /invoices": "change_invoices",
  "GET /invoices/:id": "view_invoices",
  "GET /invoices/:id/files/:fileId": "view_invoices",
  "GET /account/data.ndjson": "export_organisation",
  "POST /account/invoice": "change_invoices",
  "POST /account/second-factor": "change_organisation",
  // About the person, whatever the role.
  "POST /account/*": "everyone",
  "GET /playground": "call_models",
  "POST /playground": "call_models",
  "GET /playground/calls/:id": "call_models",
  "GET /playground/api/*": "call_models",
  "POST /playground/api/*": "call_models",
  "GET /budgets": "view_budgets",
  "POST /budgets": "change_budgets",
  "GET /budgets/new": "change_budgets",
  "POST /budgets/tags": "change_budgets",
  "GET /budgets/:id": "change_budgets",
  "POST /budgets/:id": "change_budgets",
  "POST /budgets/:id/remove": "change_budgets",
  "GET /activity": "view_activity",
  "GET /activity.csv": "view_activity",
  "GET /webhooks": "change_webhooks",
  "POST /webhooks": "change_webhooks",
  "GET /webhooks/new": "change_webhooks",
  "GET /webhooks/:id": "change_webhooks",
  "GET /webhooks/:id/sent": "change_webhooks",
  "POST /webhooks/:id": "change_webhooks",
  "POST /webhooks/:id/switch": "change_webhooks",
  "POST /webhooks/:id/rotate": "change_webhooks",
  "POST /webhooks/:id/delete": "change_webhooks",
  "POST /webhooks/:id/test": "change_webhooks",
  "GET /webhooks/:id/deliveries/:number": "change_webhooks",
  "POST /webhooks/:id/deliveries/:number/again": "change_webhooks",
  "GET /organisation": "view_members",
  "POST /organisation/name": "change_organisation",
  "POST /organisation/invitations": "change_members",
  "POST /organisation/invitations/withdraw": "change_members",
  "POST /organisation/members/role": "change_members",
  "POST /organisation/members/remove": "change_members",
  "POST /organisation/members/readmit": "change_members",
  "POST /organisation/teams": "change_members",
  "POST /organisation/teams/delete": "change_members",
  "POST /organisation/key-rules": "change_organisation",
  "POST /organisation/hand-over": "hand_over",
  "POST /organisation/delete": "delete_organisation",
  "GET /organisation/management-keys": "change_management_keys",
  "POST /organisation/management-keys": "change_management_keys",
  "POST /organisation/management-keys/revoke": "change_management_keys",
  "GET /organisation/sign-in": "change_organisation",
  "POST /organisation/sign-in": "change_organisation",
  "POST /organisation/sign-in/require": "change_organisation",
  "POST /organisation/sign-in/remove": "change_organisation",
  "POST /organisation/sign-in/domains": "change_organisation",
  "POST /organisation/sign-in/domains/verify": "change_organisation",
  "POST /organisation/sign-in/domains/remove": "change_organisation",
} as const satisfies Readonly<Record<string, Act | "everyone">>;

/** A page or form of an organisation, as its method and path. */
export type PageAction = keyof typeof pageActs;

/** A row of the table, to be matched. */
interface PageAct {
  readonly method: string;
  readonly segments: readonly string[];
  readonly act: Act | "everyone";
}

/** The rows by the first segment of their paths: few each, so that a request tries only those. */
const rowsByRoot: ReadonlyMap<string, readonly PageAct[]> = Map.groupBy(
  Object.entries(pageActs).map(([text, act]): PageAct => {
    const [method = "", path = ""] = text.split(" ");
    return { method, segments: path.slice(1).split("/"), act };
  }),
  ({ segments }) => segments[0] ?? "",
);

/** Finds the act of a request; a fixed segment goes before a parameter. `undefined`: it needs no role. */
export function actOf(method: string, path: string): Act | "everyone" | undefined {
  const parts = path.slice(1).split("/");
  const asked = method === "HEAD" ? "GET" : method;
  const matching = (rowsByRoot.get(segmentAt(path, 0)) ?? []).filter((row) =>
    row.method === asked &&
    (row.segments.at(-1) === "*" || row.segments.length === parts.length) &&
    row.segments.every((segment, at) =>
      segment === "*" || segment.startsWith(":") || segment === parts[at]
    )
  );
  const fixed = ({ segments }: PageAct) => segments.filter((one) => !/^[:*]/.test(one)).length;
  return matching.sort((one, other) => fixed(other) - fixed(one))[0]?.act;
}

/** Whether a visitor may send a request to a path; who is not signed in is asked to do so by the page itself. */
export function mayVisit(
  signedIn: Pick<SignedIn, "role"> | undefined,
  path: string,
  method: "GET" | "POST" = "GET",
): boolean {
  const act = actOf(method, path.split("?")[0] ?? path);
  return act === undefined || act === "everyone" || signedIn === undefined ||
    may(signedIn.role, act);
}

/** Whether the pages under the first segment of a path belong to an organisation: each of their forms has an act. */
export function isOfOrganisation(path: string): boolean {
  return rowsByRoot.has(segmentAt(path, 0));
}
