/**
 * The whole store as JSON lines, one record each: for backups, audits and moving house.
 *
 * Only what is listed here leaves the store, and secrets are not: no password, session, token, second factor or key
 * hash, and of an API key neither the sealed text nor its hashes. Amounts are decimal strings of µVND.
 */
import { decodeBatch } from "./batches.ts";
import { aggregatePrefix } from "./keys.ts";
import { decodeSheet } from "./receipt_sheets.ts";

interface ExportedRecord {
  readonly key: Deno.KvKey;
  readonly value: unknown;
}

/** What may leave, by the first part of the key. The function says what of it. */
const exported: Readonly<Record<string, (entry: Deno.KvEntry<unknown>) => ExportedRecord[]>> = {
  account: whole,
  api_key: ({ key, value }) => [{ key, value: without(value, ["hash", "sealed", "previous"]) }],
  bank_event: whole,
  bank_event_unmatched: whole,
  bank_movement: whole,
  bank_review: whole,
  instance: whole,
  invoice: whole,
  invoice_profile: whole,
  lease: whole,
  ledger: whole,
  operator_audit: whole,
  refunded: whole,
  receipt: (entry) =>
    decodeSheet(entry).map((receipt) => ({ key: ["receipt", receipt.requestId], value: receipt })),
  settled: (entry) => [{ key: entry.key, value: decodeBatch(entry).parts }],
  topup_order: whole,
  topup_payment: whole,
  usage: whole,
  video: whole,
  wallet: whole,
};

function whole({ key, value }: Deno.KvEntry<unknown>): ExportedRecord[] {
  return [{ key, value }];
}

function without(value: unknown, fields: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));
}

function plain(_field: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return value.toBase64();
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return [...value];
  return value;
}

/**
 * Streams the records, each a line `{"key":[…],"value":…}` with its newline, in key order. Memory stays bounded; beside a
 * live service each record is right, but they are not all of the same moment.
 *
 * @example
 * ```ts
 * import { exportRecords } from "./export.ts";
 * using kv = await Deno.openKv(":memory:");
 * await kv.set(["wallet", "acc_1"], { availableMicroVnd: 5n });
 * await kv.set(["session", "secret"], {});
 * const lines = await Array.fromAsync(exportRecords(kv));
 * if (lines.join() !== '{"key":["wallet","acc_1"],"value":{"availableMicroVnd":"5"}}\n') {
 *   throw new Error(lines.join());
 * }
 * ```
 */
export async function* exportRecords(kv: Deno.Kv): AsyncGenerator<string> {
  for (const prefix of Object.keys(exported).sort()) {
    const recordsOf = exported[prefix];
    if (!recordsOf) continue;
    for await (
      const entry of kv.list<unknown>({ prefix: aggregatePrefix(prefix) }, { batchSize: 500 })
    ) {
      for (const { key, value } of recordsOf(entry)) {
        yield `${JSON.stringify({ key, value }, plain)}\n`;
      }
    }
  }
}
