/** Equips a new account for its first call: a key, and what the operator gives to try the service. */
import { createFirstKey } from "../../../kv/api_keys/first_key.ts";
import type { Account } from "../../../kv/accounts/accounts.ts";
import { defineTexts, type Locale } from "../i18n.ts";
import type { SignInDeps } from "./deps.ts";

const texts = defineTexts({
  en: { keyName: "First key" },
  vi: { keyName: "Khoá đầu tiên" },
});

/**
 * Gives a new account its first key and its opening credit. The account exists already, so a failure of either is
 * reported and does not keep its owner out.
 */
export async function equipAccount(
  deps: SignInDeps,
  { id }: Account,
  locale: Locale,
): Promise<void> {
  const { kv, masterKeys, clock } = deps;
  const name = texts[locale].keyName;
  const done = await Promise.allSettled([
    createFirstKey(kv, masterKeys, id, { name, nowMs: clock.nowMs() }),
    deps.openingCredit?.(id),
  ]);
  for (const one of done) {
    if (one.status === "rejected") deps.report?.("page", one.reason);
  }
}

/** Writes the path of the page that greets a new account and then leads to `next`. */
export function welcomePath(next: string): string {
  return next === "/" ? "/welcome" : `/welcome?${new URLSearchParams({ next })}`;
}
