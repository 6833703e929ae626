/** `admin archive` as an operator types it. */
import { DatabaseSync } from "node:sqlite";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { systemClock } from "../../../../../core/lib/time/clock.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";
import { openStore } from "../../../../../kv/engine/opening/store.ts";
import { type EndedMove, readLastMove } from "../../../../../kv/services/archive/last_move.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { BooksWorld, problemLines } from "../../../../support/worlds/books_world.ts";

/** Sealed days with a call each. */
const daysOfCalls = 6;

/** Makes a store with days that ended between 50 and 40 days ago, and returns them. */
async function seed(path: string, masterKey: string): Promise<string[]> {
  const opened = await openStore({ kind: "file", path }, systemClock);
  assert(opened.ok, "the store opens");
  const world = await BooksWorld.open(opened.store.kv, {
    // Noon by the calendar, since a day is sealed two hours after its end only.
    noonMs: vietnamDayStartMs(vietnamDay(systemClock.nowMs() - 50 * dayMs)) + dayMs / 2,
    masterKeys: await readMasterKeys(masterKey),
  });
  await world.topUp(world.ann, 10_000n);
  for (let day = 0; day < daysOfCalls; day++) {
    await world.call(world.ann, 10n);
    world.nextDay();
  }
  const books = await world.verify();
  assertEquals([problemLines(books), books.sealedNow.length], [[], daysOfCalls]);
  await world.wallet.close();
  opened.store[Symbol.dispose]();
  return [...books.sealedNow];
}

async function lastMove(path: string): Promise<EndedMove | undefined> {
  const opened = await openStore({ kind: "file", path }, systemClock);
  assert(opened.ok, "the store opens");
  using store = opened.store;
  return await readLastMove(store.kv);
}

Deno.test("`admin archive` moves the days that are old enough, and notes how it ended", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const path = `${folder}/gateway.sqlite3`;
  const masterKey = newMasterKey();
  const days = await seed(path, masterKey);
  const config = testConfig({ env: { GATEWAY_KV: path, GATEWAY_MASTER_KEYS: masterKey } });
  const ended: string[] = [];
  const sums: number[] = [];
  const moved = async (...args: string[]) => {
    const { code, written } = await runCommand(config, ["archive", ...args]);
    const answer = JSON.parse(written);
    assertEquals([code, answer.ok, answer.problems], [0, true, []]);
    ended.push(answer.ended);
    sums.push(answer.sums);
    return answer.moved.map(({ day }: { day: string }) => day);
  };
  assertEquals(await lastMove(path), undefined);
  assertEquals(await moved("--older-than", "60"), []);
  assertEquals((await lastMove(path))?.problems, 0);
  assertEquals(await moved(), days);
  assertEquals(await moved("--older-than", "1"), []);
  const [early = "", whole = "", again = ""] = ended;
  assertMatch(early, /^moved nothing: no sealed day is before \d{4}-\d\d-\d\d$/);
  const range = `${days[0]} to ${days.at(-1)}`;
  assertEquals(sums, [0, daysOfCalls, 0]);
  assertStringIncludes(
    whole,
    `moved 6 days with 6 receipts, ${range}, and 6 sums of old days; all 6 sealed days before`,
  );
  assertMatch(again, /^moved nothing; all 6 sealed days before .* are in the archive$/);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`admin archive` that meets the lock of another process says so, and goes on when it is gone", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const path = `${folder}/gateway.sqlite3`;
  const masterKey = newMasterKey();
  const days = await seed(path, masterKey);
  const config = testConfig({ env: { GATEWAY_KV: path, GATEWAY_MASTER_KEYS: masterKey } });
  // The first day makes the file.
  const [first = "", second = ""] = days;
  const oldDays = (day: string) =>
    Math.floor((systemClock.nowMs() - vietnamDayStartMs(day)) / dayMs) - 1;
  const moved = await runCommand(config, ["archive", "--older-than", String(oldDays(first))]);
  assertEquals(JSON.parse(moved.written).moved.length, 1, moved.written);
  const archive = `${path}.archive`;
  const files = await Array.fromAsync(Deno.readDir(archive), ({ name }) => name);
  const file = files.find((name) => name === `${second.slice(0, 7)}.sqlite`) ?? files[0];
  const other = new DatabaseSync(`${archive}/${file}`);
  other.exec("begin immediate");
  const locked = await runCommand(config, ["archive"]);
  assertEquals(locked.code, 1);
  assertStringIncludes(locked.written, "Another process has a file of the archive locked");
  assertStringIncludes(locked.written, "run this again");
  other.exec("rollback");
  other.close();
  const rest = await runCommand(config, ["archive"]);
  assertEquals(JSON.parse(rest.written).moved.at(-1)?.day, days.at(-1), rest.written);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("`admin archive` refuses a wrong number of days, and a store that has no archive", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3` } });
  assertEquals((await runCommand(config, ["account", "create"])).code, 0);
  for (const days of ["0", "367"]) {
    const { code, written } = await runCommand(config, ["archive", "--older-than", days]);
    assert(code === 1 && written.includes("--older-than: "), written);
  }
  const memory = testConfig({ env: { GATEWAY_KV: ":memory:" } });
  const { code, written } = await runCommand(memory, ["archive"]);
  assert(code === 1 && written.includes("has no archive"), written);
  await Deno.remove(folder, { recursive: true });
});
