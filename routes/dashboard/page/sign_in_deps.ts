/** Dependencies of the sign-in pages. */
import type { ProviderId } from "../../../core/config/sign_in_providers.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { OpenIdClient } from "../../auth/openid.ts";
import type { PasswordHasher } from "../../auth/password_hash.ts";
import type { PageDeps } from "./page_deps.ts";

/** A provider at which everybody may sign in. */
export interface OfferedProvider {
  readonly id: ProviderId;
  readonly client: OpenIdClient;
}

/** Network that sign-in at the providers of organisations needs. */
export interface CompanySignInDeps {
  /** Reaches public addresses only: organisations name the addresses. */
  readonly fetch: typeof fetch;
  /** Reads the texts of the TXT records of a name; rejects if the resolver does not say what there is. */
  readonly resolveTxt: (name: string) => Promise<readonly string[]>;
}

/** Needs of the sign-in pages. */
export interface SignInDeps extends PageDeps {
  /** Seals the first key of a new account. */
  readonly masterKeys: MasterKeys;
  /** Gives a new account what the operator gives to try the service. Absent: nothing. */
  readonly openingCredit?: ((accountId: AccountId) => Promise<void>) | undefined;
  readonly passwords: PasswordHasher;
  /** The operator's providers, in the order of their buttons. */
  readonly providers?: readonly OfferedProvider[] | undefined;
  /** Sign-in at the OpenID providers of organisations. Absent: there is none. */
  readonly companySignIn?: CompanySignInDeps | undefined;
  /**
   * Called with errors that no page shows. `page`: an unexpected exception. The others are expected and a caller may
   * provoke them: a refusal by the OpenID provider, an API key sealed with a master key that is gone.
   */
  readonly report?:
    | ((what: "page" | "openid" | "showing a key", error: unknown) => void)
    | undefined;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
}
