/** The money of one order is spread over its invoices. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import type { Invoice } from "../../../../core/trade/invoices/invoice.ts";
import { getInvoice, listInvoices } from "../../../../kv/money/invoices/invoices.ts";
import { invoiceOfOrderKey } from "../../../../kv/engine/schema/keys.ts";
import {
  askForInvoice,
  issued,
  moved,
  openVnd,
  paidOrder,
} from "../../../support/worlds/invoice_requests.ts";
import { notice, topupWorld } from "../../../support/worlds/topup_world.ts";

Deno.test("what is paid after the invoice was asked for gets an invoice of its own", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await paidOrder(world, ann);
  const first = await askForInvoice(world, ann.id, [code]);
  assertEquals(await openVnd(world, code), undefined);
  await world.intake.take(notice(code, { amountVnd: 100_000 }), "{}");
  assertEquals(await openVnd(world, code), 100_000n);
  // Of two simultaneous requests, one gets the rest.
  const both = await Promise.all([
    askForInvoice(world, ann.id, [code]),
    askForInvoice(world, ann.id, [code]),
  ]);
  const rest = both.find(({ ok }) => ok);
  assertEquals(both.filter(({ ok }) => ok).length, 1);
  assert(first.ok && rest?.ok);
  assertEquals([first.invoice.grossVnd, rest.invoice.grossVnd], [200_000n, 100_000n]);
  assertEquals(rest.invoice.replaces, undefined);
  assertEquals(await askForInvoice(world, ann.id, [code]), { ok: false, why: "taken" });
  // The first is rejected: its part is free again, the other one is unchanged.
  assertEquals(await moved(world, first.invoice, { to: "rejected", reason: "x" }), "rejected");
  const again = await askForInvoice(world, ann.id, [code]);
  assert(again.ok);
  assertEquals(again.invoice.grossVnd, 200_000n);
});

Deno.test("each replaced invoice has one successor, of the same sum", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await paidOrder(world, ann);
  const first = await askForInvoice(world, ann.id, [code]);
  await world.intake.take(notice(code, { amountVnd: 100_000 }), "{}");
  const second = await askForInvoice(world, ann.id, [code]);
  await world.intake.take(notice(code, { amountVnd: 50_000 }), "{}");
  assert(first.ok && second.ok);
  for (const { invoice } of [first, second]) {
    const steps = [{ to: "issued", issued }, { to: "replaced", reason: "address" }] as const;
    assertEquals(await moved(world, invoice, ...steps), "replaced");
  }
  const successor = await askForInvoice(world, ann.id, [code]);
  assert(successor.ok);
  // After the rejection of a successor its predecessor can still be replaced.
  assertEquals(await moved(world, successor.invoice, { to: "rejected", reason: "x" }), "rejected");
  const expected: readonly (readonly [bigint, string | undefined])[] = [
    [200_000n, first.invoice.id],
    [100_000n, second.invoice.id],
    [50_000n, undefined],
  ];
  for (const [grossVnd, replaces] of expected) {
    const next = await askForInvoice(world, ann.id, [code]);
    assert(next.ok);
    assertEquals([next.invoice.grossVnd, next.invoice.replaces], [grossVnd, replaces]);
  }
  assertEquals(await openVnd(world, code), undefined);
});

Deno.test("whatever is paid, asked for, refused and replaced: nothing is invoiced twice or left out", async () => {
  const step = fc.record({
    act: fc.constantFrom("pay", "ask", "ask", "refuse", "issue", "replace"),
    which: fc.nat(9),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      using kv = await Deno.openKv(":memory:");
      const world = topupWorld(kv);
      const ann = await world.customer("ann");
      const { code } = await paidOrder(world, ann);
      let receivedVnd = 200_000n;
      const requests: Invoice[] = [];
      const request = async () => {
        const made = await askForInvoice(world, ann.id, [code]);
        if (made.ok) requests.push(made.invoice);
        return made.ok;
      };
      for (const { act, which } of steps) {
        const chosen = requests[which % Math.max(1, requests.length)];
        if (act === "pay") {
          await world.intake.take(notice(code, { amountVnd: 10_000 + which }), "{}");
          receivedVnd += BigInt(10_000 + which);
        } else if (act === "ask") await request();
        else if (chosen === undefined) continue;
        else if (act === "refuse") await moved(world, chosen, { to: "rejected", reason: "x" });
        else if (act === "issue") await moved(world, chosen, { to: "issued", issued });
        else await moved(world, chosen, { to: "replaced", reason: "x" });
      }
      const liveVnd = async () => {
        const live = (await listInvoices(kv, { count: 100 }))
          .filter(({ state }) => state !== "rejected" && state !== "replaced");
        return live.reduce((sum, { grossVnd }) => sum + grossVnd, 0n);
      };
      assert(await liveVnd() <= receivedVnd, "never more than was paid");
      // Each part that was freed takes one request, and the rest one.
      for (let left = steps.length + 1; left > 0 && await request(); left--);
      assertEquals(await liveVnd(), receivedVnd);
      // Each replaced invoice is named by exactly one invoice that counts, or by one that was
      // replaced itself.
      const all = await listInvoices(kv, { count: 100 });
      for (const { id } of all.filter(({ state }) => state === "replaced")) {
        const heirs = all.filter(({ state, replaces }) => replaces === id && state !== "rejected");
        assertEquals(heirs.length, 1);
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("orders that were invoiced while one invoice was the rule go on as they were", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await paidOrder(world, ann);
  const first = await askForInvoice(world, ann.id, [code]);
  assert(first.ok);
  // The rows as the older version wrote them.
  const { parts: _, ...basis } = { parts: undefined, ...first.invoice.basis };
  const { id } = first.invoice;
  await kv.set((await getInvoice(kv, id)).key, { ...first.invoice, basis });
  await kv.set(invoiceOfOrderKey(code), { invoiceId: id, released: false });
  assertEquals(await askForInvoice(world, ann.id, [code]), { ok: false, why: "taken" });
  await world.intake.take(notice(code, { amountVnd: 100_000 }), "{}");
  assertEquals(await openVnd(world, code), 100_000n);
  const steps = [{ to: "issued", issued }, { to: "replaced", reason: "address" }] as const;
  assertEquals(await moved(world, first.invoice, ...steps), "replaced");
  assertEquals(await openVnd(world, code), 200_000n);
  await kv.set(invoiceOfOrderKey(code), { invoiceId: id, released: true, replaces: id });
  for (const expected of [{ grossVnd: 200_000n, replaces: id }, { grossVnd: 100_000n }]) {
    const next = await askForInvoice(world, ann.id, [code]);
    assert(next.ok);
    const { grossVnd, replaces } = next.invoice;
    assertEquals({ grossVnd, ...(replaces !== undefined && { replaces }) }, expected);
  }
  await kv.set(invoiceOfOrderKey(code), { invoiceId: id, released: true });
  assertEquals(await openVnd(world, code), 300_000n);
});
