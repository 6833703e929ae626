/** Statements show invoices, and the details of their buyer, only to those whose role may see them: on pages and with keys. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { may, type Role, roles } from "../../../../core/people/organisations/acts.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { handOver } from "../../../../kv/people/organisations/organisations.ts";
import { openControl } from "../../../../kv/engine/control/control.ts";
import { setInvoiceSettings } from "../../../../kv/money/invoices/invoices.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import type { ApiKeyOptions } from "../../../../kv/people/api_keys/api_keys.ts";
import { openKeyDirectory } from "../../../../kv/people/api_keys/key_directory.ts";
import { createManagementKey } from "../../../../kv/people/management_keys/management_keys.ts";
import {
  readMonthStatement,
  withoutInvoices,
} from "../../../../kv/money/statements/month_statement.ts";
import { statementDocument } from "../../../../routes/usage_api/statements/statement_document.ts";
import { changeRole } from "../../../../kv/people/organisations/members.ts";
import { createUsageApi } from "../../../../routes/usage_api/usage_api.ts";
import { joinAs, openCompany } from "../../../support/worlds/company_world.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
} from "../../../support/worlds/dashboard_world.ts";
import { askForInvoice, buyerForm, paidOrder } from "../../../support/worlds/invoice_requests.ts";
import { topupWorld } from "../../../support/worlds/topup_world.ts";

const month = "2026-11";
const { taxCode, legalName } = buyerForm;

/** Gives an account invoice details and an invoice, whose id is returned. */
async function invoiced(
  { kv }: Pick<DashboardWorld, "kv">,
  account: Account,
): Promise<string> {
  const bank = topupWorld(kv);
  const settings = { legalName, taxCode, address: "1 Phố A, Hà Nội" };
  await setInvoiceSettings(kv, account.id, settings, { nowMs: bank.nowMs });
  const { code } = await paidOrder(bank, account);
  const asked = await askForInvoice(bank, account.id, [code]);
  assert(asked.ok);
  return asked.invoice.id;
}

/** Whose an API key is. */
type Maker = { readonly memberId?: AccountId; readonly madeByProgram?: true };

async function openWorld() {
  const world = await openDashboardWorld();
  const { kv, time, deps: { wallet, masterKeys } } = world;
  const company = await openCompany(world);
  const invoiceId = await invoiced(world, company.account);
  const control = await openControl(kv, time);
  const directory = openKeyDirectory(kv, control, time);
  const origin = { baseUrl: "http://localhost", vatRates: [], seller: undefined };
  const api = createUsageApi({ ...origin, kv, clock: time, directory, wallet });
  const { id } = company.account;
  return {
    kv,
    company,
    nowMs: time.nowMs(),
    /** Reads a statement with a key, as text. */
    async read(secret: string, format: string): Promise<string> {
      const headers = { authorization: `Bearer ${secret}` };
      const answer = await api.request(`/v1/statements/${month}?format=${format}`, { headers });
      assertEquals(answer.status, 200);
      return await answer.text();
    },
    async apiKey(options: Partial<ApiKeyOptions> & Maker, of = id) {
      const nowMs = time.nowMs();
      const made = await createApiKey(kv, masterKeys, of, { name: "key", nowMs, ...options });
      assert(made.ok);
      return made.secret;
    },
    /** Whether a statement has the invoice. */
    shows: (text: string): boolean => text.includes(invoiceId),
    async [Symbol.asyncDispose]() {
      control.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a member's files of a month have invoices if the role may see them, and the movements always", async () => {
  await using world = await openWorld();
  for (const role of roles) {
    const { browser } = world.company.members[role];
    const file = await browser.get(`/wallet/statements/${month}.csv`);
    assertEquals(file.status, 200, role);
    assertEquals(world.shows(file.text), may(role, "view_invoices"), role);
    assert(file.text.includes("200000"), `${role} sees the top-up`);
  }
});

Deno.test("a management key shows them as its role and its maker may, an API key as its maker may now", async () => {
  await using world = await openWorld();
  const { kv, nowMs, company: { account, members } } = world;
  const expected = async (secret: string, isSeen: boolean, name: string) => {
    for (const format of ["json", "csv"]) {
      assertEquals(world.shows(await world.read(secret, format)), isSeen, `${name} ${format}`);
    }
  };
  for (const role of ["admin", "billing", "viewer"] as const) {
    for (const maker of ["admin", "viewer"] as const) {
      const memberId = members[maker].person.id;
      const made = await createManagementKey(kv, account.id, { name: "p", role, memberId, nowMs });
      assert(made !== "too_many");
      const isSeen = [role, maker].every((one: Role) => may(one, "view_invoices"));
      await expected(made.secret, isSeen, `${role} of ${maker}`);
    }
  }
  for (const role of roles) {
    const secret = await world.apiKey({ memberId: members[role].person.id });
    await expected(secret, may(role, "view_invoices"), `API key of ${role}`);
  }
  await expected(await world.apiKey({ madeByProgram: true }), false, "no member's key");
  await expected(await world.apiKey({}), false, "a key by the command line");
  const secret = await world.apiKey({ memberId: members.admin.person.id });
  await changeRole(kv, account.id, members.admin.person.id, "developer", { nowMs });
  await expected(secret, false, "who was an admin");
});

Deno.test("the heading of a file names the buyer only where it has invoices", async () => {
  await using world = await openWorld();
  const asked = { month, nowMs: world.nowMs, vatRates: [] };
  const statement = await readMonthStatement(world.kv, world.company.account.id, asked);
  assert(statement !== undefined);
  for (const [shown, isSeen] of [[statement, true], [withoutInvoices(statement), false]] as const) {
    const options = {
      locale: "vi",
      brand: "Model Gateway",
      seller: "Cổng mô hình",
      proofAddress: "",
    } as const;
    const { facts, sections } = statementDocument(shown, options);
    const text = JSON.stringify(facts);
    assertEquals([taxCode, legalName].map((one) => text.includes(one)), [isSeen, isSeen]);
    assertEquals(sections.some(({ name }) => name === "invoices"), isSeen);
    assert(text.includes(world.company.account.id));
  }
});

Deno.test("the first key of an account shows them while the founder may see them", async () => {
  await using world = await openWorld();
  const { kv, nowMs, company: { members } } = world;
  const founder = members.viewer.person;
  const invoiceId = await invoiced(world, founder);
  const secret = await world.apiKey({}, founder.id);
  const isShown = async () => (await world.read(secret, "json")).includes(invoiceId);
  assert(await isShown());
  const heir = members.admin.person;
  await joinAs(kv, founder.id, heir, { role: "admin", nowMs });
  const from = await getAccount(kv, founder.id);
  assert(from !== undefined);
  assertEquals(await handOver(kv, founder.id, { from, to: heir.id, nowMs }), "done");
  assert(await isShown(), "an admin may see them");
  await changeRole(kv, founder.id, founder.id, "developer", { nowMs });
  assert(!await isShown(), "who became a developer may not");
});
