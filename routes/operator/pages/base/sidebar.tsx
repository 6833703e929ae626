/** The sidebar of the operator's pages by task, and the tabs under their titles. */
import type { PageLink } from "../../../dashboard/page/navigation.ts";
import { Icon, Time } from "../../../dashboard/components/mod.ts";
import type { PageArea } from "../../../dashboard/frame/header.tsx";
import {
  maxCounted,
  type OperatorShell,
  type Place,
  type PlaceName,
  type PlaceTab,
  type ServiceFacts,
  type WaitingCount,
  type WaitingCounts,
  type Whereabouts,
} from "../../../dashboard/page/places.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { frameTexts } from "./texts.ts";

/** Number of things that wait, with the word for screen readers; more than are counted are said to be so. */
function CountBadge({ of: { count, tone }, locale }: { of: WaitingCount; locale: Locale }) {
  const t = frameTexts[locale];
  const shown = count >= maxCounted ? `${maxCounted}+` : formatCount(count, locale);
  return (
    <span class={`count ${tone}`}>
      {shown}
      <span class="visually-hidden">{t.waiting}</span>
    </span>
  );
}

/** Whether the books agree, and which catalogue is in force. */
function FactsOfService({ facts: { verified, catalogVersion }, locale }: {
  facts: ServiceFacts;
  locale: Locale;
}) {
  const t = frameTexts[locale];
  return (
    <div class="service-facts">
      {verified === undefined
        ? <span class="dot">{t.neverVerified}</span>
        : (
          <span class={`dot ${verified.problems === 0 ? "good" : "bad"}`}>
            {verified.problems === 0 ? t.verified : t.booksDisagree}{" "}
            <Time atMs={verified.atMs} locale={locale} relative />
          </span>
        )}
      {catalogVersion !== undefined && (
        <a href="/operator/catalogue/versions">{t.catalogVersion(String(catalogVersion))}</a>
      )}
    </div>
  );
}

/** Parts of the frame of the operator's pages. */
interface OperatorFrameProps {
  readonly shell: Pick<OperatorShell, "places">;
  readonly here: Whereabouts | undefined;
  readonly waiting: WaitingCounts;
  readonly facts: ServiceFacts;
  readonly locale: Locale;
}

/** The places with what waits in each, the way back to the customer's pages, and the facts of the service. */
function OperatorSidebar({ shell, here, waiting, facts, locale }: OperatorFrameProps) {
  return (
    <div class="nav-groups operator-side">
      <ul>
        {shell.places.map((place) => {
          const count = waiting.get(place.name);
          return (
            <li>
              <a
                href={addressOf(place)}
                aria-current={place === here?.place ? "page" : undefined}
              >
                <Icon name={place.icon} />
                <span>{place.label[locale]}</span>
                {count !== undefined && <CountBadge of={count} locale={locale} />}
              </a>
            </li>
          );
        })}
        <li class="way-back">
          <a href="/">
            <Icon name="account" />
            <span>{frameTexts[locale].customerPages}</span>
          </a>
        </li>
      </ul>
      {shell.places.length > 0 && <FactsOfService facts={facts} locale={locale} />}
    </div>
  );
}

/** Address of the entry of a place. */
function addressOf({ tabs }: Place): string {
  return tabs[0]?.pages[0]?.links[0].href ?? "/operator";
}

/** The places of the bar on a phone: what waits, money, and what to do in an incident; the others are in the menu. */
const barPlaces: ReadonlySet<PlaceName> = new Set(["today", "money", "service"]);

/** The frame of the operator's pages. It shows nothing of the operator's own wallet. */
export function operatorArea(props: OperatorFrameProps): PageArea {
  const { shell, here, waiting, locale } = props;
  const t = frameTexts[locale];
  return {
    name: t.area,
    sidebar: OperatorSidebar(props),
    places: shell.places.filter(({ name }) => barPlaces.has(name)).map((place) => {
      const count = waiting.get(place.name);
      return {
        href: addressOf(place),
        icon: place.icon,
        name: place.label[locale],
        isCurrent: place === here?.place,
        ...(count !== undefined && { badge: <CountBadge of={count} locale={locale} /> }),
      };
    }),
    searchHint: t.searchHint,
    parent: here?.link,
    wayBack: { href: "/", name: t.customerPages },
  };
}

/** Tabs in one line: more would not be read at a glance. */
const maxTabs = 5;

function Links({ links, label, of, current, locale }: {
  links: readonly PageLink[];
  label: string;
  of: "subtabs" | "chips";
  current: PageLink | undefined;
  locale: Locale;
}) {
  if (links.length < 2) return null;
  return (
    <nav class={of} aria-label={label}>
      {links.map((one) => (
        <a href={one.href} aria-current={one === current ? "page" : undefined}>
          {one.label[locale]}
        </a>
      ))}
    </nav>
  );
}

/** The tabs of the place: all its pages, if they are few; otherwise its groups, with the pages of the group below. */
export function PlaceTabs(
  { here: { place, tab, link }, locale }: { here: Whereabouts; locale: Locale },
) {
  const label = place.label[locale];
  const linksOf = ({ pages }: PlaceTab) => pages.flatMap(({ links }) => links);
  const all = place.tabs.flatMap(linksOf);
  if (all.length <= maxTabs) {
    return <Links links={all} label={label} of="subtabs" current={link} locale={locale} />;
  }
  const groups = place.tabs.map((one): PageLink => ({
    href: linksOf(one)[0]?.href ?? "",
    label: one.label,
  }));
  return (
    <>
      <Links
        links={groups}
        label={label}
        of="subtabs"
        current={groups[place.tabs.indexOf(tab)]}
        locale={locale}
      />
      <Links
        links={linksOf(tab)}
        label={tab.label[locale]}
        of="chips"
        current={link}
        locale={locale}
      />
    </>
  );
}
