/** `admin backup` and `admin restore`, also between engines. */
import { decodeKey } from "../../../../../kv/engine/parts/tuple_key.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type RanCommand, runCommand } from "../../../../support/gateways/admin_command.ts";
import { openedStore, rowsOf } from "../../../../support/stores/backup_stores.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";
import { draftOf, topUp } from "../../../../support/worlds/money_world.ts";
import {
  denokvAccessToken,
  denokvProgram,
  startDenokv,
} from "../../../../support/servers/denokv_server.ts";
import { postgresPrograms, startPostgres } from "../../../../support/servers/postgres_server.ts";
import type { AccountId } from "../../../../../core/lib/ids/ids.ts";
import { newMasterKey } from "../../../../../core/people/api_keys/seal.ts";
import { systemClock } from "../../../../../core/lib/time/clock.ts";
import {
  getPasswordHash,
  setPasswordHash,
} from "../../../../../kv/people/accounts/account_credentials.ts";
import { sessionKey, walletKey } from "../../../../../kv/engine/schema/keys.ts";
import { readLastBackup } from "../../../../../kv/services/backup/last_backup.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import {
  archivedSumsSchemaVersion,
  writeSchemaVersion,
} from "../../../../../kv/engine/opening/schema_version.ts";
import { serve } from "../../../../../routes/server/serve.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";

const masterKeys = newMasterKey();
const backupKey = newMasterKey();

interface World {
  readonly folder: string;
  configOf(kv: string, key?: string): ReturnType<typeof testConfig>;
}

async function inFolder(run: (world: World) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const configOf = (kv: string, key: string | undefined = backupKey) =>
    testConfig({
      env: {
        GATEWAY_KV: kv.includes(":") ? kv : `${folder}/${kv}`,
        GATEWAY_MASTER_KEYS: masterKeys,
        DENO_KV_ACCESS_TOKEN: denokvAccessToken,
        ...(key === "" ? {} : { GATEWAY_BACKUP_KEY: key }),
      },
    });
  try {
    await run({ folder, configOf });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function assertDone(ran: RanCommand): unknown {
  assertEquals([ran.code, ran.errors], [0, ""]);
  return JSON.parse(ran.written);
}

/** Makes a store with an account, a key, a password, a session, receipts, and leases of an instance that was killed. */
async function fillStore(config: ReturnType<typeof testConfig>): Promise<AccountId> {
  const made = await runCommand(config, ["account", "create", "--email", "ann@example.com"]);
  const { id } = JSON.parse(made.written) as { id: AccountId };
  assertDone(await runCommand(config, ["key", "create", id]));
  assertDone(await runCommand(config, ["credit", id, "50000", "--reason", "first top-up"]));
  using store = await openedStore(config);
  const { kv } = store;
  await setPasswordHash(kv, id, "$hash-of-a-password");
  await kv.set(sessionKey("hash"), { of: id }, { expireIn: 60_000 });
  await topUp(kv, id, 7_000_000n);
  const engine = await openWalletEngine(kv, { clock: systemClock });
  for (let call = 0; call < 40; call++) {
    const reserved = await engine.reserve(id, 1_000n);
    assert(reserved.ok);
    await engine.settle(reserved.reservation, draftOf(700n));
  }
  // As after a kill: leases, batches and the instance stay.
  const rows = await Array.fromAsync(kv.list({ prefix: [] }));
  await engine.close();
  const operation = kv.atomic();
  for await (const { key } of kv.list({ prefix: [] })) operation.delete(key);
  for (const { key, value } of rows) operation.set(key, value);
  assert((await operation.commit()).ok);
  return id;
}

async function assertSound(config: ReturnType<typeof testConfig>): Promise<void> {
  {
    using store = await openedStore(config);
    const report = await verifyStore(store.kv);
    assert(report.ok && report.receipts >= 40, "sound with the leases of dead instances");
  }
  const ran = await runCommand(config, ["verify"]);
  assertEquals([ran.code, ran.errors], [0, ""], ran.written);
}

const omitted = ["session", "store"];

Deno.test("a backup restores every row except sessions, and the books are sound before and after", () =>
  inFolder(async ({ folder, configOf }) => {
    const old = configOf("old.sqlite3");
    const id = await fillStore(old);
    const file = `${folder}/backup`;
    assertDone(await runCommand(old, ["backup", file]));
    assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
    const text = new TextDecoder("latin1").decode(await Deno.readFile(file));
    assert(!text.includes("ann@example.com") && !text.includes("hash-of-a-password"));

    const fresh = configOf("fresh.sqlite3");
    assertDone(await runCommand(fresh, ["restore", file]));
    const before = await rowsOf(old, omitted);
    assert([...before.keys()].some((key) => key.startsWith("lease ")), "a lease is there");
    assertEquals(await rowsOf(fresh, omitted), before);
    assert(![...(await rowsOf(fresh)).keys()].some((key) => key.startsWith("session")));
    {
      using store = await openedStore(fresh);
      assertEquals(await getPasswordHash(store.kv, id), "$hash-of-a-password");
    }
    await assertSound(old);
    await assertSound(fresh);
    const shown = [old, fresh].map((config) => runCommand(config, ["account", "show", id]));
    const [was, is] = await Promise.all(shown);
    assertEquals(is, was);
  }));

Deno.test("what cannot be restored is refused, and nothing is written", () =>
  inFolder(async ({ folder, configOf }) => {
    const old = configOf("old.sqlite3");
    await fillStore(old);
    const file = `${folder}/backup`;
    assertDone(await runCommand(old, ["backup", file]));
    const bytes = await Deno.readFile(file);
    await Deno.writeFile(`${folder}/cut`, bytes.subarray(0, -20));
    await Deno.writeFile(`${folder}/other`, new Uint8Array(1_000));
    const slips: readonly (readonly [string, string, string[], string])[] = [
      ["old.sqlite3", backupKey, ["restore", file], "the store is not empty"],
      ["new.sqlite3", backupKey, ["restore", `${folder}/cut`], "damaged"],
      ["new.sqlite3", backupKey, ["restore", `${folder}/other`], "not a backup"],
      ["new.sqlite3", backupKey, ["restore", `${folder}/missing`], "No such file"],
      ["new.sqlite3", newMasterKey(), ["restore", file], "GATEWAY_BACKUP_KEY is another key"],
      ["new.sqlite3", "", ["restore", file], "GATEWAY_BACKUP_KEY is not set"],
      ["old.sqlite3", "", ["backup", `${folder}/second`], "GATEWAY_BACKUP_KEY is not set"],
      ["old.sqlite3", backupKey, ["backup", file], "exists"],
      ["absent.sqlite3", backupKey, ["backup", `${folder}/second`], "There is no store"],
    ];
    const rows = await rowsOf(old);
    for (const [kv, key, args, problem] of slips) {
      const ran = await runCommand(configOf(kv, key), args);
      assertEquals([ran.code, ran.written], [1, ""], args.join(" "));
      assertStringIncludes(ran.errors, problem);
      assertEquals(ran.errors.trim().split("\n").length, 1);
      for (const secret of [backupKey, masterKeys]) assert(!ran.errors.includes(secret));
    }
    assertEquals(await rowsOf(old), rows);
    assertEquals((await Deno.readFile(file)).toHex() === bytes.toHex(), true);
    const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    const left = /second|\.part$|new\.sqlite3|absent/;
    assertEquals(names.filter((name) => left.test(name)), [], "a refusal leaves no file");
  }));

Deno.test("a store into which a restore did not end is used by no command", () =>
  inFolder(async ({ folder, configOf }) => {
    const old = configOf("old.sqlite3");
    const id = await fillStore(old);
    const file = `${folder}/backup`;
    assertDone(await runCommand(old, ["backup", file]));
    const fresh = configOf("fresh.sqlite3");
    assertDone(await runCommand(fresh, ["restore", file]));
    {
      using store = await openedStore(fresh);
      await store.kv.set(["store", "restore_mark"], {});
      await store.kv.delete(walletKey(id));
    }
    for (const args of [["verify"], ["account", "list"], ["backup", `${folder}/second`]]) {
      const ran = await runCommand(fresh, args);
      assertEquals([ran.code, ran.written], [1, ""]);
      assertStringIncludes(ran.errors, "a restore into it did not end");
    }
  }));

Deno.test("a store of a newer program is used by no command and no gateway", () =>
  inFolder(async ({ folder, configOf }) => {
    const config = configOf("newer.sqlite3");
    await fillStore(config);
    {
      using store = await openedStore(config);
      await writeSchemaVersion(store.kv, archivedSumsSchemaVersion + 1, 0);
    }
    const rows = await rowsOf(config);
    const problem = `it has schema version ${archivedSumsSchemaVersion + 1}`;
    for (const args of [["verify"], ["account", "list"], ["backup", `${folder}/backup`]]) {
      const ran = await runCommand(config, args);
      assertEquals([ran.code, ran.written], [1, ""]);
      assertStringIncludes(ran.errors, problem);
    }
    let written = "";
    const code = await serve(config, {
      clock: systemClock,
      random: Math.random,
      write: (line) => void (written += line),
      signal: AbortSignal.timeout(5_000),
    });
    assertEquals(code, 1);
    assertStringIncludes(written, problem);
    assertEquals(await rowsOf(config), rows);
  }));

/** Whether a row is of the call with a key: a slow store has another one that expires, its probe. */
function isOrder(key: Uint8Array): boolean {
  return decodeKey(key)[0] === "call_order";
}

const programs = await postgresPrograms();

Deno.test({
  name: "a store moves from a file to PostgreSQL and back without losing a row",
  ignore: programs === undefined,
  // The driver's timers outlive a connection by some milliseconds.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    inFolder(async ({ folder, configOf }) => {
      await using server = await startPostgres(programs ?? "");
      const old = configOf("old.sqlite3");
      const id = await fillStore(old);
      {
        using store = await openedStore(old);
        await store.kv.set(["call_order", id, "key"], { fingerprint: "f" }, {
          expireIn: 3_600_000,
        });
      }
      const rows = await rowsOf(old, omitted);
      const database = configOf(server.url);
      assertDone(await runCommand(old, ["backup", `${folder}/there`]));
      assertDone(await runCommand(database, ["restore", `${folder}/there`]));
      assertEquals(await rowsOf(database, omitted), rows);
      const again = await runCommand(database, ["restore", `${folder}/there`]);
      assertStringIncludes(again.errors, "the store is not empty");

      assertDone(await runCommand(database, ["backup", `${folder}/back`]));
      const back = configOf("back.sqlite3");
      assertDone(await runCommand(back, ["restore", `${folder}/back`]));
      assertEquals(await rowsOf(back, omitted), rows);
      {
        // The file did not say when the row expires, PostgreSQL does: it lives as long as a new one.
        using store = await openedStore(database);
        const expiring = (await Array.fromAsync(store.snapshot()))
          .filter(({ key, expiresAtMs }) => expiresAtMs !== null && isOrder(key));
        assertEquals(expiring.length, 1);
        const leftMs = expiring[0]!.expiresAtMs! - Date.now();
        assert(leftMs > 23 * 3_600_000 && leftMs <= 24 * 3_600_000, `${leftMs} ms`);
      }
      for (const config of [old, database, back]) await assertSound(config);
    }),
});

const denokv = await denokvProgram();

Deno.test({
  name: "a store moves from a file to denokv and on to PostgreSQL without losing a row",
  ignore: programs === undefined || denokv === undefined,
  // The driver's timers outlive a connection by some milliseconds.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    inFolder(async ({ folder, configOf }) => {
      Deno.env.set("DENO_KV_ACCESS_TOKEN", denokvAccessToken);
      await using remoteServer = await startDenokv(denokv ?? "");
      await using server = await startPostgres(programs ?? "");
      const old = configOf("old.sqlite3");
      await fillStore(old);
      const rows = await rowsOf(old, omitted);
      const remote = configOf(remoteServer.url);
      assertDone(await runCommand(old, ["backup", `${folder}/first`]));
      assertDone(await runCommand(remote, ["restore", `${folder}/first`]));
      assertEquals(await rowsOf(remote, omitted), rows);
      const database = configOf(server.url);
      assertDone(await runCommand(remote, ["backup", `${folder}/second`]));
      assertDone(await runCommand(database, ["restore", `${folder}/second`]));
      assertEquals(await rowsOf(database, omitted), rows);
      for (const config of [remote, database]) await assertSound(config);
    }),
});

Deno.test("a backup in a folder is named by its time, and the oldest leave once it is whole", () =>
  inFolder(async ({ folder, configOf }) => {
    const old = configOf("old.sqlite3");
    await fillStore(old);
    const backups = `${folder}/backups`;
    await Deno.mkdir(backups);
    const names = async () => (await Array.fromAsync(Deno.readDir(backups))).map((one) => one.name);
    // Of a run that was killed, and of one that still writes.
    const dead = "gateway-20260101T000000Z.backup.part";
    const written = "gateway-20260101T010000Z.backup.part";
    const others = [dead, written, "gateway.backup", "mine.part", "notes.txt"];
    const earlier = [1, 2, 3].map((day) => `gateway-2026010${day}T023000Z.backup`);
    for (const name of [...others, ...earlier]) await Deno.writeTextFile(`${backups}/${name}`, "x");

    const refused = await runCommand(configOf("old.sqlite3", ""), [
      "backup",
      backups,
      "--keep",
      "1",
    ]);
    assertEquals(refused.code, 1);
    for (
      const [path, keep, problem] of [[backups, "0", "at least one"], [
        `${folder}/f`,
        "2",
        "no folder",
      ]]
    ) {
      const ran = await runCommand(old, ["backup", path!, "--keep", keep!]);
      assertEquals(ran.code, 1);
      assertStringIncludes(ran.errors, problem!);
    }
    assertEquals((await names()).sort(), [...others, ...earlier].sort());

    using running = await Deno.open(`${backups}/${written}`, { write: true });
    await running.lock(true);
    const made = assertDone(await runCommand(old, ["backup", backups, "--keep", "2"])) as {
      readonly file: string;
      readonly removed: readonly string[];
    };
    assertEquals(made.removed, earlier.slice(0, 2));
    const left = await names();
    assertEquals(left.length, others.length - 1 + 2);
    assertEquals(others.filter((name) => !left.includes(name)), [dead]);
    using store = await openedStore(old);
    const lastBackup = await readLastBackup(store.kv);
    assert(lastBackup !== undefined && systemClock.nowMs() - lastBackup.atMs < 600_000);
    const fresh = configOf("fresh.sqlite3");
    assertDone(await runCommand(fresh, ["restore", made.file]));
    await assertSound(fresh);
  }));
