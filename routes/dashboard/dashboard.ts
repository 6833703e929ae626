/** Builds the dashboard from its pages: what stands before each of them, and in which order. */
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { pathOf } from "../http/query.ts";
import { defaultBrand } from "../../core/people/mail/brand.ts";
import { createAssetRoutes } from "./assets/assets.ts";
import { brandFiles } from "./assets/brand_files.ts";
import type { DashboardDeps } from "./page/deps.ts";
import {
  errorPage,
  forbiddenPage,
  notAllowedPage,
  notFoundPage,
  tooLargePage,
} from "./frame/error_pages.tsx";
import { navigationOf, segmentAt } from "./page/navigation.ts";
import { type MountedPage, mountPage, servedPaths } from "./page/page.ts";
import { balanceLevel, serviceState } from "./page/top_bar_state.ts";
import { customerPages } from "./pages.ts";
import { followOrganisation } from "./visitor/acting_organisation.ts";
import { guardActs, guardMutations, identifyVisitor, securityHeaders } from "./visitor/identify.ts";
import { boundRendering } from "./visitor/render_budget.ts";
import { leadToSecondFactor } from "./visitor/second_factor_gate.ts";
import { sharePages } from "./visitor/shared_pages.ts";
import { listMemberships } from "../../kv/people/organisations/organisations.ts";
import type { DashboardEnv } from "./page/visitor.ts";

/** Bytes of a form of the dashboard: the longest is a key with every model ticked. */
const maxPageFormBytes = 256 * 1024;

/** Bytes of a call of the playground: a conversation with its pictures, which the page makes small. */
const maxPlaygroundBytes = 8 * 1024 * 1024;

/** Bytes of a form of the operator: the PDF of an invoice or a month of bank statement. */
const maxOperatorFormBytes = 8 * 1024 * 1024;

/**
 * Builds the dashboard.
 *
 * @param more pages beyond the customer's: visitor, CSRF guard, security headers and error pages are in front of them, too
 */
export function createDashboard(
  deps: DashboardDeps,
  more: readonly MountedPage[] = [],
): Hono<DashboardEnv> {
  const pages = [...customerPages.map((page) => mountPage(page, deps)), ...more];
  const app = new Hono<DashboardEnv>({ getPath: ({ url }) => pathOf(url) });
  app.onError((error, c) => {
    if (!(error instanceof GatewayError)) deps.report?.("page", error);
    return errorPage(error, c);
  });
  app.notFound(notFoundPage);
  const formLimit = bodyLimit({ maxSize: maxPageFormBytes, onError: tooLargePage });
  app.route("/", createAssetRoutes(brandFiles(deps.brand ?? defaultBrand).files));
  // The assets before this have their own encodings. Event streams and `no-transform` answers stay as they are.
  app.use(compress());
  const shared = pathRoots(pages.filter(({ isShared }) => isShared === true));
  app.use(securityHeaders(deps), identifyVisitor(deps, shared));
  app.use(followOrganisation(deps), leadToSecondFactor(deps));
  app.use(sharePages(deps), boundRendering(deps.clock));
  app.use(provideNavigation(pages), provideTopBar(deps));
  app.use("/operator/*", bodyLimit({ maxSize: maxOperatorFormBytes, onError: tooLargePage }));
  app.use("/playground/api/*", bodyLimit({ maxSize: maxPlaygroundBytes, onError: tooLargePage }));
  app.use(async (c, next) => {
    const { path } = c.req;
    if (path.startsWith("/operator/") || path.startsWith("/playground/api/")) return await next();
    return await formLimit(c, next);
  });
  app.use(guardMutations(deps, forbiddenPage, {
    publicForms: pathRoots(pages.filter(({ isPublicForm }) => isPublicForm === true)),
    harmlessForms: pathRoots(pages.filter(({ isHarmlessForm }) => isHarmlessForm === true)),
  }));
  app.use(guardActs(notAllowedPage));
  for (const page of pages) app.route("/", page.app);
  return app;
}

/** Provides the navigation for the frame of every page. */
function provideNavigation(pages: readonly MountedPage[]): MiddlewareHandler<DashboardEnv> {
  const navigation = navigationOf(
    pages.map(({ navigation, app }) => ({ entry: navigation, paths: servedPaths(app) })),
    0,
  );
  return async (c, next) => {
    c.set("navigation", navigation);
    await next();
  };
}

/** Provides what the top bar says: it is read when a page is rendered, and by no other request. */
function provideTopBar(deps: DashboardDeps): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    const { signedIn, maintenance, announcements } = c.get("visitor");
    if (signedIn !== undefined) {
      const { id, lowBalanceMicroVnd } = signedIn.account;
      c.set("topBar", async () => {
        try {
          const { totalMicroVnd } = await deps.wallet.balance(id);
          const models = deps.catalog.models.map(({ id }) => deps.modelStatus?.(id) ?? "up");
          const nowMs = deps.clock.nowMs();
          return {
            balance: { totalMicroVnd, level: balanceLevel(totalMicroVnd, lowBalanceMicroVnd) },
            service: serviceState({ maintenance, announcements, nowMs, models }),
            organisations: await listMemberships(deps.kv, signedIn.person),
          };
        } catch {
          // A page without a balance is better than none, above all the one that says that the store fails.
          return undefined;
        }
      });
    }
    await next();
  };
}

/** Returns the first path segments of pages. */
function pathRoots(pages: readonly MountedPage[]): ReadonlySet<string> {
  return new Set(pages.flatMap(({ app }) => servedPaths(app)).map((path) => segmentAt(path, 0)));
}
