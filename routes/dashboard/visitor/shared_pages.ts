/**
 * Keeps pages that look the same to everybody without a session: rendered and compressed once for a language and a
 * theme, however many strangers ask, so that they cannot take the processor from paid calls.
 *
 * A shared page has no CSRF token and no visitor cookie: `identify.ts` leaves both out. Visitors with a session cookie
 * and pages with a query are rendered for each request.
 */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Context, MiddlewareHandler } from "hono";
import type { Catalog } from "../../../core/catalog/catalog.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { DashboardEnv } from "../page/visitor.ts";
import { acceptsGzip } from "../../http/accepts_gzip.ts";

/** Milliseconds for which a page is shown again: the state of models and the history of calls are at most so old. */
const maxAgeMs = 5_000;

/** Pages that are kept, the least recently used leaves: those of 60 models in two languages and three themes, and all guides. */
const maxPages = 512;

/** Bytes of all kept pages, compressed: 512 pages of usual size are 5 MB. */
const maxBytes = 16 * 1024 * 1024;

/** The state that a page shows beside its texts. A page of another state is not shown again. */
interface PageState {
  readonly catalog: Catalog;
  /** Announcements and maintenance, as text. */
  readonly notices: string;
}

interface SharedPage extends PageState {
  readonly atMs: number;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** A weak one: it is the same for all encodings. */
  readonly etag: string;
  readonly contentType: string;
  readonly cacheControl: string;
}

/** The kept pages. */
export class SharedPages {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #pages = new Map<string, SharedPage>();
  /** Pages that are being rendered; resolved with `undefined` for an answer that is not to be kept. */
  readonly #rendering = new Map<string, Promise<SharedPage | undefined>>();
  #bytes = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Number and bytes of the kept pages. */
  get size(): { readonly pages: number; readonly bytes: number } {
    return { pages: this.#pages.size, bytes: this.#bytes };
  }

  /**
   * Returns a page that is kept, or that another request is rendering; else renders it.
   *
   * @returns `undefined` if the rendered answer is for this request only
   */
  async get(
    key: string,
    state: PageState,
    render: () => Promise<Response>,
  ): Promise<SharedPage | undefined> {
    const kept = this.#pages.get(key);
    if (kept !== undefined && this.#isCurrent(kept, state)) {
      this.#pages.delete(key);
      this.#pages.set(key, kept);
      return kept;
    }
    const rendering = this.#rendering.get(key);
    if (rendering === undefined) return await this.#render(key, state, render);
    const page = await rendering;
    return page !== undefined && this.#isCurrent(page, state)
      ? page
      : await this.#render(key, state, render);
  }

  /** Renders a page and keeps it; others who ask meanwhile wait for it. */
  async #render(
    key: string,
    state: PageState,
    render: () => Promise<Response>,
  ): Promise<SharedPage | undefined> {
    const { promise, resolve } = Promise.withResolvers<SharedPage | undefined>();
    this.#rendering.set(key, promise);
    let page: SharedPage | undefined;
    try {
      page = await this.#pageOf(await render(), state);
      if (page !== undefined) this.#keep(key, page);
      return page;
    } finally {
      if (this.#rendering.get(key) === promise) this.#rendering.delete(key);
      resolve(page);
    }
  }

  #isCurrent(page: SharedPage, { catalog, notices }: PageState): boolean {
    return page.catalog === catalog && page.notices === notices &&
      this.#clock.monotonicMs() - page.atMs < maxAgeMs;
  }

  /** Takes an answer that others may get, too; `undefined` for errors and for what is meant for one browser. */
  async #pageOf(answer: Response, state: PageState): Promise<SharedPage | undefined> {
    const { status, headers } = answer;
    const contentType = headers.get("content-type");
    if (status !== 200 || contentType === null || headers.has("set-cookie")) return undefined;
    const atMs = this.#clock.monotonicMs();
    const plain = await answer.clone().bytes();
    const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 16);
    return {
      ...state,
      atMs,
      gzipped: new Uint8Array(gzipSync(plain)),
      etag: `W/"${hash}"`,
      contentType,
      cacheControl: headers.get("cache-control") ?? "private, no-cache",
    };
  }

  #keep(key: string, page: SharedPage): void {
    this.#drop(key);
    if (page.gzipped.length > maxBytes) return;
    this.#pages.set(key, page);
    this.#bytes += page.gzipped.length;
    for (const [oldest] of this.#pages) {
      if (this.#pages.size <= maxPages && this.#bytes <= maxBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const page = this.#pages.get(key);
    if (page === undefined) return;
    this.#pages.delete(key);
    this.#bytes -= page.gzipped.length;
  }
}

/**
 * Answers with kept pages where it can.
 *
 * @param deps the current catalogue, and the clock by which pages age
 */
export function sharePages(
  deps: { readonly clock: Pick<Clock, "monotonicMs">; readonly catalog: Catalog },
): MiddlewareHandler<DashboardEnv> {
  const pages = new SharedPages(deps.clock);
  return async (c, next) => {
    const { csrfToken, locale, theme, path, announcements, maintenance } = c.get("visitor");
    if (csrfToken !== undefined || c.req.url.includes("?")) return await next();
    const key = `${locale} ${theme} ${path} ${c.req.path}`;
    const state = {
      catalog: deps.catalog,
      notices: JSON.stringify([announcements, maintenance]),
    };
    const page = await pages.get(key, state, async () => {
      await next();
      return c.res;
    });
    if (page !== undefined) c.res = answerOf(c, page);
  };
}

function answerOf(c: Context<DashboardEnv>, page: SharedPage): Response {
  const headers = new Headers({
    etag: page.etag,
    vary: "accept-encoding",
    "cache-control": page.cacheControl,
  });
  const known = c.req.header("if-none-match")?.split(",").map((tag) => tag.trim());
  if (known?.includes(page.etag) === true) return new Response(null, { status: 304, headers });
  headers.set("content-type", page.contentType);
  const isZipped = acceptsGzip(c.req.header("accept-encoding"));
  if (isZipped) headers.set("content-encoding", "gzip");
  return new Response(isZipped ? page.gzipped : new Uint8Array(gunzipSync(page.gzipped)), {
    headers,
  });
}
