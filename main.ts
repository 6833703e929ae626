/**
 * The gateway's entry: `deno task start` serves, `deno task admin …` runs one command. It only wires.
 * `--version` names the program and its runtime.
 *
 * Where to read on; the layout is in `docs/internals/ARCHITECTURE.md`:
 *
 * 1. Settings: `core/config/config.ts`, and `core/catalog/catalog.ts` for `gateway.json`.
 * 2. Start and stop: `routes/server/serve.ts`; `routes/server/assembly/assemble.ts` puts the parts together.
 * 3. Paths: `routes/server/listen/app.ts`, then `routes/api/app.ts` for `/v1` and `routes/dashboard/mod.ts` for pages.
 * 4. A chat call: `routes/api/chat/chat.ts`, `core/calls/attempts/attempt_loop.ts`, `core/wire/mod.ts`.
 * 5. Money: `core/billing/outcome.ts` for what is charged, `kv/money/wallet/mod.ts` for how it moves.
 * 6. Commands: `routes/operator/cli/cli.ts`.
 */
import { programVersion } from "./core/lib/base/program_version.ts";
import { systemClock } from "./core/lib/time/clock.ts";
import { isLogoAddress } from "./core/people/mail/brand.ts";
import { type FileText, readConfig } from "./core/config/config.ts";
import { setVariables } from "./core/lib/environment/environment.ts";
import { createCron, registerCron } from "./routes/process/cron.ts";
import { createLineWriter, createStopSignals } from "./routes/process/keep_serving.ts";
import { serve } from "./routes/server/serve.ts";
import { eventLine } from "./routes/telemetry/call_log.ts";

const cron = createCron();
// At the top level, where Deno Deploy looks for schedules. What has arguments ends by itself, without cron.
if (import.meta.main && Deno.args[0] === undefined) registerCron(cron);

const encoder = new TextEncoder();
const error = (text: string) => void Deno.stderr.writeSync(encoder.encode(text));
const lines = createLineWriter({
  output: (bytes) => Deno.stdout.write(bytes),
  lossLine: (lines) => eventLine(systemClock.nowMs(), "warn", "log lines were lost", { lines }),
});

async function readText(path: string | URL): Promise<FileText> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    return { problem: `cannot be read (${error instanceof Error ? error.message : error})` };
  }
}

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === "--version") {
    Deno.stdout.writeSync(
      encoder.encode(`gateway ${programVersion} (Deno ${Deno.version.deno})\n`),
    );
    return 0;
  }
  const environment = setVariables(Deno.env.toObject());
  const { GATEWAY_CONFIG: path, GATEWAY_BRAND_LOGO: logo = "" } = environment;
  const file = await readText(path ?? new URL("./gateway.json", import.meta.url));
  const logoFile = logo === "" || isLogoAddress(logo) ? undefined : await readText(logo.trim());
  const read = readConfig(environment, file, logoFile);
  if (!read.ok) {
    error(`Cannot start: ${read.problems.length} problem(s) in the configuration\n`);
    for (const problem of read.problems) error(`  ${problem}\n`);
    return 1;
  }
  if (args[0] === "admin") {
    const output = Deno.stdout.writable.getWriter();
    const write = (bytes: Uint8Array) => output.write(bytes);
    const { runAdmin } = await import("./routes/operator/cli/cli.ts");
    return await runAdmin(read.config, args.slice(1), {
      clock: systemClock,
      write,
      error,
      // A secret that is typed would stay on the screen.
      ...(!Deno.stdin.isTerminal() && { input: Deno.stdin.readable }),
    });
  }

  const { stop, abort, notify } = createStopSignals(systemClock);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, notify);
  try {
    return await serve(read.config, {
      clock: systemClock,
      random: Math.random,
      write: lines.write,
      signal: stop,
      abort,
      cron,
      ...(typeof file === "string"
        ? { source: { environment, file, ...(logoFile !== undefined && { logoFile }) } }
        : {}),
    });
  } finally {
    await lines.flush();
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
