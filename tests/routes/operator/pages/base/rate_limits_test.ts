/** Tests the card of rate limits on the page of an account: what it shows, and what its form sets. */
import { ProcessRateBook } from "../../../../../core/limits/rate_book.ts";
import { getAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { listAuditLines } from "../../../../../kv/people/audit/operator_audit.ts";
import { keysEpochKey } from "../../../../../kv/engine/schema/keys.ts";
import type { RateView } from "../../../../../routes/dashboard/page/rate_view.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";

function newView() {
  const book = new ProcessRateBook(() => 1_000_000);
  const rates: RateView = {
    defaults: () => ({ account: { requestsPerMinute: 600, callsAtOnce: 20 } }),
    model: (id) => id === "premium-1" ? { id } : undefined,
    use: (ids) => book.use(ids),
  };
  return { book, rates };
}

Deno.test("an operator sees limits and use of an account, and replaces the defaults", () => {
  const { book, rates } = newView();
  return operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const staff = await operator("staff");
    const path = `/operator/accounts/${ann.id}`;
    for (let call = 0; call < 3; call++) {
      const limits = { requestsPerMinute: 600 };
      book.begin({
        subjects: [{ id: ann.id, scope: "account", limits }],
        tokens: 500,
        inputTokens: 10,
      });
    }
    const before = (await staff.get(path)).text;
    for (const shown of ["Rate limits", "3 of 600", "3 of 20"]) assertStringIncludes(before, shown);
    const form = (await staff.get(`${path}/limits`)).text;
    for (const shown of ["3 of 600", "Empty: the default (600)"]) assertStringIncludes(form, shown);
    const former = (await world.kv.get(keysEpochKey())).value;
    await staff.post(`${path}/limits`, {
      requestsPerMinute: "1.200",
      tokensPerMinute: "2,000,000",
      callsAtOnce: "0",
      models: "premium-1 60 - 0",
      reason: "a large customer",
    });
    assertEquals((await getAccount(world.kv, ann.id))?.rateLimits, {
      requestsPerMinute: 1_200,
      tokensPerMinute: 2_000_000,
      callsAtOnce: "none",
      models: { "premium-1": { requestsPerMinute: 60, callsAtOnce: "none" } },
    });
    assert((await world.kv.get(keysEpochKey())).value !== former, "all instances read it again");
    const after = (await staff.get(path)).text;
    for (
      const shown of [
        "3 of 1,200",
        "1,500 of 2,000,000",
        "0 of 60",
        "This account on premium-1",
      ]
    ) assertStringIncludes(after, shown);
    assertStringIncludes((await staff.get(`${path}/limits`)).text, "premium-1 60 - 0");
    assert(!after.includes("of 20<"), "no limit of calls at once");
    const [line] = await listAuditLines(world.kv, { count: 1 });
    assertEquals([line?.act, line?.subject, line?.detail], [
      "rate_limits_changed",
      ann.id,
      "a large customer",
    ]);
    await staff.post(`${path}/limits`, { reason: "as all" });
    assertEquals((await getAccount(world.kv, ann.id))?.rateLimits, undefined);
  }, { rates });
});

Deno.test("a wrong limit, an unknown model and a missing reason change nothing, and say why", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const staff = await operator("staff", "vi");
    const path = `/operator/accounts/${ann.id}`;
    const refused: [Record<string, string>, string][] = [
      [{ requestsPerMinute: "many", reason: "r" }, "Giới hạn là số nguyên"],
      [{ requestsPerMinute: "-5", reason: "r" }, "Giới hạn là số nguyên"],
      [{ models: "no-such 1 2 3", reason: "r" }, "Có dòng mô hình chưa đúng"],
      [{ models: "premium-1 1 2", reason: "r" }, "Có dòng mô hình chưa đúng"],
      [{ requestsPerMinute: "5" }, "Hãy ghi lý do"],
    ];
    for (const [form, problem] of refused) {
      const page = await staff.post(`${path}/limits`, form);
      assertEquals(page.status, 400);
      assertStringIncludes(page.text, problem);
    }
    assertEquals((await getAccount(world.kv, ann.id))?.rateLimits, undefined);
  }, { rates: newView().rates }));
