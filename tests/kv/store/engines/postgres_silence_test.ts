/** Connections to PostgreSQL that fall silent without being closed, as when a firewall has forgotten them. */
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { openPostgres } from "../../../../kv/engine/postgres/open_postgres.ts";
import { withDeadlines } from "../../../../kv/engine/store/store_deadlines.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { startTcpProxy } from "../../../support/servers/tcp_proxy.ts";
import { until } from "../../../support/until.ts";
import { nextTurn } from "../../../support/turns.ts";

const programs = await postgresPrograms();

/** The driver's timers outlive a connection by some milliseconds. */
const options = { ignore: programs === undefined, sanitizeOps: false, sanitizeResources: false };

/** As many as the pool has connections. */
const connections = 8;

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

/** Calls of sixteen clients that each add 1 to their row again and again, by whether they were answered. */
interface Counts {
  answered: number;
  unanswered: number;
}

/** Lets the clients work until it is so. */
async function addUntil(
  kv: KeyValueStore,
  isSo: (counts: Counts) => boolean,
  what: string,
): Promise<Counts> {
  const counts = { answered: 0, unanswered: 0 };
  let isOver = false;
  const clients = Array.from({ length: 16 }, async (_, client) => {
    const key = ["row", client];
    while (!isOver) {
      try {
        const row = await kv.get<number>(key);
        const next = (row.value ?? NaN) + 1;
        if ((await kv.atomic().check(row).set(key, next).commit()).ok) counts.answered++;
      } catch {
        counts.unanswered++;
      }
      await nextTurn();
    }
  });
  try {
    await until(() => isSo(counts), what);
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  return counts;
}

/** Whether so many calls were answered after the first one that was not. */
function hasGoneOn(more: number): (counts: Counts) => boolean {
  let atFirst: number | undefined;
  return ({ answered, unanswered }) => {
    if (unanswered > 0) atFirst ??= answered;
    return atFirst !== undefined && answered >= atFirst + more;
  };
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
    store.mute(1);
    const counts = await addUntil(store.kv, hasGoneOn(1_000), "calls go on");
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
    store.mute(connections);
    const counts = await addUntil(store.kv, hasGoneOn(200), "calls are answered again");
    const sum = await sumOf(store.kv);
    const { answered, unanswered } = counts;
    assert(sum >= answered && sum <= answered + unanswered, JSON.stringify({ sum, ...counts }));
  },
});
