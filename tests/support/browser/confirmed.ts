/** Sends forms of operators that move money: with the mark of what the page before showed. */
import type { Page, PageVisitor } from "./page_visitor.ts";

/** Returns the mark that a page has in its form; `undefined` if it has none. */
export function markOn(page: Pick<Page, "text">): string | undefined {
  return /name="seen" value="([^"]+)"/.exec(page.text)?.[1];
}

/** Sends a form, looks at the dossier, and confirms it. Without a dossier, what was answered at first. */
export async function confirmed(
  browser: PageVisitor,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<Page> {
  const first = await browser.post(path, fields);
  const seen = markOn(first);
  return seen === undefined ? first : await browser.post(path, { ...fields, seen });
}

/** Approves a request as its page shows it; a page without a form is answered as if one was forged. */
export async function approve(browser: PageVisitor, id: string): Promise<Page> {
  const path = `/operator/approvals/${id}`;
  const seen = markOn(await browser.get(path)) ?? "";
  return await browser.post(`${path}/approve`, { seen });
}
