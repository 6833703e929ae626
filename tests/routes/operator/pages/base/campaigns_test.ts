import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { parseVoucherCode } from "../../../../../core/trade/credits/campaign.ts";
import { listCampaigns } from "../../../../../kv/money/credits/campaigns.ts";
import { redeemVoucher } from "../../../../../kv/money/credits/vouchers.ts";
import { listAuditLines } from "../../../../../kv/people/audit/operator_audit.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";

const path = "/operator/campaigns";

const typed = {
  kind: "voucher",
  name: "Tết 2027",
  amount: "20k",
  budget: "1tr",
  expiresAfterDays: "30",
};

Deno.test("an operator makes a campaign and its codes, and sees what became of them", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff", "en");
    assertStringIncludes((await staff.get(path)).text, "There are no campaigns");
    const made = await staff.post(path, typed);
    assertEquals(made.status, 303);
    const [campaign] = await listCampaigns(world.kv);
    assertEquals(campaign?.budgetMicroVnd, fromVnd(1_000_000));
    const page = `${path}/${campaign!.id}`;
    const codes = await staff.post(`${page}/codes.csv`, { count: "3", uses: "2" });
    assertEquals(codes.headers.get("content-type"), "text/csv; charset=utf-8");
    const [head, ...lines] = codes.text.trim().split(/\r?\n/);
    assertStringIncludes(head!, "code");
    assertEquals(lines.map((line) => parseVoucherCode(line) !== undefined), [true, true, true]);
    assert(!(await staff.get(page)).text.includes(lines[0]!), "shown once");

    const ann = await world.customer("ann");
    await redeemVoucher(world.kv, {
      accountId: ann.id,
      code: lines[0]!,
      clientAddress: "203.0.113.9",
      nowMs: world.nowMs,
      spendGranted: "first",
    });
    const after = (await staff.get(page)).text;
    assertStringIncludes(after, `/operator/accounts/${ann.id}`);
    assertStringIncludes(after, `value="${fromVnd(20_000)}"`);
    assertStringIncludes(after, `value="${fromVnd(980_000)}"`);
    assertStringIncludes((await staff.get(path)).text, "₫20,000 of ₫1,000,000");
    const acts = (await listAuditLines(world.kv, { count: 20 })).map(({ act }) => act);
    assert(acts.includes("campaign_made") && acts.includes("vouchers_made"));
  }));

Deno.test("a wrong field is named, and what was typed stays", () =>
  operatorWorld(async ({ world, operator }) => {
    const names = [["staff", "en", "Budget"], ["second", "vi", "Ngân sách"]] as const;
    for (const [name, locale, text] of names) {
      const staff = await operator(name, locale);
      const page = await staff.post(path, { ...typed, budget: "" });
      assertEquals(page.status, 400);
      assertStringIncludes(page.text, text);
      assertStringIncludes(page.text, 'value="Tết 2027"');
    }
    assertEquals(await listCampaigns(world.kv), []);
  }));

Deno.test("a campaign above the limit of one operator is agreed to by another", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff", "en");
    await staff.post(path, { ...typed, budget: "6tr" });
    const page = `${path}/${(await listCampaigns(world.kv))[0]!.id}`;
    assertStringIncludes((await staff.get(page)).text, "A second operator has to agree");
    const own = await staff.post(`${page}/approve`, {});
    assertEquals(own.status, 400);
    assertStringIncludes(own.text, "cannot agree to it");
    const second = await operator("second", "en");
    assertEquals((await second.post(`${page}/approve`, {})).status, 303);
    assert(!(await staff.get(page)).text.includes("has to agree."));
    assertEquals((await second.post(`${page}/pause`, {})).status, 303);
    assertStringIncludes((await staff.get(page)).text, "Paused");
    assertEquals((await second.post(`${page}/pause`, {})).status, 400);
    assertEquals((await second.post(`${page}/resume`, {})).status, 303);
  }));

Deno.test("no number of codes but a sensible one makes codes", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff", "vi");
    await staff.post(path, typed);
    const page = `${path}/${(await listCampaigns(world.kv))[0]!.id}`;
    for (const count of ["0", "-1", "10001", "x"]) {
      const refused = await staff.post(`${page}/codes.csv`, { count, uses: "1" });
      assertEquals(refused.status, 400);
      assertStringIncludes(refused.text, "Hãy nhập số từ 1 đến 10.000");
    }
    assertEquals((await staff.get(`${path}/cmp_none`)).status, 404);
  }));
