/** Refused calls in a store, as the recorder writes them. */
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import { type RefusedCall, writeRefusedCall } from "../../../kv/services/calls/refused_calls.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { requestIdAt } from "./dashboard_world.ts";

/** Writes a refused call: by default one that an empty wallet refused. */
export async function refuse(
  kv: KeyValueStore,
  { accountId, keyId, atMs }: {
    readonly accountId: AccountId;
    readonly keyId: ApiKeyId;
    readonly atMs: number;
  },
  change: Partial<RefusedCall> = {},
): Promise<RefusedCall> {
  const call: RefusedCall = {
    requestId: requestIdAt(atMs),
    accountId,
    keyId,
    atMs,
    latencyMs: 4,
    status: 402,
    code: "insufficient_balance",
    message: "Insufficient balance: this call needs 12 VND to begin and 0 VND are available",
    endpoint: "/v1/messages",
    model: "premium-1",
    ...change,
  };
  const op = kv.atomic();
  writeRefusedCall(op, call, 86_400_000);
  await op.commit();
  return call;
}
