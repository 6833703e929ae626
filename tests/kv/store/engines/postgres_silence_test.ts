/** Connections to PostgreSQL that fall silent without being closed, as when a firewall has forgotten them. */
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { sleep } from "../../../../core/lib/time/sleep.ts";
import type { KeyValueStore } from "../../../../kv/store/key_value_store.ts";
import { openPostgres } from "../../../../kv/store/postgres/open_postgres.ts";
import { withDeadlines } from "../../../../kv/store/store_deadlines.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { startTcpProxy } from "../../../support/servers/tcp_proxy.ts";

const programs = await postgresPrograms();

/** The driver's timers outlive a connection by some milliseconds. */
const options = { ignore: programs === undefined, sanitizeOps: false, sanitizeResources: false };

/** As many as the pool has connections. */
const connections = 8;

/** The pool counts as silent after 8 s, is looked at each second, and then has to connect; twice that at most. */
const backWithinMs = 20_000;

/** A store with all connections open, the next `count` of which can be made silent. */
async function openBehindProxy() {
  const server = await startPostgres(programs ?? "");
  const proxy = startTcpProxy(server.port);
  const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
  const deadlines = new Deadlines({ clock: systemClock });
  const engine = await openPostgres({ url, clock: systemClock, announcedKinds: new Set() });
  const kv = withDeadlines(engine.kv, deadlines);
  await Promise.all(Array.from({ length: 8 * connections }, (_, at) => kv.set(["row", at], 0)));
  return {
    kv,
    mute(count: number): void {
      proxy.mutesAnswer = () => count-- > 0;
    },
    async [Symbol.asyncDispose]() {
      await engine.kv.end();
      deadlines.close();
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Adds 1 to the row of a client again and again; counts what was answered and what was not. */
async function addUntil(
  kv: KeyValueStore,
  client: number,
  counts: { answered: number; unanswered: number },
  isOver: () => boolean,
): Promise<void> {
  const key = ["row", client];
  while (!isOver()) {
    try {
      const row = await kv.get<number>(key);
      const next = (row.value ?? NaN) + 1;
      if ((await kv.atomic().check(row).set(key, next).commit()).ok) counts.answered++;
    } catch {
      counts.unanswered++;
    }
    await sleep(10);
  }
}

async function sumOf(kv: KeyValueStore): Promise<number> {
  const rows = await Array.fromAsync(kv.list<number>({ prefix: ["row"] }), ({ value }) => value);
  return rows.reduce((sum, value) => sum + value, 0);
}

Deno.test({
  ...options,
  name: "a connection that falls silent costs the one call that it carries",
  async fn() {
    await using store = await openBehindProxy();
    const counts = { answered: 0, unanswered: 0 };
    const untilMs = performance.now() + 7_000;
    store.mute(1);
    const isOver = () => performance.now() > untilMs;
    await Promise.all(
      Array.from({ length: 16 }, (_, at) => addUntil(store.kv, at, counts, isOver)),
    );
    assertEquals(counts.unanswered, 1);
    const sum = await sumOf(store.kv);
    assert(sum === counts.answered || sum === counts.answered + 1, `${sum}, ${counts.answered}`);
  },
});

Deno.test({
  ...options,
  name: "when all connections fall silent, others are made, and what was answered is there",
  async fn() {
    await using store = await openBehindProxy();
    const counts = { answered: 0, unanswered: 0 };
    let backAtMs = Infinity;
    const beganMs = performance.now();
    const isOver = () => {
      if (counts.unanswered > 0 && counts.answered > 200) {
        backAtMs = Math.min(backAtMs, performance.now());
      }
      return backAtMs < Infinity || performance.now() > beganMs + backWithinMs;
    };
    store.mute(connections);
    await Promise.all(
      Array.from({ length: 16 }, (_, at) => addUntil(store.kv, at, counts, isOver)),
    );
    assert(counts.unanswered > 0, "the connections fell silent");
    assert(backAtMs < Infinity, `not back within ${backWithinMs} ms`);
    const sum = await sumOf(store.kv);
    const { answered, unanswered } = counts;
    assert(sum >= answered && sum <= answered + unanswered, JSON.stringify({ sum, ...counts }));
  },
});
