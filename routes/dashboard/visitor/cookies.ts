/**
 * Reads and writes the cookies of the dashboard. Over https the secret ones have the prefix `__Host-`: no subdomain can
 * set or read them.
 */
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { knownPlaceMs } from "../../../kv/people/accounts/known_places.ts";
import { sessionAbsoluteMs } from "../../../core/people/accounts/session_rules.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/**
 * `session`: a signed-in session. `visitor`: ties the forms of a visitor without a session to the browser. `flow`: the
 * same for a sign-up or an OpenID sign-in in progress. `browser`: marks a browser that has signed in before; it grants
 * nothing, but its tries are counted apart from those of strangers.
 */
export type SecretCookie = "session" | "visitor" | "flow" | "browser";

const maxAgeSeconds: Readonly<Record<SecretCookie, number | undefined>> = {
  session: sessionAbsoluteMs / 1000,
  visitor: undefined,
  flow: 24 * 3600,
  browser: knownPlaceMs / 1000,
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
export function writePreference(c: Context, name: "locale" | "theme", value: string): void {
  setCookie(c, name, value, { path: "/", sameSite: "Lax", maxAge: 365 * 86_400 });
}
