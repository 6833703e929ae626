import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";

async function world() {
  const folder = await Deno.makeTempDir({ prefix: "gateway-catalog-" });
  const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3` } });
  const file = `${folder}/new.json`;
  await runCommand(config, ["account", "create", "--email", "a@example.com"]);
  return {
    file,
    async run(...args: string[]) {
      const { code, written, errors } = await runCommand(config, ["catalog", ...args]);
      return { code, errors, body: written === "" ? undefined : JSON.parse(written) };
    },
    async write(change: (catalog: Record<string, unknown>) => void) {
      const catalog: Record<string, unknown> = JSON.parse(JSON.stringify(config.fileContents));
      change(catalog);
      await Deno.writeTextFile(file, JSON.stringify(catalog));
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

Deno.test("catalog apply shows what would change, makes a version, and catalog rollback takes it back", async () => {
  await using w = await world();
  await w.write((catalog) => catalog["listRate"] = 25_000);
  const dry = await w.run("apply", w.file, "--dry-run");
  assertEquals([dry.code, dry.body.lines], [0, ["~ settings listRate: 22000 → 25000"]]);
  const noReason = await w.run("apply", w.file);
  assertEquals(noReason.code, 2);
  assertStringIncludes(noReason.errors, "--reason is missing");
  const unclear = await w.run("history", "--before", "soon");
  assertEquals(unclear.code, 2);
  assertStringIncludes(unclear.errors, "--before must be a number");
  const applied = await w.run("apply", w.file, "--reason", "a new rate");
  assertEquals([applied.code, applied.body.version], [0, 2]);
  assertEquals((await w.run("show")).body.catalog.listRate, 25_000);
  const again = await w.run("apply", w.file, "--reason", "a new rate");
  assertEquals([again.code, again.body.error.message], [1, "Nothing would change"]);
  const back = await w.run("rollback", "1", "--reason", "too early");
  assertEquals(back.body.rollback_to, 1);
  const { body } = await w.run("history");
  assertEquals(
    body.data.map(({ version, author }: { version: number; author: string }) =>
      `${version} ${author}`
    ),
    ["3 command line", "2 command line", "1 gateway.json"],
  );
});

Deno.test("catalog apply lists all problems of a file, and makes no version", async () => {
  await using w = await world();
  await w.write((catalog) => {
    catalog["defaultModel"] = "none";
    catalog["listRate"] = -1;
  });
  const refused = await w.run("apply", w.file, "--reason", "r");
  assertEquals([refused.code, refused.body.error.problems.length], [1, 2]);
  assertEquals((await w.run("history")).body.data.length, 1);
  const missing = await w.run("apply", `${w.file}.gone`, "--reason", "r");
  assertEquals(missing.code, 1);
  assert(missing.errors.includes("new.json.gone"));
});

Deno.test("a version waits for a time with a zone, and catalog withdraw takes it back", async () => {
  await using w = await world();
  await w.write((catalog) => catalog["listRate"] = 25_000);
  const from = new Date(Date.now() + 86_400_000).toISOString();
  const bad = await w.run("apply", w.file, "--reason", "r", "--from", "2026-12-01");
  assertEquals(bad.code, 1);
  const waiting = await w.run("apply", w.file, "--reason", "r", "--from", from);
  assertEquals(waiting.body.effective_from, from);
  assertEquals((await w.run("show")).body.version, 1);
  assertEquals((await w.run("withdraw", "--reason", "r")).body, { version: 1 });
  assertEquals((await w.run("withdraw", "--reason", "r")).body.error.message, "No version waits");
});
