/**
 * Everything that a page of an organisation can do, a program can: a table of all pages and forms, each with the
 * operations that do the same, or with a reason of a closed set why there is none.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { type Act, may } from "../../../core/people/organisations/acts.ts";
import { managementRoles } from "../../../kv/people/management_keys/management_keys.ts";
import { type PageAction, pageActs } from "../../../routes/dashboard/page/page_acts.ts";
import { type ActName, actSpendings } from "../../../routes/acts/spending.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import { accountOperations } from "../../../routes/openapi/account_operations.ts";
import { readings } from "../../../routes/usage_api/usage_api.ts";

/** Why no operation does what a page does, and what has to be so for that. */
const reasons = {
  /** About the person who is signed in: password, sessions, mails, address, the account of their own. */
  own_sign_in: ({ act }) => act === "everyone",
  /** Opened by the link of a mail, without a role. */
  mailed_link: ({ act, action }) => act === "everyone" && action.includes("/shared"),
  /** The form asks for a password or second factor of the person, which a program does not have. */
  confirmed_in_browser: ({ action }) => action.startsWith("POST "),
  /** Keeps what one person looks at, and changes nothing of the organisation. */
  of_person: ({ action }) => action.startsWith("POST /usage/views"),
  /** The owner's alone: no management key has that role, so that a leaked one neither takes nor ends an organisation. */
  owner_alone: ({ act }) => act !== "everyone" && managementRoles.every((role) => !may(role, act)),
  /** A key that makes keys would outlive its own revocation. */
  makes_management_keys: ({ act }) => act === "change_management_keys",
  /** Calls of models, which management keys never make: an API key makes them. */
  calls_models: ({ act }) => act === "call_models",
  /** Shows in a browser what leads to a form, or parts of what other pages show. */
  only_shows: ({ action }) => action.startsWith("GET "),
} as const satisfies Record<
  string,
  (page: { readonly action: PageAction; readonly act: Act | "everyone" }) => boolean
>;

type Reason = keyof typeof reasons;

/** What a program does in place of a page. */
type Counterpart = { readonly by: readonly [string, ...string[]] } | { readonly none: Reason };

const by = (...ids: readonly [string, ...string[]]): Counterpart => ({ by: ids });
const none = (reason: Reason): Counterpart => ({ none: reason });

/** Each page and form; one that is missing here does not compile. */
const counterparts: Readonly<Record<PageAction, Counterpart>> = {
  "GET /welcome": none("only_shows"),
  "GET /welcome/call": none("only_shows"),
  "GET /keys": by("listKeys"),
  "POST /keys": by("createKey"),
  "GET /keys/new": none("only_shows"),
  "GET /keys/:id": by("getKey"),
  "POST /keys/:id": by("changeKey"),
  "POST /keys/:id/show": none("confirmed_in_browser"),
  "POST /keys/:id/rotate": by("rotateKey"),
  "POST /keys/:id/revoke": by("revokeKey"),
  "GET /usage": by("getUsage", "getUsageSeries", "listCalls"),
  "GET /usage/live": by("listCalls"),
  "POST /usage/views": none("of_person"),
  "POST /usage/views/remove": none("of_person"),
  "GET /usage/export.csv": by("exportUsage"),
  "GET /usage/export.json": by("exportUsage"),
  "GET /receipts": by("listReceipts"),
  "GET /receipts/:id": by("getReceipt", "getCall"),
  "GET /receipts/:id/proof": by("getReceiptProof"),
  "GET /search": by("getCall"),
  "GET /search/suggestions": none("only_shows"),
  "GET /wallet": by("getOrganisationBalance", "getBalance", "listTopups", "getLowBalanceWarning"),
  "POST /wallet/orders": by("createTopup"),
  "GET /wallet/orders/:code": by("getTopup"),
  "GET /wallet/orders/:code/panel": by("getTopup"),
  "GET /wallet/orders/:code/qr.png": by("getTopupQrCode"),
  "POST /wallet/orders/:code/cancel": by("cancelTopup"),
  "GET /wallet/statement": by("getPeriodStatement", "listStatements"),
  "GET /wallet/statement.csv": by("getPeriodStatement"),
  "GET /wallet/statements/:file": by("getStatement", "getStatementProof"),
  "POST /wallet/vouchers": by("redeemVoucher"),
  "POST /wallet/low-balance": by("changeLowBalanceWarning"),
  "GET /invoices": by("listInvoices"),
  "GET /invoices/shared": none("mailed_link"),
  "POST /invoices/shared": none("mailed_link"),
  "POST /invoices/shared/files/:fileId": none("mailed_link"),
  "GET /invoices/new": none("only_shows"),
  "POST /invoices": by("requestInvoice"),
  "GET /invoices/:id": by("getInvoice"),
  "GET /invoices/:id/files/:fileId": by("getInvoiceFile"),
  "GET /account/data.ndjson": none("owner_alone"),
  "POST /account/invoice": by("changeBillingDetails"),
  "POST /account/second-factor": none("confirmed_in_browser"),
  "POST /account/*": none("own_sign_in"),
  "GET /playground": none("calls_models"),
  "POST /playground": none("calls_models"),
  "GET /playground/calls/:id": none("calls_models"),
  "GET /playground/api/*": none("calls_models"),
  "POST /playground/api/*": none("calls_models"),
  "GET /budgets": by("listBudgets", "getRequiredTags"),
  "POST /budgets": by("createBudget"),
  "GET /budgets/new": none("only_shows"),
  "POST /budgets/tags": by("changeRequiredTags"),
  "GET /budgets/:id": none("only_shows"),
  "POST /budgets/:id": by("changeBudget"),
  "POST /budgets/:id/remove": by("deleteBudget"),
  "GET /activity": by("listOrganisationActivity"),
  "GET /activity.csv": by("listActivity"),
  "GET /webhooks": by("listWebhooks"),
  "POST /webhooks": by("createWebhook"),
  "GET /webhooks/new": none("only_shows"),
  "GET /webhooks/:id": by("getWebhook", "listWebhookDeliveries"),
  "GET /webhooks/:id/sent": by("getWebhook", "listWebhookDeliveries"),
  "POST /webhooks/:id": by("changeWebhook"),
  "POST /webhooks/:id/switch": by("changeWebhook"),
  "POST /webhooks/:id/rotate": by("rotateWebhookSecret"),
  "POST /webhooks/:id/delete": by("deleteWebhook"),
  "POST /webhooks/:id/test": by("testWebhook"),
  "GET /webhooks/:id/deliveries/:number": by("getWebhookDelivery"),
  "POST /webhooks/:id/deliveries/:number/again": by("resendWebhookDelivery"),
  "GET /organisation": by(
    "getOrganisation",
    "listMembers",
    "listInvitations",
    "listTeams",
    "getKeyRules",
  ),
  "POST /organisation/name": by("renameOrganisation"),
  "POST /organisation/invitations": by("createInvitation"),
  "POST /organisation/invitations/withdraw": by("withdrawInvitation"),
  "POST /organisation/members/role": by("changeMember"),
  "POST /organisation/members/remove": by("removeMember"),
  "POST /organisation/members/readmit": by("readmitMember"),
  "POST /organisation/teams": by("createTeam"),
  "POST /organisation/teams/delete": by("deleteTeam"),
  "POST /organisation/key-rules": by("changeKeyRules"),
  "POST /organisation/hand-over": none("owner_alone"),
  "POST /organisation/delete": none("owner_alone"),
  "GET /organisation/management-keys": by("listManagementKeys"),
  "POST /organisation/management-keys": none("makes_management_keys"),
  "POST /organisation/management-keys/revoke": by("revokeManagementKey"),
  "GET /organisation/sign-in": by("getCompanySignIn", "listDomains"),
  "POST /organisation/sign-in": none("confirmed_in_browser"),
  "POST /organisation/sign-in/require": none("confirmed_in_browser"),
  "POST /organisation/sign-in/remove": none("confirmed_in_browser"),
  "POST /organisation/sign-in/domains": by("addDomain"),
  "POST /organisation/sign-in/domains/verify": by("verifyDomain"),
  "POST /organisation/sign-in/domains/remove": by("removeDomain"),
};

/** What the roles need for each operation that a management key can call. */
const actsOfOperations: ReadonlyMap<string, Act> = new Map([
  ...managementOperations.map(({ id, act }) => [id, act] as const),
  ...accountOperations().flatMap(({ id, path }): (readonly [string, Act])[] => {
    const reading = readings[path];
    return reading === undefined ? [] : [[id, reading.act]];
  }),
]);

function isPageAction(text: string): text is PageAction {
  return Object.hasOwn(pageActs, text);
}

const actions = Object.keys(pageActs).filter(isPageAction);

Deno.test("each page and form of an organisation has an operation, or a reason that is true", () => {
  const wrong: string[] = [];
  for (const action of actions) {
    const page = { action, act: pageActs[action] };
    const counterpart = counterparts[action];
    if (counterpart === undefined) wrong.push(`${action}: name an operation or a reason`);
    else if ("none" in counterpart) {
      if (!reasons[counterpart.none](page)) wrong.push(`${action}: not ${counterpart.none}`);
    } else {
      const unknown = counterpart.by.filter((id) => !actsOfOperations.has(id));
      wrong.push(...unknown.map((id) => `${action}: there is no operation ${id}`));
    }
  }
  assert(actions.length > 80, "the pages are not found");
  assertEquals(wrong, []);
});

Deno.test("each operation needs what its page needs: no role does by a program what its pages refuse", () => {
  const wrong: string[] = [];
  for (const action of actions) {
    const [counterpart, act] = [counterparts[action], pageActs[action]];
    if (counterpart === undefined || "none" in counterpart) continue;
    for (const id of counterpart.by) {
      const needed = actsOfOperations.get(id);
      for (const role of managementRoles) {
        const byPage = act === "everyone" || may(role, act);
        const byProgram = needed !== undefined && may(role, needed);
        if (byPage !== byProgram) wrong.push(`${action}: ${id} as ${role}`);
      }
    }
  }
  assertEquals(wrong, []);
});

/** Acts that no program does, and why. */
const pagesOnly: Partial<Record<ActName, Reason>> = {
  handOver: "owner_alone",
  connectCompanySignIn: "confirmed_in_browser",
  disconnectCompanySignIn: "confirmed_in_browser",
  requireCompanySignIn: "confirmed_in_browser",
  requireSecondFactor: "confirmed_in_browser",
  createManagementKey: "makes_management_keys",
};

Deno.test("each act of customers is an operation of the management API by its own name, or has a reason", () => {
  const ids = new Set(managementOperations.map(({ id }) => id));
  const others = Object.keys(actSpendings).filter((name) => !ids.has(name));
  assertEquals(others.sort(), Object.keys(pagesOnly).sort());
});

/** Operations that no page is named by: parts of pages, to be read or changed by themselves. */
const parts: readonly string[] = [
  // The forms of a budget and of the account show them.
  "getBudget",
  "getBillingDetails",
  // Shown on the page of the organisation to those who may change members.
  "listRemovedMembers",
  // The members of the form of the provider that need no confirmation in a browser.
  "changeCompanySignIn",
];

Deno.test("each operation of the management API is one of a page, or a part of one", () => {
  const named = new Set(Object.values(counterparts).flatMap((one) => "by" in one ? one.by : []));
  const others = managementOperations.map(({ id }) => id).filter((id) => !named.has(id));
  assertEquals(others.sort(), [...parts].sort());
});
