/** The sidebar of the operator's pages by task, and the tabs under their titles. */
import { Icon } from "../../../dashboard/components/mod.ts";
import {
  maxCounted,
  type OperatorShell,
  type WaitingCount,
  type WaitingCounts,
  type Whereabouts,
} from "../../../dashboard/page/places.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { frameTexts } from "./texts.ts";

/** How many things wait, with the word for screen readers; more than are counted are said to be so. */
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

/** The places with what waits in each, and the way back to the customer's pages. */
export function OperatorSidebar({ shell, here, waiting, locale }: {
  shell: Pick<OperatorShell, "places">;
  here: Whereabouts | undefined;
  waiting: WaitingCounts;
  locale: Locale;
}) {
  return (
    <div class="nav-groups operator-side">
      <ul>
        {shell.places.map((place) => {
          const count = waiting.get(place.name);
          return (
            <li>
              <a
                href={place.tabs[0]?.pages[0]?.links[0].href}
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
    </div>
  );
}

/** The tabs of the place, and below them the views of the tab. What has only one is not shown. */
export function PlaceTabs(
  { here: { place, tab, link }, locale }: { here: Whereabouts; locale: Locale },
) {
  const views = tab.pages.flatMap(({ links }) => links);
  return (
    <>
      {place.tabs.length > 1 && (
        <nav class="subtabs" aria-label={place.label[locale]}>
          {place.tabs.map((one) => (
            <a
              href={one.pages[0]?.links[0].href}
              aria-current={one === tab ? "page" : undefined}
            >
              {one.label[locale]}
            </a>
          ))}
        </nav>
      )}
      {views.length > 1 && (
        <nav class={place.tabs.length > 1 ? "chips" : "subtabs"} aria-label={tab.label[locale]}>
          {views.map((one) => (
            <a href={one.href} aria-current={one === link ? "page" : undefined}>
              {one.label[locale]}
            </a>
          ))}
        </nav>
      )}
    </>
  );
}
