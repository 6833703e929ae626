/** Actions of tests on the pages of API keys. */
import { hashApiKey } from "../../../core/people/api_keys/api_key.ts";
import { findApiKeyByHash, isUsableSecret } from "../../../kv/people/api_keys/api_keys.ts";
import type { DashboardWorld } from "./dashboard_world.ts";
import type { LoadedPage, TestBrowser } from "../browser/test_browser.ts";

/** A whole key on a page, and not a piece of a random token that looks like one. */
export const secretForm = /(?<![\w-])sk-[0-9A-Za-z]{49}(?![\w-])/;

export function secretIn(page: LoadedPage): string {
  const secret = secretForm.exec(page.text)?.[0];
  if (secret === undefined) throw new Error(`No key on ${page.path}: ${page.status}`);
  return secret;
}

export async function makeKey(
  browser: TestBrowser,
  fields: Record<string, string | string[]> = {},
) {
  const page = await browser.get("/keys/new");
  return await browser.submit(page, "/keys", { name: "laptop", ...fields });
}

export async function works(world: DashboardWorld, secret: string): Promise<boolean> {
  const hash = await hashApiKey(secret);
  const record = await findApiKeyByHash(world.kv, hash);
  return record !== undefined && isUsableSecret(record, hash, world.time.nowMs());
}
