/** A server that crashes, restarts or keeps commits waiting, as the store and its readiness show it. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { systemTimer } from "../../../../core/lib/time/deadlines.ts";
import { CommitWatch } from "../../../../kv/engine/parts/commit_watch.ts";
import { openStore } from "../../../../kv/engine/opening/store.ts";
import { StoreUnavailableError } from "../../../../kv/engine/store/store_unavailable.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { until } from "../../../support/until.ts";

// The driver's timers outlive a connection by some milliseconds.
const processes = { sanitizeOps: false, sanitizeResources: false };
const programs = await postgresPrograms();

Deno.test({
  name: "a crash of the server fails calls as an outage, and reads after it need no repetition",
  ignore: programs === undefined,
  ...processes,
  async fn() {
    await using server = await startPostgres(programs ?? "");
    const url = await server.makeDatabase();
    const opened = await openStore({ kind: "postgres", url }, systemClock);
    assert(opened.ok);
    using store = opened.store;
    await store.kv.set(["row"], "value");
    await server.kill();
    const calls = [
      () => store.kv.get(["row"]),
      () => store.kv.getMany([["row"]]),
      () => store.kv.list({ prefix: [] }).next(),
      () => store.kv.atomic().set(["row"], "other").commit(),
    ];
    const thrown = await Promise.all(calls.map((call) => call().catch((error: unknown) => error)));
    for (const error of thrown) assert(error instanceof StoreUnavailableError, String(error));
    await server.start();
    await until(
      () => store.kv.get(["row"]).then(() => true, () => false),
      "the server answers again",
    );
    // Its connections break; each read finds the restarted server by itself.
    await server.kill();
    await server.start();
    const values = await Promise.all(
      Array.from({ length: 20 }, async () => (await store.kv.get(["row"])).value),
    );
    assertEquals(values, values.map(() => "value"));
  },
});

Deno.test({
  name: "a primary that waits for its standby answers reads and is not ready",
  ignore: programs === undefined,
  ...processes,
  async fn() {
    await using server = await startPostgres(programs ?? "");
    const url = await server.makeDatabase();
    const opened = await openStore({ kind: "postgres", url }, systemClock);
    assert(opened.ok);
    using store = opened.store;
    const changes: unknown[] = [];
    const watch = new CommitWatch(store.kv, {
      clock: systemClock,
      timer: systemTimer,
      onChange: (outage) => void changes.push(outage),
    });
    assertEquals(await watch.confirm(), true);
    await server.set("synchronous_standby_names", "absent");
    await until(async () => !await watch.confirm(), "the watch finds that commits wait");
    assertEquals((await watch.kv.get(["none"])).value, null);
    await server.set("synchronous_standby_names", "");
    await until(() => watch.confirm(), "the store takes commits again");
    assertEquals(changes, ["no_answer", undefined]);
    watch.close();
  },
});

Deno.test({
  name: "a standby that is named first is passed over, and the primary behind it takes the commits",
  ignore: programs === undefined,
  ...processes,
  async fn() {
    await using primary = await startPostgres(programs ?? "");
    await using standby = await primary.startStandby();
    const url = primary.url.replace(/@/, `@127.0.0.1:${standby.port},`);
    const opened = await openStore({ kind: "postgres", url }, systemClock);
    assert(opened.ok);
    using store = opened.store;
    // Each on whichever of the connections is free: all of them lead to the primary.
    const commits = Array.from({ length: 40 }, (_, at) => store.kv.set(["row", at], at));
    assertEquals((await Promise.all(commits)).map(({ ok }) => ok), commits.map(() => true));
    assert(!(await standby.log()).includes("read-only transaction"), "nothing is tried there");
  },
});
