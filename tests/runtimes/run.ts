/** Runs the bundled tests in one runtime. */
import { launchChromium } from "../support/browser/chromium.ts";
import type { RunReport } from "./registry.ts";

/** Above the half minute that a slow machine needs; an endless loop ends the run. */
const runMs = 1_800_000;

/** A report with the version that the runtime tells of itself. */
export interface Run extends RunReport {
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
export async function runInProcess(
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
export async function runInChromium(folder: string): Promise<Run> {
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
