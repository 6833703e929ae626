/** The navigation of every page: the bar at its top and, for those who are signed in, the links at its side. */
import { CsrfField } from "../components/mod.ts";
import { Icon, Mark } from "../page/icons.tsx";
import type { Visitor } from "../page/visitor.ts";
import { layoutTexts } from "./layout_texts.ts";
import { type Navigation, type NavigationEntry, navigationGroups } from "../page/navigation.ts";

/** The navigation and the entry of the page that is shown. */
export interface NavigationLinks {
  readonly navigation: Navigation<NavigationEntry>;
  readonly current: NavigationEntry | undefined;
}

interface LinkProps {
  readonly visitor: Visitor;
  readonly links: NavigationLinks;
}

/** The links of the navigation that the visitor may see, in their groups. */
export function NavLinks(
  { visitor, links: { navigation, current }, within }: LinkProps & {
    /** Where the links are, for ids that are unique on the page. */
    readonly within: "side" | "menu";
  },
) {
  const t = layoutTexts[visitor.locale];
  const isOperator = visitor.signedIn?.isOperator === true;
  const entries = navigation.items.map(({ entry }) => entry)
    .filter(({ operatorsOnly }) => operatorsOnly !== true || isOperator);
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

/** The search of every page: for a request id, or a page, model or key by its name. `/` leads to it. */
function TopSearch({ visitor }: { visitor: Visitor }) {
  const t = layoutTexts[visitor.locale];
  return (
    <form method="get" action="/search" class="top-search" role="search">
      <input
        type="search"
        name="q"
        id="top-search"
        maxlength={80}
        placeholder={t.searchHint}
        aria-label={t.search}
        aria-keyshortcuts="/"
        autocomplete="off"
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** The bar at the top, with the menu of small screens. */
export function TopBar({ visitor, links, app }: LinkProps & { readonly app: boolean }) {
  const t = layoutTexts[visitor.locale];
  return (
    <header class="top">
      <a class="brand" href="/">
        <Mark />
        <span>{t.brand}</span>
      </a>
      {app && visitor.sandbox && (
        <a href="/docs" class="sandbox-mark" title={t.sandbox}>{t.sandboxMark}</a>
      )}
      {app && <TopSearch visitor={visitor} />}
      {app
        ? (
          <div class="top-end">
            <span class="who">{visitor.signedIn?.account.email}</span>
            <form method="post" action="/sign-out" class="sign-out">
              <CsrfField visitor={visitor} />
              <button type="submit" class="link-button" title={t.signOut}>
                <Icon name="signOut" />
                <span>{t.signOut}</span>
              </button>
            </form>
            <details class="menu">
              <summary aria-label={t.menu}>
                <Icon name="menu" />
              </summary>
              <nav aria-label={t.navigation}>
                <NavLinks visitor={visitor} links={links} within="menu" />
              </nav>
            </details>
          </div>
        )
        : <PublicLinks visitor={visitor} links={links} />}
    </header>
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
