/** On Deno Deploy, an instance keeps nothing to itself: the store and the keys are shared. */
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { readConfig } from "../../../core/config/config.ts";
import { newMasterKey } from "../../../core/people/api_keys/seal.ts";

const fileText = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));
const masterKey = newMasterKey();
const onDeploy = { DENO_DEPLOYMENT_ID: "deployment", GATEWAY_MASTER_KEYS: masterKey };

function problemsOf(environment: Record<string, string>, file = fileText): readonly string[] {
  const read = readConfig(environment, file);
  return read.ok ? [] : read.problems;
}

function configOf(environment: Record<string, string>) {
  const read = readConfig(environment, fileText);
  assert(read.ok, read.ok ? "" : read.problems.join("\n"));
  return read.config;
}

Deno.test("where Deno Deploy is recognised, its store is the default and streams end in time", () => {
  for (const name of ["DENO_DEPLOYMENT_ID", "DENO_DEPLOY"]) {
    const config = configOf({ [name]: "1", GATEWAY_MASTER_KEYS: masterKey });
    assertEquals(config.store, { kind: "deploy" });
    assert(config.onDenoDeploy);
    assert(config.stopDelayMs + config.drainMs + 3_000 < 5_000);
  }
  assertEquals(configOf({ ...onDeploy, GATEWAY_KV: "deploy" }).store, { kind: "deploy" });
  const elsewhere = configOf({});
  assertEquals(elsewhere.store.kind, "file");
  assertEquals(elsewhere.onDenoDeploy, false);
});

Deno.test("what the operator sets comes before the defaults of the platform", () => {
  const GATEWAY_KV = "postgres://gateway:secret@db.example/gateway";
  const config = configOf({ ...onDeploy, GATEWAY_KV, GATEWAY_DRAIN_MS: "500" });
  assertEquals(config.store, { kind: "postgres", url: GATEWAY_KV });
  assertEquals(config.drainMs, 500);
});

Deno.test("a local store and a generated master key are refused on Deno Deploy, a line each", () => {
  for (const GATEWAY_KV of [":memory:", "./data/gateway.sqlite3", "./deploy"]) {
    const [problem, ...more] = problemsOf({ ...onDeploy, GATEWAY_KV });
    assertMatch(problem ?? "", /^environment GATEWAY_KV: a local store ends with its instance/);
    assertEquals(more, []);
  }
  for (const GATEWAY_KV of ["deploy", "postgres://db.example/gateway"]) {
    const [problem, ...more] = problemsOf({ DENO_DEPLOYMENT_ID: "deployment", GATEWAY_KV });
    assertMatch(problem ?? "", /^environment GATEWAY_MASTER_KEYS: must be set on Deno Deploy/);
    assertEquals(more, []);
  }
});

Deno.test("deploy is no store where the platform is not recognised", () => {
  const [problem, ...more] = problemsOf({ GATEWAY_KV: "deploy", GATEWAY_MASTER_KEYS: masterKey });
  assertMatch(problem ?? "", /^environment GATEWAY_KV: deploy names the store of Deno Deploy/);
  assertEquals(more, []);
});

Deno.test("a sandbox beside real providers is refused on Deno Deploy, by name", () => {
  const file = JSON.parse(fileText);
  assertEquals(file.providers.sandbox.kind, "sandbox");
  file.providers.vendor = { kind: "http", baseUrl: "https://a.example", apiKeyEnv: "VENDOR_KEY" };
  const mixed = JSON.stringify(file);
  const [problem, ...more] = problemsOf({ ...onDeploy, VENDOR_KEY: "secret" }, mixed);
  assertMatch(problem ?? "", /^gateway\.json providers\.sandbox: a sandbox beside real providers/);
  assertEquals(more, []);
  assertEquals(problemsOf({ VENDOR_KEY: "secret" }, mixed), []);
  assertEquals(problemsOf(onDeploy), []);
});
