/** The jobs of a tier: unit files in groups that share an isolate, process files alone, and the other programs. */
import { importGraphOf } from "../repository/import_graph.ts";
import { root, sourcesIn } from "../repository/source_files.ts";
import type { Job } from "./job.ts";
import {
  aloneFiles,
  fastProcesses,
  longUnits,
  oneServerFiles,
  processFolders,
  slowFiles,
  type Tier,
  unitFolders,
  waitingFiles,
} from "./tiers.ts";

/**
 * Unit files in one isolate. Loading the gateway takes 0.4 s of a processor, so files share it; more of them in one
 * would leave a processor idle at the end of a run.
 */
const groupFiles = 14;

/** Seconds of what is not in the table of slow files; what takes two places begins while they are free. */
const usualSeconds = { group: 28, process: 30, program: 100, runtimes: 600 };

/** The module whose importers are property tests. */
const propertyModule = "tests/support/property.ts";

/** Gateways of tests that listen on a socket: what imports them is tried with the runtime's server, too. */
const servingModules: readonly string[] = [
  "tests/support/gateways/served_gateway.ts",
  "tests/support/gateways/started_gateway.ts",
  "tests/support/gateways/threaded_gateway.ts",
];

/** The seed and the folder for generated files of one run. */
export interface RunOptions {
  readonly seed: number;
  readonly folder: string;
}

const isTest = (file: string) => /_test\.tsx?$/u.test(file);

/** All test files of folders, in order. */
export function testFilesIn(folders: readonly string[]): string[] {
  return folders.flatMap((folder) => [...sourcesIn(folder)]).filter(isTest).sort();
}

function testArgs({ seed }: RunOptions, file: string): string[] {
  const options = ["--config", "tests/deno.json", "--no-check", "--allow-all"];
  return ["test", ...options, `--shuffle=${seed}`, file];
}

function environment(tier: Tier, { seed }: RunOptions): Record<string, string> {
  const cases = Deno.env.get("PROPERTY_CASES") ?? (tier === "fast" ? "tenth" : "all");
  return { SEED: String(seed), PROPERTY_CASES: cases, SCREENSHOTS: "none" };
}

/** Jobs of unit files. Neighbours share a group, since they load the same modules. */
export function unitJobs(
  name: string,
  files: readonly string[],
  tier: Tier,
  options: RunOptions,
  env: Readonly<Record<string, string>> = {},
): Job[] {
  const isAlone = (file: string) => Object.hasOwn(aloneFiles, file);
  const shared = files.filter((file) => !isAlone(file));
  const count = Math.ceil(shared.length / groupFiles);
  const groups = Array.from({ length: count }, (_, i): Job => {
    const members = shared.slice(i * groupFiles, (i + 1) * groupFiles);
    const path = `${options.folder}/${name}_${i + 1}_test.ts`;
    const imports = members.map((file) => `import ${JSON.stringify(new URL(file, root).href)};`);
    Deno.writeTextFileSync(path, imports.join("\n"));
    const parts = processJobs(members, tier, options, env);
    const group = jobOf(`${name} ${i + 1} of ${count}`, path, tier, options, env);
    return { ...group, expectedSeconds: usualSeconds.group, parts };
  });
  return [...groups, ...processJobs(files.filter(isAlone), tier, options, env)];
}

function jobOf(
  name: string,
  path: string,
  tier: Tier,
  options: RunOptions,
  env: Readonly<Record<string, string>>,
): Job {
  return {
    name,
    args: testArgs(options, path),
    env: { ...environment(tier, options), ...env },
    places: Object.hasOwn(aloneFiles, path) ? "all" : Object.hasOwn(waitingFiles, path) ? 0 : 1,
    expectedSeconds: slowFiles[path] ?? usualSeconds.process,
    reports: "junit",
  };
}

/** Jobs of files that each have a process of their own. */
function processJobs(
  files: readonly string[],
  tier: Tier,
  options: RunOptions,
  env: Readonly<Record<string, string>> = {},
): Job[] {
  const { TEST_HTTP_SERVER: server } = env;
  return files.map((file) =>
    jobOf(server === undefined ? file : `${file} (${server})`, file, tier, options, env)
  );
}

/** Test files that import one of the modules, directly or not. */
export function importersOf(modules: ReadonlySet<string>, files: readonly string[]): string[] {
  const graph = importGraphOf(["core", "kv", "routes", "sandbox", "tests"]);
  const reaches = (start: string) => {
    const seen = new Set([start]);
    for (const file of seen) {
      if (modules.has(file)) return true;
      for (const target of graph.get(file) ?? []) seen.add(target);
    }
    return false;
  };
  return files.filter(reaches);
}

const examplesJob: Job = {
  name: "examples",
  args: [
    ...["test", "--config", "tests/deno.json", "--doc", "--allow-all"],
    ...["core/", "kv/", "routes/", "sandbox/"],
  ],
  // Most of its time it checks types, on one processor.
  places: 1,
  expectedSeconds: usualSeconds.program,
  reports: "junit",
};

function programJob(name: string, places: number, expectedSeconds: number): Job {
  const args = ["run", "--config", "tests/deno.json", "--allow-all", `tests/${name}/main.ts`];
  return { name, args, places, expectedSeconds, reports: "exit" };
}

/** Jobs of a tier's unit files: one that takes minutes has a process of its own, or its group would wait for it. */
function tierUnits(files: readonly string[], tier: Tier, options: RunOptions): Job[] {
  const isSlow = (file: string) => Object.hasOwn(slowFiles, file);
  return [
    ...processJobs(files.filter(isSlow), tier, options),
    ...unitJobs("units", files.filter((file) => !isSlow(file)), tier, options),
  ];
}

/** The suites of a tier by name. */
export function suitesOf(tier: Tier, options: RunOptions): ReadonlyMap<string, readonly Job[]> {
  const units = testFilesIn(unitFolders);
  const isLong = (file: string) => Object.hasOwn(longUnits, file);
  if (tier === "fast") {
    return new Map([
      ["processes", processJobs(Object.keys(fastProcesses), tier, options)],
      ["units", tierUnits(units.filter((file) => !isLong(file)), tier, options)],
    ]);
  }
  // What the fast tier has done is not done again, but for properties, which have more cases in the long one.
  const grouped = tier === "rest"
    ? []
    : importersOf(new Set([propertyModule]), units).filter((file) => !isLong(file));
  const processes = testFilesIn(processFolders)
    .filter((file) => !Object.hasOwn(fastProcesses, file));
  const served = importersOf(new Set(servingModules), [
    ...units,
    ...testFilesIn(["tests/clients"]),
    "tests/chaos/kill_test.ts",
    "tests/chaos/open_files_test.ts",
  ]).filter((file) => !Object.hasOwn(oneServerFiles, file));
  const onRuntime = { TEST_HTTP_SERVER: "runtime" };
  const isUnit = (file: string) => units.includes(file);
  return new Map<string, readonly Job[]>([
    ["agents", processJobs(testFilesIn(["tests/agents"]), tier, options)],
    ["cluster", processJobs(testFilesIn(["tests/cluster"]), tier, options)],
    ["units", [
      ...processJobs(units.filter(isLong), tier, options),
      ...tierUnits(grouped, tier, options),
    ]],
    ["openapi", [programJob("openapi", 1, usualSeconds.program)]],
    ["processes", processJobs(processes, tier, options)],
    ["runtime-server", [
      ...processJobs(served.filter((file) => !isUnit(file)), tier, options, onRuntime),
      ...unitJobs("runtime-server", served.filter(isUnit), tier, options, onRuntime),
    ]],
    ["runtimes", [programJob("runtimes", navigator.hardwareConcurrency, usualSeconds.runtimes)]],
    ["examples", [examplesJob]],
  ]);
}
