/**
 * Fills a store as years of operation would:
 * `grow_store.ts <file or address of PostgreSQL> <receipts> [days] [days that stay in the store]`, with 1,000 accounts
 * and 10,000 keys. Every day is verified and sealed, and older ones move to the archive; prints what each took. Into
 * PostgreSQL the rows of a day are copied.
 */
import { readStoreLocation } from "../core/config/platform.ts";
import { newMasterKey, readMasterKeys } from "../core/people/api_keys/seal.ts";
import { daysBefore, OperatedStore, type Spent } from "./growth/operated_store.ts";
import { print } from "./print.ts";

const [path = "", receipts = "0", days = "45", kept = "35"] = Deno.args;
const read = readStoreLocation(path);
if (!read.ok) throw new Error(`The store ${read.problem}`);
const callsPerDay = Math.ceil(Number(receipts) / Number(days));
const masterKeys = await readMasterKeys(Deno.env.get("GATEWAY_MASTER_KEYS") ?? newMasterKey());
const grownDays = daysBefore(Date.now(), Number(days));
await using store = await OperatedStore.open({
  location: read.store,
  masterKeys,
  callsPerDay,
  keptDays: Number(kept),
  isFilled: true,
}, grownDays[0] ?? "");

const each = ({ cpuMicros, receipts }: Spent) =>
  receipts === 0 ? "–" : `${(cpuMicros / receipts).toFixed(1)} µs`;

/** Days after which the room on the disk is printed. */
const daysPerSize = 5;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

for (const [at, day] of grownDays.entries()) {
  const beganMs = performance.now();
  const written = await store.write(day);
  const wroteMs = performance.now() - beganMs;
  const verified = await store.verify(day);
  const moved = await store.move(day);
  print(
    `  ${day}: written in ${(wroteMs / 1_000).toFixed(1)} s; ` +
      `CPU per receipt: written ${each(written)}, verified ${each(verified)}, ` +
      `${moved.receipts} moved ${each(moved)}`,
  );
  if ((at + 1) % daysPerSize > 0) continue;
  const bytes = await store.bytes();
  const archived = Math.max(0, at + 1 - Number(kept)) * callsPerDay;
  print(
    `day ${at + 1}: store ${megabytes(bytes.store)}, archive ${megabytes(bytes.archive)}` +
      (archived > 0 ? `, ${(bytes.archive / archived).toFixed(0)} bytes an archived receipt` : ""),
  );
}
