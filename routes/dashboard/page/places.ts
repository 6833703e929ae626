/** Describes a navigation by places: few entries, each with tabs of pages. The operator's pages have one. */
import type { IconName } from "./icons.tsx";
import { type PageLink, segmentAt } from "./navigation.ts";

/** The places of the operator's pages, by task, in the order in which they are shown. */
export const placeNames = [
  "today",
  "money",
  "customers",
  "traffic",
  "catalogue",
  "service",
  "log",
] as const;

/** The name of a place. */
export type PlaceName = typeof placeNames[number];

/** The links of one page, or of pages that belong together, and the path segments that lead to them. */
export interface PlacedPage {
  readonly links: readonly [PageLink, ...PageLink[]];
  readonly segments: ReadonlySet<string>;
}

/** A tab under the title: one page, or a few that are views of one thing. */
export interface PlaceTab {
  readonly label: PageLink["label"];
  readonly pages: readonly PlacedPage[];
}

/** A place with its tabs; the first tab is where its entry leads. */
export interface Place {
  readonly name: PlaceName;
  readonly icon: IconName;
  readonly label: PageLink["label"];
  readonly tabs: readonly PlaceTab[];
}

/** So many things of a kind are counted; a number as high is shown as "100+". */
export const maxCounted = 100;

/** Count of what waits in a place, and whether something is wrong there. */
export interface WaitingCount {
  readonly count: number;
  readonly tone: "busy" | "bad";
}

/** Counts of what waits, by place; places without an entry have nothing. */
export type WaitingCounts = ReadonlyMap<PlaceName, WaitingCount>;

/** Facts at the foot of the sidebar on every page. */
export interface ServiceFacts {
  /** The last verification of the books; `undefined` before the first. */
  readonly verified: { readonly atMs: number; readonly problems: number } | undefined;
  /** The version of the catalogue in force; `undefined` if it is the one of the file. */
  readonly catalogVersion: number | undefined;
}

/** Facts that the frame of the operator's pages needs. */
export interface OperatorShell {
  readonly places: readonly Place[];
  /** The index of the path segment that decides: 0 is the first. */
  readonly depth: number;
  /** Reads what waits, or gives what was read not long before. */
  waiting(): Promise<WaitingCounts>;
  /** Reads the facts, or gives what was read not long before. */
  facts(): Promise<ServiceFacts>;
}

/** Whereabouts of a page: its place, its tab, and the link that leads to it. */
export interface Whereabouts {
  readonly place: Place;
  readonly tab: PlaceTab;
  readonly link: PageLink;
}

/**
 * Number of parts of an address that a link names; 0 if it does not lead there. The path of a link may be the begin of
 * another.
 */
function fitOf({ href }: PageLink, path: string, query: URLSearchParams): number {
  const [linkPath = "", linkQuery = ""] = href.split("?");
  if (path !== linkPath && !path.startsWith(`${linkPath}/`)) return 0;
  const asked = [...new URLSearchParams(linkQuery)];
  if (asked.some(([name, value]) => query.get(name) !== value)) return 0;
  return linkPath.split("/").length + asked.length;
}

/**
 * Finds where a page is. Paths that no link begins, such as those of single rows, belong to the first link of their page.
 *
 * @example
 * ```ts
 * import { type Place, whereaboutsOf } from "./places.ts";
 * const label = { en: "Calls", vi: "Lượt gọi" };
 * const calls = { href: "/operator/calls", label };
 * const errors = { href: "/operator/calls?status=error", label };
 * const pages = [{ links: [calls, errors], segments: new Set(["calls"]) }] as const;
 * const places: Place[] = [{ name: "traffic", icon: "usage", label, tabs: [{ label, pages }] }];
 * const at = (address: string) => whereaboutsOf({ places, depth: 1 }, address)?.link;
 * if (at("/operator/calls/req_1") !== calls) throw new Error();
 * if (at("/operator/calls?period=7d&status=error") !== errors) throw new Error();
 * ```
 */
export function whereaboutsOf(
  { places, depth }: Pick<OperatorShell, "places" | "depth">,
  address: string,
): Whereabouts | undefined {
  const [path = "", text = ""] = address.split("?");
  const segment = segmentAt(path, depth);
  const query = new URLSearchParams(text);
  for (const place of places) {
    for (const tab of place.tabs) {
      const page = tab.pages.find(({ segments }) => segments.has(segment));
      if (page === undefined) continue;
      const [first, ...others] = page.links;
      const link = others.reduce(
        (best, one) => fitOf(one, path, query) > fitOf(best, path, query) ? one : best,
        first,
      );
      return { place, tab, link };
    }
  }
  return undefined;
}
