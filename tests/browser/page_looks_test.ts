/**
 * One page of each kind that the crawl finds, as each of those who see it differently, in both languages, on screens of
 * four widths, light and dark: no text is cut or overlapped, no control lies under a bar, nothing is wider than the
 * screen, and no button is without an effect.
 */
import { roles } from "../../core/people/organisations/acts.ts";
import { assertEquals } from "../support/assert.ts";
import { crawl, type CrawlOptions, RouteTable } from "../crawl/crawler.ts";
import { type CrawledGateway, openCrawledGateway, type Walker } from "../crawl/crawled_gateway.ts";
import { lookAt } from "../crawl/page_looks.ts";
import { readTextTables } from "../crawl/text_tables.ts";
import { browserTest } from "../support/browser/chromium.ts";

/** Who looks: owners and operators at what customers do not have, the newcomer at lists without a row. */
const lookers: readonly Walker[] = ["visitor", "customer", "owner", "operator", "newcomer"];

/** Whether a page is about the account of who looks. */
function isOwn(kind: string): boolean {
  return !/^\/(?:docs|models|compare|connect|status|proofs|terms|privacy|contact|changelog)/.test(
    kind,
  );
}

/** One path of each kind of page that somebody finds. */
async function pagesOf(
  gateway: CrawledGateway,
  walker: Walker,
  shared: Pick<CrawlOptions, "routes" | "tables" | "knownFiles">,
): Promise<ReadonlyMap<string, string>> {
  const { instance } = gateway;
  const report = await crawl(gateway.browser(walker, "en"), {
    origin: instance.baseUrl,
    locale: "en",
    role: walker === "visitor" ? undefined : roles.find((one) => one === walker) ?? "owner",
    ...shared,
  });
  const pages = new Map<string, string>();
  for (const [path, kind] of report.pages) if (!pages.has(kind)) pages.set(kind, path);
  return pages;
}

await browserTest("every kind of page is whole on every screen", async (browser) => {
  const ready = Promise.withResolvers<CrawledGateway>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await (await ready.promise).instance.fetch(request),
  );
  await using gateway = await openCrawledGateway(`http://localhost:${server.addr.port}`);
  ready.resolve(gateway);
  const shared = {
    routes: new RouteTable(gateway.instance.pages),
    tables: readTextTables(gateway.names),
    knownFiles: new Set<string>(),
  };
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const walker of lookers) {
    const all = await pagesOf(gateway, walker, shared);
    const isNew = walker === "newcomer";
    const isLookedAt = (kind: string) =>
      isNew ? isOwn(kind) && !kind.includes(":") : !seen.has(kind);
    const pages = [...all].filter(([kind]) => isLookedAt(kind)).map(([, path]) => path);
    // What is public looks the same to a customer, but for the frame around it.
    if (walker !== "visitor") { for (const [kind] of all) seen.add(kind); }
    for (const locale of isNew ? ["vi"] as const : ["en", "vi"] as const) {
      problems.push(...await lookAt(browser, gateway, { walker, locale, pages }));
    }
  }
  await server.shutdown();
  assertEquals(problems, []);
});
