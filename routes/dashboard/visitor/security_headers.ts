/** The security headers of pages. */
import type { MiddlewareHandler } from "hono";
import type { DashboardEnv } from "../page/visitor.ts";

/**
 * Scripts and styles come from the gateway's own files only, nothing inline; no frames; forms go nowhere else. `data:`
 * images are the small icons in the style sheet and what the playground's models draw; `blob:` is their speech.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Adds the security headers to every page. */
export function securityHeaders(baseUrl: string): MiddlewareHandler<DashboardEnv> {
  const https = baseUrl.startsWith("https:");
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    headers.set("content-security-policy", contentSecurityPolicy);
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
