/** Describes navigations: their entries, and the entry that a path belongs to. */
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { IconName } from "./icons.tsx";

/** An entry, as its page declares it. */
export interface PageLink {
  readonly href: string;
  readonly label: Readonly<Record<Locale, string>>;
}

/** The groups of the dashboard's navigation, in the order in which they are shown. */
export const navigationGroups = ["build", "observe", "manage", "money", "account"] as const;

export type NavigationGroup = typeof navigationGroups[number];

/** An entry of the dashboard's own navigation. */
export interface NavigationEntry extends PageLink {
  readonly icon: IconName;
  /** Absent: with the first group. */
  readonly group?: NavigationGroup;
  /** Shown to operators only. */
  readonly operatorsOnly?: true;
  /** Further pages that belong to it, which the search finds. */
  readonly within?: readonly PageLink[];
  /** The entry at the top of pages that need no account; absent: there is none. */
  readonly publicLink?: {
    readonly label: PageLink["label"];
    /** Left out on narrow screens. */
    readonly wideOnly?: true;
  };
}

/** An entry with the path segments of its pages. */
export interface NavigationItem<Entry extends PageLink> {
  readonly entry: Entry;
  /** The segments of paths, at the depth of this navigation, that belong to the entry. */
  readonly segments: ReadonlySet<string>;
}

/** A navigation in the order in which it is shown. */
export interface Navigation<Entry extends PageLink> {
  readonly items: readonly NavigationItem<Entry>[];
  /** The index of the path segment that decides: 0 is the first. */
  readonly depth: number;
}

/** Returns the segment of a path at an index; empty beyond its end. */
export function segmentAt(path: string, depth: number): string {
  return path.slice(1).split("/")[depth] ?? "";
}

/**
 * Builds a navigation from pages and the paths that they serve, so that no path is listed a second time.
 *
 * @example
 * ```ts
 * import { currentEntry, navigationOf } from "./navigation.ts";
 * const keys = { href: "/keys", label: { en: "Keys", vi: "Khoá API" } };
 * const usage = { href: "/usage", label: { en: "Requests", vi: "Lượt gọi" } };
 * const navigation = navigationOf([
 *   { entry: keys, paths: ["/keys", "/keys/:id"] },
 *   { entry: usage, paths: ["/usage", "/receipts/:id"] },
 * ], 0);
 * if (currentEntry(navigation, "/receipts/req_1") !== usage) throw new Error();
 * if (currentEntry(navigation, "/account") !== undefined) throw new Error();
 * ```
 */
export function navigationOf<Entry extends PageLink>(
  pages: readonly { readonly entry: Entry | undefined; readonly paths: readonly string[] }[],
  depth: number,
): Navigation<Entry> {
  const items = pages.flatMap(({ entry, paths }) =>
    entry === undefined
      ? []
      : [{ entry, segments: new Set(paths.map((path) => segmentAt(path, depth))) }]
  );
  return { items, depth };
}

/** Finds the entry that a path belongs to. */
export function currentEntry<Entry extends PageLink>(
  { items, depth }: Navigation<Entry>,
  path: string,
): Entry | undefined {
  const segment = segmentAt(path, depth);
  return items.find(({ segments }) => segments.has(segment))?.entry;
}
