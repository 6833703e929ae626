/** What a new account gets to try the gateway with, on a developer's own machine: play money, once. */
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** Enough for some hundred calls of the sandbox, and little enough to meet an empty wallet, too. */
const playVnd = 20_000;

/** Whether an address can be reached from its own machine only. */
function isLoopback(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

/** Where and for whom play money is given. */
export interface OpeningCreditOptions {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly sandbox: boolean;
  /** Customers can pay in, so they begin with nothing. */
  readonly bankTransfer: boolean;
}

/**
 * Returns the function that gives it; `undefined` where nothing is given. A sandbox that others can reach gives
 * nothing: its store may serve real providers one day, and play money would buy their answers.
 */
export function openingCreditOf(
  { kv, clock, baseUrl, sandbox, bankTransfer }: OpeningCreditOptions,
): ((accountId: AccountId) => Promise<void>) | undefined {
  if (!sandbox || bankTransfer || !isLoopback(baseUrl)) return undefined;
  return async (accountId) => {
    await credit(kv, {
      accountId,
      amountMicroVnd: fromVnd(playVnd),
      kind: "demo",
      operationId: `demo:${accountId}`,
      reason: "Sandbox money",
      atMs: clock.nowMs(),
    });
  };
}
