import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { createAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { warnOfPrices } from "../../../../../routes/server/jobs/money_in.ts";
import { defaultCatalog } from "../../../../support/gateways/gateway_in_process.ts";
import { costedCatalog, makeCostedCalls } from "../../../../support/worlds/costed_calls.ts";
import { topUp } from "../../../../support/worlds/money_world.ts";
import { type OperatorWorld, operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";

const catalog = costedCatalog();
const plain = (html: string) => html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");

async function withCalls({ world, deps }: OperatorWorld, calls: number) {
  const account = await createAccount(world.kv, { nowMs: world.nowMs, email: "lan@example.com" });
  await topUp(world.kv, account.id, 100_000_000_000n);
  const wallet = await openWalletEngine(world.kv, { clock: deps.clock });
  const keyId = newId("apiKey", world.nowMs);
  await makeCostedCalls({
    wallet,
    catalog,
    accountId: account.id,
    keyId,
    nowMs: world.nowMs,
    calls,
  });
  await wallet.close();
  assert((await verifyStore(world.kv)).ok);
  return account;
}

Deno.test("margins are shown by model, route, customer, key and day, in both languages", () =>
  operatorWorld(async (operators) => {
    const { operator } = operators;
    await withCalls(operators, 8);
    for (const [name, locale] of [["staff", "en"], ["second", "vi"]] as const) {
      const browser = await operator(name, locale);
      const expected = {
        model: "premium-1-thinking",
        route: "sandbox/image-1",
        account: "lan@example.com",
        key: "key_",
        day: "2026",
      };
      for (const [group, text] of Object.entries(expected)) {
        const page = await browser.get(`/operator/margins?period=30d&by=${group}`);
        assertEquals(page.status, 200);
        assertStringIncludes(plain(page.text), text, `${group} ${locale}`);
      }
      const page = await browser.get("/operator/margins?period=30d");
      // Two images at 1,000 VND, each of which cost 0.02 USD at 25,400 VND.
      assertStringIncludes(plain(page.text).replace(/[.,](?=\d{3}\b)/g, ""), "2000");
      assertStringIncludes(plain(page.text).replace(/[.,](?=\d{3}\b)/g, ""), "1016");
      assertStringIncludes(plain(page.text), locale === "en" ? "49.2" : "49,2");
    }
  }, { catalog }));

Deno.test("rows are sorted as asked, those without a value last", () =>
  operatorWorld(async (operators) => {
    await withCalls(operators, 8);
    const browser = await operators.operator("staff", "en");
    const order = async (query: string) => {
      const { text } = await browser.get(`/operator/margins/export.csv?period=30d&${query}`);
      return text.trim().split("\r\n").slice(1).map((line) => line.split(",")[0]);
    };
    assertEquals(await order("sort=share&order=down"), [
      "image-1",
      "premium-1",
      "premium-1-thinking",
    ]);
    assertEquals(await order("sort=share&order=up"), [
      "premium-1",
      "image-1",
      "premium-1-thinking",
    ]);
    assertEquals(await order("sort=calls&order=down"), [
      "premium-1",
      "image-1",
      "premium-1-thinking",
    ]);
  }, { catalog }));

Deno.test("the files say exactly what the pages say, and calls of unknown cost have no margin", () =>
  operatorWorld(async (operators) => {
    const { operator, world } = operators;
    await withCalls(operators, 4);
    const browser = await operator("staff", "en");
    const { text } = await browser.get("/operator/margins/export.csv?period=30d");
    const rows = text.replace("\ufeff", "").trim().split("\r\n").map((line) => line.split(","));
    const [head, ...models] = rows;
    const row = (name: string) =>
      Object.fromEntries(
        head!.map((column, at) => [column, models.find(([one]) => one === name)?.[at]]),
      );
    assertEquals(row("image-1")["revenue_vnd"], "1000");
    assertEquals(row("image-1")["provider_cost_vnd"], "508");
    assertEquals(row("image-1")["margin_vnd"], "492");
    assertEquals(row("premium-1-thinking")["margin_vnd"], "");
    assertEquals(row("premium-1-thinking")["calls_with_cost"], "0");
    const month = new Date(world.nowMs).toISOString().slice(0, 7);
    const sheet = await browser.get(`/operator/margins/sheet.csv?month=${month}&provider=sandbox`);
    assertStringIncludes(sheet.text, ",sandbox,image-1,image,1,USD,0.02,piece,0.02,25400,508,");
    const page = await browser.get(
      `/operator/margins/sheet?month=${month}&provider=sandbox&invoice=5`,
    );
    assertEquals(page.status, 200);
    assertStringIncludes(plain(page.text), "Invoice less sheet");
    const wrong = await browser.get("/operator/margins/sheet?invoice=abc&month=2026-99&day=x");
    assertStringIncludes(plain(wrong.text), "Enter an amount");
  }, { catalog }));

Deno.test("prices below their cost are warned of on the page of today, on the margins, and at the start", () =>
  operatorWorld(async (operators) => {
    const browser = await operators.operator("staff", "en");
    const today = plain((await browser.get("/operator")).text);
    assertStringIncludes(today, "1 route sold below cost");
    assertStringIncludes(today, "premium-1: sandbox/premium-1");
    const margins = plain((await browser.get("/operator/margins")).text);
    assertStringIncludes(margins, "Output tokens sold for ₫8,300");
    const lines: unknown[] = [];
    const log = {
      call: () => {},
      event: (...line: unknown[]) => void lines.push(line),
    };
    await warnOfPrices({ catalog: { current: catalog }, log });
    assertEquals(lines, [["warn", "a price is below its cost", {
      model: "premium-1",
      route: "sandbox/premium-1",
      rate: "output",
      price_vnd: "8300",
      cost_vnd: "10160",
      rates_below_cost: 3,
    }]]);
  }, { catalog }));

Deno.test("without costs the page says how to set them", () =>
  operatorWorld(async ({ operator }) => {
    const page = await (await operator("staff", "en")).get("/operator/margins");
    assertStringIncludes(plain(page.text), "No costs are configured");
  }, { catalog: defaultCatalog() }));
