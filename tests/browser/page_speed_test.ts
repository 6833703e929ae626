/**
 * How much pages transfer, and how soon their largest part is seen on a slow line: 400 kbit/s with a round trip of
 * 150 ms, in a browser that has nothing of them. The time is computed from what the browser has to have for that part,
 * so that it is the same on every machine.
 */
import { assert, assertEquals } from "../support/assert.ts";
import type { Browser } from "playwright-core";
import { maxFirstLoadBytes } from "../crawl/page_looks.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { openSeededDashboard } from "../support/worlds/seeded_dashboard.ts";

/** Milliseconds on the slow line until the browser has what the largest part of a page needs. */
const latestPaintMs = 2_500;

const bytesPerSecond = 400_000 / 8;
const roundTripMs = 150;

/**
 * What the largest part of a page needs; the page runs it: the document, what blocks its rendering, and the picture, if
 * the part is one. `isLater` is a part that is not in the document, since a script has made it.
 */
const neededForPaint = `(async () => {
  const [{ encodedBodySize: document }] = performance.getEntriesByType("navigation");
  const largest = await new Promise((found) =>
    new PerformanceObserver((list) => found(list.getEntries().at(-1)))
      .observe({ type: "largest-contentful-paint", buffered: true }));
  const blocking = performance.getEntriesByType("resource")
    .filter(({ renderBlockingStatus, name }) =>
      renderBlockingStatus === "blocking" || name === largest.url);
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  const source = new DOMParser().parseFromString(await answer.text(), "text/html");
  const plain = (text) => text.replace(/\\s+/g, "");
  return {
    bytes: blocking.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, document),
    blocking: blocking.length,
    isLater: largest.url === "" &&
      !plain(source.body.textContent).includes(plain(largest.element?.textContent ?? "")),
  };
})()`;

interface Needed {
  readonly bytes: number;
  readonly blocking: number;
  readonly isLater: boolean;
}

interface Visit {
  readonly bytes: number;
  readonly needed: Needed;
}

/** Headers of an answer, which the browser does not count as its body. */
const headerBytes = 1_000;

/** Milliseconds on the slow line: connect, ask for the document, ask for what blocks it at once, and read all. */
function paintMs({ bytes, blocking }: Needed): number {
  const rounds = blocking === 0 ? 2 : 3;
  return rounds * roundTripMs + (bytes + (1 + blocking) * headerBytes) / bytesPerSecond * 1_000;
}

/** Visits a page in a fresh browser. */
async function visit(browser: Browser, url: string, sessionToken?: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  if (sessionToken !== undefined) {
    await context.addCookies([{ name: "session", value: sessionToken, url }]);
  }
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => bytes += encodedDataLength);
  await session.send("Network.enable");
  await page.goto(url, { waitUntil: "networkidle", timeout: 60_000 });
  const seen = bytes;
  const needed = await page.evaluate<Needed>(neededForPaint);
  await context.close();
  return { bytes: seen, needed };
}

/** Visits pages and says which are too heavy or too late. */
async function problemsOf(
  browser: Browser,
  address: string,
  paths: readonly string[],
  sessionToken?: string,
): Promise<string[]> {
  const problems: string[] = [];
  for (const path of paths) {
    const { bytes, needed } = await visit(browser, address + path, sessionToken);
    assert(bytes > 10_000, `${path}: ${bytes} bytes were seen`);
    assert(needed.bytes > 1_000, `${path}: ${needed.bytes} bytes are needed`);
    const ms = Math.round(paintMs(needed));
    if (Deno.env.has("SHOW_SPEED")) {
      await show(`${path}: ${bytes} bytes, ${JSON.stringify(needed)}, ${ms} ms\n`);
    }
    if (bytes > maxFirstLoadBytes) problems.push(`${path}: ${bytes} bytes`);
    if (ms > latestPaintMs) problems.push(`${path}: ${ms} ms`);
    if (needed.isLater) problems.push(`${path}: a script makes the largest part`);
  }
  return problems;
}

async function show(line: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(line));
}

await browserTest("pages for everybody are light and soon seen on a slow line", async (browser) => {
  await using seeded = await openSeededDashboard();
  const paths = [
    "/",
    "/models",
    "/models?view=cards",
    "/models/premium-1",
    "/status",
    "/connect",
    "/docs",
    "/docs/api/chat",
    "/docs/api/chat/createMessage",
    "/sign-up",
  ];
  assertEquals(await problemsOf(browser, seeded.address, paths), []);
});

await browserTest("so are the pages of customers", async (browser) => {
  await using seeded = await openSeededDashboard();
  const paths = ["/", "/usage", "/keys", "/wallet", "/playground", "/account"];
  assertEquals(await problemsOf(browser, seeded.address, paths, seeded.sessionToken), []);
});
