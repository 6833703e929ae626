/**
 * Everybody who has a role walks through everything that is offered to them, in both languages: each link leads to a page
 * or a file, each form has a place that takes it, and each text is of the page's language.
 */
import { roles } from "../../core/people/organisations/acts.ts";
import { assert, assertEquals } from "../support/assert.ts";
import type { TestBrowser } from "../support/browser/test_browser.ts";
import { report } from "../support/report.ts";
import { crawl, type CrawlReport, missingPage, RouteTable } from "./crawler.ts";
import {
  type CrawledGateway,
  openCrawledGateway,
  type Walker,
  walkers,
} from "./crawled_gateway.ts";
import { readHtml } from "./html_page.ts";
import { pageProblems } from "./page_problems.ts";
import { readTextTables, type TextTables } from "./text_tables.ts";

const locales = ["en", "vi"] as const;

/** Programs that read pages and do not say that they take HTML. */
const robots: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a program": { accept: "*/*" },
  facebook: { accept: "*/*", "user-agent": "facebookexternalhit/1.1" },
  slack: { accept: "*/*", range: "bytes=0-32768", "user-agent": "Slackbot-LinkExpanding 1.0" },
  zalo: { accept: "*/*", "user-agent": "ZaloPC-win32-24v680" },
};

/** Walks as one person in one language. */
async function walk(
  gateway: CrawledGateway,
  walker: Walker,
  locale: "en" | "vi",
  shared: {
    readonly tables: TextTables;
    readonly routes: RouteTable;
    readonly knownFiles: Set<string>;
  },
): Promise<CrawlReport> {
  return await crawl(gateway.browser(walker, locale), {
    origin: gateway.instance.baseUrl,
    locale,
    role: walker === "visitor" ? undefined : roles.find((one) => one === walker) ?? "owner",
    ...shared,
  });
}

/** The form that changes nothing but cookies is sent as it is, from the first page of everybody. */
async function preferenceProblems({ instance }: CrawledGateway, browser: TestBrowser) {
  const first = await browser.get("/");
  const { status, headers } = await browser.submit(first, "/preferences", { theme: "dark" });
  const location = headers.get("location")?.replace(instance.baseUrl, "");
  return status === 303 && location === "/" ? [] : [`/preferences: ${status} to ${location}`];
}

/** What programs get at the pages that everybody sees. */
async function robotProblems({ instance }: CrawledGateway, paths: Iterable<string>) {
  const problems: string[] = [];
  for (const path of paths) {
    for (const [robot, headers] of Object.entries(robots)) {
      const { status, headers: answer, text } = await instance.browser().get(path, headers);
      const type = answer.get("content-type") ?? "";
      if (status !== 200 || !type.startsWith("text/html")) {
        problems.push(`${robot} ${path}: ${status} ${type}`);
        continue;
      }
      const { elements } = readHtml(text);
      const has = (name: string, attribute: string, value: string) =>
        elements.some((one) => one.name === name && one.attributes[attribute] === value);
      const isIndexed = has("meta", "name", "description");
      const missing = ["og:title", "og:description"]
        .filter((property) => isIndexed && !has("meta", "property", property));
      problems.push(...missing.map((property) => `${robot} ${path}: no ${property}`));
    }
  }
  return problems;
}

Deno.test("everything that a page offers is there, for everybody, in both languages", async () => {
  await using gateway = await openCrawledGateway();
  const shared = {
    tables: readTextTables(gateway.names),
    routes: new RouteTable(gateway.instance.pages),
    knownFiles: new Set<string>(),
  };
  const found: string[] = [];
  const counts = { pages: 0, links: 0, forms: 0 };
  for (const walker of walkers) {
    for (const locale of locales) {
      const { pages, links, forms, problems } = await walk(gateway, walker, locale, shared);
      counts.pages += pages.size;
      counts.links += links;
      counts.forms += forms;
      const preferences = await preferenceProblems(gateway, gateway.browser(walker, locale));
      found.push(
        ...[...problems, ...preferences].map((problem) => `${walker} ${locale} ${problem}`),
      );
      if (walker === "visitor" && locale === "en") {
        const there = [...pages.keys()].filter((path) => path !== missingPage);
        found.push(...await robotProblems(gateway, there));
      }
      const least = walker === "visitor" ? 35 : 45;
      assert(pages.size > least, `${walker} found ${pages.size} pages only`);
    }
  }
  report(
    `crawl: ${walkers.length} walkers, ${counts.pages} pages, ${counts.links} links, ${counts.forms} forms`,
  );
  assertEquals(found, []);
});

const sound =
  `<html lang="vi"><head><title>Ví</title></head><body><h1>Ví của bạn</h1>BODY</body></html>`;

const planted: readonly (readonly [body: string, problem: string])[] = [
  [`<p id="a"></p><p id="a"></p>`, "id a is there twice"],
  [`<label for="gone">Ví</label>`, "label for names gone, which is not there"],
  [`<form method="post" action="/nowhere"></form>`, "no form can be posted to /nowhere"],
  [
    `<form method="post" action="/budgets"></form>`,
    "a form is offered to the role viewer and refused: /budgets",
  ],
  [`<p>Your wallet is empty.</p>`, "English (your, is, empty): Your wallet is empty."],
  [`<button aria-label="Close the wallet">×</button>`, "English (close, the): Close the wallet"],
  [`<p>atLimit refuse</p>`, "raw code: atLimit refuse"],
  [`<p>Còn undefined ₫</p>`, "raw value: Còn undefined ₫"],
  [`<p>1,8 ₫</p>`, "form of a figure: 1,8 ₫ in 1,8 ₫"],
  [`<p>Còn 1,250,000 ₫</p>`, "form of a figure: 1,250,000 ₫ in Còn 1,250,000 ₫"],
  [`<p>₫12</p>`, "form of a figure: ₫12 in ₫12"],
  [`<p>0,3 s</p>`, "form of a figure: 0,3 s in 0,3 s"],
  [`<p>1.25 s</p>`, "form of a figure: 1.25 s in 1.25 s"],
  [`<p>1500 ms</p>`, "form of a figure: 1500 ms in 1500 ms"],
  [`<p>5%</p>`, "form of a figure: 5% in 5%"],
  [`<p>5 %</p>`, "form of a figure: 5 % in 5 %"],
  [`<p>5.25\u00a0%</p>`, "form of a figure: 5.25 % in 5.25\u00a0%"],
];

Deno.test("what is planted on a page is found, and nothing else", () => {
  const tables = readTextTables(["low-cost-01"]);
  const surroundings = {
    locale: "vi",
    tables,
    role: "viewer",
    takesPost: (path: string) => path !== "/nowhere",
  } as const;
  const problemsOf = (body: string) =>
    pageProblems(readHtml(sound.replace("BODY", body)), surroundings);
  for (const [body, problem] of planted) {
    assert(problemsOf(body).includes(problem), `${problem}: ${problemsOf(body).join("; ")}`);
  }
  const harmless = `<p>Hoá đơn inv_0mwomq1s00000avj86rfacq9s</p>` +
    `<p lang="en">Your wallet is empty.</p><code>atLimit</code><p>low-cost-01</p>` +
    `<p>Viết cho help@example.com</p><pre>the answer</pre>` +
    `<p>0,18 ₫, 1.250.000 ₫, 145 ms, 1,25 s, 12,5 s, 30 s</p>` +
    `<p>5\u00a0%, 0,4\u00a0%, 99,99\u00a0%</p>`;
  assertEquals(problemsOf(harmless), []);
  const foreign = pageProblems(readHtml(sound), { ...surroundings, locale: "en" });
  assertEquals(foreign, ["lang is vi"]);
});
