/**
 * Authorisation codes: what a person has allowed an application, until the application has got its key. A row has the
 * hash of the code only, and stays for a day after it was used, so that a second use is noticed.
 */
import type { AppScope } from "../../../core/people/api_keys/app_request.ts";
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";
import { hashSecret, newSecretToken } from "../../../core/people/accounts/secret_token.ts";
import { appCodeKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Doer } from "../audit/account_activity.ts";

/** Milliseconds for which a code works: a program redeems it at once, over a slow network within seconds. */
export const appCodeMs = 2 * minuteMs;

/** Milliseconds for which a code is known, so that its second use revokes the key. */
export const appCodeKeptMs = dayMs;

/** Most characters of a code that is looked up; codes have 43. */
const maxCodeChars = 64;

/** The key that a person has allowed an application. */
export interface AppGrant {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly AppScope[];
  /** The organisation of the key. */
  readonly accountId: AccountId;
  readonly personId: AccountId;
  /** The organisation at whose provider the person has signed in. */
  readonly companyId?: AccountId;
  readonly by: Doer;
  readonly actorName: string;
  readonly locale: Locale;
  /** The key, as the operation that makes keys takes it. */
  readonly key: Readonly<Record<string, unknown>>;
}

interface AppCodeRow {
  readonly grant: AppGrant;
  readonly expiresAtMs: number;
  readonly usedAtMs?: number;
  /** It was sent again after it was used. */
  readonly isRepeated?: true;
}

/** Stores a grant and returns its code. */
export async function issueAppCode(
  kv: KeyValueStore,
  grant: AppGrant,
  nowMs: number,
): Promise<string> {
  const code = newSecretToken();
  const row: AppCodeRow = { grant, expiresAtMs: nowMs + appCodeMs };
  await kv.set(appCodeKey(await hashSecret("app-code", code)), row, { expireIn: appCodeKeptMs });
  return code;
}

/** A use of a code. `id` is the same for all uses of one code. */
export type AppCodeUse =
  /** The only use that may make a key. */
  | { readonly kind: "first"; readonly id: string; readonly grant: AppGrant }
  /** The code was used before: whoever used it may have stolen it. */
  | { readonly kind: "repeated"; readonly id: string; readonly grant: AppGrant }
  | { readonly kind: "unknown" };

/** Uses a code up. A code that is too old is used up without making anything. */
export async function useAppCode(
  kv: KeyValueStore,
  code: string,
  nowMs: number,
): Promise<AppCodeUse> {
  if (code.length > maxCodeChars) return { kind: "unknown" };
  const id = await hashSecret("app-code", code);
  const entry = await kv.get<AppCodeRow>(appCodeKey(id));
  if (entry.value === null) return { kind: "unknown" };
  const { grant, expiresAtMs, usedAtMs } = entry.value;
  if (usedAtMs === undefined) {
    if (nowMs >= expiresAtMs) return { kind: "unknown" };
    const used: AppCodeRow = { ...entry.value, usedAtMs: nowMs };
    const { ok } = await kv.atomic().check(entry)
      .set(entry.key, used, { expireIn: appCodeKeptMs }).commit();
    if (ok) return { kind: "first", id, grant };
  }
  await kv.set(
    entry.key,
    { grant, expiresAtMs, usedAtMs: usedAtMs ?? nowMs, isRepeated: true } satisfies AppCodeRow,
    { expireIn: appCodeKeptMs },
  );
  return { kind: "repeated", id, grant };
}

/** Whether a code was used again, as its first use looks once its key is made. */
export async function wasRepeated(kv: KeyValueStore, id: string): Promise<boolean> {
  return (await kv.get<AppCodeRow>(appCodeKey(id))).value?.isRepeated === true;
}
