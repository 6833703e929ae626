/** The visitor of a page: what every page, layout and form needs to know. */
import type { Announcement } from "../../../kv/people/operators/announcements.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import type { Role } from "../../../core/people/organisations/acts.ts";
import type { Session } from "../../../core/people/accounts/session_rules.ts";
import type { SupportContact } from "../../../core/config/config_variables.ts";
import type { ShownBrand } from "../assets/brand_files.ts";
import type { Navigation, NavigationEntry } from "./navigation.ts";
import type { OperatorShell } from "./places.ts";
import type { Locale } from "../text/i18n.ts";
import type { SuppliedName } from "./supplied_pages.ts";
import type { TopBarState } from "./top_bar_state.ts";

/** `auto` follows the system. */
export type Theme = "auto" | "light" | "dark";
export const themes: readonly Theme[] = ["auto", "light", "dark"];

/** A person with a session, and the organisation that the person acts for. */
export interface SignedIn {
  /** The account of the organisation: its wallet, keys, calls and invoices. */
  readonly account: Account;
  /** The account of the person: address, password, sessions. The same one in the person's own organisation. */
  readonly person: Account;
  /** Role of the person in the organisation. */
  readonly role: Role;
  readonly session: Session;
  /** The organisation that the session is for, and may not act for since it requires its own provider. */
  readonly keptOutOf?: Account;
  /** Named in `GATEWAY_OPERATORS`. The operator's pages ask for the second factor themselves. */
  readonly isOperator: boolean;
}

/** The visitor with the settings that pages depend on. */
export interface Visitor {
  readonly locale: Locale;
  readonly theme: Theme;
  /**
   * The token for every form ({@linkcode CsrfField}) and for the header `x-csrf-token` of scripted requests. Absent:
   * the page is the same for all visitors without a session (`shared_pages.ts`).
   */
  readonly csrfToken: string | undefined;
  /** Path and query of the page to come back to; for a posted form, of the page that it is on. */
  readonly path: string;
  readonly signedIn: SignedIn | undefined;
  /** The gateway runs on the built-in provider, with play money. */
  readonly sandbox: boolean;
  /** The operator's message about the current maintenance, during which API calls get a 503. */
  readonly maintenance: string | undefined;
  /** Announcements that are not over, newest first. */
  readonly announcements: readonly Announcement[];
  /** The pages that the operator supplies; the footer links to them. */
  readonly suppliedPages: readonly SuppliedName[];
  /** The support contact; pages show it with `AskSupport`. */
  readonly support: SupportContact | undefined;
  /** The operator's brand, or that of the project. */
  readonly brand: ShownBrand;
  /** Company that runs the service, for the footer. */
  readonly company: string | undefined;
}

/** The Hono environment of all pages. */
export interface DashboardEnv {
  /** Data of the connection; absent if a test calls the app without a socket. */
  Bindings: { readonly clientAddress?: string };
  Variables: {
    visitor: Visitor;
    /** A target of the forms of the page beside the gateway, as the Content Security Policy names it. */
    formTarget?: string;
    /** Set by {@linkcode requireAccount}, for the pages behind it. */
    signedIn: SignedIn;
    /** Reads what the top bar says; absent for visitors without a session. `undefined`: the store failed. */
    topBar?: () => Promise<TopBarState | undefined>;
    /** The navigation of the frame; absent if pages are served without the dashboard around them. */
    navigation?: Navigation<NavigationEntry>;
    /** The places of the operator's pages, which replace the navigation there. */
    operatorShell?: OperatorShell;
  };
}
