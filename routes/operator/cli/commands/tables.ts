/**
 * `admin tables`: sealed days as Parquet files, in a folder or a bucket. The process that was started by the operator makes the files, so that
 * calls of a running server do not wait for it.
 */
import { dirname, join } from "node:path";
import type { Hono } from "hono";
import { z } from "zod";
import { errorLine } from "../../../../core/lib/base/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { readKeptBalances } from "../../../../kv/services/verify/days/kept_balances.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import {
  asLines,
  type DayTableName,
  dayTableNames,
  dayTables,
  fromLines,
} from "../../../../kv/services/warehouse/day_tables.ts";
import { checkpointKey } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { readInput } from "../../operations/contract/operation.ts";
import { day } from "../../operations/contract/texts.ts";
import type { AdminDeps, StoreReading } from "./admin_deps.ts";
import { exists, writeWholeFile } from "./whole_file.ts";
import type { BucketVariables } from "../../../../core/config/bucket_variables.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { Bucket } from "../bucket/bucket.ts";
import { isBucketAddress, readBucketAddress } from "../bucket/bucket_address.ts";

/** Query of `tables`. */
export const daysQuery = z.strictObject({ from: day, to: day.optional() });

const tablePath = z.strictObject({ table: z.enum(dayTableNames), day });

/** Answer of `/tables`: the days that can be written, because nothing is added to them any more. */
const sealedDays = z.strictObject({ days: z.array(day) });

/** Adds `/tables`, which lists the sealed days of a range, and `/tables/TABLE/DAY`, which has their rows. */
export function addTableRoutes(
  app: Hono,
  { kv, masterKeys, beginReading }: Pick<AdminDeps, "kv" | "masterKeys" | "beginReading">,
): void {
  app.get("/tables", async (context) => {
    const { from, to } = readInput(daysQuery, context.req.query());
    const days = (await readChain(kv, masterKeys)).checkpoints.map(({ day }) => day);
    const last = days.at(-1);
    if (last === undefined || to !== undefined && to > last) {
      throw new GatewayError(
        "invalid_request",
        `${to ?? from} is not sealed: \`admin verify\` seals the days that are over` +
          (last === undefined ? "" : `, up to now ${last}`),
      );
    }
    const { kept } = await readKeptBalances(kv, masterKeys);
    const first = kept === undefined || kept.day < from ? from : kept.day;
    return context.json({ days: days.filter((one) => one >= first && one <= (to ?? last)) });
  });

  app.get("/tables/:table/:day", async (context) => {
    const { table, day } = readInput(tablePath, context.req.param());
    // The chain was proved when the days were listed; proving it again for each file takes longer each day.
    if ((await kv.get(checkpointKey(day))).versionstamp === null) {
      throw new GatewayError("invalid_request", `${day} is not sealed`);
    }
    const reading = beginReading?.(context.req.raw.signal);
    const lines = ReadableStream.from(linesOf(kv, { table, day, reading }));
    return new Response(lines.pipeThrough(new TextEncoderStream()));
  });
}

async function* linesOf(
  kv: KeyValueStore,
  { table, day, reading }: {
    readonly table: DayTableName;
    readonly day: string;
    readonly reading: StoreReading | undefined;
  },
): AsyncGenerator<string> {
  using _ending = reading;
  yield* asLines(dayTables[table].read(kv, { day, slices: reading?.slices }));
}

/** Needs of the command: the store's answers, and output. */
export interface TablesWorld {
  /** A folder, or `s3://BUCKET/PREFIX`. */
  readonly place: string;
  readonly bucket: BucketVariables;
  readonly clock: Clock;
  /** Asks the admin app, which this process or the running server has. */
  ask(path: string): Promise<Disposable & { readonly response: Response }>;
  print(result: unknown): Promise<void>;
  error(text: string): void;
}

/** Place that tables are written to. */
interface Warehouse {
  /** Lists the tables of a day that are not there. */
  missing(day: string): Promise<readonly DayTableName[]>;
  /** Writes a table, as a whole or not at all, and returns its name. */
  write(table: DayTableName, day: string, bytes: AsyncIterable<Uint8Array>): Promise<string>;
  /** Told when all tables of a day are there, of which some were written now. */
  finish(day: string): Promise<void>;
}

/** File of a table of a day: the form of folders that DuckDB, Spark, BigQuery and ClickHouse read as a column. */
function fileOf(table: DayTableName, day: string): string {
  return `${table}/day=${day}/${table}.parquet`;
}

/** Files in a folder; each has its name once it is whole. */
function folderWarehouse(folder: string): Warehouse {
  const pathOf = (table: DayTableName, day: string) => join(folder, fileOf(table, day));
  return {
    async missing(day) {
      const missing: DayTableName[] = [];
      for (const table of dayTableNames) {
        if (!await exists(pathOf(table, day))) missing.push(table);
      }
      return missing;
    },
    async write(table, day, bytes) {
      const path = pathOf(table, day);
      await Deno.mkdir(dirname(path), { recursive: true });
      await writeWholeFile(path, bytes, () => Promise.resolve());
      return path;
    },
    finish: async () => {},
  };
}

/** Says in a bucket that a day is whole. It is apart from the tables, since some programs read whatever is beside them. */
function markOf(day: string): string {
  return `days/day=${day}/_SUCCESS.json`;
}

/** Objects in a bucket. Readers take the days that have a mark, which is written last; a day without one is written anew. */
function bucketWarehouse(bucket: Bucket, prefix: string): Warehouse {
  let files: { readonly name: string; readonly bytes: number }[] = [];
  return {
    async missing(day) {
      files = [];
      return await bucket.has(markOf(day)) ? [] : dayTableNames;
    },
    async write(table, day, bytes) {
      const file = fileOf(table, day);
      const name = prefix + file;
      files.push({ name, bytes: await bucket.write(file, bytes) });
      return name;
    },
    async finish(day) {
      const mark = new TextEncoder().encode(`${JSON.stringify({ day, files })}\n`);
      await bucket.write(markOf(day), ReadableStream.from([mark]));
    },
  };
}

async function openWarehouse({ place, bucket, clock }: TablesWorld): Promise<Warehouse> {
  if (!isBucketAddress(place)) return folderWarehouse(place);
  const read = readBucketAddress(place, bucket);
  if (!read.ok) throw new Error(read.problem);
  const { Bucket } = await import("../bucket/bucket.ts");
  return bucketWarehouse(new Bucket(read.address, { clock }), read.address.prefix);
}

/** Writes the tables that are missing, a day after the other; what was written stays if a later one fails. */
export async function writeTables(listed: Response, world: TablesWorld): Promise<number> {
  const written: string[] = [];
  let present = 0;
  try {
    const warehouse = await openWarehouse(world);
    for (const day of sealedDays.parse(await listed.json()).days) {
      const missing = await warehouse.missing(day);
      present += dayTableNames.length - missing.length;
      for (const table of missing) written.push(await writeTable(warehouse, { table, day }, world));
      if (missing.length > 0) await warehouse.finish(day);
    }
    await world.print({ written, present });
    return 0;
  } catch (error) {
    await world.print({ written, present });
    world.error(`Not all tables were written: ${errorLine(error)}\n`);
    return 1;
  }
}

async function writeTable(
  warehouse: Warehouse,
  { table, day }: { readonly table: DayTableName; readonly day: string },
  { ask }: TablesWorld,
): Promise<string> {
  using call = await ask(`/tables/${table}/${day}`);
  const { ok, status, body } = call.response;
  if (!ok || body === null) {
    throw new Error(`the store answered ${status}: ${await call.response.text()}`);
  }
  const rows = fromLines(body.pipeThrough(new TextDecoderStream()));
  return await warehouse.write(table, day, dayTables[table].file(rows));
}
