/** A damaged store file is named as such by the commands of the operator, and never found right. */
import { systemClock } from "../../../../../core/lib/time/clock.ts";
import { accountKey } from "../../../../../kv/engine/schema/keys.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { openStore } from "../../../../../kv/engine/opening/store.ts";
import { createAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";

/** The size of a page that SQLite takes by default (https://www.sqlite.org/pgszchng2016.html). */
const pageBytes = 4_096;

/** Accounts that fill some hundred pages. */
const accounts = 3_000;

async function fill(path: string): Promise<void> {
  const opened = await openStore({ kind: "file", path }, systemClock);
  assert(opened.ok, "the store opens");
  using store = opened.store;
  const made = await createAccount(store.kv, { nowMs: systemClock.nowMs() });
  for (let at = 0; at < accounts; at += 100) {
    const operation = store.kv.atomic();
    for (let one = 0; one < 100; one++) {
      const id = newId("account", systemClock.nowMs());
      operation.set(accountKey(id), { ...made, id });
    }
    await operation.commit();
  }
}

/** Overwrites the head of a page, as a disk does that lost a sector. */
async function damage(path: string, page: number): Promise<void> {
  using file = await Deno.open(path, { write: true });
  await file.seek(page * pageBytes, Deno.SeekMode.Start);
  await file.write(new Uint8Array(512).fill(0xa5));
}

Deno.test("`admin verify` names a damaged file and the runbook, whichever page it is", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/gateway.sqlite3`;
    await fill(path);
    const whole = await Deno.readFile(path);
    const pages = whole.length / pageBytes;
    assert(pages > 100, `${pages} pages`);
    const config = testConfig({ env: { GATEWAY_KV: path } });
    assertEquals((await runCommand(config, ["verify"])).code, 0);
    for (const share of [0.3, 0.5, 0.8]) {
      await Deno.writeFile(path, whole);
      await damage(path, Math.floor(pages * share));
      const { code, written, errors } = await runCommand(config, ["verify"]);
      assertEquals(code, 1, `${share}: ${written}`);
      assertStringIncludes(`${written}${errors}`, "The store is damaged", `${share}`);
      assertStringIncludes(`${written}${errors}`, "docs/runbooks/restore.md", `${share}`);
    }
    await Deno.writeFile(path, new TextEncoder().encode("no database\n".repeat(1_000)));
    const { code, errors } = await runCommand(config, ["verify"]);
    assertEquals(code, 1);
    assertStringIncludes(errors, "file is not a database");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
