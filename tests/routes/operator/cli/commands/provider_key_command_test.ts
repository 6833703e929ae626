/** `deno task admin provider-key`: the secret comes from the standard input, and is printed nowhere. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newMasterKey } from "../../../../../core/people/api_keys/seal.ts";
import { systemClock } from "../../../../../core/lib/time/clock.ts";
import {
  commandForms,
  readAdminCommand,
} from "../../../../../routes/operator/cli/command_forms.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";

const secret = "sk-vendor-0123456789-abcdef";

const masterKeys = newMasterKey();
const backupKey = newMasterKey();

type Command = (
  args: string,
  typed?: string,
  env?: Readonly<Record<string, string>>,
) => ReturnType<typeof runCommand>;

async function withStore(run: (command: Command, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const command: Command = (args, typed, env) => {
    const own = {
      GATEWAY_KV: `${folder}/gateway.sqlite3`,
      GATEWAY_MASTER_KEYS: masterKeys,
      GATEWAY_BACKUP_KEY: backupKey,
    };
    const config = testConfig({ env: { ...own, ...env } });
    return runCommand(config, args.split(" "), systemClock, typed);
  };
  try {
    await command("account create");
    await run(command, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a key is added and replaced from the standard input, listed and removed", () =>
  withStore(async (command) => {
    const printed: string[] = [];
    const run = async (args: string, typed?: string) => {
      const { code, written, errors } = await command(args, typed);
      printed.push(written, errors);
      assertEquals(code, 0, `${args}: ${written}${errors}`);
      return JSON.parse(written);
    };
    assertEquals((await run("provider-key add main", `${secret}\n`)).fingerprint, "…cdef");
    const other = "sk-vendor-9876543210-fedcba";
    assertEquals((await run("provider-key replace main", other)).fingerprint, "…dcba");
    const { data: [row] } = await run("provider-key list");
    assertEquals([row.name, row.added_by, row.replaced_by], [
      "main",
      "command line",
      "command line",
    ]);
    assertEquals((await run("provider-key reseal")).ok, true);
    await run("provider-key remove main");
    assertEquals((await run("provider-key list")).data, []);
    for (const text of [secret, other]) assert(!printed.join("").includes(text));
  }));

Deno.test("without a key on the standard input nothing is sent", () =>
  withStore(async (command) => {
    for (const typed of [undefined, "", " \n", "x".repeat(9_000)]) {
      const { code, errors } = await command("provider-key add main", typed);
      assertEquals(code, 1);
      assertStringIncludes(errors, "The standard input must hold the key");
    }
    assertEquals(JSON.parse((await command("provider-key list")).written).data, []);
  }));

Deno.test("no command takes a secret as an argument", () => {
  const takers = commandForms.filter(({ words }) => words[0] === "provider-key");
  assertEquals(takers.length, 5);
  for (const { operands, options } of takers) {
    assert(
      [...operands, ...options.map(({ name }) => name)].every((one) => !/secret|key/i.test(one)),
    );
  }
  const read = readAdminCommand(["provider-key", "add", "main", secret]);
  assertEquals(read.kind, "refused");
});

Deno.test("a backup carries sealed keys, which open with their master keys alone", () =>
  withStore(async (command, folder) => {
    assertEquals((await command("provider-key add main", secret)).code, 0);
    assertEquals((await command(`backup ${folder}/saved`)).code, 0);
    const restored = { GATEWAY_KV: `${folder}/restored.sqlite3` };
    assertEquals((await command(`restore ${folder}/saved`, undefined, restored)).code, 0);
    const listed = async (env: Record<string, string>) => {
      const { written } = await command("provider-key list", undefined, { ...restored, ...env });
      const { data: [row] } = JSON.parse(written);
      return [row.fingerprint, row.newest_master_key, row.problem?.replace(/key \S+, /, "key, ")];
    };
    assertEquals(await listed({}), ["…cdef", true, undefined]);
    const rotated = { GATEWAY_MASTER_KEYS: `${newMasterKey()},${masterKeys}` };
    assertEquals(await listed(rotated), ["…cdef", false, undefined]);
    const problem = "the stored key main is sealed with the master key, which is not configured";
    const lost = { GATEWAY_MASTER_KEYS: newMasterKey() };
    assertEquals(await listed(lost), ["…cdef", false, problem]);
    const failed = await command("provider-key reseal", undefined, { ...restored, ...lost });
    assertEquals([failed.code, JSON.parse(failed.written).resealed], [1, []]);
    const resealed = await command("provider-key reseal", undefined, { ...restored, ...rotated });
    assertEquals([resealed.code, JSON.parse(resealed.written).resealed], [0, ["main"]]);
    const { written } = await command("export", undefined, restored);
    assertStringIncludes(written, "provider_key_resealed");
    assert(!written.includes(secret) && !written.includes('"sealed"'));
  }));
