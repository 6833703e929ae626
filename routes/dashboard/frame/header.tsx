/** The navigation of every page: the bar at its top and, for those who are signed in, the links at its side or bottom. */
import type { Child } from "hono/jsx";
import { accountName } from "../../../kv/people/accounts/accounts.ts";
import type { Membership } from "../../../kv/people/organisations/organisations.ts";
import { mayVisit } from "../page/page_acts.ts";
import { CsrfField } from "../components/mod.ts";
import { Icon, type IconName, Mark } from "../page/icons.tsx";
import type { TopBarState } from "../page/top_bar_state.ts";
import { themes, type Visitor } from "../page/visitor.ts";
import { formatMoneyShort } from "../text/format.ts";
import { type Locale, localeNames, locales } from "../text/i18n.ts";
import { layoutTexts } from "./layout_texts.ts";
import {
  type Navigation,
  type NavigationEntry,
  navigationGroups,
  type PageLink,
} from "../page/navigation.ts";

/** The navigation and the entry of the page that is shown. */
export interface NavigationLinks {
  readonly navigation: Navigation<NavigationEntry>;
  readonly current: NavigationEntry | undefined;
  /** The area of the page, if it is another than the customer's. */
  readonly area?: PageArea | undefined;
}

/** An entry of the bar at the bottom of small screens. */
export interface BarPlace {
  readonly href: string;
  readonly icon: IconName;
  readonly name: string;
  readonly isCurrent: boolean;
  /** Whether it leads to an act rather than to what one reads. */
  readonly isAct?: boolean;
  /** Number of what waits there. */
  readonly badge?: Child;
}

/** Content of the frame on pages that are not about the visitor's own account. */
export interface PageArea {
  /** Marks the area in the bar at the top. */
  readonly name: string;
  /** Shown in place of the navigation. */
  readonly sidebar: Child;
  readonly places: readonly BarPlace[];
  readonly searchHint: string;
  /** The page of the area to which the one that is shown belongs. */
  readonly parent: PageLink | undefined;
  /** Leads out of the area. */
  readonly wayBack: { readonly href: string; readonly name: string };
}

interface LinkProps {
  readonly visitor: Visitor;
  readonly links: NavigationLinks;
}

/** The links of the navigation that the visitor may see, in their groups. */
export function NavLinks(
  { visitor, links: { navigation, current, area }, within }: LinkProps & {
    /** Place of the links, for ids that are unique on the page. */
    readonly within: "side" | "menu";
  },
) {
  if (area !== undefined) return <>{area.sidebar}</>;
  const t = layoutTexts[visitor.locale];
  const { signedIn } = visitor;
  const entries = navigation.items.map(({ entry }) => entry)
    .filter(({ operatorsOnly }) => operatorsOnly !== true || signedIn?.isOperator === true)
    .filter(({ href }) => mayVisit(signedIn, href));
  const groups = navigationGroups.map((group) => ({
    group,
    entries: entries.filter((entry) => (entry.group ?? navigationGroups[0]) === group),
  }));
  return (
    <div class="nav-groups">
      {groups.filter(({ entries }) => entries.length > 0).map(({ group, entries }) => (
        <>
          <p class="nav-group" id={`${within}-${group}`}>{t.groups[group]}</p>
          <ul aria-labelledby={`${within}-${group}`}>
            {entries.map((entry) => (
              <li>
                <a href={entry.href} aria-current={entry === current ? "page" : undefined}>
                  <Icon name={entry.icon} />
                  <span>{entry.label[visitor.locale]}</span>
                </a>
              </li>
            ))}
          </ul>
        </>
      ))}
    </div>
  );
}

/**
 * The search of every page: for a request id, or anything by its name. `/` and Ctrl-K lead to it; `app.js` shows what it
 * finds while one types. Without script it is a form that leads to the page of the search.
 */
function TopSearch({ visitor, hint }: { visitor: Visitor; hint: string }) {
  const t = layoutTexts[visitor.locale];
  return (
    <form method="get" action="/search" class="top-search" role="search">
      <input
        type="search"
        name="q"
        id="top-search"
        maxlength={80}
        placeholder={hint}
        aria-label={t.search}
        aria-keyshortcuts="/ Control+K"
        autocomplete="off"
        data-suggestions="/search/suggestions"
      />
      <kbd aria-hidden="true">/</kbd>
      <div id="suggestions" class="palette" role="listbox" aria-label={t.suggestions} hidden></div>
    </form>
  );
}

/** Language and theme: a plain form, which works without script. */
export function Preferences({ visitor }: { visitor: Visitor }) {
  const t = layoutTexts[visitor.locale];
  return (
    <form method="post" action="/preferences" class="preferences">
      <CsrfField visitor={visitor} />
      <input type="hidden" name="next" value={visitor.path} />
      <div role="group" aria-label={t.language}>
        {locales.map((locale) => (
          <button
            type="submit"
            name="locale"
            value={locale}
            lang={locale}
            aria-pressed={locale === visitor.locale ? "true" : "false"}
          >
            {localeNames[locale]}
          </button>
        ))}
      </div>
      <div role="group" aria-label={t.theme}>
        {themes.map((theme) => (
          <button
            type="submit"
            name="theme"
            value={theme}
            aria-pressed={theme === visitor.theme ? "true" : "false"}
          >
            {t.themes[theme]}
          </button>
        ))}
      </div>
    </form>
  );
}

/** The state of the service. */
function ServiceLink({ service, locale }: { service: TopBarState["service"]; locale: Locale }) {
  const t = layoutTexts[locale];
  return (
    <a href="/status" class={`top-item service ${service}`} title={t.services[service]}>
      <span class="state-dot" aria-hidden="true"></span>
      <span>{t.status}</span>
      <span class="visually-hidden">: {t.services[service]}</span>
    </a>
  );
}

/** The balance, which leads to a top-up. */
function BalanceLink({ balance: { totalMicroVnd, level }, visitor: { locale, signedIn } }:
  & Pick<TopBarState, "balance">
  & { visitor: Visitor }) {
  const t = layoutTexts[locale];
  const offer = mayVisit(signedIn, "/wallet/orders", "POST") ? t.balances[level] : undefined;
  return (
    <a href="/wallet" class={`top-item balance balance-${level}`} title={offer}>
      <span class="visually-hidden">{t.balance}</span>
      <span class="money">{formatMoneyShort(totalMicroVnd, locale)}</span>
      {offer !== undefined && (
        <>
          <Icon name="plus" />
          <span class="visually-hidden">{offer}</span>
        </>
      )}
    </a>
  );
}

/** Switches between the organisations of a person; the one that is shown is marked. */
function Switcher({ visitor, organisations }: {
  visitor: Visitor;
  organisations: readonly Membership[];
}) {
  const t = layoutTexts[visitor.locale];
  return (
    <form
      method="post"
      action="/organisations/switch"
      class="switcher"
      aria-label={t.organisations}
    >
      <CsrfField visitor={visitor} />
      {organisations.map(({ account }) => (
        <button
          type="submit"
          name="organisation"
          value={account.id}
          class="link-button"
          aria-current={account.id === visitor.signedIn?.account.id ? "true" : undefined}
        >
          <Icon name={account.id === visitor.signedIn?.account.id ? "check" : "people"} />
          <span>{accountName(account)}</span>
        </button>
      ))}
    </form>
  );
}

/** The menu of an account: its pages, language and theme, and the way out. */
function AccountMenu({ visitor, organisations, area }: {
  visitor: Visitor;
  organisations: readonly Membership[];
  area: PageArea | undefined;
}) {
  const t = layoutTexts[visitor.locale];
  const { signedIn } = visitor;
  const name = signedIn?.person.email ?? t.account;
  const acting = signedIn === undefined || area !== undefined
    ? name
    : accountName(signedIn.account);
  return (
    <details class="menu account-menu">
      <summary class="top-item">
        <span class="visually-hidden">{t.accountMenu}</span>
        <span class="avatar" aria-hidden="true">{name.slice(0, 2).toUpperCase()}</span>
        <span class="who">{acting}</span>
      </summary>
      <div class="pop">
        <p class="who">{name}</p>
        {area === undefined && organisations.length > 1 && (
          <Switcher visitor={visitor} organisations={organisations} />
        )}
        <nav aria-label={t.accountMenu}>
          <a href="/account">
            <Icon name="account" /> {t.account}
          </a>
          {area === undefined && (
            <a href="/wallet">
              <Icon name="wallet" /> {t.wallet}
            </a>
          )}
          <a href="/docs">
            <Icon name="docs" /> {t.docs}
          </a>
          {area !== undefined && (
            <a href={area.wayBack.href}>
              <Icon name="home" /> {area.wayBack.name}
            </a>
          )}
          {area === undefined && signedIn?.isOperator === true && (
            <a href="/operator">
              <Icon name="operator" /> {t.operatorPages}
            </a>
          )}
        </nav>
        <Preferences visitor={visitor} />
        <form method="post" action="/sign-out" class="sign-out">
          <CsrfField visitor={visitor} />
          <button type="submit" class="link-button">
            <Icon name="signOut" />
            <span>{t.signOut}</span>
          </button>
        </form>
      </div>
    </details>
  );
}

/** The bar at the top. */
export function TopBar({ visitor, links, state, app }: LinkProps & {
  readonly state: TopBarState | undefined;
  readonly app: boolean;
}) {
  const t = layoutTexts[visitor.locale];
  const { area } = links;
  return (
    <header class="top">
      <a class="brand" href="/">
        {visitor.brand.logo === undefined
          ? <Mark />
          : <img class="mark" src={visitor.brand.logo} alt="" height={28} />}
        <span>{visitor.brand.name}</span>
      </a>
      {app && visitor.sandbox && (
        <a href="/docs" class="sandbox-mark" title={t.sandbox}>{t.sandboxMark}</a>
      )}
      {app && <TopSearch visitor={visitor} hint={area?.searchHint ?? t.searchHint} />}
      {app
        ? (
          <div class="top-end">
            {area !== undefined && <span class="area-mark">{area.name}</span>}
            {state !== undefined && <ServiceLink {...state} locale={visitor.locale} />}
            {state !== undefined && area === undefined && (
              <BalanceLink {...state} visitor={visitor} />
            )}
            <AccountMenu
              visitor={visitor}
              organisations={state?.organisations ?? []}
              area={area}
            />
          </div>
        )
        : <PublicLinks visitor={visitor} links={links} />}
    </header>
  );
}

/** The places of the bar that a customer needs most. */
function customerPlaces({ visitor, links: { current } }: LinkProps): BarPlace[] {
  const t = layoutTexts[visitor.locale];
  const mayTopUp = mayVisit(visitor.signedIn, "/wallet/orders", "POST");
  const places = [
    { href: "/", icon: "home", name: t.overview },
    { href: "/usage", icon: "usage", name: t.requests },
    {
      href: "/wallet",
      icon: mayTopUp ? "plus" : "wallet",
      name: mayTopUp ? t.topUp : t.wallet,
      isAct: mayTopUp,
    },
  ] as const;
  return places.map((place) => ({ ...place, isCurrent: current?.href === place.href }));
}

/** The bar at the bottom of small screens: the places that a phone needs most, and the rest in a menu. */
export function BottomBar({ visitor, links }: LinkProps) {
  const t = layoutTexts[visitor.locale];
  const places = links.area?.places ?? customerPlaces({ visitor, links });
  return (
    <div class="bottom">
      <nav aria-label={t.places}>
        {places.map(({ href, icon, name, isCurrent, isAct, badge }) => (
          <a
            href={href}
            class={isAct === true ? "act" : undefined}
            aria-current={isCurrent ? "page" : undefined}
          >
            <Icon name={icon} />
            <span>{name}</span>
            {badge}
          </a>
        ))}
      </nav>
      <details class="menu">
        <summary>
          <Icon name="menu" />
          <span>{t.menu}</span>
        </summary>
        <nav aria-label={t.navigation}>
          <NavLinks visitor={visitor} links={links} within="menu" />
        </nav>
      </details>
    </div>
  );
}

/** The other languages, where there is room in the bar; the end of the page has them too. */
function LanguageChoice({ visitor }: { visitor: Visitor }) {
  return (
    <form method="post" action="/preferences" class="language-choice">
      <CsrfField visitor={visitor} />
      <input type="hidden" name="next" value={visitor.path} />
      {locales.map((locale) => (
        <button
          type="submit"
          name="locale"
          value={locale}
          lang={locale}
          title={localeNames[locale]}
          aria-pressed={locale === visitor.locale ? "true" : "false"}
        >
          {locale.toUpperCase()}
        </button>
      ))}
    </form>
  );
}

function PublicLinks({ visitor, links: { navigation, current } }: LinkProps) {
  const t = layoutTexts[visitor.locale];
  return (
    <nav class="top-end" aria-label={t.navigation}>
      {navigation.items.map(({ entry }) =>
        entry.publicLink !== undefined && (
          <a
            href={entry.href}
            class={entry.publicLink.wideOnly === true ? "wide-link" : undefined}
            aria-current={entry === current ? "page" : undefined}
          >
            {entry.publicLink.label[visitor.locale]}
          </a>
        )
      )}
      <LanguageChoice visitor={visitor} />
      {visitor.signedIn === undefined
        ? (
          <>
            <a href="/sign-in">{t.signIn}</a>
            <a href="/sign-up" class="button small">{t.signUp}</a>
          </>
        )
        : <a href="/" class="button small">{t.dashboard}</a>}
    </nav>
  );
}
