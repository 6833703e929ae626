/**
 * Mounts the dashboard behind the API. The pages are a quarter of the program, and many gateways never show one, so
 * they are loaded with the first request that can be for a page: the start imports this file without them.
 */
import type { Hono } from "hono";
import { invariant, loadedOnce } from "../../../core/lib/base/assert.ts";
import { keyHeaders } from "../../http/authenticate.ts";
import { pathOf } from "../../http/query.ts";
import { segmentAt } from "../page/navigation.ts";
import { servedPaths } from "../page/page.ts";

/**
 * Whether a request may be for a page, as far as that can be said without the pages. A client that sends an API key
 * never gets a page: with a wrong base address it must see a 404. `/models` is both a page and what such a client asks
 * for, so there the request must take HTML, as browsers and the robots of link previews do.
 */
function mayBePageRequest({ headers, url }: Request): boolean {
  if (["authorization", ...keyHeaders].some((name) => headers.has(name))) return false;
  const root = segmentAt(pathOf(url), 0);
  return root === "models" ? takesHtml(headers) : root !== "v1";
}

function takesHtml(headers: Headers): boolean {
  return readsHtml(headers) || (headers.get("accept") ?? "").includes("*/*");
}

function readsHtml(headers: Headers): boolean {
  return (headers.get("accept") ?? "").includes("text/html");
}

/** The loaded dashboard. */
interface Pages<Env extends Bindings> {
  readonly app: Hono<Env>;
  /** The first path segments of all pages. */
  readonly roots: ReadonlySet<string>;
}

/** Whether the dashboard answers a request that may be for a page. */
function isServed(
  { method, headers, url }: Request,
  { roots }: Pick<Pages<Bindings>, "roots">,
): boolean {
  const root = segmentAt(pathOf(url), 0);
  if (root === "" || roots.has(root)) return true;
  // For unknown paths browsers get a page and programs the JSON of the API.
  return readsHtml(headers) && method === "GET";
}

/** Segment in place of a parameter, when the paths of mounts are compared. */
const anySegment = "0";

/**
 * Lists the pages that an earlier mount answers instead, each with that mount's path.
 *
 * @example
 * ```ts
 * import { Hono } from "hono";
 * import { hiddenPages } from "./mounting.ts";
 * const api = new Hono().use("*", (_c, next) => next()).get("/operator/routes", (c) => c.json([]));
 * const pages = new Hono().get("/operator/routes", (c) => c.html("")).get("/keys", (c) => c.html(""));
 * const hidden = hiddenPages(api, pages).join();
 * if (hidden !== "GET /operator/routes by /operator/routes") throw new Error(hidden);
 * ```
 */
export function hiddenPages<Env extends Bindings, PageEnv extends Bindings>(
  { router }: Pick<Hono<Env>, "router">,
  { routes }: Pick<Hono<PageEnv>, "routes">,
): readonly string[] {
  return routes.filter(({ path }) => path !== "/*").flatMap(({ method, path }) => {
    const example = path.replaceAll(/:[^/]+/gu, anySegment).replace(/\*$/u, anySegment);
    const [handlers] = router.match(method === "ALL" ? "GET" : method, example);
    return handlers.map(([[, earlier]]) => earlier.path)
      .filter((earlier) => earlier !== "/*" && earlier !== "*")
      .map((earlier) => `${method} ${path} by ${earlier}`);
  });
}

/**
 * Mounts the dashboard behind the API: it gets requests for pages that no earlier route has answered.
 *
 * @param load loads the pages; called once, with the first request that may be for one
 *
 * @example
 * ```ts
 * import { Hono } from "hono";
 * import { mountDashboard } from "./mounting.ts";
 * const app = new Hono().get("/v1/models", (c) => c.json({}));
 * mountDashboard(app, async () => new Hono().get("/", (c) => c.html("<h1>Hello</h1>")));
 * app.notFound((c) => c.json({ type: "error" }, 404));
 * if (await (await app.request("/")).text() !== "<h1>Hello</h1>") throw new Error();
 * if ((await app.request("/chat/completions", { method: "POST" })).status !== 404) throw new Error();
 * ```
 */
export function mountDashboard<Env extends Bindings, PageEnv extends Bindings>(
  app: Hono<Env>,
  load: () => Promise<Hono<PageEnv>>,
): void {
  const pages = loadedOnce(async (): Promise<Pages<PageEnv>> => {
    const loaded = await load();
    const hidden = hiddenPages(app, loaded);
    invariant(hidden.length === 0, `other mounts answer for pages: ${hidden.join(", ")}`);
    return { app: loaded, roots: new Set(servedPaths(loaded).map((path) => segmentAt(path, 0))) };
  });
  app.use("*", async (c, next) => {
    const request = c.req.raw;
    const loaded = mayBePageRequest(request) ? await pages() : undefined;
    return loaded !== undefined && isServed(request, loaded)
      ? await loaded.app.fetch(request, c.env)
      : await next();
  });
}

interface Bindings {
  Bindings?: { readonly clientAddress?: string };
}
