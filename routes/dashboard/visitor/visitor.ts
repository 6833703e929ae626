/**
 * Who is looking at a page: what every page, layout and form of the dashboard needs to know.
 *
 * - Folder `routes/dashboard/visitor/`: who is looking at a page: cookies, sessions, CSRF,
 *   language, security headers.
 * - In: the request of a browser.
 * - Out: the visitor in the context of the request, or a refusal.
 * - Never: reads money or API keys: of the store it imports `kv/accounts/` only.
 */
import type { Account } from "../../../kv/accounts/accounts.ts";
import type { Session } from "../../../core/accounts/session_rules.ts";
import type { SupportContact } from "../../../core/config/support.ts";
import type { Navigation, NavigationEntry, PageLink } from "../frame/navigation.ts";
import type { Locale } from "../i18n.ts";

/** `auto` follows the system. */
export type Theme = "auto" | "light" | "dark";
export const themes: readonly Theme[] = ["auto", "light", "dark"];

/** A person with a session. */
export interface SignedIn {
  readonly account: Account;
  readonly session: Session;
  /** Named in `GATEWAY_OPERATORS`. The second factor is asked for by the operator pages themselves. */
  readonly isOperator: boolean;
}

export interface Visitor {
  readonly locale: Locale;
  readonly theme: Theme;
  /** Goes into every form ({@linkcode CsrfField}) and into the header `x-csrf-token` of scripted requests. */
  readonly csrfToken: string;
  /** Path and query of the page, to come back to; for a form that was sent, of the page it stands on. */
  readonly path: string;
  readonly signedIn: SignedIn | undefined;
  /** The gateway runs on the built-in provider and play money. */
  readonly sandbox: boolean;
  /** What the operator says of the maintenance that is under way: API calls answer 503 meanwhile. */
  readonly maintenance: string | undefined;
  /** Whom to turn to; pages write it by `AskSupport`. */
  readonly support: SupportContact | undefined;
}

/** Hono's environment on all pages. */
export interface DashboardEnv {
  /** What the server tells of the connection; absent when a test calls the app without a socket. */
  Bindings: { readonly clientAddress?: string };
  Variables: {
    visitor: Visitor;
    /** Set by {@linkcode requireAccount}; pages behind it may rely on it. */
    signedIn: SignedIn;
    /** What the frame of every page shows; absent where pages are served without the dashboard around them. */
    navigation?: Navigation<NavigationEntry>;
    /** The operator's own navigation, below the frame's. */
    operatorNavigation?: Navigation<PageLink>;
  };
}
