/** Debian's Chromium, headless and without network services of its own. */
import { type Browser, chromium } from "playwright-core";

const executablePath = "/usr/bin/chromium";

/** Whether there is a browser to test with. */
export async function hasChromium(): Promise<boolean> {
  return await Deno.stat(executablePath).then(() => true, () => false);
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
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

/**
 * A test in the browser. Playwright keeps its connection and its child process open, which the sanitizers would report;
 * the browser is still closed at the end.
 */
export async function browserTest(
  name: string,
  run: (browser: Browser) => Promise<void>,
): Promise<void> {
  const ignore = !await hasChromium();
  Deno.test({
    name,
    ignore,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const browser = await launchChromium();
      try {
        await run(browser);
      } finally {
        await browser.close();
      }
    },
  });
}
