/**
 * `deno task test:runtimes`: runs the tests of conversion on three versions of Node and in Chromium, from one bundle; on
 * Deno they are unit tests. Fails unless every test passes and each runtime ran the same number of them.
 *
 * Node comes from npm (`npx`). A runtime that is not installed is named as skipped.
 */
import { hasChromium, launchChromium } from "../support/browser/chromium.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { encodeBase64 } from "../../core/lib/runtime/built_ins.ts";
import { root, sourcesIn } from "../repository/source_files.ts";
import type { Files, RunReport } from "./registry.ts";

/** Above the half minute that a slow machine needs; an endless loop ends the run. */
const runMs = 1_800_000;

/** A report with the version that the runtime tells of itself. */
interface Run extends RunReport {
  readonly version: string;
}

/** The module that a process runs: the tests, then their report as the last line. */
const reporter = `
const { version } = globalThis.process; // before the tests put their own Deno in place of the real one
await import("./tests.mjs");
const report = await globalThis.runReport;
console.log(JSON.stringify({ ...report, version }));
`;

/** Runs the tests in a process of `command`; `undefined` if there is no such command. */
async function runInProcess(
  folder: string,
  [command, ...args]: readonly [string, ...string[]],
): Promise<Run | undefined> {
  const path = `${folder}/report.mjs`;
  await Deno.writeTextFile(path, reporter);
  try {
    const { code, stdout, stderr } = await new Deno.Command(command, {
      args: [...args, path],
      signal: AbortSignal.timeout(runMs),
    }).output();
    const lastLine = new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1) ?? "";
    if (code === 0 && lastLine.startsWith("{")) return JSON.parse(lastLine);
    throw new Error(`${command} exited with ${code}\n${new TextDecoder().decode(stderr)}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Runs the tests in a page of Chromium. */
async function runInChromium(folder: string): Promise<Run> {
  const script = await Deno.readTextFile(`${folder}/tests.mjs`);
  const page = `<!doctype html><script type="module" src="/tests.mjs"></script>`;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const isScript = new URL(request.url).pathname === "/tests.mjs";
    return new Response(isScript ? script : page, {
      headers: { "content-type": isScript ? "text/javascript" : "text/html; charset=utf-8" },
    });
  });
  const browser = await launchChromium();
  try {
    const tab = await browser.newPage();
    const errors: string[] = [];
    tab.on("pageerror", (error) => errors.push(String(error)));
    // The tests begin with the script, and may keep the thread from ending the load of the page.
    await tab.goto(`http://127.0.0.1:${server.addr.port}/`, { timeout: runMs });
    if (errors.length > 0) throw new Error(errors.join("\n"));
    const report = tab.evaluate<RunReport>("globalThis.runReport");
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error("Chromium did not end in time")), runMs);
    const run = await Promise.race([report, late.promise]).finally(() => clearTimeout(timer));
    return { ...run, version: browser.version() };
  } finally {
    await browser.close();
  }
}

/** Folders whose tests run on every runtime. */
const folders = [
  "tests/conformance",
  "tests/core/lib/json",
  "tests/core/lib/runtime",
  "tests/core/lib/sse",
  "tests/core/wire",
];

/** Tests that cannot run everywhere, with the reason. */
const exclusions: Readonly<Record<string, string>> = {
  "the page of the conversion matrix is what `deno task report:matrix` writes":
    "reads a file on disk",
  "the module is what its source compiles to: deno task wasm": "reads a file on disk",
  "the task prints one line for each direction": "starts a Deno process with files on disk",
};

/** Files of tests that cannot be bundled, with the reason. */
const excludedFiles: Readonly<Record<string, string>> = {
  "tests/conformance/converse_sdk_test.ts": "a vendor's library that does not bundle for browsers",
  "tests/core/lib/json/number_list_steps_test.ts": "counts steps through V8's inspector",
  "tests/core/wire/conversion/request_steps_test.ts": "counts steps through V8's inspector",
};

const recordingsPath = "/recordings";

/** The recordings that WIRE_FIXTURES names, by the path under which the script finds them. */
function recordedFiles(): Files | undefined {
  const folder = Deno.env.get("WIRE_FIXTURES");
  if (folder === undefined || folder === "") return undefined;
  const files: Record<string, string> = {};
  for (const style of ["chat", "errors", "messages", "responses"]) {
    for (const { name } of Deno.readDirSync(`${folder}/${style}`)) {
      const bytes = Deno.readFileSync(`${folder}/${style}/${name}`);
      files[`${recordingsPath}/${style}/${name}`] = encodeBase64(bytes);
    }
  }
  return files;
}

function setupSource(): string {
  const files = recordedFiles();
  const environment = {
    // Properties have their cases on Deno; a few of them show what another runtime does otherwise.
    PROPERTY_CASES: "hundredth",
    ...defined({ SEED: Deno.env.get("SEED") }),
    ...(files === undefined ? {} : { WIRE_FIXTURES: recordingsPath }),
  };
  const registry = new URL("tests/runtimes/registry.ts", root).href;
  return [
    `import { install } from ${JSON.stringify(registry)};`,
    `install(${JSON.stringify(files ?? {})}, ${JSON.stringify(environment)});`,
  ].join("\n");
}

/** The script hands its promise of a report to whoever runs it. */
function entrySource(): string {
  const registry = new URL("tests/runtimes/registry.ts", root).href;
  const files = folders.flatMap((folder) => [...sourcesIn(folder)])
    .filter((file) => file.endsWith("_test.ts") && !Object.hasOwn(excludedFiles, file)).sort();
  return [
    `import "./setup.ts";`,
    ...files.map((file) => `import ${JSON.stringify(new URL(file, root).href)};`),
    `import { runTests } from ${JSON.stringify(registry)};`,
    `globalThis.runReport = runTests(${JSON.stringify(Object.keys(exclusions))});`,
  ].join("\n");
}

/** The imports of the tests, with portable assertions in place of Node's. */
function importMap(): string {
  const config: { readonly imports: Readonly<Record<string, string>> } = JSON.parse(
    Deno.readTextFileSync(new URL("tests/deno.json", root)),
  );
  const imports = {
    ...config.imports,
    "node:assert/strict": new URL("tests/support/portable_assert.ts", root).href,
  };
  return JSON.stringify({ imports });
}

/** Writes the script into `folder`; returns its path. */
async function bundleTests(folder: string): Promise<string> {
  await Deno.writeTextFile(`${folder}/setup.ts`, setupSource());
  await Deno.writeTextFile(`${folder}/entry.ts`, entrySource());
  await Deno.writeTextFile(`${folder}/import_map.json`, importMap());
  const path = `${folder}/tests.mjs`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--no-lock", "--platform", "browser"],
      ...["--import-map", `${folder}/import_map.json`],
      ...["--output", path, `${folder}/entry.ts`],
    ],
    cwd: folder,
    stdout: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return path;
}

/** The last of each line that was there when the list was written. */
const nodeVersions = ["20.20.2", "22.23.3", "24.21.0"];

interface Runtime {
  readonly name: string;
  /** `undefined` if the runtime is not installed and cannot be. */
  readonly run: (folder: string) => Promise<Run | undefined>;
}

async function runOnNode(folder: string, version: string): Promise<Run | undefined> {
  const run = await runInProcess(folder, ["npx", "-y", `node@${version}`]);
  if (run !== undefined && run.version !== `v${version}`) {
    throw new Error(`npx ran Node ${run.version}, not v${version}`);
  }
  return run;
}

const runtimes: readonly Runtime[] = [
  ...nodeVersions.map((version) => ({
    name: `Node ${version}`,
    run: (folder: string) => runOnNode(folder, version),
  })),
  {
    name: "Chromium",
    run: async (folder) => await hasChromium() ? await runInChromium(folder) : undefined,
  },
];

interface Outcome {
  readonly name: string;
  readonly run: Run | undefined;
  readonly seconds: number;
}

async function outcomeOf({ name, run }: Runtime, folder: string): Promise<Outcome> {
  const begin = performance.now();
  const result = await run(folder);
  return { name, run: result, seconds: Math.round((performance.now() - begin) / 1_000) };
}

/** All runtimes, as many at a time as the machine has processors; the outcomes in the order of the list. */
async function runAll(folder: string): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = runtimes.entries();
  const worker = async () => {
    for (const [at, runtime] of waiting) outcomes[at] = await outcomeOf(runtime, folder);
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
  return outcomes;
}

function lineOf({ name, run, seconds }: Outcome): string {
  const label = name.padEnd(14);
  if (run === undefined) return `${label} skipped: not installed`;
  const { ran, ignored, failures } = run;
  return `${label} ${ran} tests, ${failures.length} failed, ${ignored} ignored (${seconds} s)`;
}

/** What makes the whole run fail. */
function problemsOf(outcomes: readonly Outcome[]): readonly string[] {
  const runs = outcomes.flatMap(({ run }) => run ?? []);
  const problems = outcomes.flatMap(({ name, run }) =>
    (run?.failures ?? []).map((failure) => `${name}: ${failure.name}\n${failure.error}`)
  );
  if (new Set(runs.map(({ ran }) => ran)).size > 1) {
    problems.push("The runtimes ran different numbers of tests");
  }
  const unknown = new Set(runs.flatMap(({ unknownExclusions }) => unknownExclusions));
  for (const name of unknown) problems.push(`The excluded test does not exist: ${name}`);
  if (runs.some(({ ran }) => ran === 0)) problems.push("No tests were found");
  return problems;
}

async function print(lines: readonly string[]): Promise<void> {
  await new Blob([`${lines.join("\n")}\n`]).stream().pipeTo(Deno.stdout.writable);
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir();
  try {
    await bundleTests(folder);
    const outcomes = await runAll(folder);
    const problems = problemsOf(outcomes);
    const excluded = Object.entries(exclusions)
      .map(([name, reason]) => `left out on all: "${name}" (${reason})`);
    await print([...outcomes.map(lineOf), ...excluded, ...problems]);
    Deno.exitCode = problems.length === 0 ? 0 : 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
