/** Counts what a person presses on the pages of a window, so that journeys stay as short as they are. */
import type { BrowserContext } from "playwright-core";

/**
 * Counts clicks in a window from now on: of a mouse or a finger, and of the Enter that presses a button. Scripts that
 * press do not count.
 *
 * @returns how many there have been
 */
export async function countClicks(context: BrowserContext): Promise<() => number> {
  let clicks = 0;
  await context.exposeFunction("noteClick", () => void clicks++);
  await context.addInitScript({
    content: `addEventListener("click", ({ isTrusted }) => {
      if (isTrusted) noteClick();
    }, true);`,
  });
  return () => clicks;
}
