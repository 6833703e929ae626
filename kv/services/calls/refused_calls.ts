/**
 * Reads the calls that were refused before a provider was asked (`docs/adr/0014-refused-calls-leave-rows.md`). They have
 * no receipt, since they move no money; a row says when, why and with which key. Metadata only, like receipts.
 */
import type { ErrorCode, RefusalFigures } from "../../../core/lib/errors/errors.ts";
import type { AccountId, ApiKeyId, RequestId } from "../../../core/lib/ids/ids.ts";
import {
  refusedCallByIdKey,
  refusedCallKey,
  refusedCallOf,
  refusedCallsByIdPrefix,
  refusedCallsPrefix,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listBatchRows, valuesOfKeys } from "../../engine/store/read_ahead.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Milliseconds that restored rows live, where a backup does not know when they expire: the default of the setting. */
export const restoredRefusedCallMs = 30 * dayMs;

/**
 * Characters of a kept message. Messages name fields, which may be the caller's own text in a path such as
 * `tools.0.input_schema.properties.…`; a sentence of ours fits.
 */
const maxMessageChars = 300;

/** A call that was refused before a provider was asked. */
export interface RefusedCall {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  /** Arrival of the request. */
  readonly atMs: number;
  readonly latencyMs: number;
  /** HTTP status that the client saw. */
  readonly status: number;
  readonly code: ErrorCode;
  /** The message that the client got, cut if it is long. */
  readonly message: string;
  /** The figures of the message, for pages; absent in rows of earlier versions. */
  readonly figures?: RefusalFigures;
  /** The path that was called, without ids in it. */
  readonly endpoint?: string;
  /** The model in the catalogue, if the call came that far. */
  readonly model?: string;
  /** Refused calls of the account before this one, and after the one with the row before, that have no row. */
  readonly leftOut?: number;
}

/** Adds the rows of a refused call to a commit. They expire after `keptMs`. */
export function writeRefusedCall(op: AtomicWrite, call: RefusedCall, keptMs: number): void {
  const { requestId, accountId, ...rest } = call;
  const { message } = rest;
  const value = message.length <= maxMessageChars
    ? rest
    : { ...rest, message: `${message.slice(0, maxMessageChars - 1)}…` };
  op.set(refusedCallKey(accountId, requestId), value, { expireIn: keptMs })
    .set(refusedCallByIdKey(requestId), accountId, { expireIn: keptMs });
}

type Row = Omit<RefusedCall, "requestId" | "accountId">;

/** Reads a refused call, if it has a row. The caller checks whose it is. */
export async function readRefusedCall(
  kv: KeyValueStore,
  requestId: RequestId,
): Promise<RefusedCall | undefined> {
  const { value: accountId } = await kv.get<AccountId>(refusedCallByIdKey(requestId));
  if (accountId === null) return undefined;
  const { value } = await kv.get<Row>(refusedCallKey(accountId, requestId));
  return value === null ? undefined : { ...value, requestId, accountId };
}

/** Lists the refused calls of an account, the latest first, starting before `before` if given. */
export async function* listRefusedCalls(
  kv: KeyValueStore,
  accountId: AccountId,
  before?: RequestId,
  options?: Deno.KvListOptions,
): AsyncGenerator<RefusedCall, void, void> {
  const prefix = refusedCallsPrefix(accountId);
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: refusedCallKey(accountId, before) };
  for await (const { key, value } of kv.list<Row>(selector, { ...options, reverse: true })) {
    yield { ...value, requestId: refusedCallOf(key), accountId };
  }
}

/** Returns the first refused call of an account after another call. */
export async function nextRefusedCall(
  kv: KeyValueStore,
  accountId: AccountId,
  after: RequestId,
): Promise<RequestId | undefined> {
  const selector = {
    prefix: refusedCallsPrefix(accountId),
    start: refusedCallKey(accountId, after),
  };
  for await (const { key } of kv.list(selector, { limit: 2 })) {
    const requestId = refusedCallOf(key);
    if (requestId > after) return requestId;
  }
  return undefined;
}

/** Lists the refused calls of all accounts, the latest first, starting before `before` if given. */
export async function* listAllRefusedCalls(
  kv: KeyValueStore,
  before?: RequestId,
): AsyncGenerator<RefusedCall, void, void> {
  const prefix = refusedCallsByIdPrefix();
  const selector = before === undefined ? { prefix } : { prefix, end: refusedCallByIdKey(before) };
  let some: [AccountId, RequestId][] = [];
  for await (const { key, value } of kv.list<AccountId>(selector, { reverse: true })) {
    some.push([value, refusedCallOf(key)]);
    if (some.length < listBatchRows) continue;
    yield* await readRows(kv, some);
    some = [];
  }
  yield* await readRows(kv, some);
}

async function readRows(
  kv: KeyValueStore,
  calls: readonly (readonly [AccountId, RequestId])[],
): Promise<RefusedCall[]> {
  if (calls.length === 0) return [];
  const keys = calls.map(([accountId, requestId]) => refusedCallKey(accountId, requestId));
  const rows = await valuesOfKeys<Row>(kv, keys);
  return rows.flatMap((value, at) => {
    const [accountId, requestId] = calls[at] ?? [];
    // The row of a pair may expire before that of the other.
    return value === undefined || accountId === undefined || requestId === undefined
      ? []
      : [{ ...value, requestId, accountId }];
  });
}
