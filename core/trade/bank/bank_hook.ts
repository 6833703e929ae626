/** The interface of a provider of bank notices: check one request, then read it. */
import type { BankNotice, BankSource } from "./bank_notice.ts";

/** One request of a provider, with the body as bytes. */
export interface BankHookRequest {
  readonly headers: { get(name: string): string | null };
  readonly body: Uint8Array<ArrayBuffer>;
  readonly nowMs: number;
}

/**
 * The result of the check. `stale`: the signature is right but too old or too new; the answer is
 * the same, the log line differs.
 */
export type BankHookCheck = "genuine" | "forged" | "stale";

/**
 * A notice, or the reason why it could not be read. Unreadable notices are kept for staff, never
 * dropped.
 */
export type ReadBankNotices =
  | { readonly ok: true; readonly events: readonly BankNotice[] }
  | { readonly ok: false; readonly reason: string };

/** One configured provider. It exists only if a secret is set. */
export interface BankHook {
  readonly source: BankSource;
  verify(request: BankHookRequest): Promise<BankHookCheck>;
  read(body: Uint8Array<ArrayBuffer>): ReadBankNotices;
}

/** Parses the JSON of a body; `undefined` if it is not JSON. */
export function jsonOfBytes(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
