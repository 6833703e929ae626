import type { OpenIdClient } from "../../auth/openid.ts";
import type { PasswordHasher } from "../../auth/password_hash.ts";
import type { PageDeps } from "../deps.ts";

/** What the pages around signing in need. */
export interface SignInDeps extends PageDeps {
  readonly passwords: PasswordHasher;
  /** Absent: no OpenID provider is configured. */
  readonly openId?: OpenIdClient | undefined;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
}
