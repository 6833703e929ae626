/** An access token that is renewed before it expires, one renewal at a time. */
import type { Clock } from "../../lib/time/clock.ts";
import {
  type Authorizer,
  type AuthorizerTools,
  CredentialFailure,
  type IssuedToken,
} from "./authorizer.ts";
import type { UpstreamRequest } from "../../net/transport/transport.ts";

/**
 * Milliseconds before its expiry from which a token is renewed beside the calls that still use it: several attempts
 * fit into them.
 */
const renewalAheadMs = 300_000;

/** Milliseconds of life below which a token is not used any more: a request must arrive while it is valid. */
const leastLifeMs = 10_000;

/** Milliseconds after a failed renewal in which the issuer is not asked again. */
const renewalPauseMs = 10_000;

/** Needs of an {@linkcode AccessToken}. */
export interface AccessTokenOptions {
  /**
   * @param refused the token that the provider refused, if one is to be replaced
   * @throws {CredentialFailure}
   */
  readonly issue: (refused: string | undefined) => Promise<IssuedToken>;
  readonly clock: Clock;
  /** See `AuthorizerTools.onRenewal`. */
  readonly onRenewal: (failure: string | undefined) => void;
  /** Milliseconds after a failed renewal in which there is no other; {@linkcode renewalPauseMs} by default. */
  readonly pauseMs?: number;
}

/** Holds the token of one credential. */
export class AccessToken {
  readonly #options: AccessTokenOptions;
  #token: string | undefined;
  /** The last token that the provider refused, until there is another. */
  #refused: string | undefined;
  #renewFromMs = 0;
  #expiresMs = 0;
  #renewal: Promise<string> | undefined;
  #failed: { readonly failure: CredentialFailure; readonly atMs: number } | undefined;

  constructor(options: AccessTokenOptions) {
    this.#options = options;
  }

  /**
   * Returns a valid token. The time of its expiry counts when the request begins: a stream that runs goes on.
   *
   * @throws {CredentialFailure} when there is none
   */
  async get(): Promise<string> {
    const nowMs = this.#options.clock.monotonicMs();
    const token = nowMs < this.#expiresMs - leastLifeMs ? this.#token : undefined;
    if (token !== undefined && nowMs < this.#renewFromMs) return token;
    const { pauseMs = renewalPauseMs } = this.#options;
    if (this.#failed !== undefined && nowMs - this.#failed.atMs < pauseMs) {
      if (token !== undefined) return token;
      throw this.#failed.failure;
    }
    this.#renewal ??= this.#renew();
    if (token === undefined) return await this.#renewal;
    this.#renewal.catch(() => {}); // reported by the renewal itself
    return token;
  }

  /** Forgets a token that the provider refused, if it is still the current one. Returns whether another may be better. */
  forget(token: string): boolean {
    if (this.#token === token) {
      this.#token = undefined;
      this.#refused = token;
    }
    return this.#failed === undefined;
  }

  /**
   * The token and what is left of its life, for another thread. While a renewal is under way it is the former one, as
   * long as that is valid: whoever gets it asks again before it ends.
   *
   * @param refused the token that the provider refused, if one is to be replaced
   * @throws {CredentialFailure} when there is none
   */
  async issued(refused: string | undefined): Promise<IssuedToken> {
    if (refused !== undefined) this.forget(refused);
    const token = await this.get();
    const lifeMs = this.#expiresMs - this.#options.clock.monotonicMs();
    return { token: this.#token ?? token, lifeSeconds: lifeMs / 1000 };
  }

  async #renew(): Promise<string> {
    const { issue, clock, onRenewal } = this.#options;
    try {
      const startedMs = clock.monotonicMs();
      const { token, lifeSeconds } = await issue(this.#refused);
      const lifeMs = lifeSeconds * 1000;
      this.#token = token;
      this.#refused = undefined;
      this.#expiresMs = startedMs + lifeMs;
      this.#renewFromMs = startedMs + Math.max(lifeMs - renewalAheadMs, lifeMs / 2);
      this.#failed = undefined;
      onRenewal(undefined);
      return token;
    } catch (error) {
      const failure = error instanceof CredentialFailure
        ? error
        : new CredentialFailure("token_failed", false, { cause: error });
      this.#failed = { failure, atMs: clock.monotonicMs() };
      onRenewal(failure.reason);
      throw failure;
    } finally {
      this.#renewal = undefined;
    }
  }
}

const scheme = "Bearer ";

/** Milliseconds after a failed renewal until the thread that renews is asked again, which has a longer pause itself. */
const elsewherePauseMs = 1_000;

/** Sends an access token as `authorization: Bearer`; a refused one is renewed once. */
class BearerToken implements Authorizer {
  readonly #token: AccessToken;

  constructor(token: AccessToken) {
    this.#token = token;
  }

  async authorize(request: UpstreamRequest): Promise<UpstreamRequest> {
    const token = await this.#token.get();
    return { ...request, headers: [...request.headers, ["authorization", `${scheme}${token}`]] };
  }

  refused({ headers }: UpstreamRequest, { status }: { readonly status: number }): boolean {
    const [, value = ""] = headers.find(([name]) => name === "authorization") ?? [];
    // A 403 is about what the identity may do, which another token does not change.
    return status === 401 && this.#token.forget(value.slice(scheme.length));
  }

  issued(refused: string | undefined): Promise<IssuedToken> {
    return this.#token.issued(refused);
  }
}

/** Makes a token that comes from its issuer by `issue`, or from the thread that renews tokens for all. */
export function renewingToken(
  tools: Pick<AuthorizerTools, "clock" | "onRenewal" | "issueElsewhere">,
  issue: () => Promise<IssuedToken>,
): AccessToken {
  const { clock, onRenewal, issueElsewhere } = tools;
  return new AccessToken(
    issueElsewhere === undefined
      ? { clock, onRenewal, issue }
      : { clock, onRenewal, issue: issueElsewhere, pauseMs: elsewherePauseMs },
  );
}

/** Makes the credential of tokens that `issue` gets from their issuer. */
export function bearerToken(tools: AuthorizerTools, issue: () => Promise<IssuedToken>): Authorizer {
  return new BearerToken(renewingToken(tools, issue));
}
