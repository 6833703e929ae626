/** Acts on money: the same by the pages and by the management API. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { makeVouchers } from "../../../kv/money/credits/vouchers.ts";
import { getInvoiceSettings, listAccountInvoices } from "../../../kv/money/invoices/invoices.ts";
import { createBankIntake } from "../../../kv/money/payments/bank_intake.ts";
import { listTopupOrders } from "../../../kv/money/payments/topups.ts";
import { getAccount } from "../../../kv/people/accounts/accounts.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import { campaign } from "../../support/worlds/credit_world.ts";
import { notice, receivingAccount } from "../../support/worlds/topup_world.ts";
import { type Came, cameSame, openTwoWays } from "../../support/worlds/two_ways.ts";

type World = Awaited<ReturnType<typeof openTwoWays>>;

const amount = fc.constantFrom(
  ...[0, 1, 9_999, 10_000, 50_000, 499_000_000, 499_000_001, 1_000_000_000, 1_000_000_001],
);

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", "Công ty Mẫu", "1 Đường Mẫu", "x".repeat(401)) },
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constant("x".repeat(1_001)),
);

const buyer = fc.record({
  type: fc.constantFrom("company", "person"),
  taxCode: fc.constantFrom("", "0314409058", "031 440 9058", "0101234567", "001099012345", "12"),
  legalName: text,
  address: text,
  email: fc.constantFrom("", "ketoan@example.com", "no address", " a@example.com "),
  phone: fc.constantFrom("", "+84 90 123 45 67", "call me"),
  confirmed: fc.boolean(),
});

const sound = {
  type: "company",
  taxCode: "0314409058",
  legalName: "Công ty Mẫu",
  address: "1 Đường Mẫu",
  email: "ketoan@example.com",
  phone: "",
  confirmed: false,
};

const note = fc.constantFrom("", " for October ", "two\r\nlines", "x".repeat(500), "x".repeat(501));

const act = fc.oneof(
  fc.record({ do: fc.constant("order"), amount }),
  fc.record({ do: fc.constant("cancel"), at: fc.nat(2) }),
  fc.record({ do: fc.constant("pay"), at: fc.nat(2) }),
  fc.record({ do: fc.constant("warn"), amount: fc.option(amount) }),
  fc.record({ do: fc.constant("redeem"), code: fc.nat(5) }),
  fc.record({ do: fc.constant("bill"), buyer: fc.oneof(buyer, fc.constant(sound)) }),
  fc.record({
    do: fc.constant("invoice"),
    at: fc.nat(2),
    buyer: fc.oneof(buyer, fc.constant(sound)),
    note,
  }),
  fc.record({ do: fc.constant("wait"), hours: fc.integer({ min: 1, max: 6 }) }),
);

type Act = typeof act extends fc.Arbitrary<infer One> ? One : never;

/** With money for which an invoice can be requested. */
const paidOrder: readonly Act[] = [{ do: "order", amount: 50_000 }, { do: "pay", at: 0 }];

interface Sent {
  readonly one: Act;
  /** The orders of the organisation, the newest first. */
  readonly orders: readonly string[];
  readonly codes: readonly string[];
}

const orderAt = ({ one, orders }: Sent) => ("at" in one ? orders[one.at] : undefined) ?? "none";

async function byPage(world: World, sent: Sent): Promise<Came> {
  const { one, codes } = sent;
  const on = "/wallet";
  const order = orderAt(sent);
  if ("buyer" in one) {
    const { confirmed, ...typed } = one.buyer;
    // The page ticks what was confirmed before.
    const fields = { ...typed, confirmed: confirmed ? ["yes"] : [] };
    if (one.do === "bill") {
      return await world.byPage({ on: "/account", action: "/account/invoice", fields });
    }
    const asked = { ...fields, order, note: "note" in one ? one.note : "" };
    const form = `/invoices/new?order=${order}`;
    return await world.byPage({ on: form, action: "/invoices", fields: asked });
  }
  if ("code" in one) {
    const fields = { code: codes[one.code] ?? "" };
    return await world.byPage({ on, action: "/wallet/vouchers", fields });
  }
  if ("amount" in one) {
    const typed = one.amount === null ? "" : String(one.amount);
    return one.do === "order"
      ? await world.byPage({ on, action: "/wallet/orders", fields: { amount: typed } })
      : await world.byPage({ on, action: "/wallet/low-balance", fields: { mark: typed } });
  }
  const page = `/wallet/orders/${order}`;
  return await world.byPage({ on: page, action: `${page}/cancel` });
}

async function byProgram(world: World, sent: Sent): Promise<Came> {
  const { one, codes } = sent;
  const order = orderAt(sent);
  if ("buyer" in one) {
    const { taxCode: tax_code, legalName: legal_name, confirmed, ...rest } = one.buyer;
    const written = { ...rest, tax_code, legal_name, tax_code_confirmed: confirmed };
    if (one.do === "bill") {
      return await world.byProgram({ method: "PATCH", path: "/billing-details", body: written });
    }
    const note = "note" in one ? one.note : "";
    const body = { topups: [order], buyer: written, note };
    return await world.byProgram({ method: "POST", path: "/invoices", body });
  }
  if ("code" in one) {
    const body = { code: codes[one.code] ?? "" };
    return await world.byProgram({ method: "POST", path: "/vouchers", body });
  }
  if ("amount" in one) {
    const body = { amount_vnd: one.amount };
    return one.do === "order"
      ? await world.byProgram({ method: "POST", path: "/topups", body })
      : await world.byProgram({ method: "PATCH", path: "/low-balance", body });
  }
  return await world.byProgram({ method: "POST", path: `/topups/${order}/cancel` });
}

/** What an organisation has, without ids and codes. */
async function stateOf({ kv, deps, activityOf }: World, id: AccountId) {
  const orders = await listTopupOrders(kv, id, { count: 50 });
  const invoices = await listAccountInvoices(kv, id, 50);
  return {
    balance: (await deps.wallet.balance(id)).totalMicroVnd,
    warning: (await getAccount(kv, id))?.lowBalanceMicroVnd,
    settings: await getInvoiceSettings(kv, id),
    orders: orders.map(({ code: _, memo: __, accountId: ___, ...rest }) => rest),
    invoices: invoices.map(({ id: _, accountId: __, basis: ___, ...rest }) => rest),
    acts: (await activityOf(id)).map(({ act, before = {}, after = {} }) => {
      const { orders: _, ...rest } = after;
      return { act, before, after: rest };
    }),
  };
}

/** Codes as they are typed: of a gift for both, of one that has been used up, of nothing. */
async function codesOf({ kv, time }: World): Promise<readonly string[]> {
  const { id: campaignId } = await campaign(kv, { perAccount: 1 });
  const at = { operator: commandLine, nowMs: time.nowMs() };
  const made = await makeVouchers(kv, { campaignId, count: 2, maxUses: 2 }, at);
  assert(made.ok);
  return [...made.codes, "ABCD-EFGH-JKLM-NPQR", "nothing", "x".repeat(500)];
}

/** Whether both ways did the same. An invoice for an order that is not paid has no form with fields. */
function isSame(one: Act, page: Came, program: Came): boolean {
  if (one.do === "invoice" && page.length === 0) return typeof program !== "string";
  return cameSame(page, program, { amount_vnd: one.do === "order" ? "amount" : "mark" });
}

/** Does each act in both ways, and returns what came of them: always the same. */
async function doInBothWays(acts: readonly Act[]): Promise<readonly Came[]> {
  await using world = await openTwoWays();
  const { kv, time } = world;
  const codes = await codesOf(world);
  const intake = createBankIntake({
    kv,
    nowMs: () => time.nowMs(),
    receivingAccounts: [receivingAccount],
    autoCreditMaxMicroVnd: fromVnd(1_000_000_000),
    aloneMaxMicroVnd: fromVnd(1_000_000_000),
    report: () => {},
  });
  const ordersOf = async (id: AccountId) =>
    (await listTopupOrders(kv, id, { count: 50 })).map(({ code }) => code);
  const all: Came[] = [];
  for (const one of acts) {
    if ("hours" in one) {
      time.advance(one.hours * hourMs);
      continue;
    }
    const [onPages, byPrograms] = [await ordersOf(world.page), await ordersOf(world.program)];
    if (one.do === "pay") {
      const at = new Date(time.nowMs() + 7 * hourMs).toISOString().slice(0, 19).replace("T", " ");
      for (const orders of [onPages, byPrograms]) {
        const code = "at" in one ? orders[one.at] : undefined;
        if (code !== undefined) await intake.take(notice(code, { amountVnd: 60_000, at }), "{}");
      }
      continue;
    }
    const page = await byPage(world, { one, orders: onPages, codes });
    const program = await byProgram(world, { one, orders: byPrograms, codes });
    const came = JSON.stringify({ one, page, program });
    assert(isSame(one, page, program), came);
    time.advance(1_000);
    assertEquals(await stateOf(world, world.program), await stateOf(world, world.page), came);
    all.push(page);
  }
  return all;
}

Deno.test("any sequence of acts on money does the same by pages and by the management API", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 14 }), async (acts) => {
      await doInBothWays([...paidOrder, ...acts]);
    }),
    { numRuns: 60 },
  );
});

Deno.test("a confirmation that is taken back is asked for again in both ways", async () => {
  const buyer = {
    type: "company",
    taxCode: "0101234567",
    legalName: "",
    address: "",
    email: "",
    phone: "",
  } as const;
  await doInBothWays([
    { do: "bill", buyer: { ...buyer, confirmed: true } },
    { do: "bill", buyer: { ...buyer, confirmed: false } },
  ]);
});

Deno.test("each act on money is done in both ways", async () => {
  const acts: readonly Act[] = [
    ...paidOrder,
    { do: "order", amount: 10_000 },
    { do: "cancel", at: 0 },
    { do: "warn", amount: 50_000 },
    { do: "wait", hours: 5 },
    { do: "redeem", code: 0 },
    { do: "bill", buyer: sound },
    { do: "invoice", at: 1, buyer: sound, note: " two\r\nlines " },
  ];
  assertEquals(await doInBothWays(acts), Array(7).fill("done"));
});
