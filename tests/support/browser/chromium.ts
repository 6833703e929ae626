/** Debian's Chromium, headless and without network services of its own. */
import { type Browser, chromium } from "playwright-core";

/** The shell draws pages with a third less of a processor: it has no windows, menus or services for people. */
const executablePaths = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const;

async function installedPath(): Promise<string | undefined> {
  for (const path of executablePaths) {
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  return undefined;
}

/** Whether there is a browser to test with. */
export async function hasChromium(): Promise<boolean> {
  return await installedPath() !== undefined;
}

export async function launchChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: await installedPath() ?? executablePaths[0],
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** The browser of the tests of a file. A window of its own, with its own cookies, costs a hundredth of another one. */
let shared: Browser | undefined;
let isClosedAfterAll = false;

/** The browser that runs; another one if a test has brought it down. */
async function sharedBrowser(): Promise<Browser> {
  if (shared?.isConnected() !== true) shared = await launchChromium();
  return shared;
}

/**
 * A test in the browser, which the tests of a file share: its windows are closed at the end. Playwright keeps its
 * connection and its child process open, which the sanitizers would report.
 */
export async function browserTest(
  name: string,
  run: (browser: Browser) => Promise<void>,
): Promise<void> {
  const ignore = !await hasChromium();
  if (!isClosedAfterAll) Deno.test.afterAll(async () => await shared?.close());
  isClosedAfterAll = true;
  Deno.test({
    name,
    ignore,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const browser = await sharedBrowser();
      try {
        await run(browser);
      } finally {
        for (const context of browser.contexts()) await context.close();
      }
    },
  });
}
