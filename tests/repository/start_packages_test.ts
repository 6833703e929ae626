/**
 * `deno task start` downloads what it runs and nothing else. The task installs every package of `deno.lock`, so
 * packages for tests are in `tests/deno.json` and `tests/deno.lock` (`docs/adr/0010-tests-are-a-project.md`).
 */
import { assertEquals } from "../support/assert.ts";

const root = new URL("../../", import.meta.url);

/** The packages of a start, each with the reason why the start needs it. */
const startPackages: Readonly<Record<string, string>> = {
  "@hexagon/base64": "base64url that @simplewebauthn/server depends on",
  "@levischuck/tiny-cbor": "CBOR that @simplewebauthn/server depends on",
  "@noble/ciphers": "encryption that pdfkit depends on",
  "@noble/hashes": "hash functions that otpauth depends on",
  "@opentelemetry/api": "spans and metrics for the exporter that Deno has built in",
  "@peculiar/asn1-android": "a form of attestation of @simplewebauthn/server",
  "@peculiar/asn1-asym-key": "ASN.1 that @peculiar/asn1-x509-post-quantum depends on",
  "@peculiar/asn1-cms": "ASN.1 that @peculiar/x509 depends on",
  "@peculiar/asn1-csr": "ASN.1 that @peculiar/x509 depends on",
  "@peculiar/asn1-ecc": "ASN.1 that @simplewebauthn/server depends on",
  "@peculiar/asn1-pfx": "ASN.1 that @peculiar/asn1-pkcs9 depends on",
  "@peculiar/asn1-pkcs8": "ASN.1 that @peculiar/asn1-asym-key depends on",
  "@peculiar/asn1-pkcs9": "ASN.1 that @peculiar/x509 depends on",
  "@peculiar/asn1-rsa": "ASN.1 that @simplewebauthn/server depends on",
  "@peculiar/asn1-schema": "ASN.1 that @simplewebauthn/server depends on",
  "@peculiar/asn1-x509": "ASN.1 that @simplewebauthn/server depends on",
  "@peculiar/asn1-x509-attr": "ASN.1 that @peculiar/asn1-cms depends on",
  "@peculiar/asn1-x509-post-quantum": "ASN.1 that @simplewebauthn/server depends on",
  "@peculiar/utils": "bytes that @peculiar/asn1-schema depends on",
  "@peculiar/x509": "certificates that @simplewebauthn/server depends on",
  "@picocss/pico": "the style sheet of the pages",
  "@simplewebauthn/server": "passkeys; loaded with the first one",
  "@swc/helpers": "helpers that fontkit depends on",
  "asn1js": "ASN.1 that @peculiar/asn1-schema depends on",
  "aws4fetch": "request signatures of AWS",
  "base64-js": "packed tables that fontkit and linebreak depend on",
  "brotli": "compressed fonts that fontkit depends on",
  "clone": "copies that fontkit depends on",
  "dfa": "shaping tables that fontkit depends on",
  "fast-deep-equal": "comparisons that fontkit depends on",
  "fflate": "compression that pdfkit depends on",
  "fontkit": "fonts that pdfkit depends on",
  "gpt-tokenizer": "token counts for estimates and reservations",
  "highlight.js": "colours of the code on the pages",
  "hono": "routing, middleware and the JSX of the pages",
  "htmx.org": "partial updates of the pages in the browser",
  "hucre": "monthly statements as XLSX, without a dependency",
  "hyparquet": "the types and codes of Parquet that hyparquet-writer depends on",
  "hyparquet-writer": "tables for warehouses, as Parquet files",
  "linebreak": "line breaks that pdfkit depends on",
  "nodemailer": "mail over SMTP",
  "oauth4webapi": "the client side of OpenID Connect",
  "otpauth": "one-time passwords of operators",
  "pako": "packed tables that unicode-trie depends on",
  "pdfkit": "monthly statements as PDF",
  "png-js": "pictures that pdfkit depends on",
  "postgres": "the store on PostgreSQL",
  "pvtsutils": "bytes that asn1js depends on",
  "pvutils": "bytes that asn1js depends on",
  "reflect-metadata": "metadata of classes that @simplewebauthn/server depends on",
  "restructure": "binary forms that fontkit depends on",
  "tiny-inflate": "packed tables that fontkit depends on",
  "tslib": "what TypeScript compiled for the packages of @peculiar",
  "tsyringe": "injection that @peculiar/x509 depends on",
  "unicode-properties": "letters that fontkit depends on",
  "unicode-trie": "letters that fontkit and linebreak depend on",
  "uplot": "charts of the usage pages",
  "uqr": "QR codes of bank transfers and of authenticator apps",
  "zod": "schemas of the configuration and of request bodies",
};

interface Lock {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

interface Config {
  readonly imports: Readonly<Record<string, string>>;
  readonly [option: string]: unknown;
}

interface ModuleGraph {
  readonly modules: readonly { readonly specifier: string; readonly error?: string }[];
  readonly npmPackages: Readonly<Record<string, { readonly name: string }>>;
}

function read<T>(path: string): T {
  return JSON.parse(Deno.readTextFileSync(new URL(path, root)));
}

/** The graph of a module with everything it imports, under the configuration that `deno run` finds. */
async function moduleGraph(path: string): Promise<ModuleGraph> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", path],
    cwd: root,
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** The name of a package in a key of the lock file, such as `@scope/name@1.2.3_zod@4.6.7`. */
function packageName(lockKey: string): string {
  return lockKey.slice(0, lockKey.indexOf("@", 1));
}

Deno.test("the start imports the packages that it needs, each for a reason", async () => {
  const { modules, npmPackages } = await moduleGraph("main.ts");
  const names = Object.values(npmPackages).map(({ name }) => name);
  assertEquals([...new Set(names)].sort(), Object.keys(startPackages));
  const foreign = modules.map(({ specifier }) => specifier).filter((specifier) =>
    !/^(?:file|node|npm):/u.test(specifier) || specifier.startsWith(new URL("tests/", root).href)
  );
  assertEquals(foreign, [], "modules of tests or of another registry");
});

Deno.test("deno.lock holds the packages of the start and no other", () => {
  const locked = Object.keys(read<Lock>("deno.lock").npm).map(packageName);
  // A package that others need in two versions is there twice.
  // Some packages are there in two versions.
  assertEquals([...new Set(locked)].sort(), Object.keys(startPackages));
});

Deno.test("a benchmark and the schema need no package beyond those of the start", async () => {
  const programs = ["bench/main.ts", "bench/failing_primary.ts", "docs/write_roles.ts"];
  for (const path of [...programs, "docs/write_schema.ts"]) {
    const { modules, npmPackages } = await moduleGraph(path);
    const errors = modules.flatMap(({ specifier, error }) =>
      error ? [`${specifier}: ${error}`] : []
    );
    assertEquals(errors, []);
    const names = Object.values(npmPackages).map(({ name }) => name);
    assertEquals(names.filter((name) => !(name in startPackages)), [], path);
  }
});

Deno.test("tests run the gateway with the packages and options of a start", () => {
  const [start, tests] = [read<Config>("deno.json"), read<Config>("tests/deno.json")];
  const repeated = Object.keys(start.imports).map((name) => [name, tests.imports[name]]);
  assertEquals(Object.fromEntries(repeated), start.imports);
  for (const option of ["unstable", "nodeModulesDir", "compilerOptions", "test"]) {
    assertEquals(tests[option], start[option], option);
  }
  const [startLock, testLock] = [read<Lock>("deno.lock"), read<Lock>("tests/deno.lock")];
  for (const [name, { integrity }] of Object.entries(startLock.npm)) {
    assertEquals(testLock.npm[name]?.integrity, integrity, name);
  }
});
