/** An organisation with five members that has one of everything, made by forms at one instance of a gateway. */
import { claimDeliveries } from "./webhook_world.ts";
import { changeOwnKey } from "../../../kv/people/api_keys/own_keys.ts";
import { addCompanyDomain } from "../../../kv/people/organisations/company_sign_in.ts";
import { assert } from "../assert.ts";
import { maskApiKey } from "../../../core/people/api_keys/api_key.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { attachInvoiceFile } from "../../../kv/money/invoices/invoice_files.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { listBudgets } from "../../../kv/people/accounts/budgets.ts";
import { openSession } from "../../../kv/people/accounts/sessions.ts";
import { listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import {
  listManagementKeys,
  type ManagementRole,
} from "../../../kv/people/management_keys/management_keys.ts";
import { removeMember } from "../../../kv/people/organisations/members.ts";
import { createTeam } from "../../../kv/people/organisations/teams.ts";
import { recordTry } from "../../../kv/people/webhooks/deliveries.ts";
import { listEndpoints } from "../../../kv/people/webhooks/endpoints.ts";
import type { LoadedPage, TestBrowser } from "../browser/test_browser.ts";
import { type Company, joinAs, openCompany } from "./company_world.ts";
import { askForInvoice, paidOrder } from "./invoice_requests.ts";
import { operator, topupWorld } from "./topup_world.ts";
import type { Instance, TwoInstances } from "./two_instances.ts";
import { bearerPost } from "../api_post.ts";

/** The instance at which the organisation is made, with its store and clock. */
type CompanyWorld = Pick<TwoInstances, "kv" | "time" | "first">;

export interface FullCompany {
  readonly account: Account;
  readonly people: Company["members"];
  /** The secret of a key that the developer made. */
  readonly apiKey: string;
  /** A management key of each role, and one of the role admin that the admin made. */
  readonly managementKeys: Readonly<Record<ManagementRole | "admins", string>>;
  /** What stands for a parameter of a path: by the segment before it and its name, as in `keys/:id`. */
  readonly known: Readonly<Record<string, string>>;
  /** Secrets and ids of which nobody else may learn. */
  readonly secrets: readonly string[];
}

/** The name of the session's cookie. */
export function sessionCookie({ baseUrl }: Pick<Instance, "baseUrl">): string {
  return baseUrl.startsWith("https:") ? "__Host-session" : "session";
}

/** Makes an account with a session, as after a sign-up. */
export async function signUp(
  { kv, time, first }: CompanyWorld,
  email: string,
  createdAtMs = time.nowMs(),
): Promise<{ readonly account: Account; readonly browser: TestBrowser }> {
  const nowMs = time.nowMs();
  const account = await createAccount(kv, { nowMs: createdAtMs, email, locale: "en" });
  const { token } = await openSession(kv, {
    accountId: account.id,
    nowMs,
    method: "password",
    device: "Chrome, Linux",
    address: "203.0.113.5",
  });
  const browser = first.browser();
  browser.cookies.set(sessionCookie(first), token);
  return { account, browser };
}

/** What a page shows once. */
function shownOn({ text, status }: LoadedPage, pattern: RegExp): string {
  const [found] = pattern.exec(text) ?? [];
  assert(found !== undefined, `${status}: no ${pattern}`);
  return found;
}

async function makeWebhook({ kv, time }: CompanyWorld, owner: TestBrowser, id: AccountId) {
  const url = "https://hooks.zirkonia.example/in";
  const page = await owner.get("/webhooks/new");
  const made = await owner.submit(page, "/webhooks", { url, name: "Zirkonia books" });
  // Random ids within a page may have the beginning of a key, too.
  const secret = shownOn(made, /whsec_[\w+/]{43}=/);
  const [endpoint] = await listEndpoints(kv, id);
  assert(endpoint !== undefined);
  const path = `/webhooks/${endpoint.id}`;
  await owner.submit(await owner.get(path), `${path}/test`);
  const [claim] = await claimDeliveries(kv, { nowMs: time.nowMs(), count: 1 });
  assert(claim !== undefined, "a delivery waits");
  const outcome = { kind: "failed", reason: "status", status: 500 } as const;
  const atMs = time.nowMs();
  await recordTry(kv, claim, { outcome, atMs, durationMs: 12, random: 0 });
  return { id: endpoint.id, secret };
}

/** An order that is paid, with an invoice that has a file. */
async function makeInvoice({ kv }: CompanyWorld, account: Account) {
  const bank = topupWorld(kv);
  const { code } = await paidOrder(bank, account);
  const asked = await askForInvoice(bank, account.id, [code]);
  assert(asked.ok);
  const { id } = asked.invoice;
  const attached = await attachInvoiceFile(kv, {
    id,
    name: "z.pdf",
    bytes: new TextEncoder().encode("%PDF-1.7 of Zirkonia"),
    operator: await operator(bank, "staff"),
    nowMs: bank.nowMs,
  });
  assert(attached.ok);
  return { code, id, fileId: attached.file.fileId };
}

async function makeManagementKey(browser: TestBrowser, role: ManagementRole): Promise<string> {
  const path = "/organisation/management-keys";
  const fields = { name: `Zirkonia ${role}`, role };
  return shownOn(
    await browser.submit(await browser.get(path), path, fields),
    /(?<![\w-])mk-[\w-]{20,}/,
  );
}

async function makeKey({ first }: CompanyWorld, browser: TestBrowser, teamId: string) {
  const fields = { name: "Zirkonia production", team: teamId };
  const made = await browser.submit(await browser.get("/keys/new"), "/keys", fields);
  // Random ids within a page may have the beginning of a key, too.
  const secret = shownOn(made, /(?<![\w-])sk-[\w-]{20,}/);
  const messages = [{ role: "user", content: "Hello" }];
  const chat = { model: "low-cost-01", messages };
  const response = await first.fetch(apiCall(first, secret, "/v1/chat/completions", chat));
  const said = await response.text();
  assert(response.status === 200, said);
  await first.gateway.assembled.gateway.wallet.indexOnce();
  const film = await first.fetch(
    apiCall(first, secret, "/v1/videos", { model: "video-c", prompt: "Sea" }),
  );
  const video = await film.json();
  assert(typeof video.id === "string", JSON.stringify(video));
  const turn = { model: "low-cost-01", input: "Hello" };
  const kept = await (await first.fetch(apiCall(first, secret, "/v1/responses", turn))).json();
  assert(typeof kept.id === "string", JSON.stringify(kept));
  return {
    secret,
    requestId: response.headers.get("x-request-id") ?? "",
    videoId: video.id,
    responseId: kept.id,
  };
}

function apiCall(
  { baseUrl }: Pick<Instance, "baseUrl">,
  key: string,
  path: string,
  body: JsonObject,
): Request {
  return bearerPost(baseUrl + path, key, body);
}

/** What forms of the owner make: an invitation, a domain, a budget. */
async function fillForms(owner: TestBrowser, invited: string): Promise<void> {
  const forms: readonly (readonly [string, string, Record<string, string>])[] = [
    ["/organisation", "/organisation/invitations", { email: invited, role: "viewer" }],
    ["/organisation/sign-in", "/organisation/sign-in/domains", { domain: "zirkonia.example" }],
    ["/organisation/presets", "/organisation/presets", {
      name: "zirkonia",
      model: "low-cost-01",
      system: "Zirkonia answers.",
    }],
    ["/budgets/new", "/budgets", { name: "Zirkonia all", of: "account", amount: "900000" }],
  ];
  for (const [page, action, fields] of forms) {
    const { status } = await owner.submit(await owner.get(page), action, fields);
    assert(status === 303, `${action}: ${status}`);
  }
}

/** Somebody who was a member and was removed. */
async function removeSomebody(world: CompanyWorld, organisationId: AccountId): Promise<AccountId> {
  const { kv, time } = world;
  const nowMs = time.nowMs();
  const { account } = await signUp(world, "former@zirkonia.example");
  await joinAs(kv, organisationId, account, { role: "viewer", nowMs });
  assert(await removeMember(kv, organisationId, account.id, { nowMs }));
  return account.id;
}

/** Makes what the organisation has, and says what stands for the parameters of paths. */
async function makeThings(world: CompanyWorld, { account, members }: Company) {
  const { kv, time } = world;
  const { owner: { browser: owner }, developer } = members;
  const invited = "new@zirkonia.example";
  const invoice = await makeInvoice(world, account);
  await fillForms(owner, invited);
  const nowMs = time.nowMs();
  const team = await createTeam(kv, account.id, { name: "Zirkonia search", nowMs });
  assert(typeof team === "object");
  const webhook = await makeWebhook(world, owner, account.id);
  const made = await makeKey(world, developer.browser, team.id);
  const { secret: apiKey, requestId, videoId, responseId } = made;
  const [key] = await listApiKeys(kv, account.id);
  const [budget] = await listBudgets(kv, account.id);
  assert(key !== undefined && budget !== undefined);
  const known = {
    "keys/:id": key.id,
    "receipts/:id": requestId,
    "calls/:id": requestId,
    "orders/:code": invoice.code,
    "topups/:id": invoice.code,
    "statements/:file": "2026-11.csv",
    "statements/:month": "2026-11",
    "invoices/:id": invoice.id,
    "files/:fileId": invoice.fileId,
    "files/:file": invoice.fileId,
    "budgets/:id": budget.id,
    "presets/:name": "zirkonia",
    "webhooks/:id": webhook.id,
    "deliveries/:number": "1",
    "members/:id": developer.person.id,
    "invitations/:id": invited,
    "teams/:id": team.id,
    "removed-members/:id": await removeSomebody(world, account.id),
    "videos/:id": videoId,
    "responses/:id": responseId,
  };
  return { apiKey, known, secrets: [apiKey, maskApiKey(apiKey), webhook.secret, invoice.code] };
}

/** Opens the organisation. Each name that its members have chosen contains its own. */
export async function openFullCompany(world: CompanyWorld): Promise<FullCompany> {
  const { kv, time } = world;
  const signIn = (email = "") => signUp(world, email);
  const company = await openCompany({ kv, time, signIn }, "Zirkonia");
  const { account, members: { owner, admin, ...others } } = company;
  const { apiKey, known: things, secrets } = await makeThings(world, company);
  const domain = "mail.zirkonia.example";
  await addCompanyDomain(kv, account.id, domain, { nowMs: time.nowMs() });
  const managementKeys = {
    admin: await makeManagementKey(owner.browser, "admin"),
    billing: await makeManagementKey(owner.browser, "billing"),
    viewer: await makeManagementKey(owner.browser, "viewer"),
    admins: await makeManagementKey(admin.browser, "admin"),
  };
  const provider = "zirkonia-vendor";
  const ownKey = {
    provider,
    sealed: "sealed",
    fingerprint: "…zirkonia",
    fallback: true,
    isTested: true,
    setAtMs: time.nowMs(),
  };
  await changeOwnKey(kv, account.id, { provider, change: () => ownKey, nowMs: time.nowMs() });
  const programs = await listManagementKeys(kv, account.id);
  const known = {
    ...things,
    "domains/:id": domain,
    "provider-keys/:id": provider,
    "management-keys/:id": programs[0]?.id ?? "",
  };
  return {
    account,
    people: { owner, admin, ...others },
    apiKey,
    managementKeys,
    known,
    secrets: [
      "zirkonia",
      account.id,
      ...Object.values(company.members).map(({ person: { id } }) => id),
      ...secrets,
      ...Object.values(managementKeys),
      ...programs.flatMap(({ id, masked }) => [id, masked]),
      // Shorter ones are no ids.
      ...Object.values(known).filter((id) => id.length > 12),
    ],
  };
}
