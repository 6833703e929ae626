/**
 * Reads and writes the cookies of the dashboard. Over https the secret ones have the prefix `__Host-`: no subdomain can
 * set or read them.
 */
import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { knownPlaceMs } from "../../../kv/people/accounts/sessions.ts";
import { signInFlowMs } from "../../../kv/people/accounts/tokens.ts";
import { sessionAbsoluteMs } from "../../../core/people/accounts/session_rules.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { sameSecret } from "../../../core/lib/hash/sha256.ts";
import { returnPath } from "../../../core/people/accounts/email_address.ts";
import { updateAccount } from "../../../kv/people/accounts/accounts.ts";
import type { PageDeps } from "../page/page_deps.ts";
import { readForm } from "../page/form_data.ts";
import { parseLocale } from "../text/i18n.ts";
import { type DashboardEnv, themes } from "../page/visitor.ts";
import type { PageDeclaration } from "../page/page.ts";

// Masks the CSRF token with a new random pad in every response. Pages are compressed, and the length of a compressed
// page that contains both a fixed secret and an attacker's text reveals the secret (BREACH, CVE-2013-3587).

function xor(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(one, (byte, i) => byte ^ (other[i] ?? 0));
}

/**
 * Masks a token: a random pad, then the token under it, in base64url.
 *
 * @example
 * ```ts
 * import { maskCsrfToken, sameCsrfToken } from "./cookies.ts";
 * const shown = maskCsrfToken("token");
 * if (shown === maskCsrfToken("token")) throw new Error("the same twice");
 * if (!await sameCsrfToken(shown, maskCsrfToken("token"))) throw new Error("not recognised");
 * if (await sameCsrfToken(shown, maskCsrfToken("tokem"))) throw new Error("too much recognised");
 * ```
 */
export function maskCsrfToken(token: string): string {
  const bytes = new TextEncoder().encode(token);
  const pad = crypto.getRandomValues(new Uint8Array(bytes.length));
  const masked = new Uint8Array(bytes.length * 2);
  masked.set(pad);
  masked.set(xor(bytes, pad), bytes.length);
  return masked.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Unmasks a token; `undefined` for any other text. */
function unmasked(shown: string): string | undefined {
  let masked;
  try {
    masked = Uint8Array.fromBase64(shown, { alphabet: "base64url" });
  } catch {
    return undefined;
  }
  const half = masked.length / 2;
  if (!Number.isInteger(half)) return undefined;
  return new TextDecoder().decode(xor(masked.subarray(half), masked.subarray(0, half)));
}

/** Whether two masked texts hold the same token. */
export async function sameCsrfToken(one: string, other: string): Promise<boolean> {
  const [left, right] = [unmasked(one), unmasked(other)];
  return left !== undefined && right !== undefined && await sameSecret(left, right);
}

/**
 * `session`: a signed-in session. `visitor`: ties the forms of a visitor without a session to the browser. `flow`: the
 * same for a sign-up or an OpenID sign-in in progress. `browser`: marks a browser that has signed in before; it grants
 * nothing, but its tries are counted apart from those of strangers. `pending`: a sign-in that waits for its second factor.
 */
export type SecretCookie = "session" | "visitor" | "flow" | "browser" | "pending";

const maxAgeSeconds: Readonly<Record<SecretCookie, number | undefined>> = {
  session: sessionAbsoluteMs / 1000,
  visitor: undefined,
  flow: 24 * 3600,
  browser: knownPlaceMs / 1000,
  pending: signInFlowMs / 1000,
};

/** Cookie access for a site over https (`secure`) or, on a developer's machine, http. */
export interface Cookies {
  read(c: Context, name: SecretCookie): string | undefined;
  write(c: Context, name: SecretCookie, value: string): void;
  remove(c: Context, name: SecretCookie): void;
}

/** @param baseUrl the public address of the service */
export function createCookies(baseUrl: string): Cookies {
  const secure = baseUrl.startsWith("https:");
  const place = secure ? { prefix: "host", secure: true, path: "/" } as const : { path: "/" };
  return {
    read: (c, name) => secure ? getCookie(c, name, "host") : getCookie(c, name),
    write(c, name, value) {
      const maxAge = maxAgeSeconds[name];
      setCookie(c, name, value, {
        ...place,
        httpOnly: true,
        sameSite: "Lax",
        ...defined({ maxAge }),
      });
    },
    remove(c, name) {
      deleteCookie(c, name, place);
    },
  };
}

/** Preferences (language and theme): not secret, kept for a year. */
export function readPreference(c: Context, name: "locale" | "theme"): string | undefined {
  return getCookie(c, name);
}

/** Stores the language or the theme in a cookie. */
function writePreference(c: Context, name: "locale" | "theme", value: string): void {
  setCookie(c, name, value, { path: "/", sameSite: "Lax", maxAge: 365 * 86_400 });
}

// Stores the language and theme that the footer offers.

function createPreferences(deps: PageDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().post("/preferences", async (c) => {
    const form = await readForm(c);
    const locale = parseLocale(form.text("locale"));
    if (locale !== undefined) {
      writePreference(c, "locale", locale);
      const { signedIn } = c.get("visitor");
      // Mails are in the language of the pages.
      if (signedIn !== undefined) await updateAccount(deps.kv, signedIn.person.id, { locale });
    }
    const theme = themes.find((name) => name === form.text("theme"));
    if (theme !== undefined) writePreference(c, "theme", theme);
    return c.redirect(returnPath(form.text("next"), "/"), 303);
  });
}

export const preferencePages: PageDeclaration<PageDeps> = {
  isPublicForm: true,
  isHarmlessForm: true,
  routes: createPreferences,
};
