/** Asks for new calls as an open page with a log of calls does. */
import type { TestBrowser } from "./test_browser.ts";

/** Opens a page, and returns what its script asks for: the newest calls, unless they are those that the page shows. */
export async function livePath(browser: TestBrowser, path: string): Promise<string> {
  const { text } = await browser.get(path);
  const log = /data-log="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const mark = /data-mark="([^"]*)"/.exec(text)?.[1] ?? "";
  return `${log}&seen=${mark}`;
}
