/** Hostile values at every page, form and parameter: whatever is sent, no page answers 500. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { drawn } from "../../../support/property.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApprovals } from "../../../../kv/services/operations/approvals.ts";
import { listAccountInvoices } from "../../../../kv/money/invoices/invoices.ts";
import { listReviews } from "../../../../kv/money/payments/bank_notices.ts";
import { openTopupSite, seedTopups, type TopupSite } from "../../../support/worlds/topup_site.ts";
import { formsOf, TestBrowser } from "../../../support/browser/test_browser.ts";

/** What no form of ours sends. The last is the UTF-8 form of a lone surrogate, which URLSearchParams would mend. */
const hostile = [
  "__proto__",
  "constructor",
  "toString",
  "x".repeat(5_000),
  "\0",
  "-1",
  "NaN",
  "1e309",
  "9".repeat(400),
  "0000-00-00",
  "275760-09-14",
  "../..",
].map(encodeURIComponent).concat("%ED%A0%80", "%", "%00%FF");

const queries = ["next", "q", "kind", "model", "key", "from", "to", "before", "after", "done"]
  .concat("cursor", "order", "state", "seen", "format", "code", "iss", "token");

interface Fuzzed {
  readonly site: TopupSite;
  readonly browsers: readonly TestBrowser[];
  /** Real ids for the parameters of a path. */
  readonly idsOf: (path: string) => string[];
  readonly failures: string[];
  send(browser: TestBrowser, path: string, init?: RequestInit): Promise<string>;
}

async function openFuzzed(site: TopupSite): Promise<Fuzzed> {
  const { world, customer } = site;
  await seedTopups(site);
  const made = await createApiKey(world.kv, world.deps.masterKeys, customer.id, {
    name: "fuzzed",
    nowMs: world.time.nowMs(),
  });
  assert(made.ok);
  const [approval] = await listApprovals(world.kv, 1);
  const [invoice] = await listAccountInvoices(world.kv, customer.id, 1);
  const [review] = await listReviews(world.kv, 1);
  assert(approval !== undefined && invoice !== undefined && review !== undefined);
  const order = await site.order(200_000);
  const real: readonly (readonly [RegExp, readonly string[]])[] = [
    [/^\/keys\//, [made.record.id]],
    [/^\/operator\/accounts\//, [customer.id]],
    [/^\/operator\/approvals\//, [approval.id]],
    [/^\/operator\/notices\//, [review.event.source, review.event.id]],
    [/invoices\//, [invoice.id, "file"]],
    [/^\/wallet\/orders\//, [order.code]],
  ];
  const browser = (token: string | undefined) => {
    const made = new TestBrowser(world.fetch, site.address);
    if (token !== undefined) made.cookies.set("session", token);
    return made;
  };
  const failures: string[] = [];
  return {
    site,
    browsers: [undefined, site.customerToken, site.operatorToken].map(browser),
    idsOf: (path) => [...real.find(([pattern]) => pattern.test(path))?.[1] ?? ["x", "y"]],
    failures,
    async send(browser, path, init = {}) {
      // Limits of tries would answer before the page looks at what was sent.
      for await (const { key } of world.kv.list({ prefix: ["rate_limit"] })) {
        await world.kv.delete(key);
      }
      const kept = [...browser.cookies];
      const answer = await browser.send(path, init);
      for (const [name, value] of kept) browser.cookies.set(name, value);
      if (answer.status >= 500) {
        failures.push(`${init.method ?? "GET"} ${path.slice(0, 90)}: ${answer.status}`);
      }
      return answer.text;
    },
  };
}

function pathWith(path: string, values: readonly string[]): string {
  const left = [...values];
  return path.replace(/:\w+(?:\{[^}]*\})?/g, () => left.shift() ?? "x");
}

async function fuzzTest(fuzz: (fuzzed: Fuzzed) => Promise<void>) {
  await using site = await openTopupSite();
  const fuzzed = await openFuzzed(site);
  await fuzz(fuzzed);
  assertEquals(fuzzed.failures, []);
  assertEquals(site.world.reports, [], "nothing was unforeseen");
}

const formHeaders = { "content-type": "application/x-www-form-urlencoded" };

Deno.test("hostile paths and queries are answered, none with 500", () =>
  fuzzTest(async ({ site, browsers, idsOf, send }) => {
    const pages = site.world.routes.filter(({ method }) => method === "GET");
    assert(pages.length > 40, `${pages.length} pages`);
    for (const { path } of pages) {
      const browser = browsers[path.startsWith("/operator") ? 2 : 1]!;
      const real = pathWith(path, idsOf(path));
      for (const value of drawn(hostile)) {
        if (path.includes(":")) await send(browser, pathWith(path, [value, value]));
        await send(browser, `${real}?${queries.map((name) => `${name}=${value}`).join("&")}`);
      }
    }
  }));

Deno.test("hostile fields of every form are answered, none with 500", () =>
  fuzzTest(async ({ site, browsers, idsOf, send }) => {
    const pages = site.world.routes.filter(({ method }) => method === "GET");
    const seen = new Set<string>();
    for (const browser of browsers) {
      for (const { path } of pages) {
        for (
          const { action, fields } of formsOf(await send(browser, pathWith(path, idsOf(path))))
        ) {
          const csrf = fields.find(([name]) => name === "csrf")?.[1];
          const names = fields.map(([name]) => name).filter((name) => name !== "csrf");
          // Signing out ends the session that the rest of the forms is sent with.
          if (csrf === undefined || seen.has(`${action} ${names}`) || action === "/sign-out") {
            continue;
          }
          seen.add(`${action} ${names}`);
          const { pathname } = new URL(action, site.address);
          for (const hurt of [...names.map((name) => [name]), names]) {
            for (const value of drawn(hostile)) {
              const sent = fields.map(([name, usual]) =>
                `${name}=${hurt.includes(name) ? value : encodeURIComponent(usual)}`
              );
              const init = { method: "POST", body: sent.join("&"), headers: formHeaders };
              await send(browser, pathname, init);
            }
          }
        }
      }
    }
    assert(seen.size > 25, `${seen.size} forms`);
  }));

Deno.test("malformed bodies are refused, with and without a session, none with 500", () =>
  fuzzTest(async ({ site, browsers, idsOf, send }) => {
    const acts = site.world.routes.filter(({ method }) => method === "POST");
    assert(acts.length > 25, `${acts.length} forms`);
    const multipart = { "content-type": "multipart/form-data; boundary=b" };
    const bodies: readonly (readonly [BodyInit, HeadersInit])[] = [
      ["--b\r\nnothing", multipart],
      ['--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\nx', multipart],
      ["", { "content-type": "multipart/form-data" }],
      ["x", { "content-type": "multipart/form-data; boundary=" }],
      [new Uint8Array([0xff, 0, 0xfe]), multipart],
      ["%=%&&==%E0%A4", formHeaders],
      ["{}", { "content-type": "application/json" }],
    ];
    for (const browser of browsers) {
      for (const { path } of acts) {
        const target = pathWith(path, idsOf(path));
        for (const [body, headers] of bodies) {
          await send(browser, target, { method: "POST", body, headers });
        }
      }
    }
  }));
