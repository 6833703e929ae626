/**
 * Declares a page of the dashboard: once, in its own file, with its navigation entry and its handlers. `routes/dashboard/pages.ts` lists
 * the declarations; the paths of pages are derived from the handlers.
 *
 * - Folder `routes/dashboard/page/`: how a page is declared, and what every page gets: dependencies, visitor,
 *   navigation, posted forms.
 * - In: declarations of pages, and requests of browsers.
 * - Out: mounted handlers, types, the fields of forms, the entry of a path in the navigation.
 * - Never: renders a whole document, or reads the store.
 */
import type { Hono } from "hono";
import type { NavigationEntry } from "./navigation.ts";
import type { DashboardEnv } from "./visitor.ts";

/** A page, or a group of pages that share an entry in the navigation. */
export interface PageDeclaration<Deps> {
  /** Absent: only links lead here. */
  readonly navigation?: NavigationEntry;
  /** Its forms can be sent by visitors who are not signed in. */
  readonly isPublicForm?: true;
  /** Its forms change cookies of the browser only: visitors without a session need no token for them. */
  readonly isHarmlessForm?: true;
  /**
   * All visitors without a session see the same under its paths, by language and theme, and it has no form for them
   * that needs a token: it is rendered once for all of them (`visitor/shared_pages.ts`).
   */
  readonly isShared?: true;
  /** Registers the handlers, under whole paths. */
  readonly routes: (deps: Deps) => Hono<DashboardEnv>;
}

/** A page with its dependencies. */
export interface MountedPage {
  readonly navigation?: NavigationEntry | undefined;
  readonly isPublicForm?: true | undefined;
  readonly isHarmlessForm?: true | undefined;
  readonly isShared?: true | undefined;
  readonly app: Hono<DashboardEnv>;
}

/** Binds a page to its dependencies. */
export function mountPage<Deps>(page: PageDeclaration<Deps>, deps: Deps): MountedPage {
  const { navigation, isPublicForm, isHarmlessForm, isShared } = page;
  return { navigation, isPublicForm, isHarmlessForm, isShared, app: page.routes(deps) };
}

/** Lists the paths that an app serves, without middleware. */
export function servedPaths(
  { routes }: { readonly routes: readonly { readonly path: string }[] },
): string[] {
  return routes.map(({ path }) => path).filter((path) => path !== "/*");
}
