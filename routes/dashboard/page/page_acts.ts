/**
 * The act that each page and form of an organisation is: the one place between paths and what customers do. Navigation,
 * forms and the middleware in front of all pages read it. Pages that everybody may see, and those about the person
 * alone, are not here.
 */
import { defined } from "../../../core/lib/base/defined.ts";
import { type Act, may } from "../../../core/people/organisations/acts.ts";
import {
  budgetChange,
  budgetCreation,
  budgetDeletion,
  requiredTagsChange,
} from "../../acts/budgets.ts";
import { callSettingsChange } from "../../acts/call_settings.ts";
import {
  keyChange,
  keyCreation,
  keyRevocation,
  keyRotation,
  keyRulesChange,
  managementKeyCreation,
  managementKeyRevocation,
} from "../../acts/keys.ts";
import {
  billingChange,
  invoiceRequest,
  lowBalanceChange,
  topupCancellation,
  topupOrdering,
  voucherRedemption,
} from "../../acts/money.ts";
import { appConsent } from "../../acts/apps.ts";
import type { DeclaredOperation } from "../../acts/operation.ts";
import { ownKeyRemoval, ownKeySetting } from "../../acts/own_keys.ts";
import {
  handOver,
  invitation,
  readmission,
  removal,
  renaming,
  roleChange,
  teamCreation,
  teamDeletion,
  withdrawal,
} from "../../acts/people.ts";
import { presetDeletion, presetSaving } from "../../acts/presets.ts";
import {
  domainAddition,
  domainRemoval,
  domainVerification,
  providerChange,
  providerConnection,
  providerRemoval,
  providerRequirement,
  secondFactorRequirement,
} from "../../acts/sign_in.ts";
import {
  webhookChange,
  webhookCreation,
  webhookDeletion,
  webhookResending,
  webhookRotation,
  webhookTest,
} from "../../acts/webhooks.ts";
import { segmentAt } from "./navigation.ts";
import type { SignedIn } from "./visitor.ts";

/** Why no program does what a form does. */
export type PageOnlyReason =
  /** About the person who is signed in: password, sessions, mails, address, the account of their own. */
  | "own_sign_in"
  /** Opened by the link of a mail, without a role. */
  | "mailed_link"
  /** Asks for a password or second factor of the person, which a program does not have. */
  | "confirmed_in_browser"
  /** A person's consent, which no program gives in their place. */
  | "consent_of_person"
  /** Keeps what one person looks at, and changes nothing of the organisation. */
  | "of_person"
  /** The owner's alone: no management key has that role, so that a leaked one neither takes nor ends an organisation. */
  | "owner_alone"
  /** A key that makes keys would outlive its own revocation. */
  | "makes_management_keys"
  /** Calls of models, which management keys never make: an API key makes them. */
  | "calls_models";

/** A form whose act no program does. */
interface PageOnly {
  readonly pageOnly: PageOnlyReason;
  readonly does: DeclaredOperation | Act | "everyone";
  /** The part of it that programs do, which asks for less. */
  readonly partByProgram?: DeclaredOperation;
}

function byPageOnly(
  pageOnly: PageOnlyReason,
  does: PageOnly["does"],
  partByProgram?: DeclaredOperation,
): PageOnly {
  return { pageOnly, does, ...defined({ partByProgram }) };
}

/**
 * Acts by `METHOD /path`, with the paths as the pages register them; `*` is any rest. `everyone`: no role decides. A form
 * names the operation that it performs, which the management API has as well, or why it has none.
 */
const declared: Readonly<
  & Record<`GET ${string}`, Act | "everyone">
  & Record<`POST ${string}`, DeclaredOperation | PageOnly>
> = {
  "GET /welcome": "change_keys",
  "GET /welcome/call": "change_keys",
  "GET /keys": "view_keys",
  "POST /keys": keyCreation,
  "GET /keys/new": "change_keys",
  "GET /keys/:id": "view_keys",
  "POST /keys/:id": keyChange,
  "POST /keys/:id/calls": keyChange,
  "POST /keys/:id/show": byPageOnly("confirmed_in_browser", "change_keys"),
  "POST /keys/:id/rotate": keyRotation,
  "POST /keys/:id/revoke": keyRevocation,
  "GET /oauth/authorize": "change_keys",
  "POST /oauth/authorize": byPageOnly("consent_of_person", appConsent),
  "GET /usage": "view_usage",
  "GET /usage/live": "view_usage",
  "POST /usage/views": byPageOnly("of_person", "view_usage"),
  "POST /usage/views/remove": byPageOnly("of_person", "view_usage"),
  "GET /usage/export.csv": "view_usage",
  "GET /usage/export.json": "view_usage",
  "GET /receipts": "view_usage",
  "GET /receipts/:id": "view_usage",
  "GET /receipts/:id/proof": "view_usage",
  "GET /search": "view_usage",
  "GET /search/suggestions": "view_usage",
  "GET /wallet": "view_money",
  "POST /wallet/orders": topupOrdering,
  "GET /wallet/orders/:code": "view_money",
  "GET /wallet/orders/:code/panel": "view_money",
  "GET /wallet/orders/:code/qr.png": "view_money",
  "POST /wallet/orders/:code/cancel": topupCancellation,
  "GET /wallet/statement": "view_money",
  "GET /wallet/statement.csv": "view_money",
  "GET /wallet/statements/:file": "view_money",
  "POST /wallet/vouchers": voucherRedemption,
  "POST /wallet/low-balance": lowBalanceChange,
  "GET /invoices": "view_invoices",
  "GET /invoices/shared": "everyone",
  "POST /invoices/shared": byPageOnly("mailed_link", "everyone"),
  "POST /invoices/shared/files/:fileId": byPageOnly("mailed_link", "everyone"),
  "GET /invoices/new": "change_invoices",
  "POST /invoices": invoiceRequest,
  "GET /invoices/:id": "view_invoices",
  "GET /invoices/:id/files/:fileId": "view_invoices",
  "GET /account/data.ndjson": "export_organisation",
  "POST /account/invoice": billingChange,
  "POST /account/second-factor": byPageOnly("confirmed_in_browser", secondFactorRequirement),
  "POST /account/*": byPageOnly("own_sign_in", "everyone"),
  "GET /playground": "call_models",
  "POST /playground": byPageOnly("calls_models", "call_models"),
  "GET /playground/calls/:id": "call_models",
  "GET /playground/api/*": "call_models",
  "POST /playground/api/*": byPageOnly("calls_models", "call_models"),
  "GET /budgets": "view_budgets",
  "POST /budgets": budgetCreation,
  "GET /budgets/new": "change_budgets",
  "POST /budgets/tags": requiredTagsChange,
  "GET /budgets/:id": "change_budgets",
  "POST /budgets/:id": budgetChange,
  "POST /budgets/:id/remove": budgetDeletion,
  "GET /activity": "view_activity",
  "GET /activity.csv": "view_activity",
  "GET /webhooks": "change_webhooks",
  "POST /webhooks": webhookCreation,
  "GET /webhooks/new": "change_webhooks",
  "GET /webhooks/:id": "change_webhooks",
  "GET /webhooks/:id/sent": "change_webhooks",
  "POST /webhooks/:id": webhookChange,
  "POST /webhooks/:id/switch": webhookChange,
  "POST /webhooks/:id/rotate": webhookRotation,
  "POST /webhooks/:id/delete": webhookDeletion,
  "POST /webhooks/:id/test": webhookTest,
  "GET /webhooks/:id/deliveries/:number": "change_webhooks",
  "POST /webhooks/:id/deliveries/:number/again": webhookResending,
  "GET /organisation": "view_members",
  "POST /organisation/name": renaming,
  "POST /organisation/invitations": invitation,
  "POST /organisation/invitations/withdraw": withdrawal,
  "POST /organisation/members/role": roleChange,
  "POST /organisation/members/remove": removal,
  "POST /organisation/members/readmit": readmission,
  "POST /organisation/teams": teamCreation,
  "POST /organisation/teams/delete": teamDeletion,
  "POST /organisation/key-rules": keyRulesChange,
  "GET /organisation/calls": "change_organisation",
  "POST /organisation/calls": callSettingsChange,
  "GET /organisation/provider-keys": "change_organisation",
  "POST /organisation/provider-keys": ownKeySetting,
  "POST /organisation/provider-keys/remove": ownKeyRemoval,
  "GET /organisation/presets": "change_presets",
  "POST /organisation/presets": presetSaving,
  "POST /organisation/presets/delete": presetDeletion,
  "POST /organisation/hand-over": byPageOnly("owner_alone", handOver),
  "POST /organisation/delete": byPageOnly("owner_alone", "delete_organisation"),
  "GET /organisation/management-keys": "change_management_keys",
  "POST /organisation/management-keys": byPageOnly("makes_management_keys", managementKeyCreation),
  "POST /organisation/management-keys/revoke": managementKeyRevocation,
  "GET /organisation/sign-in": "change_organisation",
  "POST /organisation/sign-in": byPageOnly(
    "confirmed_in_browser",
    providerConnection,
    providerChange,
  ),
  "POST /organisation/sign-in/require": byPageOnly("confirmed_in_browser", providerRequirement),
  "POST /organisation/sign-in/remove": byPageOnly("confirmed_in_browser", providerRemoval),
  "POST /organisation/sign-in/domains": domainAddition,
  "POST /organisation/sign-in/domains/verify": domainVerification,
  "POST /organisation/sign-in/domains/remove": domainRemoval,
};

/** A page or form of an organisation. */
export interface PageAct {
  readonly method: string;
  /** As the pages register it. */
  readonly path: string;
  readonly act: Act | "everyone";
  /** Operation that a form performs; absent of pages, and of forms that are no operation. */
  readonly operation?: DeclaredOperation;
  readonly pageOnly?: PageOnlyReason;
  /** The part of it that programs do. */
  readonly partByProgram?: DeclaredOperation;
}

/** The rows of the table. */
export const pageActs: readonly PageAct[] = Object.entries(declared).map(([action, row]) => {
  const [method = "", path = ""] = action.split(" ");
  const { does, ...alone } = typeof row === "object" && "does" in row ? row : { does: row };
  return {
    method,
    path,
    ...(typeof does === "string" ? { act: does } : { act: does.act, operation: does }),
    ...alone,
  };
});

/** The rows by the first segment of their paths: few each, so that a request tries only those. */
const rowsByRoot = Map.groupBy(
  pageActs.map((row) => ({ ...row, segments: row.path.slice(1).split("/") })),
  ({ segments }) => segments[0] ?? "",
);

/** Finds the row of a request; a fixed segment goes before a parameter. `undefined`: it needs no role. */
export function pageActOf(method: string, path: string): PageAct | undefined {
  const parts = path.slice(1).split("/");
  const asked = method === "HEAD" ? "GET" : method;
  const matching = (rowsByRoot.get(segmentAt(path, 0)) ?? []).filter((row) =>
    row.method === asked &&
    (row.segments.at(-1) === "*" || row.segments.length === parts.length) &&
    row.segments.every((segment, at) =>
      segment === "*" || segment.startsWith(":") || segment === parts[at]
    )
  );
  const fixed = (segments: readonly string[]) =>
    segments.filter((one) => !/^[:*]/.test(one)).length;
  return matching.sort((one, other) => fixed(other.segments) - fixed(one.segments))[0];
}

/** Whether a visitor may send a request to a path; who is not signed in is asked to do so by the page itself. */
export function mayVisit(
  signedIn: Pick<SignedIn, "role"> | undefined,
  path: string,
  method: "GET" | "POST" = "GET",
): boolean {
  const act = pageActOf(method, path.split("?")[0] ?? path)?.act;
  return act === undefined || act === "everyone" || signedIn === undefined ||
    may(signedIn.role, act);
}

/** Whether the pages under the first segment of a path belong to an organisation: each of their forms has an act. */
export function isOfOrganisation(path: string): boolean {
  return rowsByRoot.has(segmentAt(path, 0));
}
