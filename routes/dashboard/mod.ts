/**
 * All pages. Mounted at `/`; paths of the API are none of its business.
 *
 * - Folder `routes/dashboard/`: the customer's pages, with what all of them share: texts, formats,
 *   forms, assets.
 * - In: requests of browsers.
 * - Out: HTML, fragments, CSV and assets.
 * - Never: imports `core/wire/` or `core/upstream/`: pages reach models only through the API.
 */
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { GatewayError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { pathOf } from "../http/path_of.ts";
import { createAccountPages } from "./account/mod.tsx";
import { createAssetRoutes } from "./assets.ts";
import { createConnectPage } from "./connect/connect.tsx";
import type { DashboardDeps } from "./deps.ts";
import { errorPage, forbiddenPage, notFoundPage, tooLargePage } from "./frame/error_pages.tsx";
import { createHomePage } from "./home/mod.tsx";
import { guardMutations, identifyVisitor } from "./visitor/identify.ts";
import { createKeyPages } from "./keys/mod.tsx";
import { createModelPage } from "./models.tsx";
import { createPlayground } from "./playground/mod.tsx";
import { createPreferences } from "./visitor/preferences.ts";
import { securityHeaders } from "./visitor/security_headers.ts";
import { createMailLinkPages } from "./sign_in/mail_link.tsx";
import { createOpenIdPages } from "./sign_in/openid.tsx";
import { createResetPages } from "./sign_in/reset.tsx";
import { createSignInPages } from "./sign_in/sign_in.tsx";
import { createSignUpPages } from "./sign_in/sign_up.tsx";
import { createUsagePages } from "./usage/mod.ts";
import type { DashboardEnv } from "./visitor/visitor.ts";

export type { DashboardDeps, Dispatch, ModelStatus } from "./deps.ts";
export type { PageDeps } from "./page_deps.ts";
export type { DashboardEnv, SignedIn, Visitor } from "./visitor/visitor.ts";

/** First path segments that belong to pages. */
const pageRoots = [
  "account",
  "auth",
  "connect",
  "forgot",
  "goodbye",
  "invoices",
  "keys",
  "models",
  "operator",
  "playground",
  "preferences",
  "receipts",
  "reset",
  "sign-in",
  "sign-out",
  "sign-up",
  "usage",
  "verify",
  "wallet",
];

/**
 * Whether a request is for a page. A client that sends an API key is never answered with a page: with a wrong base
 * address it must see a 404. `/models` is both a page and what such a client asks for, so there the
 * caller must say that it reads HTML.
 */
function isPageRequest(request: Request): boolean {
  const { headers } = request;
  if (headers.has("authorization") || headers.has("x-api-key")) return false;
  const [root = ""] = pathOf(request.url).slice(1).split("/");
  const readsHtml = (headers.get("accept") ?? "").includes("text/html");
  if (root === "models") return readsHtml;
  if (root === "" || root === "assets" || pageRoots.includes(root)) return true;
  // Unknown paths: people get a page, programs the JSON of the API.
  return readsHtml && request.method === "GET" && root !== "v1";
}

/**
 * Puts the dashboard behind the API: requests that no route before has answered and that are for a page.
 *
 * @example
 * ```ts
 * import { Hono } from "hono";
 * import { mountDashboard } from "./mod.ts";
 * const app = new Hono().get("/v1/models", (c) => c.json({}));
 * mountDashboard(app, new Hono().get("/", (c) => c.html("<h1>Hello</h1>")));
 * app.notFound((c) => c.json({ type: "error" }, 404));
 * if (await (await app.request("/")).text() !== "<h1>Hello</h1>") throw new Error();
 * if ((await app.request("/chat/completions", { method: "POST" })).status !== 404) throw new Error();
 * ```
 */
export function mountDashboard<Env extends Bindings, PageEnv extends Bindings>(
  app: Hono<Env>,
  dashboard: Hono<PageEnv>,
): void {
  app.use("*", async (c, next) => {
    return isPageRequest(c.req.raw) ? await dashboard.fetch(c.req.raw, c.env) : await next();
  });
}

interface Bindings {
  Bindings?: { readonly clientAddress?: string };
}

/**
 * Builds the dashboard.
 *
 * @param more sub-apps of others (wallet, invoices, operator): visitor, CSRF guard, security headers and error pages are
 * in front of them
 */
export function createDashboard(
  deps: DashboardDeps,
  more: readonly Hono<DashboardEnv>[] = [],
): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>({ getPath: ({ url }) => pathOf(url) });
  app.onError((error, c) => {
    if (!(error instanceof GatewayError)) deps.report?.("page", error);
    return errorPage(error, c);
  });
  app.notFound(notFoundPage);
  const formLimit = bodyLimit({ maxSize: limits.pageFormBytes, onError: tooLargePage });
  app.route("/", createAssetRoutes());
  // Behind the assets, which bring their own encodings. Event streams and what says `no-transform` stay as they are.
  app.use(compress());
  app.use(securityHeaders(deps.baseUrl), identifyVisitor(deps));
  app.use("/operator/*", bodyLimit({ maxSize: limits.operatorFormBytes, onError: tooLargePage }));
  app.use(async (c, next) => {
    if (c.req.path.startsWith("/operator/")) return await next();
    return await formLimit(c, next);
  });
  app.use(guardMutations(deps, forbiddenPage));
  const pages = [
    createSignInPages(deps),
    createMailLinkPages(deps),
    createSignUpPages(deps),
    createResetPages(deps),
    createOpenIdPages(deps),
    createPreferences(deps),
    createHomePage(deps),
    createKeyPages(deps),
    createUsagePages(deps),
    createModelPage(deps),
    createConnectPage(deps),
    createPlayground(deps),
    createAccountPages(deps),
    ...more,
  ];
  for (const page of pages) app.route("/", page);
  return app;
}
