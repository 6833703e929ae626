/** A browser for page tests: a session, its cookie and its CSRF token, in front of one sub-app. */
import { Hono } from "hono";
import { forbiddenPage, notFoundPage } from "../../../routes/dashboard/frame/error_pages.tsx";
import {
  guardMutations,
  identifyVisitor,
  securityHeaders,
} from "../../../routes/dashboard/visitor/identify.ts";
import type { PageDeps } from "../../../routes/dashboard/page/page_deps.ts";
import type { DashboardEnv } from "../../../routes/dashboard/page/visitor.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { openSession } from "../../../kv/people/accounts/sessions.ts";

/** The sub-app behind the middleware of the dashboard. */
export function pageApp(deps: PageDeps, pages: Hono<DashboardEnv>): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.notFound(notFoundPage);
  app.use(
    securityHeaders(deps),
    identifyVisitor(deps),
    guardMutations(deps, forbiddenPage),
  );
  app.route("/", pages);
  return app;
}

export interface PageVisitor {
  readonly sessionId: string;
  get(path: string, headers?: Record<string, string>): Promise<Page>;
  /** Posts a form with the CSRF token of this browser. */
  post(path: string, fields?: Record<string, string | File>): Promise<Page>;
  /** Posts without the token. */
  postForged(path: string, fields?: Record<string, string>): Promise<Page>;
}

export interface Page {
  readonly status: number;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  readonly location: string | null;
}

async function pageOf(response: Response): Promise<Page> {
  const bytes = await response.bytes();
  return {
    status: response.status,
    // The byte order mark is part of the test.
    text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes),
    bytes,
    headers: response.headers,
    location: response.headers.get("location"),
  };
}

/** Creates a browser, signed in or not. */
export async function visit(
  app: Hono<DashboardEnv>,
  deps: PageDeps,
  account: Account | undefined,
  locale: "vi" | "en" = "en",
): Promise<PageVisitor> {
  let cookie = `locale=${locale}`;
  let sessionId = "";
  if (account !== undefined) {
    const { token, session } = await openSession(deps.kv, {
      accountId: account.id,
      nowMs: deps.clock.nowMs(),
      method: "password",
      device: "test",
      address: "127.0.0.1",
    });
    sessionId = session.id;
    cookie += `; ${deps.baseUrl.startsWith("https:") ? "__Host-" : ""}session=${token}`;
  }
  const get: PageVisitor["get"] = async (path, headers = {}) =>
    await pageOf(await app.request(path, { headers: { cookie, ...headers } }));
  const send = async (path: string, fields: Record<string, string | File>, csrf?: string) => {
    const body = new FormData();
    if (csrf !== undefined) body.set("csrf", csrf);
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    return await pageOf(await app.request(path, { method: "POST", body, headers }));
  };
  return {
    sessionId,
    get,
    async post(path, fields = {}) {
      // Every page carries the token; the one for "no such page" does too.
      const any = await get("/no-such-page");
      const csrf = /name="csrf-token" content="([^"]+)"/.exec(any.text)?.[1];
      return await send(path, fields, csrf);
    },
    postForged: (path, fields = {}) => send(path, fields),
  };
}
