/** The tests that a change can break, by the imports of the sources: the inner loop. */
import { type ImportGraph, importGraphOf } from "../repository/import_graph.ts";
import { root } from "../repository/source_files.ts";
import { longUnits, unitFolders } from "./tiers.ts";
import { testFilesIn } from "./plan.ts";

/**
 * Modules that import the whole gateway. A test that reaches a change only through them says little about it, and
 * nearly all tests of `routes` do; the tests beside the change are chosen by their folder.
 */
const wholeGateway: ReadonlySet<string> = new Set([
  "routes/server/listen/app.ts",
  "routes/server/assembly/assemble.ts",
]);

/** Test files for a change. */
export interface ChosenTests {
  readonly files: readonly string[];
  /** Test files that reach the change through the whole gateway only, and are left out. */
  readonly distant: readonly string[];
}

function reaches(
  graph: ImportGraph,
  start: string,
  changed: ReadonlySet<string>,
  ends: ReadonlySet<string>,
): boolean {
  const seen = new Set([start]);
  for (const file of seen) {
    if (changed.has(file)) return true;
    if (ends.has(file)) continue;
    for (const target of graph.get(file) ?? []) seen.add(target);
  }
  return false;
}

/** Chooses among test files those that import a changed file or lie in its mirrored folder. */
export function chooseTests(
  graph: ImportGraph,
  tests: readonly string[],
  changed: ReadonlySet<string>,
): ChosenTests {
  const mirrored = [...changed].filter((file) => /\.tsx?$/u.test(file) && file.includes("/"))
    .map((file) => `tests/${file.slice(0, file.lastIndexOf("/") + 1)}`);
  const isNear = (test: string) =>
    mirrored.some((folder) => test.slice(0, test.lastIndexOf("/") + 1) === folder) ||
    reaches(graph, test, changed, wholeGateway);
  const files = tests.filter(isNear);
  const near = new Set(files);
  const distant = tests.filter((test) =>
    !near.has(test) && reaches(graph, test, changed, new Set())
  );
  return { files, distant };
}

async function git(...args: string[]): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args, cwd: root }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/** The unit tests for what differs from `ref`, files included that git does not track yet. */
export async function testsSince(ref: string): Promise<ChosenTests> {
  const changed = new Set([
    ...await git("diff", "--name-only", ref, "--"),
    ...await git("ls-files", "--others", "--exclude-standard"),
  ]);
  const graph = importGraphOf(["core", "kv", "routes", "sandbox", "tests"]);
  const tests = testFilesIn(unitFolders).filter((file) => !Object.hasOwn(longUnits, file));
  const { files, distant } = chooseTests(graph, tests, changed);
  const rules = changed.size > 0 ? testFilesIn(["tests/repository"]) : [];
  return { files: [...new Set([...rules, ...files])], distant };
}
