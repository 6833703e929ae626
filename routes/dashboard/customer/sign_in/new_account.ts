/** Equips a new account for its first call: a key, and what the operator gives to try the service. */
import type { Context } from "hono";
import { createFirstKey } from "../../../../kv/people/api_keys/first_key.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { grantSignupCredit } from "../../../../kv/money/credits/signup_credit.ts";
import { defineTexts } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { clientAddress } from "./start_session.ts";

const texts = defineTexts({
  en: { keyName: "First key" },
  vi: { keyName: "Khoá đầu tiên" },
});

/**
 * Gives a new account its first key, and what there is to try the service: the credit of a campaign, or the play
 * money of a sandbox. The account exists already, so a failure of either is
 * reported and does not keep its owner out.
 */
export async function equipAccount(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  account: Account,
): Promise<void> {
  const { kv, masterKeys, clock, spendGranted = "first" } = deps;
  const { id } = account;
  const nowMs = clock.nowMs();
  const name = texts[c.get("visitor").locale].keyName;
  const done = await Promise.allSettled([
    createFirstKey(kv, masterKeys, id, { name, nowMs }),
    grantSignupCredit(kv, { account, clientAddress: clientAddress(c), nowMs, spendGranted }),
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
