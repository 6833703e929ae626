/** The operator's page of today: what to do, money of 30 days, providers, alarms and errors, within a bound of reading. */
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { openWalletEngine, type WalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { noteVerification } from "../../../../../kv/services/verify/last_verification.ts";
import { assert, assertEquals, assertMatch } from "../../../../support/assert.ts";
import { reportOf } from "../../../../support/route_reports.ts";
import { countedKv } from "../../../../support/stores/counted_kv.ts";
import { costedCatalog, makeCostedCalls } from "../../../../support/worlds/costed_calls.ts";
import { requestIdAt } from "../../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../../support/worlds/money_world.ts";
import { type OperatorWorld, operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { refuse } from "../../../../support/worlds/refused_calls.ts";
import { notice } from "../../../../support/worlds/topup_world.ts";

const plain = (text: string) => text.replaceAll("\u00a0", " ").replaceAll(/<[^>]+>/g, " ");

/** The text of the card with a title. */
function card(text: string, title: string): string {
  // The number of lines may stand beside the title.
  const at = text.search(new RegExp(`<h2>${title}[ <]`));
  assert(at >= 0, title);
  return plain(text.slice(at, text.indexOf("</section>", at)));
}

/** What the chart of a page draws. */
function chartOf(text: string) {
  return JSON.parse(/data-chart="([^"]+)"/.exec(text)?.[1]?.replaceAll("&quot;", '"') ?? "{}");
}

/** Runs with an engine beside that of the pages. */
async function withWallet(
  { world: { kv, nowMs } }: OperatorWorld,
  run: (wallet: WalletEngine) => Promise<void>,
): Promise<void> {
  const wallet = await openWalletEngine(kv, {
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
  });
  try {
    await run(wallet);
  } finally {
    await wallet.close();
  }
}

Deno.test("money of today and of 30 days has its costs and its margin, and the bank its days", () =>
  operatorWorld(async (operators) => {
    const { world, deps, operator } = operators;
    const ann = await world.customer("ann");
    await world.intake.take(notice((await world.order(ann)).code), "{}");
    await topUp(world.kv, ann.id, fromVnd(1_000_000));
    await withWallet(operators, (wallet) =>
      makeCostedCalls({
        wallet,
        catalog: deps.catalog.current,
        accountId: ann.id,
        keyId: newId("apiKey", world.nowMs),
        nowMs: world.nowMs,
        calls: 59,
      }));
    const staff = await operator("staff");
    const { text } = await staff.get("/operator");
    const { stacks, short, share } = chartOf(text);
    assertEquals(short.length, 30);
    assertEquals(stacks.map(({ name }: { name: string }) => name), [
      "Provider cost",
      "Margin",
      "Cost unknown",
    ]);
    const sumOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0);
    const [costs, margins, unknown] = stacks.map(({ values }: { values: number[] }) => values);
    const charged = [...text.matchAll(/₫([\d,]+) in 30 days/g)].map(([, sum]) => sum);
    assertEquals(
      Math.round(sumOf(costs) + sumOf(margins) + sumOf(unknown)),
      Number(charged[1]?.replaceAll(",", "")),
    );
    assert(costs.some((cost: number) => cost > 0) && sumOf(margins) > 0);
    assertEquals(
      share.parts,
      costs.map((cost: number, at: number) =>
        cost === 0 ? null : Math.trunc(margins[at] / (cost + margins[at]) * 10_000) / 10_000
      ),
    );
    const barsOf = async (span: string) =>
      chartOf((await staff.get(`/operator?span=${span}`)).text);
    const week = await barsOf("7d");
    assertEquals(week.stacks[0].values, costs.slice(-7));
    const year = await barsOf("12m");
    assertEquals([year.short.length, year.short.at(-1)], [12, "Nov 2026"]);
    assertEquals(Math.round(sumOf(year.stacks[0].values)), Math.round(sumOf(costs)));
    const customer = await staff.get(`/operator/accounts/${ann.id}`);
    assertMatch(plain(customer.text), /margin ₫[\d,]+, \d+ %/);
    const second = await operator("second");
    for (const span of ["30d", "12m"]) {
      const bank = await second.get(`/operator?money=bank&span=${span}`);
      assertMatch(bank.text, /Topped up<span class="muted">₫200,000/);
      assertEquals(chartOf(bank.text).share, undefined);
    }
  }, { catalog: costedCatalog() }));

Deno.test("providers are judged by the attempts of the last hour, not by mistakes of callers", () =>
  operatorWorld(async (operators) => {
    const { world, operator } = operators;
    const ann = await world.customer("ann");
    await topUp(world.kv, ann.id, fromVnd(1_000));
    const attempts: readonly (readonly [string, string])[] = [
      ...Array.from({ length: 9 }, () => ["north/a", "ok"] as const),
      ["north/a", "invalid_request"],
      ...Array.from({ length: 8 }, () => ["west/a", "ok"] as const),
      ...Array.from({ length: 4 }, () => ["west/a", "upstream_timeout"] as const),
    ];
    await withWallet(operators, async (wallet) => {
      for (const [at, [route, outcome]] of attempts.entries()) {
        const startedAtMs = world.nowMs - 1_000 * (at + 1);
        const draft = draftOf(1n, {
          requestId: requestIdAt(startedAtMs),
          startedAtMs,
          route,
          attempts: [{ route, outcome, ms: 120 }],
        });
        await wallet.settle(await mustReserve(wallet, ann.id, 1n), draft);
      }
    });
    const { text } = await (await operator("staff")).get("/operator");
    const providers = card(text, "Providers, last hour");
    assertMatch(providers, /north\s+9 attempts\s+100 %\s+120 ms/);
    assertMatch(providers, /west\s+12 attempts\s+67 %\s+120 ms/);
    assertMatch(card(text, "Alarms"), /west: 67 % success in the last hour/);
    assert(!card(text, "Alarms").includes("north"));
  }));

Deno.test("a resting route, books with problems and the last errors are seen at once, by name", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    await noteVerification(world.kv, false, { atMs: world.nowMs - 60_000, problems: 2 });
    await refuse(world.kv, {
      accountId: ann.id,
      keyId: newId("apiKey", 0),
      atMs: world.nowMs - 60_000,
    });
    const { text } = await (await operator("staff")).get("/operator");
    assertMatch(card(text, "Providers, last hour"), /north\s+resting/);
    assertMatch(card(text, "To do first"), /1 route out of service\s+general-1: general-1\/north/);
    assertMatch(card(text, "Alarms"), /The books have 2 problems/);
    assertMatch(plain(text), /Books do not agree:\s+20 Nov 2026/);
    assertMatch(
      card(text, "Last errors"),
      /402\s+insufficient_balance\s+ann@example\.com/,
    );
    assert(!text.includes('class="notice'), "no box before the list");
  }, {
    routes: [
      reportOf(
        { model: "general-1", id: "general-1/north", provider: "north", upstreamModel: "g1" },
        "open",
      ),
    ],
  }));

Deno.test("the page reads in a bounded number of lists, and little of it again within a minute", () =>
  operatorWorld(async ({ world, operator }) => {
    for (let at = 0; at < 40; at++) await world.customer(`customer${at}`);
    const browser = await operator("staff");
    const counts = countedKv(world.kv);
    await browser.get("/operator");
    assert(counts.reads < 80, `${counts.reads} reads`);
    const first = counts.reads;
    await browser.get("/operator");
    assert(counts.reads - first < 20, `${counts.reads - first} reads again`);
  }));
