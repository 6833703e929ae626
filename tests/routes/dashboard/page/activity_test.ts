/** The activity log: each act of a person is in it, with what it was before and after, and no secret. */
import { parseCsv } from "../../../../core/lib/base/csv.ts";
import { setBlocked } from "../../../../kv/people/accounts/accounts.ts";
import {
  activityKeptMs,
  type ActivityLine,
  findActivity,
  writeActivity,
} from "../../../../kv/people/audit/account_activity.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
} from "../../../support/worlds/dashboard_world.ts";
import { makeKey, secretIn } from "../../../support/worlds/key_pages.ts";
import { createTeam } from "../../../../kv/people/organisations/teams.ts";
import { memberWords } from "../../../../routes/dashboard/customer/activity/activity_changes.tsx";
import { openCompany } from "../../../support/worlds/company_world.ts";
import { until } from "../../../support/until.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";

async function linesOf({ kv }: DashboardWorld, accountId: AccountId): Promise<ActivityLine[]> {
  return [...(await findActivity(kv, accountId, { count: 100 })).lines].reverse();
}

Deno.test("acts of a person are logged with their place and what changed, without a secret", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn("ann@example.com");
  const secret = secretIn(await makeKey(browser, { rateRequests: "5" }));
  const [key] = await listApiKeys(world.kv, account.id);
  assert(key !== undefined);
  const page = `/keys/${key.id}`;
  await browser.submit(await browser.get(page), page, { name: "server" });
  await browser.submit(await browser.get(page), `${page}/revoke`);
  await browser.submit(await browser.get("/wallet"), "/wallet/low-balance", { mark: "50000" });
  await browser.submit(await browser.get("/account"), "/account/invoice", {
    legalName: "Công ty Ánh",
    address: "Hà Nội",
    taxCode: "",
  });
  const lines = await linesOf(world, account.id);
  assertEquals(lines.map(({ act }) => act), [
    "signed_in",
    "api_key_made",
    "api_key_changed",
    "api_key_revoked",
    "low_balance_mark_changed",
    "invoice_details_changed",
  ]);
  const [, made, changed, , mark, details] = lines;
  assert(made?.by.kind === "person");
  assertEquals([made.by.email, made.by.accountId, made.by.address !== ""], [
    "ann@example.com",
    account.id,
    true,
  ]);
  assertEquals(changed?.before?.["name"], "laptop");
  assertEquals(changed?.after?.["name"], "server");
  assertEquals(mark?.after, { lowBalanceVnd: "50000" });
  assertEquals(details?.after?.["legalName"], "Công ty Ánh");
  const text = Deno.inspect(lines, { strAbbreviateSize: 1e6, depth: 9 });
  assert(!text.includes(secret) && !text.includes(key.hash), "a secret is in the log");
  const shown = await browser.get("/activity?act=api_key_changed");
  assertStringIncludes(shown.text, "laptop");
  assert(!shown.text.includes("Công ty Ánh"), "a filter leaves others out");
});

Deno.test("a wrong password is logged as that of a stranger, and an operator is not named to customers", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn("ann@example.com");
  const stranger = world.browser();
  await stranger.submit(await stranger.get("/sign-in"), "/sign-in", {
    email: "ann@example.com",
    password: "not the password",
  });
  await until(
    async () => (await linesOf(world, account.id)).some(({ act }) => act === "sign_in_failed"),
    "the line of the wrong password",
  );
  for (const blocked of [true, false]) {
    await setBlocked(world.kv, account.id, { blocked, reason: "a check" }, {
      nowMs: world.time.nowMs(),
      operator: { accountId: account.id, email: "boss@gateway.example" },
    });
  }
  const page = await browser.get("/activity");
  assertEquals(page.status, 200);
  assertStringIncludes(page.text, "Wrong password");
  assertStringIncludes(page.text, "The operator");
  assert(!page.text.includes("boss@gateway.example"));
});

Deno.test("the CSV file has all lines that fit, and its download is a line of its own", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn("ann@example.com");
  const by = { kind: "stranger", address: "203.0.113.9", browser: "=cmd" } as const;
  for (let at = 0; at < 450; at++) {
    const atMs = world.time.nowMs() - at;
    await writeActivity(world.kv, { accountId: account.id, act: "sign_in_failed", by, atMs });
  }
  const file = await browser.get("/activity.csv?act=sign_in_failed");
  const [head, ...rows] = parseCsv(file.text);
  assertEquals([head?.[0], rows.length], ["done_at", 450]);
  assert(rows.every((row) => row[head?.indexOf("browser") ?? 0] === "'=cmd"));
  assertEquals(
    (await linesOf(world, account.id)).filter(({ act }) => act === "activity_exported").length,
    1,
  );
});

Deno.test("a line is bounded, and ends with its time", async () => {
  await using world = await openDashboardWorld();
  const { account } = await world.signIn();
  const atMs = world.time.nowMs();
  const after = Object.fromEntries(
    Array.from({ length: 99 }, (_, at) => [`f${at}`, "x".repeat(999)]),
  );
  const by = { kind: "operator", email: "boss@gateway.example" } as const;
  await writeActivity(world.kv, { accountId: account.id, act: "api_key_changed", by, atMs, after });
  const line = (await linesOf(world, account.id)).find(({ act }) => act === "api_key_changed");
  assert(JSON.stringify(line).length < 8_000);
  assert(activityKeptMs > 365 * 2 * 86_400_000);
});

Deno.test("lines name what changed in words, and things by their names, in both languages", async () => {
  await using world = await openDashboardWorld();
  const { account, members: { owner } } = await openCompany(world);
  const { browser } = owner;
  const team = await createTeam(world.kv, account.id, {
    name: "Search",
    nowMs: world.time.nowMs(),
  });
  assert(typeof team === "object");
  await makeKey(browser, { rateRequests: "5" });
  const budget = { name: "Of search", of: `team:${team.id}`, amount: "2000000", window: "month" };
  const form = await browser.get("/budgets/new");
  const made = await browser.submit(form, "/budgets", { ...budget, atLimit: "refuse" });
  assertEquals(made.status, 303);
  await browser.submit(await browser.get("/wallet"), "/wallet/orders", { amount: "2000000" });
  await browser.submit(await browser.get("/wallet"), "/wallet/low-balance", { mark: "50000" });
  await browser.submit(await browser.get("/budgets"), "/budgets/tags", { tags: "team" });
  const lines = await linesOf(world, account.id);
  const names = lines.flatMap(({ before, after }) => Object.keys({ ...before, ...after }));
  assert(names.includes("atLimit") && names.includes("askedVnd"));
  for (const locale of ["en", "vi"] as const) {
    const unnamed = names.filter((name) => memberWords(name, locale) === undefined);
    assertEquals([...new Set(unnamed)], [], locale);
    browser.cookies.set("locale", locale);
    const text = (await browser.get("/activity")).text.replace(/<[^>]*>/g, " ")
      .replaceAll("\u00a0", " ");
    assertEquals(/\b(?:atLimit|askedVnd|amountVnd|method|team_\w+)\b/.exec(text)?.[0], undefined);
    assertStringIncludes(text, { en: "Team: Search", vi: "Nhóm: Search" }[locale]);
    assertStringIncludes(text, { en: "₫2,000,000", vi: "2.000.000 ₫" }[locale]);
    assertStringIncludes(text, { en: "Refuse calls", vi: "Từ chối lượt gọi" }[locale]);
  }
});
