import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { keysOfProvider, withStoredKeys } from "../../../core/config/catalog_reading.ts";
import { readConfig } from "../../../core/config/config.ts";
import { newMasterKey } from "../../../core/people/api_keys/seal.ts";

const fileText = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));

/** The problems of an environment with the default file; empty if it starts. */
function problemsOf(environment: Record<string, string>): readonly string[] {
  const read = readConfig(environment, fileText);
  return read.ok ? [] : read.problems;
}

Deno.test("a host that cannot be part of a URL needs a public address", () => {
  for (const HOST of ["fe80::1%eth0", "gw.example/v1", "ann@gw.example", "gw example"]) {
    const problems = problemsOf({ HOST });
    assertEquals(problems.length, 1, HOST);
    assert(/HOST.*GATEWAY_BASE_URL/.test(problems[0]!), problems[0]);
  }
  assertEquals(problemsOf({ HOST: "fe80::1%eth0", GATEWAY_BASE_URL: "https://gw.example" }), []);
  for (const HOST of ["::1", "[::1]", "::", "0.0.0.0", "gateway.internal"]) {
    assertEquals(problemsOf({ HOST }), [], HOST);
  }
});

Deno.test("every wrong variable is reported with its reason and without any secret", () => {
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ PORT: "80a" }, /PORT: must be a whole number from 0 to 65535/],
    [{ PORT: "0x50" }, /PORT/],
    [{ PORT: "65536" }, /PORT/],
    [{ GATEWAY_DRAIN_MS: "-1" }, /GATEWAY_DRAIN_MS: must be a whole number from 0 to 900000/],
    [{ GATEWAY_MASTER_KEYS: "abc" }, /GATEWAY_MASTER_KEYS: key 1 must be 32 bytes in base64url/],
    [{ GATEWAY_MASTER_KEYS: `${newMasterKey()},secret` }, /GATEWAY_MASTER_KEYS: key 2 must be/],
    [{ GATEWAY_MASTER_KEYS: "," }, /GATEWAY_MASTER_KEYS: there is no key in it/],
    [
      { GATEWAY_INVOICE_YEARS: "9" },
      /GATEWAY_INVOICE_YEARS: must be at least 10 years: bookkeeping asks for the invoices/,
    ],
    [{ GATEWAY_MONEY_ACT_YEARS: "5" }, /MONEY_ACT_YEARS: must be at least 10 years: bookkeeping/],
    [{ GATEWAY_RECEIPT_MONTHS: "2" }, /RECEIPT_MONTHS: must be at least 3 months: a quarter/],
    [{ GATEWAY_AUDIT_LOG_MONTHS: "11" }, /AUDIT_LOG_MONTHS: must be at least 12 months: /],
    [{ GATEWAY_UNSENT_MAIL_DAYS: "ever" }, /must be a whole number of days from 30 to 3650/],
    [{ GATEWAY_REFUSED_CALL_DAYS: "366" }, /must be a whole number of days from 0 to 365/],
    [{ GATEWAY_OPERATORS: "a@x.vn;b@x.vn" }, /GATEWAY_OPERATORS: "a@x.vn;b@x.vn" is not an e-mail/],
    [{ GATEWAY_OPERATORS: "a@x.vn, boss" }, /GATEWAY_OPERATORS: "boss" is not an e-mail/],
    [{ GATEWAY_BASE_URL: "gw.example" }, /GATEWAY_BASE_URL: must be a URL/],
    [{ GATEWAY_PEER_ADDRESS: "10.0.0.1:8787" }, /GATEWAY_PEER_ADDRESS: must be http/],
    [{ GATEWAY_PEER_ADDRESS: "http://me:secret@10.0.0.1" }, /GATEWAY_PEER_ADDRESS: must be http/],
    [{ GATEWAY_PEER_ADDRESS: "http://10.0.0.1:8787/path" }, /GATEWAY_PEER_ADDRESS: must be http/],
    [{ GATEWAY_KV: "https://" }, /GATEWAY_KV: must be/],
    [{ GATEWAY_SUPPORT: "0900 000 000" }, /GATEWAY_SUPPORT: must be an e-mail address or an https/],
    [{ GATEWAY_SUPPORT: "https://me:secret@gw.example" }, /GATEWAY_SUPPORT: must be/],
    [{ GATEWAY_COMPANY: "x".repeat(301) }, /GATEWAY_COMPANY: /],
    [{ GATEWAY_SUPPORT: "javascript:alert(1)" }, /GATEWAY_SUPPORT: must be/],
    [{ MAIL_URL: "smtp://" }, /MAIL_URL: must /],
    [{ MAIL_URL: "smtp://user:100%@mail.example" }, /MAIL_URL: must /],
    [{ MAIL_URL: "mail.example" }, /MAIL_URL: must /],
    [{ GATEWAY_TOPUP_AUTO_MAX_VND: "1e6" }, /GATEWAY_TOPUP_AUTO_MAX_VND: must be a whole number/],
    [{ GATEWAY_TRIAL_ACCOUNT: "try@x.vn" }, /GATEWAY_TRIAL_VND_PER_DAY: must be set with/],
    [{ GATEWAY_TRIAL_ACCOUNT: "nobody" }, /GATEWAY_TRIAL_ACCOUNT: must be an e-mail address/],
    [{ GATEWAY_TRIAL_CALLS_PER_ADDRESS: "0" }, /must be a whole number from 1 to 1000000/],
    [{ OIDC_ISSUER: "https://id.example" }, /OIDC_CLIENT_ID/],
  ];
  for (const [environment, expected] of cases) {
    const text = problemsOf(environment).join("\n");
    assertMatch(text, expected);
    assert(!text.includes("secret") && !text.includes("100%"), text);
  }
  const together = problemsOf(Object.assign({}, ...cases.map(([environment]) => environment)));
  for (const name of new Set(cases.flatMap(([environment]) => Object.keys(environment)))) {
    if (name === "OIDC_ISSUER") continue;
    assert(together.some((line) => line.startsWith(`environment ${name}: `)), name);
  }
});

Deno.test("a variable that is empty or blank counts as not set", () => {
  const names = [
    "PORT",
    "HOST",
    "GATEWAY_KV",
    "GATEWAY_PEER_ADDRESS",
    "GATEWAY_REGION",
    "GATEWAY_BASE_URL",
    "GATEWAY_MASTER_KEYS",
    "GATEWAY_OPERATORS",
    "GATEWAY_OPERATOR_KEY",
    "GATEWAY_CLIENT_ADDRESS_HEADER",
    "GATEWAY_STOP_DELAY_MS",
    "GATEWAY_DRAIN_MS",
    "GATEWAY_RECEIPT_WAIT_MS",
    "GATEWAY_STORE_WAIT_MS",
    "GATEWAY_SUPPORT",
    "GATEWAY_COMPANY",
    "GATEWAY_APPROVAL_ABOVE_VND",
    "GATEWAY_TOPUP_AUTO_MAX_VND",
    "GATEWAY_BANK_ACCOUNTS",
    "GATEWAY_VAT_RATES",
    "GATEWAY_INVOICE_ITEM",
    "SEPAY_API_TOKEN",
    "OIDC_ISSUER",
    "OIDC_CLIENT_ID",
    "OTEL_DENO",
    "MAIL_URL",
  ];
  const facts = (environment: Record<string, string>) => {
    const read = readConfig(environment, fileText);
    assert(read.ok, read.ok ? "" : read.problems.join("\n"));
    const { catalog: _, readCatalog: __, ...rest } = read.config;
    return rest;
  };
  for (const blank of ["", "  "]) {
    assertEquals(facts(Object.fromEntries(names.map((name) => [name, blank]))), facts({}));
  }
});

Deno.test("a remote store needs master keys and its token, and both are reported", () => {
  const GATEWAY_KV = "https://kv.example";
  assertEquals(problemsOf({ GATEWAY_KV, PORT: "x" }).map((line) => line.split(":")[0]), [
    "environment PORT",
    "environment GATEWAY_MASTER_KEYS",
    "environment DENO_KV_ACCESS_TOKEN",
  ]);
  const set = { GATEWAY_MASTER_KEYS: newMasterKey(), DENO_KV_ACCESS_TOKEN: "token" };
  assertEquals(problemsOf({ GATEWAY_KV, ...set }), []);
});

Deno.test("a wrong shape hides no other problem of the file or its secrets", () => {
  const file = JSON.parse(fileText);
  delete file.models[0].price;
  file.models[1].routes[0].provider = "nowhere";
  file.models[2].aliases = ["premium-1"];
  file.models[3].id = file.models[4].id;
  file.models[5].price = { unit: "image", vnd: 1 };
  file.defaultModel = "no-such-model";
  file.providers.vendor = { kind: "http", baseUrl: "https://a.example", apiKeyEnv: "VENDOR_KEY" };
  file.providers.broken = { kind: "http" };
  file.models[0].routes.push({ provider: "elsewhere", style: "chat" });
  const read = readConfig({}, JSON.stringify(file));
  assert(!read.ok);
  const text = read.problems.join("\n");
  const expected = [
    "gateway.json models.0.price: ",
    "gateway.json providers.broken.baseUrl: ",
    'routes: provider "elsewhere" is not in providers',
    `models.1 (${file.models[1].id}).routes: provider "nowhere" is not in providers`,
    'the name "premium-1" is taken',
    `the name "${file.models[4].id}" is taken`,
    "cannot be priced per image",
    'defaultModel: "no-such-model" is not a chat model',
    "environment VENDOR_KEY: not set; providers.vendor needs it",
  ];
  for (const part of expected) assert(text.includes(part), `${part} is missing from:\n${text}`);
});

Deno.test("a file may name keys of the store, which are added after the start", () => {
  const file = JSON.parse(fileText);
  file.providers.vendor = {
    kind: "http",
    baseUrl: "https://a.example",
    apiKeyEnv: "VENDOR_KEY",
    apiKeyVault: ["main", "spare"],
  };
  file.providers.other = { preset: "openai", apiKeyVault: "main" };
  const read = readConfig({ VENDOR_KEY: "k-1" }, JSON.stringify(file));
  assert(read.ok, read.ok ? "" : read.problems.join("\n"));
  const { config } = read;
  assertEquals(config.mode, "production");
  const stored = {
    secretOf: (name: string) => name === "spare" ? "k-2" : undefined,
    problemOf: (name: string) => name === "spare" ? undefined : `there is no stored key ${name}`,
  };
  assertEquals(keysOfProvider(config, stored, "vendor"), [
    { name: "VENDOR_KEY", secret: "k-1" },
    { name: "spare", secret: "k-2" },
  ]);
  assertEquals(withStoredKeys(config, stored), { sandbox: [], vendor: ["k-1", "k-2"], other: [] });
  // Whoever publishes it is told which are missing, beside what else is wrong.
  const strict = config.readCatalog({ ...file, listRate: -1 }, "catalogue", { storedKeys: stored });
  assert(!strict.ok);
  assertEquals(strict.problems.map((line) => line.split(": ")[0]), [
    "catalogue listRate",
    "catalogue providers.vendor.apiKeyVault",
    "catalogue providers.other.apiKeyVault",
  ]);
  for (const name of ["Main", "sk-proj-AbCd", "main key", "", "m".repeat(31)]) {
    file.providers.other.apiKeyVault = name;
    const wrong = readConfig({ VENDOR_KEY: "k-1" }, JSON.stringify(file));
    assert(!wrong.ok && wrong.problems.length === 1, name);
    assert(wrong.problems[0]!.includes("providers.other.apiKeyVault"), name);
    assert(
      name === "" || !wrong.problems[0]!.includes(name),
      "a problem repeats what may be a key",
    );
  }
});

Deno.test("a broken part of the file causes no problems elsewhere", () => {
  const file = JSON.parse(fileText);
  // The default model is there, only its price is missing; the provider is there, only its key is not.
  delete file.models.find(({ id }: { id: string }) => id === file.defaultModel).price;
  file.providers.sandbox = { kind: "sandbox", strict: "yes" };
  const read = readConfig({}, JSON.stringify(file));
  assert(!read.ok);
  assertEquals(read.problems.map((line) => line.split(": ")[0]), [
    "gateway.json providers.sandbox.strict",
    "gateway.json models.0.price",
  ]);
  for (const text of ["[]", "null", '{"models":1,"providers":2,"defaultModel":"x"}', "{"]) {
    const other = readConfig({ PORT: "x" }, text);
    assert(!other.ok && other.problems[0]!.includes("PORT"));
    assert(other.problems.slice(1).every((line) => line.startsWith("gateway.json")));
    assert(!other.problems.some((line) => line.includes("not a chat model")));
  }
});

Deno.test("an unreadable file is reported among the other problems", () => {
  const read = readConfig({ PORT: "x" }, { problem: "cannot be read (no such file)" });
  assert(!read.ok);
  assertEquals(read.problems.map((line) => line.split(": ")[0]), [
    "environment PORT",
    "gateway.json",
  ]);
});

Deno.test("problems name the file that was read", () => {
  const problemsOf = (file: Parameters<typeof readConfig>[1]) => {
    const read = readConfig({ GATEWAY_CONFIG: "/etc/gateway/live.json" }, file);
    assert(!read.ok);
    return read.problems.map((line) => line.split(/[: ]/)[0]);
  };
  for (const file of ["{", "{}", '{"providers":{},"models":[],"defaultModel":"x"}']) {
    const named = problemsOf(file);
    assert(
      named.length > 0 && named.every((name) => name === "/etc/gateway/live.json"),
      `${named}`,
    );
  }
  assertEquals(problemsOf({ problem: "cannot be read" }), ["/etc/gateway/live.json"]);
});

Deno.test("the file that the operations guide shows starts as it is, with its keys set", async () => {
  const guide = await Deno.readTextFile(
    new URL("../../../docs/operations/real-provider.md", import.meta.url),
  );
  const sample = guide.match(/# A real provider\n[^#]*?```jsonc?\n([^]*?)```/)?.[1] ?? "";
  const secrets = [...sample.matchAll(/"([A-Z_0-9]+_KEY\w*)"/g)].map((
    [, name],
  ) => [name, "secret"]);
  const environment = {
    GATEWAY_MASTER_KEYS: newMasterKey(),
    ...Object.fromEntries(secrets),
  };
  const result = readConfig(environment, sample);
  assertEquals(result.ok ? [] : result.problems, []);
});
