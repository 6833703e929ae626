import type { OpenIdClient } from "../../auth/openid.ts";
import type { PasswordHasher } from "../../auth/password_hash.ts";
import type { PageDeps } from "../deps.ts";

/** What the pages around signing in need. */
export interface SignInDeps extends PageDeps {
  readonly passwords: PasswordHasher;
  /** Absent: no OpenID provider is configured. */
  readonly openId?: OpenIdClient | undefined;
  /** Told of what went wrong and is not shown: exceptions behind pages, refusals of the OpenID provider. */
  readonly report?:
    | ((what: "page" | "openid" | "showing a key", error: unknown) => void)
    | undefined;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
}
