/** Processes of a run: all end and are counted, whatever one of them does. */
import { assert, assertEquals } from "../support/assert.ts";
import { type Job, type JobResult, runJobs } from "./job.ts";
import { summaryLines } from "./summary.ts";

const sources = {
  passing: 'Deno.test("passes", () => {}); Deno.test.ignore("waits", () => {});',
  failing: 'Deno.test("fails <here>", () => { throw new Error("as expected"); });',
  exiting: 'Deno.test("leaves", () => Deno.exit(0));',
  unloadable: 'throw new Error("does not load");',
  empty: "export {};",
};

const testArgs = ["test", "--no-config", "--no-lock", "--no-check", "-A"];

Deno.test("a file that does not load hides no other of its group", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const file = (name: "passing" | "unloadable"): Job => {
      Deno.writeTextFileSync(`${folder}/${name}_test.ts`, sources[name]);
      return {
        name,
        args: [...testArgs, `${folder}/${name}_test.ts`],
        places: 1,
        reports: "junit",
      };
    };
    const parts = [file("unloadable"), file("passing")];
    const group = `${folder}/group_test.ts`;
    Deno.writeTextFileSync(group, 'import "./unloadable_test.ts"; import "./passing_test.ts";');
    const job: Job = {
      name: "group",
      args: [...testArgs, group],
      places: 1,
      reports: "junit",
      parts,
    };
    const results: JobResult[] = [];
    await runJobs([job], 2, folder, (result) => results.push(result));
    assertEquals(results.map(({ job }) => job.name).sort(), ["passing", "unloadable"]);
    assertEquals(summaryLines(results, 7).at(-1), "1 passed, 1 failed, 1 skipped");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a process that fails, leaves or does not load hides no other, and the count is last", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const jobs = Object.entries(sources).map(([name, source]): Job => {
      Deno.writeTextFileSync(`${folder}/${name}_test.ts`, source);
      const args = [
        "test",
        "--no-config",
        "--no-lock",
        "--no-check",
        "-A",
        `${folder}/${name}_test.ts`,
      ];
      return { name, args, places: name === "failing" ? "all" : 1, reports: "junit" };
    });
    const program = `${folder}/program.ts`;
    Deno.writeTextFileSync(program, "Deno.exit(3);");
    const run: Job = { name: "program", args: ["run", program], places: 1, reports: "exit" };
    const results: JobResult[] = [];
    await runJobs([...jobs, run], 2, folder, (result) => results.push(result));
    assertEquals(
      results.map(({ job }) => job.name).sort(),
      [...Object.keys(sources), "program"].sort(),
    );
    const lines = summaryLines(results, 7);
    const failed = lines.filter((line) => line.startsWith("FAILED"));
    assertEquals(failed.length, 5, lines.join("\n"));
    assert(failed.some((line) => line.includes("fails <here>") && line.endsWith("(failing)")));
    assert(lines.some((line) => line.startsWith("  Error: as expected")));
    assert(lines.includes("To repeat this run: SEED=7"));
    assertEquals(lines.at(-1), "1 passed, 5 failed, 1 skipped");
    assert(results.some(({ failureText }) => failureText.includes("as expected")));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the longest job begins first, one that waits runs beside it, and one alone after all", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const mark = JSON.stringify(`${folder}/mark`);
    const until = JSON.stringify(import.meta.resolve("../support/until.ts"));
    const programs: Record<string, [source: string, options: Partial<Job>]> = {
      alone: [`Deno.removeSync(${mark});`, { places: "all", expectedSeconds: 9 }],
      short: [`Deno.statSync(${mark});`, { expectedSeconds: 1 }],
      // It ends once the one that waits has run.
      long: [
        `import { until } from ${until}; await until(() => Deno.stat(${mark}).catch(() => false), "the mark");`,
        { expectedSeconds: 2 },
      ],
      waiting: [`Deno.writeTextFileSync(${mark}, "");`, { places: 0 }],
    };
    const jobs = Object.entries(programs).map(([name, [source, options]]): Job => {
      Deno.writeTextFileSync(`${folder}/${name}.ts`, source);
      const args = ["run", "--no-config", "--no-lock", "-A", `${folder}/${name}.ts`];
      return { name, args, places: 1, reports: "exit", ...options };
    });
    const results: JobResult[] = [];
    await runJobs(jobs, 1, folder, (result) => results.push(result));
    assertEquals(summaryLines(results, 7).at(-1), "4 passed, 0 failed");
    const names = results.map(({ job }) => job.name);
    assert(names.indexOf("long") < names.indexOf("short"), names.join());
    assertEquals(names.at(-1), "alone");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
