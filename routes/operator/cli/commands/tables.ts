/**
 * `admin tables`: sealed days as Parquet files. The process that was started by the operator makes the files, so that
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
import { day } from "../../operations/contract/texts.ts";
import type { AdminDeps, StoreReading } from "./admin_deps.ts";
import { exists, writeWholeFile } from "./whole_file.ts";

const daysQuery = z.strictObject({ from: day, to: day.optional() });

const tablePath = z.strictObject({ table: z.enum(dayTableNames), day });

/** What `/tables` answers: the days that can be written, because nothing is added to them any more. */
const sealedDays = z.strictObject({ days: z.array(day) });

/** Adds `/tables`, which lists the sealed days of a range, and `/tables/TABLE/DAY`, which has their rows. */
export function addTableRoutes(
  app: Hono,
  { kv, masterKeys, beginReading }: Pick<AdminDeps, "kv" | "masterKeys" | "beginReading">,
): void {
  app.get("/tables", async (context) => {
    const { from, to } = daysQuery.parse(context.req.query());
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
    const { table, day } = tablePath.parse(context.req.param());
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

/** What the command needs: the store's answers, and output. */
export interface TablesWorld {
  readonly folder: string;
  /** Asks the admin app, which this process or the running server has. */
  ask(path: string): Promise<Disposable & { readonly response: Response }>;
  print(result: unknown): Promise<void>;
  error(text: string): void;
}

/** Where a table of a day is: the form of folders that DuckDB, Spark, BigQuery and ClickHouse read as a column. */
function fileOf(folder: string, table: DayTableName, day: string): string {
  return join(folder, table, `day=${day}`, `${table}.parquet`);
}

/** Writes the files that the folder lacks, a day after the other; what was written stays if a later one fails. */
export async function writeTables(listed: Response, world: TablesWorld): Promise<number> {
  const written: string[] = [];
  let present = 0;
  try {
    for (const day of sealedDays.parse(await listed.json()).days) {
      for (const table of dayTableNames) {
        const file = fileOf(world.folder, table, day);
        if (await exists(file)) present++;
        else written.push(await writeTable(file, { table, day }, world));
      }
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
  file: string,
  { table, day }: { readonly table: DayTableName; readonly day: string },
  { ask }: TablesWorld,
): Promise<string> {
  using call = await ask(`/tables/${table}/${day}`);
  const { ok, status, body } = call.response;
  if (!ok || body === null) {
    throw new Error(`the store answered ${status}: ${await call.response.text()}`);
  }
  await Deno.mkdir(dirname(file), { recursive: true });
  const rows = fromLines(body.pipeThrough(new TextDecoderStream()));
  await writeWholeFile(file, dayTables[table].file(rows), () => Promise.resolve());
  return file;
}
