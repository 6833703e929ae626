/** Looks at pages in a real browser, on screens of several widths, light and dark. */
import type { Browser, Page } from "playwright-core";
import { boxProblemsOf } from "../support/browser/page_soundness.ts";
import { sessionCookie } from "../support/worlds/full_company.ts";
import type { CrawledGateway, Walker } from "./crawled_gateway.ts";

/** Widths in the order of a look: each in one theme for a language, and in the other one for the other language. */
const looks = {
  en: [[1440, "light"], [1280, "dark"], [390, "light"], [320, "dark"]],
  vi: [[1440, "dark"], [1280, "light"], [390, "dark"], [320, "light"]],
} as const;

type ScreenLook = typeof looks["en" | "vi"][number];

/** Heights of a phone and of a desktop, and the width from which a screen is one. */
const heights = { phone: 780, desktop: 900, desktopFrom: 600 } as const;

/**
 * Bytes that a first visit to a page may transfer, with all its styles and scripts, compressed: half of them are those
 * of every page, and the rest is the page with its charts.
 */
export const maxFirstLoadBytes = 85 * 1024;

/** Counts the bytes of the next visit, as if the browser had nothing yet. */
async function countBytes(
  page: Page,
): Promise<{ readonly take: () => number; readonly reset: () => Promise<void> }> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => bytes += encodedDataLength);
  await session.send("Network.enable");
  return {
    take: () => bytes,
    async reset() {
      await session.send("Network.clearBrowserCache");
      bytes = 0;
    },
  };
}

/**
 * Waits until charts have been drawn for the width of the window, which they follow after a moment; at most 5 s of
 * frames.
 */
const chartsFit = `new Promise((resolve) => {
  const look = (frames) => {
    const isFit = [...document.querySelectorAll(".uplot")].every((chart) =>
      chart.getBoundingClientRect().width <= chart.parentElement.clientWidth + 1);
    if (isFit || frames === 0) resolve();
    else requestAnimationFrame(() => look(frames - 1));
  };
  look(300);
})`;

/** Changes the window of a page that is open, which loads nothing again. */
async function resize(page: Page, [width, theme]: ScreenLook): Promise<void> {
  const height = width < heights.desktopFrom ? heights.phone : heights.desktop;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme });
  await page.evaluate(chartsFit);
}

/** What is wrong with a page, each with the looks in which it is. */
export async function lookAt(
  browser: Browser,
  gateway: CrawledGateway,
  { walker, locale, pages }: {
    readonly walker: Walker;
    readonly locale: "vi" | "en";
    readonly pages: Iterable<string>;
  },
): Promise<string[]> {
  const { instance } = gateway;
  const url = instance.baseUrl;
  const context = await browser.newContext({ locale, reducedMotion: "reduce" });
  const token = gateway.session(walker);
  await context.addCookies([
    { name: "locale", value: locale, url },
    ...(token === undefined ? [] : [{ name: sessionCookie(instance), value: token, url }]),
  ]);
  const page = await context.newPage();
  const found: string[] = [];
  const counted = await countBytes(page);
  for (const path of pages) {
    await counted.reset();
    await page.goto(url + path, { waitUntil: "load" });
    const bytes = counted.take();
    if (bytes > maxFirstLoadBytes) found.push(`${walker} ${locale} ${path}: ${bytes} bytes`);
    const all = new Map<string, string[]>();
    for (const look of looks[locale]) {
      await resize(page, look);
      for (const problem of new Set(await boxProblemsOf(page))) {
        all.set(problem, [...all.get(problem) ?? [], look.join(" ")]);
      }
    }
    for (const [problem, where] of all) {
      found.push(`${walker} ${locale} ${path}: ${problem} (${where.join(", ")})`);
    }
  }
  await context.close();
  return found;
}
