import { assert, assertEquals } from "../../support/assert.ts";
import { loadMasterKeys } from "../../../routes/process/catalog_opening.ts";
import { testConfig } from "../../support/gateways/gateway_in_process.ts";

async function load(folder: string): Promise<string> {
  const loaded = await loadMasterKeys(
    testConfig({ env: { GATEWAY_KV: `${folder}/data/gateway.sqlite3` } }),
  );
  assert(loaded.ok, JSON.stringify(loaded));
  return await Deno.readTextFile(`${folder}/data/master.key`);
}

Deno.test("a master key is created once beside a local store, readable by its owner only", async () => {
  const folder = await Deno.makeTempDir();
  const made = await load(folder);
  assertEquals(await load(folder), made);
  const { mode } = await Deno.stat(`${folder}/data/master.key`);
  assertEquals((mode ?? 0) & 0o777, 0o600);
  const names = await Array.fromAsync(Deno.readDir(`${folder}/data`), ({ name }) => name);
  assertEquals(names, ["master.key"]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a key file cut off by a power failure is replaced at the next start", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/data`);
  await Deno.writeTextFile(`${folder}/data/master.key.draft`, "half a k");
  const made = await load(folder);
  assertEquals(made.trim().length, 43);
  assertEquals(await load(folder), made);
  await Deno.remove(folder, { recursive: true });
});
