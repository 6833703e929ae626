/**
 * Decides when a session ends. Pure; the store is `kv/people/accounts/sessions.ts`.
 *
 * - Folder `core/people/accounts/`: the rules of accounts: addresses, passwords, secret tokens, the life of a
 *   session.
 * - In: what people type, and times.
 * - Out: normalized values, verdicts, new tokens and their hashes.
 * - Never: reads or writes the store; `kv/people/accounts/` does.
 */
import type { AccountId } from "../../lib/ids/ids.ts";
import { dayMs, minuteMs } from "../../lib/time/durations.ts";

/** A session without a click for this long ends. */
const sessionIdleMs = 7 * dayMs;
/** A session of this age ends, whether it is used or not. */
export const sessionAbsoluteMs = 30 * dayMs;
/**
 * The time of the last click is written at most this often, so that a page view is a read and not a
 * write.
 */
const touchEveryMs = 15 * 60_000;
/**
 * Milliseconds for which a sign-in, or the password entered once more, lets a session change what the account signs in
 * with: enough to set up an app and a passkey, too short for a browser that was left open.
 */
const freshMs = 15 * minuteMs;

/** Proof that a session has shown beside its first factor. */
export type SecondFactorKind = "code" | "recovery_code" | "passkey";

/** One signed-in browser. Contains no secret: only the browser has the token. */
export interface Session {
  /**
   * Identifies the session in lists and for signing out remotely. Neither the token nor derived
   * from it.
   */
  readonly id: string;
  readonly accountId: AccountId;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  readonly method: "password" | "openid" | "mail" | "passkey";
  /** Absent: nothing more was asked for. */
  readonly secondFactor?: SecondFactorKind;
  /** Moment at which its owner entered the password once more; absent: not since the sign-in. */
  readonly confirmedAtMs?: number;
  /** The browser as its owner recognises it, such as `Chrome, Windows`. */
  readonly device: string;
  readonly address: string;
  /** The organisation that its person acts for; absent: the one with the id of the person. */
  readonly organisationId?: AccountId;
  /** The organisation whose provider its person came from; absent: another way in. */
  readonly companyId?: AccountId;
  /** The organisations whose activity logs have the sign-in of this session: once each. */
  readonly loggedIn?: readonly AccountId[];
}

/**
 * Whether a session is still valid. Always check it: the store may keep an expired row for another
 * minute.
 *
 * @example
 * ```ts
 * import { isSessionAlive } from "./session_rules.ts";
 * const session = { createdAtMs: 0, lastSeenAtMs: 0 };
 * if (!isSessionAlive(session, 6 * 86_400_000)) throw new Error("idle for 6 days is fine");
 * if (isSessionAlive(session, 7 * 86_400_000)) throw new Error("idle for 7 days is not");
 * if (isSessionAlive({ createdAtMs: 0, lastSeenAtMs: 30 * 86_400_000 }, 30 * 86_400_000)) throw new Error();
 * ```
 */
export function isSessionAlive(
  session: Pick<Session, "createdAtMs" | "lastSeenAtMs">,
  nowMs: number,
): boolean {
  return nowMs < session.lastSeenAtMs + sessionIdleMs &&
    nowMs < session.createdAtMs + sessionAbsoluteMs;
}

/**
 * Whether a session may change what the account signs in with, without further proof.
 *
 * @example
 * ```ts
 * import { isFresh } from "./session_rules.ts";
 * if (!isFresh({ createdAtMs: 0 }, 14 * 60_000)) throw new Error("just signed in");
 * if (isFresh({ createdAtMs: 0 }, 15 * 60_000)) throw new Error("a while ago");
 * if (!isFresh({ createdAtMs: 0, confirmedAtMs: 60_000 }, 15 * 60_000)) throw new Error("just confirmed");
 * ```
 */
export function isFresh(
  { createdAtMs, confirmedAtMs }: Pick<Session, "createdAtMs" | "confirmedAtMs">,
  nowMs: number,
): boolean {
  return nowMs < (confirmedAtMs ?? createdAtMs) + freshMs;
}

/** Whether the time of the last click is old enough to be written again. */
export function needsTouch(session: Pick<Session, "lastSeenAtMs">, nowMs: number): boolean {
  return nowMs >= session.lastSeenAtMs + touchEveryMs;
}

const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\/|\bOpera\b/, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bcoc_coc_browser\//, "Cốc Cốc"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\bChrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, "Android"],
  [/\biPhone\b|\biPad\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * Names a browser from its `user-agent`, roughly. The result is made of fixed names, never of text
 * of the header.
 *
 * @example
 * ```ts
 * import { deviceName } from "./session_rules.ts";
 * const name = deviceName("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36");
 * if (name !== "Chrome, Windows") throw new Error(name);
 * ```
 */
export function deviceName(userAgent: string | undefined): string {
  const text = (userAgent ?? "").slice(0, 512);
  const found = [browsers, systems].map((table) => table.find(([sign]) => sign.test(text))?.[1])
    .filter((name) => name !== undefined);
  return found.join(", ");
}
