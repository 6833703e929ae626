/**
 * Counts attempts against guessing, for all instances together. For requests of people, never for
 * API calls.
 */
import { hashSecret } from "../../../core/people/accounts/secret_token.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { accountKey, rateLimitKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { AccountRateLimits } from "../../../core/limits/rate_limits.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";
import { addActivity, operatorDoer } from "../audit/account_activity.ts";
import { type Account, hasOnlyBooks, writeAccount } from "./accounts.ts";

// Sets the rate limits of single accounts; they hold on all instances within two seconds.

/**
 * Replaces the limits of an account.
 *
 * @param limits `undefined`: the defaults alone
 * @returns the changed account; `undefined` if it does not exist or was deleted
 * @throws {GatewayError} `overloaded` if others kept changing it at the same time
 */
export async function setRateLimits(
  kv: KeyValueStore,
  accountId: AccountId,
  limits: AccountRateLimits | undefined,
  act: { readonly operator: Actor; readonly reason: string; readonly nowMs: number },
): Promise<Account | undefined> {
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || hasOnlyBooks(entry.value)) return { done: undefined };
    const { rateLimits: former, ...rest } = entry.value;
    const account: Account = limits === undefined ? rest : { ...rest, rateLimits: limits };
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).set(entry.key, account);
    addAuditLine(operation, act.operator, {
      act: "rate_limits_changed",
      subject: accountId,
      detail: act.reason,
      atMs: act.nowMs,
    });
    addActivity(operation, {
      accountId,
      act: "rate_limits_changed",
      by: operatorDoer(act.operator),
      atMs: act.nowMs,
      before: former ?? {},
      after: limits ?? {},
    });
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}

/**
 * Attempts of a check-and-set on a counter; if all fail there is a flood, and the request is
 * refused.
 */
const rateLimitWriteAttempts = 5;

/** A rule: `count` attempts per window of `windowMs`. */
export interface RateRule {
  /** Names the counter; part of its store key. */
  readonly name: string;
  readonly count: number;
  readonly windowMs: number;
}

/** Whether an attempt is allowed, and if not, after how many seconds the next one may be. */
export type RateVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

/**
 * Counts an attempt of `subject` (an IP address or an e-mail address, stored as a hash) and returns
 * whether it is allowed. Windows are fixed, so twice the count can pass at the border of two; that
 * suffices against guessing and costs one read and one write. If too many attempts collide, the
 * attempt is refused, since the rule exists against floods.
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

/**
 * Counts an attempt of `subject` in a commit of the caller: it counts only if that succeeds. Returns what
 * the commit has to check and write; `undefined` if no attempt is left in this window.
 */
export async function countWith(
  kv: KeyValueStore,
  rule: RateRule,
  subject: string,
  nowMs: number,
): Promise<((operation: AtomicWrite) => void) | undefined> {
  const window = Math.floor(nowMs / rule.windowMs);
  const leftMs = (window + 1) * rule.windowMs - nowMs;
  const entry = await kv.get<number>(
    rateLimitKey(rule.name, await hashSecret("rate", subject), window),
  );
  const used = entry.value ?? 0;
  if (used >= rule.count) return undefined;
  return (operation) =>
    void operation.check(entry).set(entry.key, used + 1, { expireIn: Math.ceil(leftMs) });
}

/** Resets the counter of `subject` in the current window. */
export async function forgetTries(
  kv: KeyValueStore,
  rule: RateRule,
  subject: string,
  nowMs: number,
): Promise<void> {
  const window = Math.floor(nowMs / rule.windowMs);
  await kv.delete(rateLimitKey(rule.name, await hashSecret("rate", subject), window));
}
