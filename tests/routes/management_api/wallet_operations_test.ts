/** Top-ups, vouchers, the warning, required tags and the statement by the management API, as a program uses them. */
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { createAccount, getAccount } from "../../../kv/people/accounts/accounts.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import { makeVouchers } from "../../../kv/money/credits/vouchers.ts";
import { topupOrderMs } from "../../../kv/money/payments/topups.ts";
import { campaign, creditStartMs } from "../../support/worlds/credit_world.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

type World = Awaited<ReturnType<typeof openManagementWorld>>;

/** The acts of the log with the keys that did them, the newest first. */
async function logOf({ kv, owner }: World) {
  const { lines } = await findActivity(kv, owner.id, { count: 50 });
  return lines.map(({ act, by }) => [act, "keyId" in by ? by.keyId : by.kind]);
}

Deno.test("a top-up is ordered, paid by what its answer says, and credited", async () => {
  await using world = await openManagementWorld();
  const ordered = await world.send("POST", "/topups", { body: { amount_vnd: 2_000_000 } });
  assertEquals([ordered.status, ordered.body.state], [200, "pending"]);
  const { id, transfer } = ordered.body;
  assertEquals([transfer.memo, transfer.amount_vnd], [id, "2000000"]);
  assertEquals(transfer.account_number, "0123456789");
  assertStringIncludes(transfer.qr_content, id);
  assert(transfer.bank_apps.length > 0);
  const picture = await world.send("GET", `/topups/${id}/qr.png`);
  assertEquals(picture.headers.get("content-type"), "image/png");
  assertEquals([...picture.bytes?.slice(1, 4) ?? []], [0x50, 0x4e, 0x47]);
  await world.pay(id, 2_000_000);
  const paid = (await world.send("GET", `/topups/${id}`)).body;
  assertEquals([paid.state, paid.received_vnd, paid.transfer], ["paid", "2000000", undefined]);
  assertEquals(paid.payments.map((one: { amount_vnd: string }) => one.amount_vnd), ["2000000"]);
  assertEquals(paid.uninvoiced_vnd, "2000000");
  assertEquals((await world.send("GET", "/balance")).body.balance_vnd, "2000000");
  assertEquals(await logOf(world), [["topup_order_made", world.adminKey.id]]);
});

Deno.test("a pending top-up is cancelled once; one that waited too long has expired", async () => {
  await using world = await openManagementWorld();
  const order = async () =>
    (await world.send("POST", "/topups", { body: { amount_vnd: 50_000 } })).body.id;
  const [first, second] = [await order(), await order()];
  for (let sent = 0; sent < 2; sent++) {
    const { body } = await world.send("POST", `/topups/${first}/cancel`);
    assertEquals(body.state, "cancelled");
  }
  await world.time.advance(topupOrderMs);
  assertEquals((await world.send("GET", `/topups/${second}`)).body.state, "expired");
  assertEquals((await logOf(world)).map(([act]) => act), [
    "topup_order_cancelled",
    "topup_order_made",
    "topup_order_made",
  ]);
});

Deno.test("wrong amounts, unknown and foreign top-ups are refused, and too many pending ones", async () => {
  await using world = await openManagementWorld();
  for (const amount of [0, 9_999, 499_000_001, 1.5, "50000", -1]) {
    const { status, body } = await world.send("POST", "/topups", { body: { amount_vnd: amount } });
    assertEquals([status, body.error.param], [400, "amount_vnd"], String(amount));
  }
  const { body: { id } } = await world.send("POST", "/topups", { body: { amount_vnd: 50_000 } });
  const eve = await createAccount(world.kv, { nowMs: world.time.nowMs(), email: "eve@x.example" });
  const { secret } = await world.secretOf("admin", eve);
  for (const path of [`/topups/${id}`, `/topups/${id}/qr.png`, "/topups/nothing"]) {
    assertEquals((await world.send("GET", path, { secret })).status, 404, path);
  }
  assertEquals((await world.send("POST", `/topups/${id}/cancel`, { secret })).status, 404);
  assertEquals((await world.send("GET", "/topups?after=" + id, { secret })).body.data, []);
  const statuses = [];
  for (let made = 0; made < 10; made++) {
    statuses.push((await world.send("POST", "/topups", { body: { amount_vnd: 10_000 } })).status);
  }
  assertEquals(statuses, [...Array(9).fill(200), 400]);
});

Deno.test("a top-up that is ordered twice with one idempotency key is one", async () => {
  await using world = await openManagementWorld();
  const send = () =>
    world.send("POST", "/topups", {
      body: { amount_vnd: 70_000 },
      headers: { "idempotency-key": "november" },
    });
  assertEquals((await send()).body, (await send()).body);
  assertEquals((await world.send("GET", "/topups")).body.data.length, 1);
});

Deno.test("pages of top-ups join without gaps or repeats, the newest first", async () => {
  await using world = await openManagementWorld();
  const made: string[] = [];
  for (let at = 0; at < 5; at++) {
    await world.time.advance(1_000);
    const { body } = await world.send("POST", "/topups", { body: { amount_vnd: 10_000 + at } });
    made.unshift(body.id);
  }
  const seen: string[] = [];
  let query = "";
  for (let page = 0; page < 4; page++) {
    const { body } = await world.send("GET", `/topups?limit=2${query}`);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    if (!body.has_more) break;
    query = `&after=${body.last_id}`;
  }
  assertEquals(seen, made);
});

Deno.test("a voucher credits the wallet once, with the key in the log", async () => {
  await using world = await openManagementWorld();
  const act = { operator: commandLine, nowMs: creditStartMs };
  const { id: campaignId } = await campaign(world.kv);
  const made = await makeVouchers(world.kv, { campaignId, count: 1, maxUses: 1 }, act);
  assert(made.ok);
  const redeem = async (code: unknown) => await world.send("POST", "/vouchers", { body: { code } });
  const first = await redeem(made.codes[0]);
  assertEquals([first.status, first.body.is_repeated], [200, false]);
  const again = await redeem(made.codes[0]);
  assertEquals([again.body.is_repeated, again.body.ledger_id], [true, first.body.ledger_id]);
  const balance = (await world.send("GET", "/balance")).body;
  assertEquals([balance.balance_vnd, balance.own_vnd], [first.body.amount_vnd, "0"]);
  const [credit] = balance.credits;
  assertEquals([credit.left_vnd, credit.given_vnd], [first.body.amount_vnd, first.body.amount_vnd]);
  assertEquals(await logOf(world), [["voucher_redeemed", world.adminKey.id]]);
  for (const wrong of ["nothing", "", "x".repeat(500), 7]) {
    const { status, body } = await redeem(wrong);
    assertEquals([status, body.error.param], [400, "code"], String(wrong));
  }
});

Deno.test("the warning and the required tags are changed, with their lines in the log", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, send } = world;
  const mark = await send("PATCH", "/low-balance", { body: { amount_vnd: 500_000 } });
  assertEquals(mark.body.amount_vnd, "500000");
  assertEquals((await send("GET", "/low-balance")).body.amount_vnd, "500000");
  assertEquals((await send("PATCH", "/low-balance", { body: { amount_vnd: 0.5 } })).status, 400);
  const none = await send("PATCH", "/low-balance", { body: { amount_vnd: null } });
  assertEquals(none.body.amount_vnd, null);
  const tags = await send("PATCH", "/required-tags", { body: { tags: ["team", "env", "team"] } });
  assertEquals(tags.body.tags, ["env", "team"]);
  assertEquals((await send("GET", "/required-tags")).body.tags, ["env", "team"]);
  assertEquals((await getAccount(kv, owner.id))?.requiredTags, ["env", "team"]);
  const wrong = await send("PATCH", "/required-tags", { body: { tags: ["no tag"] } });
  assertEquals([wrong.status, wrong.body.error.param], [400, "tags"]);
  assertEquals(await logOf(world), [
    ["required_tags_changed", world.adminKey.id],
    ["low_balance_mark_changed", world.adminKey.id],
    ["low_balance_mark_changed", world.adminKey.id],
  ]);
});

Deno.test("the statement of a period adds up to the balance", async () => {
  await using world = await openManagementWorld();
  const { body: { id } } = await world.send("POST", "/topups", { body: { amount_vnd: 50_000 } });
  await world.pay(id, 60_000);
  const { body } = await world.send("GET", "/statement?from=2026-11-01");
  assertEquals([body.opening_vnd, body.closing_vnd, body.is_cut], ["0", "60000", false]);
  assertEquals(
    body.lines.map((line: { kind: string; change_vnd: string }) => [line.kind, line.change_vnd]),
    [["topup", "60000"]],
  );
  assertEquals((await world.send("GET", "/statement?from=yesterday")).status, 400);
});
