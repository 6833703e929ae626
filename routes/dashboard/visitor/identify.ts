/**
 * The middleware of all pages: identifies the visitor, chooses the language, and checks that forms come from the
 * gateway's own pages.
 *
 * - Folder `routes/dashboard/visitor/`: who is looking at a page: cookies, sessions, CSRF, language, security
 *   headers; and mounting the pages.
 * - In: the request of a browser.
 * - Out: the visitor in the context of the request, or a refusal.
 * - Never: reads money or API keys: of the store it reads `kv/people/accounts/`, and announcements of
 *   `kv/people/operators/`, only.
 */
import type { Context, MiddlewareHandler } from "hono";
import { hashSecret, newSecretToken } from "../../../core/people/accounts/secret_token.ts";
import { defaultBrand } from "../../../core/people/mail/brand.ts";
import { brandFiles } from "../assets/brand_files.ts";
import { getAccount } from "../../../kv/people/accounts/accounts.ts";
import { actingFor } from "../../../kv/people/organisations/organisations.ts";
import { closeSession, findSession } from "../../../kv/people/accounts/sessions.ts";
import {
  type Cookies,
  createCookies,
  maskCsrfToken,
  readPreference,
  sameCsrfToken,
} from "./cookies.ts";
import type { PageDeps } from "../page/page_deps.ts";
import { parseForm } from "../page/form_data.ts";
import { may } from "../../../core/people/organisations/acts.ts";
import { segmentAt } from "../page/navigation.ts";
import { isOfOrganisation, pageActOf } from "../page/page_acts.ts";
import { acceptedLocale, parseLocale } from "../text/i18n.ts";
import { type DashboardEnv, type SignedIn, type Theme, themes } from "../page/visitor.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import {
  type Announcement,
  listAnnouncements,
} from "../../../kv/people/operators/announcements.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

// The announcements that pages show: read at most once per ten seconds, however many pages are asked for.

/** Milliseconds between two readings. */
const announcementsCacheMs = 10_000;

/** Milliseconds before its beginning from which planned maintenance is shown on every page: three days. */
const shownBeforeMs = 3 * dayMs;

/** Whether every page shows an announcement. */
function isShown({ startsAtMs, endedAtMs }: Announcement, nowMs: number): boolean {
  return endedAtMs === undefined && startsAtMs - shownBeforeMs <= nowMs;
}

/** Reads announcements for pages. */
class Announcements {
  readonly #deps: { readonly kv: KeyValueStore; readonly clock: Clock };
  #readAtMs = -Infinity;
  #reading: Promise<void> = Promise.resolve();
  #list: readonly Announcement[] = [];

  constructor(deps: { readonly kv: KeyValueStore; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /** The latest announcements, newest first; those of the last reading while the store fails. */
  async latest(): Promise<readonly Announcement[]> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#readAtMs > announcementsCacheMs) {
      this.#readAtMs = nowMs;
      this.#reading = this.#read();
    }
    await this.#reading;
    return this.#list;
  }

  async #read(): Promise<void> {
    try {
      this.#list = await listAnnouncements(this.#deps.kv);
    } catch {
      // A page without announcements is better than none; what it needs of the store fails by itself.
    }
  }
}

// The security headers of pages.

/**
 * Scripts and styles come from the gateway's own files only, nothing inline; no frames; forms go nowhere else, but where a page
 * names a target. `data:`
 * images are the small icons in the style sheet and what the playground's models draw; `blob:` is their speech.
 */
const contentSecurityPolicy = (logoOrigin: string | undefined, formTarget?: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${logoOrigin === undefined ? "" : ` ${logoOrigin}`}`,
    "media-src 'self' blob:",
    "connect-src 'self'",
    `form-action 'self'${formTarget === undefined ? "" : ` ${formTarget}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");

/** Adds the security headers to every page. */
export function securityHeaders(
  { baseUrl, brand = defaultBrand }: Pick<PageDeps, "baseUrl" | "brand">,
): MiddlewareHandler<DashboardEnv> {
  const { logoOrigin } = brandFiles(brand).shown;
  const policy = contentSecurityPolicy(logoOrigin);
  const https = baseUrl.startsWith("https:");
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    const target = c.get("formTarget");
    headers.set(
      "content-security-policy",
      target === undefined ? policy : contentSecurityPolicy(logoOrigin, target),
    );
    headers.set("x-content-type-options", "nosniff");
    headers.set("x-frame-options", "DENY");
    headers.set("referrer-policy", "same-origin");
    headers.set("cross-origin-opener-policy", "same-origin");
    headers.set("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=()");
    if (https) headers.set("strict-transport-security", "max-age=31536000");
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
    headers.append("vary", "accept-language, cookie");
  };
}

function parseTheme(text: string | undefined): Theme {
  return themes.find((theme) => theme === text) ?? "auto";
}

/** Finds the person behind a session cookie; the session of a blocked or deleted account ends here. */
async function signedInBy(
  deps: PageDeps,
  token: string | undefined,
): Promise<SignedIn | undefined> {
  if (token === undefined) return undefined;
  const session = await findSession(deps.kv, token, deps.clock.nowMs());
  if (session === undefined) return undefined;
  const person = await getAccount(deps.kv, session.accountId);
  const gone = person === undefined || person.deletedAtMs !== undefined ||
    person.blockedAtMs !== undefined;
  const membership = gone ? undefined : await actingFor(deps.kv, person, session);
  if (gone || membership === undefined) {
    await closeSession(deps.kv, token);
    return undefined;
  }
  const isOperator = person.email !== undefined && deps.operators.includes(person.email);
  return { ...membership, person, session, isOperator };
}

/**
 * Returns what the token of forms is made from: a form of one organisation is refused once another tab has switched to
 * another, since it would act there.
 */
function formSecret(secret: string, signedIn: SignedIn | undefined): string {
  const isOwn = signedIn === undefined || signedIn.account.id === signedIn.person.id;
  return isOwn ? secret : `${secret}/${signedIn.account.id}`;
}

/** Returns the secret that ties forms to this browser; creates it if there is none. */
function visitorSecret(c: Context, cookies: Cookies): string {
  const known = cookies.read(c, "visitor");
  if (known !== undefined && known.length >= 32) return known;
  const fresh = newSecretToken();
  cookies.write(c, "visitor", fresh);
  return fresh;
}

/**
 * Returns the page to come back to: the requested one or, for a posted form, the page of the form according to the
 * browser. Only path and query are used, so it is never on another site.
 */
function pagePath(c: Context): string {
  const isPage = c.req.method === "GET" || c.req.method === "HEAD";
  const page = isPage ? new URL(c.req.url) : URL.parse(c.req.header("referer") ?? "");
  return page === null ? "/" : page.pathname + page.search;
}

/**
 * Sets `visitor` in the context of the request.
 *
 * @param sharedPages first path segments of the pages that look the same to all visitors without a session
 */
export function identifyVisitor(
  deps: PageDeps,
  sharedPages: ReadonlySet<string> = new Set(),
): MiddlewareHandler<DashboardEnv> {
  const cookies = createCookies(deps.baseUrl);
  const announcements = new Announcements(deps);
  const brand = brandFiles(deps.brand ?? defaultBrand).shown;
  const suppliedPages = [...deps.suppliedPages?.keys() ?? []];

  async function see(
    c: Context<DashboardEnv>,
    secret: string | undefined,
    signedIn?: SignedIn,
  ): Promise<void> {
    const nowMs = deps.clock.nowMs();
    c.set("visitor", {
      announcements: (await announcements.latest()).filter((one) => isShown(one, nowMs)),
      locale: parseLocale(readPreference(c, "locale")) ?? signedIn?.person.locale ??
        acceptedLocale(c.req.header("accept-language")),
      theme: parseTheme(readPreference(c, "theme")),
      csrfToken: secret === undefined
        ? undefined
        : maskCsrfToken(await hashSecret("csrf", formSecret(secret, signedIn))),
      path: pagePath(c),
      signedIn,
      sandbox: deps.sandbox,
      suppliedPages,
      support: deps.support,
      company: deps.company,
      brand,
      maintenance: deps.maintenance?.(),
    });
  }

  return async (c, next) => {
    const token = cookies.read(c, "session");
    const isShared = token === undefined && c.req.method === "GET" &&
      sharedPages.has(segmentAt(c.req.path, 0));
    if (isShared) {
      await see(c, undefined);
      return await next();
    }
    let signedIn: SignedIn | undefined;
    try {
      signedIn = await signedInBy(deps, token);
    } catch (error) {
      // The error page for a failing store needs a visitor, too.
      await see(c, token ?? visitorSecret(c, cookies));
      throw error;
    }
    if (token !== undefined && signedIn === undefined) cookies.remove(c, "session");
    const isKnown = signedIn !== undefined && token !== undefined;
    await see(c, isKnown ? token : visitorSecret(c, cookies), signedIn);
    await next();
  };
}

/** Whether a mutation may come from another site. Browsers send at least one of these headers with every POST. */
function isCrossSite(c: Context, baseUrl: string): boolean {
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return true;
  const header = c.req.header("origin");
  if (header === undefined) return false;
  const origin = URL.parse(header);
  // "null", or something that no browser sends.
  if (origin === null) return true;
  // The address that the browser used counts, too: on a developer's machine it may differ from the public one.
  return origin.origin !== URL.parse(baseUrl)?.origin &&
    origin.host !== URL.parse(c.req.url)?.host;
}

/** `unreadable`: the body claims to be a form and is none. */
type SentToken = { readonly token: string | undefined } | "unreadable";

async function sentCsrfToken(c: Context<DashboardEnv>): Promise<SentToken> {
  const header = c.req.header("x-csrf-token");
  if (header !== undefined) return { token: header };
  const type = c.req.header("content-type") ?? "";
  const isForm = type.startsWith("application/x-www-form-urlencoded") ||
    type.startsWith("multipart/form-data");
  if (!isForm) return { token: undefined };
  const form = await parseForm(c);
  if (form === undefined) return "unreadable";
  const field = form.get("csrf");
  return { token: typeof field === "string" ? field : undefined };
}

/** Whether a form was sent after its session ended: its token belonged to that session. */
function hasLostSession(c: Context<DashboardEnv>, publicForms: ReadonlySet<string>): boolean {
  return c.get("visitor").signedIn === undefined && !publicForms.has(segmentAt(c.req.path, 0));
}

/** Forms with rules of their own, by the first path segments of their pages. */
export interface GuardedForms {
  /** They need no session. */
  readonly publicForms: ReadonlySet<string>;
  /** They need no session and, without one, no token. */
  readonly harmlessForms: ReadonlySet<string>;
}

const noForms: GuardedForms = { publicForms: new Set(), harmlessForms: new Set() };

/** The reason why a mutation was refused. */
export type RefusedForm = "forbidden" | "unreadable";

/**
 * Refuses mutations that do not come from a page of the gateway in the same browser: checks the origin headers, then
 * the token that is tied to the session (or, before sign-in, to the visitor cookie). The token may be absent where a
 * visitor without a session sends a harmless form, which can be on a page that all of them share.
 *
 * @param refuse answers a refused request
 */
export function guardMutations(
  deps: Pick<PageDeps, "baseUrl">,
  refuse: (c: Context<DashboardEnv>, why: RefusedForm) => Response | Promise<Response>,
  { publicForms, harmlessForms }: GuardedForms = noForms,
): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    if (c.req.method === "GET" || c.req.method === "HEAD") return await next();
    if (isCrossSite(c, deps.baseUrl)) return await refuse(c, "forbidden");
    const sent = await sentCsrfToken(c);
    if (sent === "unreadable") return await refuse(c, "unreadable");
    const { csrfToken } = c.get("visitor");
    const isOurs = sent.token !== undefined && csrfToken !== undefined &&
      await sameCsrfToken(sent.token, csrfToken);
    if (isOurs) return await next();
    const isHarmless = sent.token === undefined && c.get("visitor").signedIn === undefined &&
      harmlessForms.has(segmentAt(c.req.path, 0));
    if (isHarmless) return await next();
    return hasLostSession(c, publicForms) ? sendToSignIn(c) : await refuse(c, "forbidden");
  };
}

/** Redirects to the sign-in page and back afterwards; a form that was lost is mentioned there. */
function sendToSignIn(c: Context<DashboardEnv>): Response {
  const query = new URLSearchParams({ next: c.get("visitor").path });
  if (c.req.method !== "GET" && c.req.method !== "HEAD") query.set("ended", "");
  const target = `/sign-in?${query}`;
  // htmx would insert the sign-in page into a part of the page; this header makes it navigate.
  if (c.req.header("hx-request") === "true") return c.body(null, 401, { "hx-redirect": target });
  return c.redirect(target, 303);
}

/**
 * Refuses what the role of the visitor does not allow. A form of an organisation without an act is refused, too, so that
 * none is open to everybody by mistake.
 *
 * @param refuse answers a refused request
 */
export function guardActs(
  refuse: (c: Context<DashboardEnv>) => Response | Promise<Response>,
): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    const { signedIn } = c.get("visitor");
    const { method, path } = c.req;
    const isRead = method === "GET" || method === "HEAD";
    const act = pageActOf(method, path)?.act;
    const isRefused = act === undefined
      ? !isRead && isOfOrganisation(path)
      : signedIn !== undefined && act !== "everyone" && !may(signedIn.role, act);
    return isRefused ? await refuse(c) : await next();
  };
}

/** Admits only signed-in people; others are sent to sign in and come back afterwards. */
export const requireAccount: MiddlewareHandler<DashboardEnv> = async (c, next) => {
  const { signedIn } = c.get("visitor");
  if (signedIn === undefined) return sendToSignIn(c);
  c.set("signedIn", signedIn);
  return await next();
};
