/** Looks at a page in a real browser: accessibility, the content security policy, and width. */
import { Buffer } from "node:buffer";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";

/** Language, theme and width in which a page is tested. */
export interface Look {
  readonly locale: "vi" | "en";
  readonly theme: "light" | "dark";
  readonly width: number;
}

/**
 * The looks in which pages are tested: each language, theme and width once. `problemsOf` tries the colours of the other
 * theme on the open page, and the crawl lays out every page in both languages on all widths.
 */
export const looks: readonly Look[] = [
  { locale: "en", theme: "light", width: 1280 },
  { locale: "vi", theme: "dark", width: 390 },
];

/** These run in the page and are therefore strings: this process has no `document`. */
const noteViolations = `document.addEventListener("securitypolicyviolation", (event) => {
  const { dataset } = document.documentElement;
  dataset.violations = (dataset.violations ?? "") + event.violatedDirective + " " + event.blockedURI + "; ";
});`;
const howMuchTooWide =
  "document.documentElement.scrollWidth - document.documentElement.clientWidth";
/** Frames whose content goes on beyond their edge: on a phone a column would be cut without a hint. */
const cutTables = `document.querySelectorAll("main details").forEach((one) => one.open = true),
  [...document.querySelectorAll(".table-frame")]
  .filter((frame) => frame.scrollWidth > frame.clientWidth + 1)
  .map((frame) => frame.getAttribute("aria-label") + ": " + frame.scrollWidth + " px in " + frame.clientWidth)`;
/** What one can press, but not see: it is left of the screen, where no scrolling leads. */
const offScreen = `[...document.querySelectorAll("main a, main button, main summary")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 1 &&
    one.getBoundingClientRect().left < -1)
  .map((one) => one.outerHTML.slice(0, 120))`;
/** Up to here rows are cards. */
const maxPhoneWidth = 599;
/** Nodes are described where a rule is violated only, and no style sheet is loaded again for rules that do not run. */
const axeOptions = `resultTypes: ["violations"], preload: { assets: ["media"] }`;
const axeLines = `({ violations }) => violations.flatMap(({ id, nodes }) =>
  nodes.map((node) => id + ": " + node.html.slice(0, 160) + " | " +
    node.failureSummary.replace(/\\s+/g, " ").slice(0, 200)))`;
const runAxe = `axe.run({ ${axeOptions} }).then(${axeLines})`;
/** Of all rules this one alone depends on the theme, and the page is as it was afterwards. */
const runAxeInOtherTheme = `(async () => {
  const { dataset } = document.documentElement;
  const { theme } = dataset;
  dataset.theme = theme === "dark" ? "light" : "dark";
  try {
    const lines = await axe.run({ runOnly: ["color-contrast"], ${axeOptions} }).then(${axeLines});
    return lines.map((line) => dataset.theme + ", " + line);
  } finally {
    dataset.theme = theme;
  }
})()`;

/**
 * Whether pages are pictured for people, into `screenshots/`. A whole tier has nobody who looks at them, and they take
 * a third of the time of a test of pages.
 */
const isPictured = Deno.env.get("SCREENSHOTS") !== "none";

/** Opens a browser window, signed in if there is a token. */
export async function openWindow(
  browser: Browser,
  look: Look,
  url: string,
  sessionToken?: string,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 },
    locale: look.locale,
    colorScheme: look.theme,
    reducedMotion: "reduce",
  });
  await context.addCookies([
    { name: "locale", value: look.locale, url },
    { name: "theme", value: look.theme, url },
    ...(sessionToken === undefined ? [] : [{ name: "session", value: sessionToken, url }]),
  ]);
  await context.addInitScript({ content: noteViolations });
  if (!isPictured) {
    context.on("page", (page) => page.screenshot = () => Promise.resolve(Buffer.alloc(0)));
  }
  return context;
}

/** What is wrong with the page that is open, as lines; empty if nothing is. */
export async function problemsOf(page: Page, name: string): Promise<string[]> {
  const problems: string[] = [];
  const wide = await page.evaluate<number>(howMuchTooWide);
  if (wide > 0) problems.push(`${name}: ${wide} px wider than the screen`);
  if ((page.viewportSize()?.width ?? 0) <= maxPhoneWidth) {
    const cut = await page.evaluate<string[]>(cutTables);
    problems.push(...cut.map((table) => `${name}: a table is wider than its frame: ${table}`));
  }
  const hidden = await page.evaluate<string[]>(offScreen);
  problems.push(...hidden.map((html) => `${name}: left of the screen: ${html}`));
  const blocked = await page.evaluate<string>("document.documentElement.dataset.violations ?? ''");
  if (blocked !== "") problems.push(`${name}: the policy stopped ${blocked}`);
  // The policy blocks foreign scripts; evaluation by the debugger is exempt from it.
  await page.evaluate(axe.source);
  const violations = [
    ...await page.evaluate<string[]>(runAxe),
    ...await page.evaluate<string[]>(runAxeInOtherTheme),
  ];
  return [...problems, ...violations.map((text) => `${name}: ${text}`)];
}

const boxesSource = await Deno.readTextFile(new URL("./page_boxes.js", import.meta.url));

/** Everything that scripts of pages say, to know which buttons they listen to. */
const scriptSources = (await Promise.all(
  ["scripts", "playground"].flatMap((folder) => {
    const place = new URL(`../../../routes/dashboard/assets/${folder}/`, import.meta.url);
    return [...Deno.readDirSync(place)].filter(({ name }) => name.endsWith(".js"))
      .map(({ name }) => Deno.readTextFile(new URL(name, place)));
  }),
)).join("\n");

/** What is wrong with the boxes of the page that is open: cut or overlapping text, covered and idle controls. */
export async function boxProblemsOf(page: Page): Promise<string[]> {
  if (!await page.evaluate<boolean>("'boxProblems' in globalThis")) {
    await page.evaluate(
      `{ ${boxesSource} globalThis.scriptSources = ${JSON.stringify(scriptSources)}; }`,
    );
  }
  return await page.evaluate<string[]>("boxProblems(scriptSources)");
}
