/** What a start warns of, since it would work and not do what its operator meant. */
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { openParts } from "../../../routes/server/assembly/opening.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { testConfig } from "../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../support/manual_time.ts";

const time = new ManualTime();

/** The warnings of a start on a file, after `prepare` has filled it. */
async function warningsOf(
  env: Record<string, string>,
  prepare: (kv: Deno.Kv) => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  try {
    const GATEWAY_KV = `${folder}/gateway.sqlite3`;
    {
      using kv = await Deno.openKv(GATEWAY_KV);
      await prepare(kv);
    }
    const lines: string[] = [];
    const config = testConfig({ env: { GATEWAY_KV, ...env } });
    const opened = await openParts(config, { clock: time, write: (line) => lines.push(line) });
    if (opened.ok) opened.store[Symbol.dispose]();
    assertEquals(opened.ok, true);
    return lines;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a variable that the gateway does not read is named, with the one that was meant", async () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["GATEWAY_OPERATOR", "did you mean GATEWAY_OPERATORS?"],
    ["GATEWAY_MASTERKEYS", "did you mean GATEWAY_MASTER_KEYS?"],
    ["GATEWAY_VAT_RATE", "did you mean GATEWAY_VAT_RATES?"],
    ["GATEWAY_SOMETHING_ELSE", "docs/configuration.md lists all variables"],
    ["GATEWAY_API_KEY", undefined],
    ["PATH", undefined],
  ];
  for (const [name, advice] of cases) {
    const lines = await warningsOf({ [name]: "a-secret-value" });
    assertEquals(lines.length, advice === undefined ? 0 : 1, name);
    if (advice === undefined) continue;
    assertStringIncludes(lines[0] ?? "", `${name} is set and has no effect; ${advice}`);
    assertEquals(lines.join().includes("a-secret-value"), false);
  }
});

Deno.test("master keys that sealed none of the store's API keys are warned of, rotated ones are not", async () => {
  const [mine, theirs] = [newMasterKey(), newMasterKey()];
  const prepare = async (kv: Deno.Kv) => {
    const { id } = await createAccount(kv, { nowMs: time.nowMs() });
    const keys = await readMasterKeys(mine);
    await createApiKey(kv, keys, id, { name: "a", nowMs: time.nowMs() });
  };
  const start = (GATEWAY_MASTER_KEYS: string) => warningsOf({ GATEWAY_MASTER_KEYS }, prepare);
  assertEquals(await start(mine), []);
  assertEquals(await start(`${theirs},${mine}`), []);
  const lines = await start(theirs);
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0] ?? "", "GATEWAY_MASTER_KEYS has none of the keys");
});
