/** Resolves the token of a mailed link, for password resets and sign-in by mail. */
import { sameSecret } from "../../../../core/lib/hash/sha256.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  type MailGrantOf,
  type OpenGrant,
  passwordMark,
  readMailToken,
} from "../../../../kv/people/accounts/tokens.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";

/** The purposes of tokens that let their holder into an account. */
export type OpeningPurpose = "reset_password" | "sign_in";

/** A valid token with its account. */
export interface Openable<Purpose extends OpeningPurpose> {
  readonly open: OpenGrant<MailGrantOf<Purpose>>;
  readonly account: Account & { readonly email: string };
}

/**
 * Finds the account that a token opens: it exists, is not blocked, and has the same password as when the mail was sent.
 */
export async function findOpenable<Purpose extends OpeningPurpose>(
  deps: SignInDeps,
  purpose: Purpose,
  token: string,
  nowMs: number,
): Promise<Openable<Purpose> | undefined> {
  const open = await readMailToken(deps.kv, purpose, token, nowMs);
  if (open === undefined) return undefined;
  const grant: MailGrantOf<OpeningPurpose> = open.grant;
  const account = await getAccount(deps.kv, grant.accountId);
  if (account?.email === undefined || account.blockedAtMs !== undefined) return undefined;
  const mark = await passwordMark(await getPasswordHash(deps.kv, account.id));
  if (!await sameSecret(mark, grant.passwordMark)) return undefined;
  return { open, account: { ...account, email: account.email } };
}
