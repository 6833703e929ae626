import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Hono } from "hono";
import { newId } from "../../../core/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../core/keys/seal.ts";
import { creditOperationId } from "../../../core/topup/bank_event.ts";
import { openControl } from "../../../kv/control.ts";
import { listAuditLines } from "../../../kv/operator_audit.ts";
import { refundOperationId } from "../../../kv/refunds.ts";
import { openTeller } from "../../../kv/teller/mod.ts";
import { createAdminApp } from "../../../routes/admin/app.ts";
import {
  notice,
  receivingAccount,
  type TopupWorld,
  topupWorld,
} from "../../support/topup_world.ts";

/** The commands of the machine's owner on a small world. */
async function administered(run: (world: TopupWorld, app: Hono) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const clock = { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs };
  const teller = await openTeller(kv, { clock });
  const control = await openControl(kv, clock);
  const masterKeys = await readMasterKeys(newMasterKey());
  const receivingAccounts = [receivingAccount];
  try {
    await run(world, createAdminApp({ kv, clock, masterKeys, control, teller, receivingAccounts }));
  } finally {
    control.close();
    await teller.close();
  }
}

const putBack = (app: Hono, name: string) =>
  app.request(`/notices/${encodeURIComponent(name)}/return`, { method: "POST" });

Deno.test("a notice that the machine took for a duplicate is put back by the command line", () =>
  administered(async (world, app) => {
    await world.intake.take(notice("nap tien", { reference: "R1" }), "{}");
    const joined = notice("nap tien", { source: "casso", id: "c:1", reference: "R1" });
    await world.intake.take(joined, "{}");
    const done = await putBack(app, "casso:c:1");
    assertEquals([done.status, (await done.json()).kind], [200, "review"]);
    const [line] = await listAuditLines(world.kv, { count: 1 });
    assertEquals([line?.act, line?.operatorEmail, line?.operatorId], [
      "notice_returned",
      "command line",
      undefined,
    ]);
    const refusals = [
      ["casso:c:1", "it waits already"],
      ["casso:nothing", "there is no such notice"],
      ["nobody:1", "Not a bank notice"],
    ] as const;
    for (const [name, why] of refusals) {
      const refused = await putBack(app, name);
      assertEquals(refused.status, 400);
      assertStringIncludes((await refused.json()).error, why);
    }
    assertEquals(await world.findings(), []);
  }));

Deno.test("maintenance turned by the command line is in the audit log", () =>
  administered(async (world, app) => {
    const turn = (body: unknown) =>
      app.request("/maintenance", { method: "POST", body: JSON.stringify(body) });
    assertEquals((await turn({ on: true, message: "back at six" })).status, 200);
    assertEquals((await turn({ on: false })).status, 200);
    const lines = await listAuditLines(world.kv, { count: 10 });
    assertEquals(
      lines.map(({ operatorEmail, subject, detail }) => [operatorEmail, subject, detail]),
      [
        ["command line", "off", ""],
        ["command line", "on", "back at six"],
      ],
    );
  }));

Deno.test("money is not moved by hand under an operation id of the gateway's own", () =>
  administered(async (world, app) => {
    const ann = await world.customer("ann");
    const event = notice((await world.order(ann)).code);
    const move = (operationId: string, vnd = "200000") =>
      app.request(`/accounts/${ann.id}/credit`, {
        method: "POST",
        body: JSON.stringify({ vnd, reason: "bank is late", operationId }),
      });
    const refund = refundOperationId(newId("request", 1));
    const own = [creditOperationId(event), refund, "adj:form-1234", "demo:acc_1"];
    for (const operationId of own) {
      const refused = await move(operationId);
      assertEquals(refused.status, 400, operationId);
      assertStringIncludes((await refused.json()).error, "the gateway's own");
      assertEquals((await move(operationId, "-5")).status, 400, operationId);
    }
    assertEquals(await world.balanceVnd(ann.id), 0);
    assertEquals((await move("late-bank-1")).status, 200);
    await world.intake.take(event, "{}");
    assertEquals(await world.balanceVnd(ann.id), 400_000);
    assertEquals(await world.findings(), []);
  }));
