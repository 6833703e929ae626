/** The keys of one provider, used in turn; a key that is refused or limited rests while the others are used. */
import { breakerPauseMaxMs, rateLimitRestMs } from "./limits.ts";

/** Milliseconds for which a refused provider key is not used; each refusal doubles it. */
export const credentialRestMs = 60_000;

/** Milliseconds of the longest such pause: a revoked key comes back only when the operator acts. */
export const credentialRestMaxMs = 3_600_000;

interface Credential {
  readonly secret: string;
  restUntilMs: number;
  refusals: number;
  /** Why it rests or rested last. */
  reason: string | undefined;
  /** Why its token could not be renewed, until it can be. */
  renewalFailure: string | undefined;
}

/** The keys of one provider, used in turn; a refused key is paused. */
export class Credentials {
  readonly #credentials: readonly Credential[];
  #next = 0;

  constructor(secrets: readonly string[]) {
    this.#credentials = secrets.map((secret) => ({
      secret,
      restUntilMs: 0,
      refusals: 0,
      reason: undefined,
      renewalFailure: undefined,
    }));
  }

  /** The next key that is not resting; if all rest, the one that rests least. `undefined`: the provider has none. */
  take(nowMs: number): string | undefined {
    const count = this.#credentials.length;
    let soonest: Credential | undefined;
    for (let i = 0; i < count; i++) {
      const credential = this.#credentials[(this.#next + i) % count]!;
      if (credential.restUntilMs <= nowMs) {
        this.#next = (this.#next + i + 1) % count;
        return credential.secret;
      }
      if (soonest === undefined || credential.restUntilMs < soonest.restUntilMs) {
        soonest = credential;
      }
    }
    return soonest?.secret;
  }

  /** Whether a key is left that does not rest. */
  hasFresh(nowMs: number): boolean {
    return this.#credentials.some((credential) => credential.restUntilMs <= nowMs);
  }

  /** How many keys rest now. */
  resting(nowMs: number): number {
    return this.#credentials.filter((credential) => credential.restUntilMs > nowMs).length;
  }

  /** Why keys rest, or will rest when their token expires: a word for each such key. */
  reasons(nowMs: number): string[] {
    return this.#credentials.flatMap(({ restUntilMs, reason, renewalFailure }) => {
      const shown = renewalFailure ?? (restUntilMs > nowMs ? reason : undefined);
      return shown === undefined ? [] : [shown];
    });
  }

  /** The token of a key was renewed, or could not be. */
  renewed(secret: string, failure: string | undefined): void {
    const credential = this.#find(secret);
    if (credential !== undefined) credential.renewalFailure = failure;
  }

  get count(): number {
    return this.#credentials.length;
  }

  /** The provider refused this key (401, 403): it rests with exponential backoff. */
  refused(secret: string, nowMs: number, reason: string): void {
    const credential = this.#find(secret);
    if (credential === undefined) return;
    const restMs = Math.min(
      credentialRestMs * 2 ** Math.min(credential.refusals, 16),
      credentialRestMaxMs,
    );
    credential.refusals++;
    credential.reason = reason;
    credential.restUntilMs = nowMs + restMs;
  }

  /** The provider limits this key (429), or its token cannot be renewed for the moment. */
  limited(
    secret: string,
    nowMs: number,
    retryAfterMs: number | undefined,
    reason: string,
  ): void {
    const credential = this.#find(secret);
    if (credential === undefined) return;
    const restMs = Math.min(retryAfterMs ?? rateLimitRestMs, breakerPauseMaxMs);
    credential.restUntilMs = Math.max(credential.restUntilMs, nowMs + restMs);
    credential.reason = reason;
  }

  /** The key worked. */
  worked(secret: string): void {
    const credential = this.#find(secret);
    if (credential !== undefined) credential.refusals = 0;
  }

  #find(secret: string): Credential | undefined {
    return this.#credentials.find((credential) => credential.secret === secret);
  }
}
