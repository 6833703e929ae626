import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { serve } from "../../../routes/server/serve.ts";
import { runCommand } from "../../support/gateways/admin_command.ts";
import { testConfig } from "../../support/gateways/gateway_in_process.ts";

/** What a start writes that must fail: one line. */
async function refusal(env: Record<string, string>): Promise<string> {
  const lines: string[] = [];
  const { signal } = new AbortController();
  const code = await serve(testConfig({ env: { PORT: "0", ...env } }), {
    clock: systemClock,
    random: Math.random,
    write: (line) => void lines.push(line),
    signal,
  });
  assertEquals([code, lines.length], [1, 1], lines.join("\n"));
  assert(!lines[0]!.includes("\n"), lines[0]);
  return lines[0]!;
}

/** What an admin command writes that must fail: one line. */
async function adminRefusal(env: Record<string, string>): Promise<string> {
  const { code, written, errors } = await runCommand(testConfig({ env }), ["account"]);
  assertEquals([code, written], [1, ""]);
  assertMatch(errors, /^[^\n]+\n$/);
  return errors;
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a store that is a folder, no database, or out of reach is one line, here and for admin", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/folder`);
    await Deno.writeTextFile(`${folder}/letter`, "Dear reader, this is no database. ".repeat(99));
    const stores = {
      [`${folder}/folder`]: /Cannot open the store \S+folder: .*directory/i,
      [`${folder}/letter`]: /Cannot open the store \S+letter: file is not a database/,
      [`${folder}/letter/below/x.sqlite3`]: /Cannot open the store \S+below\S+: Not a directory/,
    };
    for (const [GATEWAY_KV, expected] of Object.entries(stores)) {
      assertMatch(await refusal({ GATEWAY_KV }), expected);
      assertMatch(await adminRefusal({ GATEWAY_KV }), expected);
    }
  }));

Deno.test("a store that can be read but not written, as on a full disk, is one line, here and for admin", () =>
  inFolder(async (folder) => {
    const GATEWAY_KV = `${folder}/gateway.sqlite3`;
    const kv = await Deno.openKv(GATEWAY_KV);
    await kv.set(["something"], 1);
    kv.close();
    using database = new DatabaseSync(GATEWAY_KV);
    database.exec(
      "CREATE TRIGGER full BEFORE UPDATE ON data_version BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    );
    const expected = /Cannot write to the store \S+gateway\.sqlite3: .*disk is full/;
    assertMatch(await refusal({ GATEWAY_KV }), expected);
    assertMatch(await adminRefusal({ GATEWAY_KV }), expected);
  }));

Deno.test("a damaged master key gives one line without the key, and the file stays", () =>
  inFolder(async (folder) => {
    const env = { GATEWAY_KV: `${folder}/gateway.sqlite3` };
    for (const text of ["", "abc\n", "c2VjcmV0LXNlY3JldA"]) {
      await Deno.writeTextFile(`${folder}/master.key`, text);
      const lines = [await refusal(env), await adminRefusal(env)];
      for (const line of lines) {
        assertMatch(line, /Cannot read the master key \S+master\.key: (key 1 must be|there is no)/);
        assert(!line.includes("c2Vj"), line);
      }
      assertEquals(await Deno.readTextFile(`${folder}/master.key`), text);
    }
  }));

Deno.test("an address that cannot be listened on gives one line with the reason", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ PORT: String(taken.addr.port) }, /Cannot listen on .*PORT \d+: .*in use/i],
    [{ HOST: "no-such-host.invalid" }, /Cannot listen on HOST no-such-host\.invalid.*lookup/],
    [{ HOST: "192.0.2.1" }, /Cannot listen on HOST 192\.0\.2\.1.*assign/],
  ];
  for (const [env, expected] of cases) assertMatch(await refusal(env), expected);
});

Deno.test("a folder whose name is too long for the admin socket is one line", () =>
  inFolder(async (folder) => {
    const GATEWAY_KV = `${folder}/${"long-".repeat(30)}/gateway.sqlite3`;
    assertMatch(await refusal({ GATEWAY_KV }), /Cannot serve \S+\.admin\.sock: /);
  }));

Deno.test("admin reports a process that has the store but does not answer", () =>
  inFolder(async (folder) => {
    const GATEWAY_KV = `${folder}/gateway.sqlite3`;
    using lock = await Deno.open(`${GATEWAY_KV}.lock`, { create: true, write: true });
    await lock.lock(true);
    assertMatch(await refusal({ GATEWAY_KV }), /another process has the store open/);
    assertMatch(
      await adminRefusal({ GATEWAY_KV }),
      /Another process has the store open and does not answer at \S+\.admin\.sock/,
    );
  }));
