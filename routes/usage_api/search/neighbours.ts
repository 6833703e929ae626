/** Finds the calls before and after one of an account, with a receipt or refused, for pages that walk through calls. */
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import { latestIndexed, nextIndexed } from "../../../kv/money/receipts/receipt_index.ts";
import { listRefusedCalls, nextRefusedCall } from "../../../kv/services/calls/refused_calls.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

async function latestRefused(
  kv: KeyValueStore,
  accountId: AccountId,
  before: RequestId,
): Promise<RequestId | undefined> {
  for await (const { requestId } of listRefusedCalls(kv, accountId, before, { limit: 1 })) {
    return requestId;
  }
  return undefined;
}

/** Returns the ids of the calls that an account made just before and just after another. */
export async function neighboursOf(
  kv: KeyValueStore,
  accountId: AccountId,
  requestId: RequestId,
): Promise<{ readonly older: RequestId | undefined; readonly newer: RequestId | undefined }> {
  const [answeredBefore, refusedBefore, answeredAfter, refusedAfter] = await Promise.all([
    latestIndexed(kv, accountId, requestId),
    latestRefused(kv, accountId, requestId),
    nextIndexed(kv, accountId, requestId),
    nextRefusedCall(kv, accountId, requestId),
  ]);
  const known = (...ids: readonly (RequestId | undefined)[]) =>
    ids.filter((id) => id !== undefined).sort();
  return {
    older: known(answeredBefore, refusedBefore).at(-1),
    newer: known(answeredAfter, refusedAfter)[0],
  };
}
