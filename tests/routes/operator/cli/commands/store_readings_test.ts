/** Readings of the whole store beside the service: quick after an idle night, and never in the way of a stop. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type Clock, systemClock } from "../../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../../core/lib/time/deadlines.ts";
import { atMost, sleep } from "../../../../../core/lib/time/sleep.ts";
import {
  longestReadingMs,
  storeReadings,
} from "../../../../../routes/operator/cli/commands/admin_deps.ts";
import { serve } from "../../../../../routes/server/serve.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../../../support/manual_time.ts";

const night = 9 * 3_600_000;
/** Far above what an empty store needs, far below what a night would be rested for. */
const promptMs = 20_000;

/** A served gateway on a file, whose clock a test can move on. */
async function served() {
  const folder = await Deno.makeTempDir();
  const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3`, PORT: "0" } });
  let idleMs = 0;
  const clock: Clock = {
    nowMs: () => systemClock.nowMs() + idleMs,
    monotonicMs: () => systemClock.monotonicMs() + idleMs,
  };
  const stop = new AbortController();
  const listening = Promise.withResolvers<void>();
  const ended = serve(config, {
    clock,
    random: Math.random,
    signal: stop.signal,
    write: (line) => line.includes("listening on") && listening.resolve(),
  });
  await listening.promise;
  return {
    config,
    /** A jump of the clock, and time for the wheel of deadlines, which turns each 100 ms, to see it. */
    async idle(ms: number) {
      idleMs += ms;
      await sleep(300);
    },
    async stop() {
      stop.abort();
      return await ended;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function within<T>(what: string, task: Promise<T>): Promise<T> {
  let isOver = false;
  await atMost(promptMs, task.then(() => isOver = true));
  assert(isOver, `${what} takes longer than ${promptMs} ms`);
  return await task;
}

Deno.test(
  "after an idle night verify and export answer at once, and so does a stop",
  async () => {
    await using server = await served();
    await server.idle(night);
    const verified = await within("verify", runCommand(server.config, ["verify"]));
    assertEquals(JSON.parse(verified.written).ok, true, verified.errors);
    await server.idle(night);
    const exported = await within("export", runCommand(server.config, ["export"]));
    assertEquals(exported.code, 0, exported.errors);
    assert(exported.written.split("\n").length > 5);
    await server.idle(night);
    const beside = runCommand(server.config, ["verify"]);
    assertEquals(await within("stopping", server.stop()), 0);
    await beside;
  },
);

/** A reading on a clock that does not advance. */
function reading() {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  const stopping = new AbortController();
  const client = new AbortController();
  const begin = storeReadings({ clock: time, deadlines, stopping: stopping.signal });
  return { time, deadlines, stopping, client, begin };
}

const ends = {
  "its client leaves": ({ client }) => client.abort(),
  "the server stops": ({ stopping }) => stopping.abort(),
  "its deadline is over": ({ time }) => time.advance(longestReadingMs + 1_000),
} satisfies Record<string, (test: ReturnType<typeof reading>) => void>;

for (const [what, end] of Object.entries(ends)) {
  Deno.test(`a reading ends when ${what}, also in the middle of a pause`, async () => {
    const test = reading();
    using begun = test.begin(test.client.signal);
    assertEquals(begun.slices.rest(), undefined);
    const paused = begun.pause(3_600_000).catch((error) => error);
    end(test);
    const reason = await paused;
    assert(reason instanceof Error && reason === begun.signal.reason, String(reason));
    let thrown: unknown;
    try {
      begun.slices.rest();
    } catch (error) {
      thrown = error;
    }
    assertEquals(thrown, reason);
    begun[Symbol.dispose]();
    assertEquals(test.deadlines.armedCount, 0);
    test.deadlines.close();
  });
}

Deno.test("a mistyped store is reported as missing, and none is created", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/mistyped/gateway.sqlite3`;
    const config = testConfig({ env: { GATEWAY_KV: path } });
    const commands = ["verify", "export", "account list", "outbox list", "maintenance on"];
    for (const command of commands) {
      const ran = await runCommand(config, command.split(" "));
      assertEquals([ran.code, ran.written], [1, ""], command);
      assertStringIncludes(ran.errors, `There is no store at ${path}`);
    }
    assertEquals(Array.from(Deno.readDirSync(folder)), []);
    assertEquals((await runCommand(config, ["account", "create"])).code, 0);
    assertEquals((await runCommand(config, ["verify"])).code, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
