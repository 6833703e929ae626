/** `admin retention` as an operator types it, and what the nightly `admin archive` does of it. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import type { Clock } from "../../../../../core/lib/time/clock.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";
import { mailQueue } from "../../../../../kv/engine/outbox/outbox.ts";
import { bury } from "../../../../../kv/engine/outbox/outbox_dead_letters.ts";
import { openStore } from "../../../../../kv/engine/opening/store.ts";
import {
  addAuditLine,
  commandLine,
  listAuditLines,
} from "../../../../../kv/people/audit/operator_audit.ts";
import {
  applyRetention,
  type LeavingKind,
} from "../../../../../kv/services/retention/retention.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { BooksWorld, problemLines } from "../../../../support/worlds/books_world.ts";

const startMs = Date.UTC(2040, 0, 10, 5);
const callsApartDays = 10;
const calls = 30;

/** A store of three hundred days, with a mail that was given up on the first. */
async function seed(path: string, masterKey: string): Promise<Clock> {
  const clock: Clock = { nowMs: () => startMs, monotonicMs: () => startMs };
  const opened = await openStore({ kind: "file", path }, clock);
  assert(opened.ok, "the store opens");
  const masterKeys = await readMasterKeys(masterKey);
  const world = await BooksWorld.open(opened.store.kv, { noonMs: startMs, masterKeys });
  await world.topUp(world.ann, 10_000n);
  const row = { payload: {}, createdAtMs: startMs, attempts: 8 };
  const letter = { id: "m", row, reason: "SmtpError", nowMs: startMs };
  await bury(world.kv.atomic(), mailQueue, letter).commit();
  for (let call = 0; call < calls; call++) {
    await world.call(world.ann, 10n);
    world.advance(callsApartDays * dayMs);
  }
  assertEquals(problemLines(await world.verify()), []);
  const { nowMs } = world;
  await world.wallet.close();
  opened.store[Symbol.dispose]();
  return { nowMs: () => nowMs, monotonicMs: () => nowMs };
}

interface Answer {
  readonly ok: boolean;
  readonly wouldDrop?: readonly LeavingKind[];
  readonly dropped?: readonly LeavingKind[];
}

function rowsOf(kinds: readonly LeavingKind[] | undefined): Record<string, number> {
  const some = (kinds ?? []).filter(({ rows }) => rows > 0);
  return Object.fromEntries(some.map(({ kind, rows }) => [kind, rows]));
}

Deno.test("`admin retention` shows what would go, `admin archive` drops it, and verify finds nothing", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-retention-" });
  const masterKey = newMasterKey();
  const path = `${folder}/gateway.sqlite3`;
  const clock = await seed(path, masterKey);
  const env = { GATEWAY_KV: path, GATEWAY_MASTER_KEYS: masterKey };
  const run = async (settings: Record<string, string>, ...args: string[]): Promise<Answer> => {
    const config = testConfig({ env: { ...env, ...settings } });
    const { code, written, errors } = await runCommand(config, args, clock);
    assertEquals([code, errors], [0, ""], written);
    return JSON.parse(written);
  };
  assertEquals(rowsOf((await run({}, "archive")).dropped), { unsent_mails: 1 });
  const short = { GATEWAY_RECEIPT_MONTHS: "3" };
  assertEquals(rowsOf((await run({}, "retention")).wouldDrop), {});
  const { wouldDrop } = await run(short, "retention");
  const receipts = wouldDrop?.find(({ kind }) => kind === "receipts");
  assertEquals(
    [receipts?.kept, receipts?.oldest, receipts?.newest],
    ["3 months", "2040-01", "2040-07"],
  );
  const months = await run({}, "retention", "--months", "3");
  assertEquals(months.wouldDrop, wouldDrop, "the same by hand");
  assertEquals(rowsOf((await run(short, "archive")).dropped), rowsOf(wouldDrop));
  assertEquals(rowsOf((await run(short, "retention", "--apply")).dropped), {});
  const books = await run(short, "verify", "--full");
  assertEquals(books.ok, true);
  const opened = await openStore({ kind: "file", path }, clock);
  assert(opened.ok, "the store opens");
  const acts = (await listAuditLines(opened.store.kv, { count: 10 })).map(({ act }) => act);
  assertEquals(acts, ["receipts_dropped", "rows_dropped"]);
  opened.store[Symbol.dispose]();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a store without an archive says that its receipts stay, and drops the other kinds", async () => {
  using kv = await Deno.openKv(":memory:");
  const line = { act: "route_changed", subject: "s", detail: "d", atMs: startMs } as const;
  const op = kv.atomic();
  addAuditLine(op, commandLine, line);
  await op.commit();
  const kinds = await applyRetention({
    kv,
    parts: undefined,
    masterKeys: await readMasterKeys(newMasterKey()),
    settings: { ...testConfig().retention, receipts: 3, audit_log: 12 },
    nowMs: startMs + 500 * dayMs,
  });
  assertEquals(rowsOf(kinds), { audit_log: 1 });
  const problems = kinds.flatMap(({ problem }) => problem ?? []);
  assertEquals(problems.length, 1);
  assert(problems[0]?.includes("this store has no archive"), problems[0] ?? "");
});
