/** What the pages need of the world. */
import type { Context } from "hono";
import type { Clock } from "../../core/clock.ts";

/** Enough to know who is looking. Every sub-app of the dashboard gets at least this. */
export interface PageDeps {
  readonly kv: Deno.Kv;
  readonly clock: Clock;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** E-mail addresses of operators, lower-case. */
  readonly operators: readonly string[];
  /** No real provider is configured: play money. */
  readonly sandbox: boolean;
  /** The IP address of the caller, proxies taken into account. */
  readonly clientAddress: (c: Context) => string;
}
