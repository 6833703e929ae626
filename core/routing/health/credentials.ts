/** The keys of one provider, used in turn; a key that is refused or limited rests while the others are used. */
import { breakerPauseMaxMs, rateLimitRestMs } from "./limits.ts";
import { hashHex } from "../../lib/hash/short_hash.ts";
import { hourMs } from "../../lib/time/durations.ts";

/** Milliseconds for which a refused provider key is not used; each refusal doubles it. */
export const credentialRestMs = 60_000;

/** Milliseconds of the longest such pause: a revoked key comes back only when the operator acts. */
export const credentialRestMaxMs = hourMs;

interface Credential {
  readonly secret: string;
  /** A hash by which threads know that they mean the same secret: one of them may have replaced it already. */
  readonly mark: string;
  restUntilMs: number;
  refusals: number;
  /** Why it rests or rested last. */
  reason: string | undefined;
  /** Why its token could not be renewed, until it can be. */
  renewalFailure: string | undefined;
}

/** State of a key for the other threads of a process: as durations, since each has a clock of its own. */
export interface SharedCredential {
  readonly mark: string;
  readonly restMs: number;
  readonly refusals: number;
  readonly reason: string | undefined;
  readonly renewalFailure: string | undefined;
}

/** The keys of one provider, used in turn; a refused key is paused. */
export class Credentials {
  readonly #credentials: readonly Credential[];
  readonly #onChange: (at: number, isUrgent: boolean) => void;
  #next = 0;

  /** @param onChange called with the place of a key of which something was learned; urgent if it begins to rest */
  constructor(
    secrets: readonly string[],
    onChange: (at: number, isUrgent: boolean) => void = () => {},
  ) {
    this.#onChange = onChange;
    this.#credentials = secrets.map((secret) => ({
      secret,
      mark: hashHex(secret),
      restUntilMs: 0,
      refusals: 0,
      reason: undefined,
      renewalFailure: undefined,
    }));
  }

  /**
   * The next key that is not resting; if all rest, the one that rests least. `undefined`: the provider has none.
   *
   * @param rankOf the highest of the keys that do not rest is used instead of the next, by its mark
   */
  take(nowMs: number, rankOf?: (mark: string) => string): string | undefined {
    const ranked = rankOf && this.#highest(nowMs, rankOf);
    if (ranked !== undefined) return ranked;
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

  #highest(nowMs: number, rankOf: (mark: string) => string): string | undefined {
    let highest: { secret: string; rank: string } | undefined;
    for (const { secret, mark, restUntilMs } of this.#credentials) {
      if (restUntilMs > nowMs) continue;
      const rank = rankOf(mark);
      if (highest === undefined || rank > highest.rank) highest = { secret, rank };
    }
    return highest?.secret;
  }

  /** Whether a key is left that does not rest. */
  hasFresh(nowMs: number): boolean {
    return this.#credentials.some((credential) => credential.restUntilMs <= nowMs);
  }

  /** Number of keys that rest now. */
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
    if (credential === undefined || credential.renewalFailure === failure) return;
    credential.renewalFailure = failure;
    this.#publish(credential, false);
  }

  get count(): number {
    return this.#credentials.length;
  }

  /** The provider refused this key: it rests with exponential backoff. */
  refused(secret: string, nowMs: number, reason: string): void {
    const credential = this.#find(secret);
    if (credential === undefined) return;
    // Refusals of concurrent calls count as one.
    if (credential.restUntilMs > nowMs && credential.refusals > 0) return;
    const restMs = Math.min(
      credentialRestMs * 2 ** Math.min(credential.refusals, 16),
      credentialRestMaxMs,
    );
    credential.refusals++;
    credential.reason = reason;
    credential.restUntilMs = nowMs + restMs;
    this.#publish(credential, true);
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
    const rested = credential.restUntilMs > nowMs;
    const restMs = Math.min(retryAfterMs ?? rateLimitRestMs, breakerPauseMaxMs);
    credential.restUntilMs = Math.max(credential.restUntilMs, nowMs + restMs);
    credential.reason = reason;
    this.#publish(credential, !rested);
  }

  /** The key worked. */
  worked(secret: string): void {
    const credential = this.#find(secret);
    if (credential === undefined || credential.refusals === 0) return;
    credential.refusals = 0;
    this.#publish(credential, false);
  }

  /** The secret at a place, if it has that mark. */
  secretAt(at: number, mark: string): string | undefined {
    const credential = this.#credentials[at];
    return credential?.mark === mark ? credential.secret : undefined;
  }

  /** The mark of a secret; `undefined` if it is none of them. */
  markOf(secret: string | undefined): string | undefined {
    return secret === undefined ? undefined : this.#find(secret)?.mark;
  }

  /** The mark of the secret at a place. */
  markAt(at: number): string | undefined {
    return this.#credentials[at]?.mark;
  }

  /** The place of a secret; -1 if it is none of them. */
  placeOf(secret: string): number {
    return this.#credentials.findIndex((credential) => credential.secret === secret);
  }

  /** State of the key at a place, for other threads. */
  shared(at: number, nowMs: number): SharedCredential | undefined {
    const credential = this.#credentials[at];
    if (credential === undefined) return undefined;
    const { mark, restUntilMs, refusals, reason, renewalFailure } = credential;
    return { mark, restMs: Math.max(0, restUntilMs - nowMs), refusals, reason, renewalFailure };
  }

  /** Merges what another thread knows. */
  merge(at: number, shared: SharedCredential, nowMs: number): void {
    const credential = this.#credentials[at];
    if (credential?.mark !== shared.mark) return;
    credential.refusals = shared.refusals;
    credential.renewalFailure = shared.renewalFailure;
    if (shared.restMs <= 0) return;
    credential.restUntilMs = Math.max(credential.restUntilMs, nowMs + shared.restMs);
    credential.reason = shared.reason;
  }

  #publish(credential: Credential, isUrgent: boolean): void {
    this.#onChange(this.#credentials.indexOf(credential), isUrgent);
  }

  #find(secret: string): Credential | undefined {
    return this.#credentials.find((credential) => credential.secret === secret);
  }
}
