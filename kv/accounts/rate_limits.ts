/** Counters that slow guessing down, shared by all instances. For people's clicks, never for API calls. */
import { hashSecret } from "../../core/accounts/secret_token.ts";
import { compareAndSet } from "../store/cas.ts";
import { rateLimitKey } from "../schema/keys.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Attempts of a check-and-set on a rate counter; losing them all means a flood, which is refused. */
const rateLimitWriteAttempts = 5;

/** `count` tries per window of `windowMs`. */
export interface RateRule {
  /** Part of the key. */
  readonly name: string;
  readonly count: number;
  readonly windowMs: number;
}

export type RateVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

/**
 * Counts one try of `subject` (an IP address, an e-mail address; stored hashed) and tells whether it is allowed.
 *
 * Fixed windows: at the border of two, twice the count can pass, which is good enough against guessing and costs one
 * read and one write. If many tries collide the try is refused: a flood is what the rule is against.
 *
 * @example
 * ```ts
 * import { countTry } from "./rate_limits.ts";
 * using kv = await Deno.openKv(":memory:");
 * const rule = { name: "sign_in", count: 1, windowMs: 60_000 };
 * const first = await countTry(kv, rule, "ann@example.com", 0);
 * const second = await countTry(kv, rule, "ann@example.com", 1_000);
 * if (!first.allowed || second.allowed || second.retryAfterSeconds !== 59) throw new Error();
 * ```
 */
export async function countTry(
  kv: KeyValueStore,
  rule: RateRule,
  subject: string,
  nowMs: number,
): Promise<RateVerdict> {
  const window = Math.floor(nowMs / rule.windowMs);
  const leftMs = (window + 1) * rule.windowMs - nowMs;
  const refused: RateVerdict = {
    allowed: false,
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  };
  const key = rateLimitKey(rule.name, await hashSecret("rate", subject), window);
  const outcome = await compareAndSet<RateVerdict>(async () => {
    const entry = await kv.get<number>(key);
    const used = entry.value ?? 0;
    if (used >= rule.count) return { done: refused };
    const result = await kv.atomic().check(entry)
      .set(key, used + 1, { expireIn: Math.ceil(leftMs) })
      .commit();
    return result.ok ? { done: { allowed: true } } : "again";
  }, { attempts: rateLimitWriteAttempts });
  return outcome === "conflict" ? refused : outcome.done;
}

/** Forgets the tries of `subject` in the present window. */
export async function forgetTries(
  kv: KeyValueStore,
  rule: RateRule,
  subject: string,
  nowMs: number,
): Promise<void> {
  const window = Math.floor(nowMs / rule.windowMs);
  await kv.delete(rateLimitKey(rule.name, await hashSecret("rate", subject), window));
}
