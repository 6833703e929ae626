/** A running peer. */
import type { Server } from "./child.ts";
import type { Target } from "./load_job.ts";

export interface StartedPeer {
  readonly server: Server;
  readonly target: Target;
}
