import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { AccountId, CampaignId } from "../../../../core/lib/ids/ids.ts";
import { pauseCampaign } from "../../../../kv/money/credits/campaigns.ts";
import {
  makeVouchers,
  redeemVoucher,
  type Voucher,
} from "../../../../kv/money/credits/vouchers.ts";
import { commandLine, listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { vouchersPrefix } from "../../../../kv/engine/schema/keys.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import {
  campaign,
  campaignNow,
  creditStartMs,
  customer,
} from "../../../support/worlds/credit_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const act = { operator: commandLine, nowMs: creditStartMs };

async function codesOf(
  kv: KeyValueStore,
  campaignId: CampaignId,
  count = 1,
  maxUses = 1,
): Promise<readonly string[]> {
  const made = await makeVouchers(kv, { campaignId, count, maxUses }, act);
  if (!made.ok) throw new Error(made.why);
  return made.codes;
}

async function redeem(
  kv: KeyValueStore,
  accountId: AccountId,
  code: string | undefined,
  nowMs = creditStartMs,
  clientAddress = "203.0.113.5",
): Promise<string> {
  const redemption = { accountId, code: code ?? "", clientAddress, nowMs };
  const result = await redeemVoucher(kv, { ...redemption, spendGranted: "first" });
  return result.ok ? result.isRepeated ? "repeated" : "given" : result.why;
}

Deno.test("a code is redeemed once by one account", async () => {
  using kv = await Deno.openKv(":memory:");
  const [code] = await codesOf(kv, (await campaign(kv)).id);
  const [ann, bob] = [await customer(kv), await customer(kv)];
  assertEquals(await redeem(kv, ann.id, code?.toLowerCase().replaceAll("-", " ")), "given");
  assertEquals(await redeem(kv, ann.id, code), "repeated");
  assertEquals(await redeem(kv, bob.id, code), "used");
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("the store has no code, only hashes, and the audit log names none", async () => {
  using kv = await Deno.openKv(":memory:");
  const codes = await codesOf(kv, (await campaign(kv)).id, 3);
  const rows = await Array.fromAsync(
    kv.list({ prefix: [] }),
    ({ key, value }) => Deno.inspect([key, value], { depth: 9 }),
  );
  for (const code of codes) {
    for (const form of [code, code.replaceAll("-", "")]) {
      assert(!rows.some((row) => row.includes(form)));
    }
  }
  const [line] = await listAuditLines(kv, { count: 1 });
  assertEquals([line?.act, line?.detail], ["vouchers_made", "3 codes, 1 uses each: Welcome"]);
});

Deno.test("many accounts at once redeem a code as often as it allows, each once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv, { budgetMicroVnd: fromVnd(9_000_000) });
  const [code] = await codesOf(kv, id, 1, 4);
  const people = await Promise.all(Array.from({ length: 10 }, () => customer(kv)));
  const results = await Promise.all(people.flatMap((person) => [
    redeem(kv, person.id, code),
    redeem(kv, person.id, code),
  ]));
  assertEquals(results.filter((result) => result === "given").length, 4);
  assertEquals(results.filter((result) => result === "repeated").length, 4);
  assertEquals(results.filter((result) => result === "used").length, 12);
  const rows = await Array.fromAsync(kv.list<Voucher>({ prefix: vouchersPrefix() }));
  assertEquals(rows.map(({ value }) => value.uses), [4]);
  assertEquals((await campaignNow(kv, id)).grants, 4);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("of several codes of a campaign an account redeems as many as it allows", async () => {
  using kv = await Deno.openKv(":memory:");
  const codes = await codesOf(kv, (await campaign(kv)).id, 2);
  const ann = await customer(kv);
  assertEquals(await redeem(kv, ann.id, codes[0]), "given");
  assertEquals(await redeem(kv, ann.id, codes[1]), "limit");
});

Deno.test("each refusal names its reason", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await customer(kv);
  const ofCampaign = async (some: Parameters<typeof campaign>[1]) =>
    (await codesOf(kv, (await campaign(kv, some)).id))[0];
  assertEquals(await redeem(kv, ann.id, "hello"), "typo");
  // Well formed, but of another store.
  using other = await Deno.openKv(":memory:");
  const [foreign] = await codesOf(other, (await campaign(other)).id);
  assertEquals(await redeem(kv, ann.id, foreign), "unknown");
  const startsAtMs = creditStartMs + 1_000;
  assertEquals(await redeem(kv, ann.id, await ofCampaign({ startsAtMs })), "not_yet");
  const endsAtMs = creditStartMs + 1_000;
  assertEquals(await redeem(kv, ann.id, await ofCampaign({ endsAtMs }), endsAtMs), "over");
  const budgetMicroVnd = fromVnd(19_999);
  assertEquals(await redeem(kv, ann.id, await ofCampaign({ budgetMicroVnd })), "budget");
  const paused = await campaign(kv);
  const [code] = await codesOf(kv, paused.id);
  await pauseCampaign(kv, paused.id, true, act);
  assertEquals(await redeem(kv, ann.id, code), "paused");
});

Deno.test("an account that tries many codes has to wait; typos do not count", async () => {
  using kv = await Deno.openKv(":memory:");
  using other = await Deno.openKv(":memory:");
  const foreign = await codesOf(other, (await campaign(other)).id, 20);
  const [code] = await codesOf(kv, (await campaign(kv)).id);
  const ann = await customer(kv);
  for (let i = 0; i < 30; i++) assertEquals(await redeem(kv, ann.id, "ABCD"), "typo");
  for (const one of foreign) assertEquals(await redeem(kv, ann.id, one), "unknown");
  assertEquals(await redeem(kv, ann.id, code), "too_fast");
  assertEquals(await redeem(kv, ann.id, code, creditStartMs + 3_600_000), "given");
});

Deno.test("many accounts of one network that try codes have to wait", async () => {
  using kv = await Deno.openKv(":memory:");
  using other = await Deno.openKv(":memory:");
  const foreign = await codesOf(other, (await campaign(other)).id, 20);
  for (let i = 0; i < 5; i++) {
    const { id } = await customer(kv);
    for (const one of foreign) assertEquals(await redeem(kv, id, one), "unknown");
  }
  const ann = await customer(kv);
  const [code] = await codesOf(kv, (await campaign(kv)).id);
  assertEquals(await redeem(kv, ann.id, code, creditStartMs, "203.0.113.77"), "too_fast");
  assertEquals(await redeem(kv, ann.id, code, creditStartMs, "198.51.100.7"), "given");
});

Deno.test("codes are made for campaigns of vouchers only, and not without end", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv, { kind: "signup" });
  const of = (campaignId: CampaignId, count: number) =>
    makeVouchers(kv, { campaignId, count, maxUses: 1 }, act);
  assertEquals(await of(id, 1), { ok: false, why: "missing" });
  const vouchers = await campaign(kv);
  for (const count of [0, -1, 1.5, 10_001, NaN]) {
    assertEquals(await of(vouchers.id, count), { ok: false, why: "count" });
  }
  const made = await of(vouchers.id, 1_201);
  assert(made.ok && new Set(made.codes).size === 1_201);
});
