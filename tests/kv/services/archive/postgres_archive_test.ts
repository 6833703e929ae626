import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { openStore } from "../../../../kv/engine/opening/store.ts";
import { StoreUnavailableError } from "../../../../kv/engine/store/store_unavailable.ts";
import { withArchive } from "../../../../kv/services/archive/open_archive.ts";
import { startTcpProxy } from "../../../support/servers/tcp_proxy.ts";
import { openPostgresArchive } from "../../../../kv/money/archive/postgres_archive.ts";
import { Pool, stateOf } from "../../../../kv/engine/postgres/pool.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { testDropping } from "./dropping.ts";
import { type TestArchive, testMoving } from "./moving.ts";
import { testMovingSums } from "./moving_sums.ts";
import { archiveCalls, documentedColumns, documentedStatements, views } from "./reports_page.ts";

// The driver's timers outlive a connection by some milliseconds.
const processes = { sanitizeOps: false, sanitizeResources: false };

const programs = await postgresPrograms();

if (programs === undefined) {
  Deno.test({
    name: "PostgreSQL is not installed here: its archive is not tested",
    ignore: true,
    fn() {},
  });
} else {
  const server = await startPostgres(programs);
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  const open = async (): Promise<TestArchive> => {
    const url = await server.makeDatabase();
    const archive = await openPostgresArchive({ url, clock: systemClock });
    const change = async (sql: string) => {
      const pool = await Pool.open({ url, clock: systemClock });
      await pool.query(sql, []);
      await pool.end();
    };
    return {
      archive,
      change: (sql) => change(sql.replace(/update /, "update archive_")),
      raiseDaySums: () =>
        change(`update archive_day_pages set cost_micro_vnd = array(
          select cost + 1 from unnest(cost_micro_vnd) with ordinality as cell (cost, place) order by place
        )`),
      [Symbol.asyncDispose]: () => archive.close(),
    };
  };
  testMoving("PostgreSQL", open, processes);
  testMovingSums("PostgreSQL", open, processes);
  testDropping("PostgreSQL", open, processes);

  Deno.test(
    "PostgreSQL: tables of an earlier release get the columns they lack",
    processes,
    async () => {
      const url = await server.makeDatabase();
      await (await openPostgresArchive({ url, clock: systemClock })).close();
      const pool = await Pool.open({ url, clock: systemClock });
      await pool.query("alter table archive_receipts drop column held_micro_vnd", []);
      await pool.query("drop table archive_sums", []);
      const all = { fromAccount: "", toAccount: "~", fromDay: "", toDay: "~", limit: 9 };
      const range = { fromMs: 0, toMs: 1, limit: 1, reverse: false };
      for (const _ of ["it adds them", "they are there"]) {
        const archive = await openPostgresArchive({ url, clock: systemClock });
        assertEquals(await archive.callsBetween(range), []);
        assertEquals(await archive.sumPages(all), []);
        await archive.close();
      }
      await pool.end();
    },
  );

  Deno.test(
    "PostgreSQL: sums by day of an earlier release are read as they are, and made pages of",
    processes,
    async () => {
      const url = await server.makeDatabase();
      const archive = await openPostgresArchive({ url, clock: systemClock });
      const { day } = await archiveCalls(archive);
      const pool = await Pool.open({ url, clock: systemClock });
      const [account] = await archive.accountsOfDay(day, false);
      assert(account !== undefined, "an account");
      const seen = async () => [
        await pool.query("select * from day_sums_v1 order by 1, 2, 3, 4", []),
        await archive.accountsOfDay(day, false),
        await archive.accountsOfDay(day, true),
        await archive.chargesOf(day, day),
        await archive.callsByDay(account, {}, { fromDay: "2000-01-01", toDay: "2999-01-01" }),
        await archive.callsByDay(account, { model: "m" }, { fromDay: day, toDay: day }),
        await archive.callsByDay(account, { onlyFailed: true }, { fromDay: day, toDay: day }),
      ];
      const rows = () =>
        pool.query(`select count(*)::int as rows from archive_day_sums where day = '${day}'`, []);
      const before = await seen();
      await pool.query("insert into archive_day_sums select * from archive_day_cells", []);
      await pool.query("delete from archive_day_pages", []);
      await pool.query("delete from archive_models", []);
      assertEquals(await seen(), before);
      for (const _ of ["it makes pages", "they are there"]) {
        await archive.packDay(day);
        assertEquals(await seen(), before);
        assertEquals((await rows())[0]?.["rows"], 0);
      }
      await pool.end();
      await archive.close();
    },
  );

  Deno.test(
    "PostgreSQL: the indexes of a month are built anew once, also behind a run that was killed",
    processes,
    async () => {
      const url = await server.makeDatabase();
      const archive = await openPostgresArchive({ url, clock: systemClock });
      const { day } = await archiveCalls(archive);
      const month = day.slice(0, 7);
      const table = `archive_receipts_${month.replace("-", "_")}`;
      const pool = await Pool.open({ url, clock: systemClock });
      const everyCall = { fromMs: 0, toMs: Date.UTC(2100, 0), limit: 99, reverse: false };
      const before = await archive.callsBetween(everyCall);
      const indexes = () =>
        pool.query(
          `select relname, relfilenode::text as file, reloptions::text as options, indisvalid as valid
            from pg_index join pg_class on oid = indexrelid where indrelid = '${table}'::regclass order by 1`,
          [],
        );
      const earlier = await indexes();
      await pool.query(`create index left_over on ${table} (account)`, []);
      await pool.query(
        "update pg_index set indisvalid = false where indexrelid = 'left_over'::regclass",
        [],
      );
      await archive.packMonth("2000-01");
      await archive.packMonth(month);
      const packed = await indexes();
      assertEquals(packed.map(({ relname }) => relname), earlier.map(({ relname }) => relname));
      for (const [at, { file, options, valid }] of packed.entries()) {
        assertEquals([options, valid], ["{fillfactor=100}", true]);
        assert(file !== earlier[at]?.["file"], "it was built anew");
      }
      assertEquals(await archive.callsBetween(everyCall), before);
      await archive.packMonth(month);
      assertEquals(await indexes(), packed);
      await pool.end();
      await archive.close();
    },
  );

  Deno.test(
    "PostgreSQL: a report that stays open holds up neither a new month nor its readers",
    processes,
    async () => {
      const url = await server.makeDatabase();
      // What would wait for the report fails.
      const archive = await openPostgresArchive({
        url: `${url}?lock_timeout=5s`,
        clock: systemClock,
      });
      const reports = await Pool.open({ url, clock: systemClock });
      const startMs = vietnamDayStartMs("2026-11-01");
      const mark = { startMs, pages: 0, receipts: 0, chargedMicroVnd: 0n, digest: "d" };
      await reports.transaction(async ({ query }) => {
        await query("select count(*) from receipts_v1");
        const calls = (async function* () {})();
        assert(
          await archive.writeHour({ startMs, digest: "d", calls, mark: () => mark }),
          "it is there",
        );
        assertEquals((await archive.months()).map(({ month }) => month), ["2026-11"]);
        const range = { fromMs: 0, toMs: startMs + 1, limit: 1, reverse: false };
        assertEquals(await archive.callsBetween(range), []);
        return true;
      });
      await reports.end();
      await archive.close();
    },
  );

  Deno.test(
    "PostgreSQL: the page about reports has the columns, its statements run, and its role reads nothing else",
    processes,
    async () => {
      const url = await server.makeDatabase();
      const opened = await openStore({ kind: "postgres", url }, systemClock);
      assert(opened.ok, "the table of the store is there");
      const archive = await openPostgresArchive({ url, clock: systemClock });
      const { day, paidMicroVnd } = await archiveCalls(archive);
      const owner = await Pool.open({ url, clock: systemClock });
      for (const view of views) {
        const columns = await owner.query(
          "select column_name as name from information_schema.columns where table_name = $1 order by ordinal_position",
          [view],
        );
        assertEquals(columns.map(({ name }) => name), documentedColumns(view, "PostgreSQL"));
      }
      const isSetup = (sql: string) => !/^(?:--.*\n)*\s*select/u.test(sql);
      const statements = documentedStatements("PostgreSQL", day);
      for (const sql of statements.filter(isSetup)) await owner.query(sql, []);
      const financeUrl = url.replace("gateway@", "finance@");
      const finance = await Pool.open({ url: financeUrl, clock: systemClock });
      const reports = statements.filter((sql) => !isSetup(sql));
      const answers = [];
      for (const sql of reports) answers.push(await finance.query(sql, []));
      assertEquals(answers.filter((rows) => rows.length === 0), []);
      const paid = answers[0]?.map((row) => row["paid_vnd"]);
      assertEquals(paid, [(Number(paidMicroVnd) / 1e6).toFixed(6)]);
      const refusal = (sql: string) => finance.query(sql, []).then(() => undefined, stateOf);
      for (const table of ["gateway_kv", "archive_receipts", "archive_ledger"]) {
        assertEquals(await refusal(`select * from ${table}`), "42501", table);
      }
      assertEquals(await refusal("create table mine (a integer)"), "25006");
      for (const pool of [finance, owner]) await pool.end();
      await archive.close();
      opened.store[Symbol.dispose]();
    },
  );

  for (const trouble of ["refuses connections", "is silent"] as const) {
    Deno.test(
      `PostgreSQL: of a server that ${trouble}, reads of the archive say that the store is away`,
      processes,
      async () => {
        const url = new URL(await server.makeDatabase());
        const proxy = startTcpProxy(Number(url.port));
        url.port = String(proxy.port);
        const location = { kind: "postgres", url: url.href } as const;
        const opened = await openStore(location, systemClock);
        assert(opened.ok);
        const archived = await withArchive(opened.store, location, systemClock);
        assert(archived.ok && archived.store.parts !== undefined);
        const { archive } = archived.store.parts;
        if (trouble === "is silent") proxy.passesNothing = true;
        else await proxy[Symbol.asyncDispose]();
        const accountId = newId("account", 0);
        const range = { fromMs: 0, toMs: 1, limit: 1, reverse: false };
        const place = { fromPlace: "", beforePlace: "~", onlyFailed: false };
        const calls = [{ accountId, requestIds: [newId("request", 0)] }];
        const reads: readonly (() => Promise<unknown>)[] = [
          () => archive.callsBetween(range),
          () =>
            archive.callsThatFit({
              filter: {},
              ranges: [{ fromMs: 0, toMs: 1 }],
              from: "",
              before: "~",
              limit: 1,
            }),
          () => archive.callsByDay(accountId, {}, { fromDay: "2026-11-01", toDay: "2026-11-01" }),
          () => archive.timeOfCall({ fromMs: 0, toMs: 1 }, 1),
          () => archive.idsOf(accountId, { ...range, ...place }),
          () => archive.idsAmong(calls, false),
          () => archive.accounts({ from: "", limit: 1, reverse: false }),
          () => archive.accountsOfDay("2026-11-01", false),
          () => archive.hoursBetween(0, 1),
        ];
        await Promise.all(reads.map((read) => assertRejects(read, StoreUnavailableError)));
        archived.store[Symbol.dispose]();
        if (trouble === "is silent") await proxy[Symbol.asyncDispose]();
      },
    );
  }
}
