/** Commands of `deno task admin` as a test runs them. */
import { type Clock, systemClock } from "../../../core/lib/time/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { runAdmin } from "../../../routes/operator/cli/cli.ts";

export interface RanCommand {
  readonly code: number;
  readonly written: string;
  readonly errors: string;
}

/** @param typed the standard input; absent: there is none */
export async function runCommand(
  config: Config,
  args: readonly string[],
  clock: Clock = systemClock,
  typed?: string,
): Promise<RanCommand> {
  const decoder = new TextDecoder();
  let written = "";
  let errors = "";
  const code = await runAdmin(config, args, {
    clock,
    write: (bytes) => void (written += decoder.decode(bytes, { stream: true })),
    error: (text) => void (errors += text),
    ...(typed !== undefined && { input: new Blob([typed]).stream() }),
  });
  return { code, written, errors };
}
