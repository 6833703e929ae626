/** Needs of a gateway that serves, which its process has. */
import type { ConfigSource, Surroundings } from "./assemble.ts";
import type { Cron } from "../../process/cron.ts";

/** `write` gets whole lines: the banner and the log. */
export interface ServeOptions extends Pick<Surroundings, "clock" | "random" | "write"> {
  /** Aborted when the process should stop. */
  readonly signal: AbortSignal;
  /** Aborted at the second signal: running calls are then ended at once. */
  readonly abort?: AbortSignal | undefined;
  /** The platform's cron, whose runs do what is due; without it only timers do. */
  readonly cron?: Cron;
  /** Source of the configuration, for serving threads; without it this thread serves alone. */
  readonly source?: ConfigSource;
}
