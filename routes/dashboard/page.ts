/**
 * How a page of the dashboard is declared: once, in its own file, with its entry in the navigation and its handlers.
 * `pages.ts` lists the declarations. What needs the paths of pages takes them from the handlers.
 */
import type { Hono } from "hono";
import type { NavigationEntry } from "./frame/navigation.ts";
import type { DashboardEnv } from "./visitor/visitor.ts";

/** A page, or a group of pages that share an entry in the navigation. */
export interface PageDeclaration<Deps> {
  /** Absent: only links lead here. */
  readonly navigation?: NavigationEntry;
  /** Its forms can be sent by visitors who are not signed in. */
  readonly isPublicForm?: true;
  /** Registers the handlers, under whole paths. */
  readonly routes: (deps: Deps) => Hono<DashboardEnv>;
}

/** A page with everything that it needs. */
export interface MountedPage {
  readonly navigation?: NavigationEntry | undefined;
  readonly isPublicForm?: true | undefined;
  readonly app: Hono<DashboardEnv>;
}

/** Gives a page what it needs. */
export function mountPage<Deps>(page: PageDeclaration<Deps>, deps: Deps): MountedPage {
  const { navigation, isPublicForm } = page;
  return { navigation, isPublicForm, app: page.routes(deps) };
}

/** The paths that an app serves, middleware left out. */
export function servedPaths(
  { routes }: { readonly routes: readonly { readonly path: string }[] },
): string[] {
  return routes.map(({ path }) => path).filter((path) => path !== "/*");
}
