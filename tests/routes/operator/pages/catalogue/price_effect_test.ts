/** The preview of a price change: margins by route, and the last 7 days at the new price, exact to the µVND. */
import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { buildCatalog, type Catalog } from "../../../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../../../core/catalog/schema.ts";
import { createAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { readMargins } from "../../../../../kv/money/costs/margins.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { losingDays } from "../../../../../routes/operator/pages/margins/margin_rows.ts";
import { modelEntry } from "../../../../../routes/operator/pages/catalogue/entry_form.ts";
import { catalogState } from "../../../../../routes/operator/operations/contract/editing.ts";
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { priceEffect } from "../../../../../routes/operator/pages/catalogue/effect/price_effect.ts";
import {
  costedCatalog,
  costedFile,
  makeCostedCalls,
} from "../../../../support/worlds/costed_calls.ts";
import { topUp } from "../../../../support/worlds/money_world.ts";
import { type OperatorWorld, operatorWorld } from "../../../../support/worlds/operator_world.ts";

const catalog = costedCatalog();
const plain = (html: string) => html.replace(/<[^>]*>/g, " ").replace(/[\s\u00a0]+/g, " ");

/** The file of the world with another price and another cost of one model. */
function changedFile(vndPerMtok: number, perMtok: string) {
  const file = costedFile();
  const model = file.models.find(({ id }: { id: string }) => id === "premium-1");
  model.price.vndPerMtok = vndPerMtok;
  model.routes[0].cost = { ...model.routes[0].cost, perMtok };
  return file;
}

function changedCatalog(vndPerMtok: number, perMtok: string): Catalog {
  const built = buildCatalog(gatewayFileSchema.parse(changedFile(vndPerMtok, perMtok)));
  assert(built.ok);
  return built.catalog;
}

async function makeCalls({ world, deps }: OperatorWorld): Promise<void> {
  const account = await createAccount(world.kv, { nowMs: world.nowMs, email: "lan@example.com" });
  await topUp(world.kv, account.id, 100_000_000_000n);
  const wallet = await openWalletEngine(world.kv, { clock: deps.clock });
  const keyId = newId("apiKey", world.nowMs);
  const { nowMs } = world;
  await makeCostedCalls({ wallet, catalog, accountId: account.id, keyId, nowMs, calls: 8 });
  await wallet.close();
}

Deno.test("the last 7 days at another price and cost are exact, and at the same ones as they were", () =>
  operatorWorld(async (operators) => {
    const { world } = operators;
    await makeCalls(operators);
    const days = losingDays(world.nowMs);
    const { by } = await readMargins(world.kv, days);
    const recorded = by.model.get("premium-1");
    assert(recorded !== undefined && recorded.revenueMicroVnd > 0n);

    const same = await priceEffect(world.kv, catalog, costedCatalog(), days);
    assertEquals(same.models, []);
    const effect = await priceEffect(world.kv, catalog, changedCatalog(10_000, "0.3"), days);
    const [model, ...others] = effect.models;
    assertEquals([model?.model, others.length], ["premium-1", 0]);
    const week = model?.week;
    assert(week?.repriced !== undefined);
    assertEquals(week.recorded.revenueMicroVnd, recorded.revenueMicroVnd);
    assertEquals(week.recorded.costMicroVnd, recorded.costMicroVnd);
    assertEquals(week.unexplainedMicroVnd, 0n);
    const tokens = BigInt(recorded.inputTokens + recorded.outputTokens);
    // 10,000 VND in place of 8,300 for each million tokens.
    const revenue = recorded.revenueMicroVnd + tokens * 1_700n;
    // 0.1 USD at 25,400 VND more for each million tokens of input that were not cached: 300 of each call were.
    const uncached = BigInt(recorded.inputTokens - 300 * recorded.calls);
    const cost = recorded.costMicroVnd + uncached * 2_540n;
    assertEquals(week.repriced.revenueMicroVnd, revenue);
    const off = week.repriced.costMicroVnd - cost;
    assert(off >= -1n && off <= 1n, `${off} µVND off`);
    assertEquals(week.repriced.marginMicroVnd, revenue - week.repriced.costMicroVnd);
    assertEquals([week.unknownCalls, week.keptCostCalls], [0, 0]);
  }, { catalog }));

Deno.test("calls whose rates were others keep their cost, and are counted", () =>
  operatorWorld(async (operators) => {
    const { world } = operators;
    await makeCalls(operators);
    const days = losingDays(world.nowMs);
    const before = changedCatalog(8_300, "0.25");
    const effect = await priceEffect(world.kv, before, changedCatalog(8_300, "0.3"), days);
    const week = effect.models.find(({ model }) => model === "premium-1")?.week;
    assert(week !== undefined && week.calls > 0);
    assertEquals(week.keptCostCalls, week.calls);
    assertEquals(week.repriced, week.recorded);
  }, { catalog }));

Deno.test("the preview shows margins by route and the last 7 days, in both languages", () =>
  operatorWorld(async (operators) => {
    await makeCalls(operators);
    const texts = {
      en: ["Margin by route: premium-1", "The last 7 days with this change", "With this change"],
      vi: ["Biên theo tuyến: premium-1", "7 ngày qua nếu theo thay đổi này", "Theo thay đổi này"],
    };
    for (const [name, locale] of [["staff", "en"], ["second", "vi"]] as const) {
      const browser = await operators.operator(name, locale);
      const preview = await browser.post("/operator/catalogue/preview", {
        edit: "whole",
        base: "1",
        json: JSON.stringify(changedFile(10_000, "0.3")),
      });
      assertEquals(preview.status, 200);
      const text = plain(preview.text);
      for (const words of texts[locale]) assertStringIncludes(text, words);
      // 8,300 less 5,080 VND was 38.8 %, 10,000 less 7,620 VND is 23.8 %.
      assert(/39 ?% → 24 ?%/.test(text), text);
    }
  }, { catalog }));

/** Margins in µVND as the answer to a form has them, by the place of the route. */
function sentMargins(html: string, bucket: string): (bigint | undefined)[] {
  return [0, 1].map((at) => {
    const cell = html.split(`id="margin-${at}-${bucket}"`)[1]?.split("</span>")[0] ?? "";
    const value = /<data[^>]* value="(-?\d+)"/.exec(cell)?.[1];
    return value === undefined ? undefined : BigInt(value);
  });
}

Deno.test("margins follow a form that is being typed, each in the place of its route", () =>
  operatorWorld(async ({ operator, deps: { editing } }) => {
    const staff = await operator("staff");
    const entry = { ...modelEntry((await catalogState(editing)).contents, "premium-1") };
    const cost = (perMtok: number) => ({ unit: "token", perMtok });
    const shown = {
      ...entry,
      routes: ["a", "b"].map((model) => ({ provider: "sandbox", model, cost: cost(1) })),
    };
    const whole = fc.integer({ min: 1, max: 999_999 });
    await fc.assert(
      fc.asyncProperty(whole, whole, whole, fc.boolean(), async (price, first, second, isOne) => {
        const { status, text } = await staff.post("/operator/catalogue/margins", {
          edit: "model",
          name: "premium-1",
          base: "1",
          shown: JSON.stringify(shown),
          "price.unit": "token",
          "price.vndPerMtok": `${price}`,
          "routes.rows": "2",
          "routes.0.cost.unit": "token",
          "routes.0.cost.perMtok": `${first}`,
          "routes.1.cost.unit": "token",
          "routes.1.cost.outputPerMtok": `${second}`,
          ...(isOne && { "routes.0.remove": "yes" }),
        });
        assertEquals(status, 200);
        const margin = (of: number) => fromVnd(price) - fromVnd(of);
        const others = (of: number) => isOne ? undefined : margin(of);
        assertEquals(sentMargins(text, "input"), [others(first), margin(1)]);
        assertEquals(sentMargins(text, "output"), [others(first), margin(second)]);
      }),
      { numRuns: 10 },
    );
    const wrong = await staff.post("/operator/catalogue/margins", {
      edit: "model",
      name: "premium-1",
      shown: JSON.stringify(shown),
      "price.unit": "token",
      "price.vndPerMtok": "9.900",
      "routes.rows": "2",
    });
    assertStringIncludes(wrong.text, "Write 9900 or 9.9");
    assertEquals(sentMargins(wrong.text, "input"), [undefined, undefined]);
  }));
