/**
 * How much pages transfer, and how soon their largest part is seen, on a slow line: 400 kbit/s with a round trip of
 * 150 ms, in a browser that has nothing of them.
 */
import { assert, assertEquals } from "../support/assert.ts";
import type { Browser } from "playwright-core";
import { browserTest } from "../support/browser/chromium.ts";
import { openSeededDashboard } from "../support/worlds/seeded_dashboard.ts";

/** Bytes that a first visit to a page may transfer, with all its styles and scripts. */
const mostBytes = 150 * 1024;

/** Milliseconds to the largest contentful paint. The goal is 2.5 s; a busy machine gets half as much again. */
const latestPaintMs = 3_750;

const bytesPerSecond = 400_000 / 8;
const roundTripMs = 150;

/** Notes the largest paint so far; the page runs it. */
const notePaints = `new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) globalThis.largestPaint = entry.startTime;
}).observe({ type: "largest-contentful-paint", buffered: true });`;

interface Visit {
  readonly bytes: number;
  readonly paintMs: number;
}

/** Visits a page in a fresh browser on the slow line. */
async function visit(browser: Browser, url: string, sessionToken?: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  if (sessionToken !== undefined) {
    await context.addCookies([{ name: "session", value: sessionToken, url }]);
  }
  await context.addInitScript({ content: notePaints });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => bytes += encodedDataLength);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: roundTripMs,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await page.goto(url, { waitUntil: "networkidle", timeout: 60_000 });
  const paintMs = Math.round(await page.evaluate<number>("globalThis.largestPaint ?? 1e9"));
  await context.close();
  return { bytes, paintMs };
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
    const { bytes, paintMs } = await visit(browser, address + path, sessionToken);
    assert(bytes > 10_000, `${path}: ${bytes} bytes were seen`);
    if (Deno.env.has("SHOW_SPEED")) await show(`${path}: ${bytes} bytes, ${paintMs} ms\n`);
    if (bytes > mostBytes) problems.push(`${path}: ${bytes} bytes`);
    if (paintMs > latestPaintMs) problems.push(`${path}: ${paintMs} ms`);
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
    "/sign-up",
  ];
  assertEquals(await problemsOf(browser, seeded.address, paths), []);
});

await browserTest("so are the pages of customers", async (browser) => {
  await using seeded = await openSeededDashboard();
  const paths = ["/", "/usage", "/keys", "/wallet", "/playground", "/account"];
  assertEquals(await problemsOf(browser, seeded.address, paths, seeded.sessionToken), []);
});
