/** The error of a store that is away. Each engine names its failures as one of a few kinds; callers see only these. */
import { errorLine } from "../../../core/lib/base/assert.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";

/**
 * Why the store is away, for the operator's log:
 *
 * - `no_answer`: it is connected, and a call was not answered in time.
 * - `unreachable`: no connection can be made.
 * - `connection_lost`: the connection broke, so that the fate of a commit is unknown.
 * - `takes_no_writes`: it is read-only, such as a standby before its promotion.
 * - `no_room`: its disk or memory is full.
 * - `overloaded`: too many connections or conflicts.
 * - `stopping`: it shuts down or starts up.
 * - `refused`: it refuses the credentials, or answers nothing of the protocol.
 * - `engine_failed`: the engine reports an error of its files.
 * - `damaged`: what the engine reads is not what it wrote: a page, an index, or the whole file.
 * - `elsewhere`: another thread of this process has it open and knows the kind.
 */
export type OutageKind =
  | "no_answer"
  | "unreachable"
  | "connection_lost"
  | "takes_no_writes"
  | "no_room"
  | "overloaded"
  | "stopping"
  | "refused"
  | "engine_failed"
  | "damaged"
  | "elsewhere";

/** Returns the kind of an error that means that the store is away; `undefined` for an error of the caller. */
export type OutageOf = (error: unknown) => OutageKind | undefined;

/** Thrown if the store is away. A commit may still have taken effect. */
export class StoreUnavailableError extends GatewayError {
  override name = "StoreUnavailableError";
  readonly kind: OutageKind;

  constructor(kind: OutageKind, options: ErrorOptions = {}) {
    super("maintenance", "The store does not answer at the moment; try again", options);
    this.kind = kind;
  }
}

/**
 * Describes an outage to the owner of the machine, in one line: its kind, what the engine says, and for a damaged store
 * what to do. Customers get the message of the error, which names neither.
 */
export function outageLine({ kind, cause, message }: StoreUnavailableError): string {
  const line = `${cause === undefined ? message : errorLine(cause)} (${kind})`;
  return kind === "damaged"
    ? `The store is damaged: ${line}. Stop the gateway, keep a copy of the store, and restore the last backup: ` +
      "docs/runbooks/restore.md"
    : `The store is away: ${line}`;
}
