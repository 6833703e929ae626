/**
 * Needs of the administrator's commands.
 *
 * - Folder `routes/operator/cli/commands/`: the commands of `deno task admin`, a file for each subject.
 * - In: checked operands and options, the store.
 * - Out: JSON, changes with their audit lines, encrypted backups.
 * - Never: knows what an operation does: commands that are one send it.
 */
import type { Context } from "hono";
import type { MasterKeys } from "../../../../core/people/api_keys/seal.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { RetentionSettings } from "../../../../core/config/retention.ts";
import type { Control } from "../../../../kv/engine/control/control.ts";
import type { WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import type { OperationDeps } from "../../operations/contract/operation.ts";
import { operatorBody } from "../../operations/contract/body.ts";
import type { StoreParts } from "../../../../kv/money/archive/receipt_archive.ts";
import type { ReadSnapshot } from "../../../../kv/engine/parts/snapshot.ts";
import type { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { sleepUnless } from "../../../../core/lib/time/sleep.ts";
import { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

// Paces full scans of the store beside the service: each yields to calls, has a deadline, and ends with its client.

/** Longest scan. A store of a hundred million receipts takes about an hour at half of the thread. */
export const longestReadingMs = 4 * hourMs;

/** A scan in progress. */
export interface StoreReading extends Disposable {
  readonly slices: TimeSlices;
  /** Waits, or fails when the scan is ended. */
  readonly pause: (durationMs: number) => Promise<void>;
  /** Aborted when the scan is ended early. */
  readonly signal: AbortSignal;
}

export interface StoreReadingsOptions {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Aborted when the process should stop; scans end with it. */
  readonly stopping: AbortSignal;
}

/** Begins a scan for a client, whose signal is aborted when it leaves. */
export type BeginReading = (client: AbortSignal) => StoreReading;

/** Creates the function that begins the scans of one server. */
export function storeReadings({ clock, deadlines, stopping }: StoreReadingsOptions): BeginReading {
  return (client) => {
    const ending = new AbortController();
    const { signal } = ending;
    const end = (message: string) => ending.abort(new GatewayError("maintenance", message));
    const deadline = deadlines.create(() => end("The reading took more than four hours"));
    const onStop = () => end("The server stops; the reading is not whole");
    const onGone = () => end("The client left");
    deadline.arm(longestReadingMs);
    stopping.addEventListener("abort", onStop);
    client.addEventListener("abort", onGone);
    if (stopping.aborted) onStop();
    if (client.aborted) onGone();
    const pause = (durationMs: number) => sleepUnless(durationMs, signal);
    return {
      slices: new TimeSlices({ clock, pause, signal }),
      pause,
      signal,
      [Symbol.dispose]() {
        deadline.disarm();
        stopping.removeEventListener("abort", onStop);
        client.removeEventListener("abort", onGone);
      },
    };
  };
}

/** The dependencies of all commands. */
export interface AdminDeps extends OperationDeps {
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  /** The public address of the service, which signed days name. */
  readonly origin: string;
  readonly control: Control;
  /** Active API keys for each member of an organisation of several; absent: ten. */
  readonly keysPerMember?: number;
  readonly wallet: WalletEngine;
  /** Reads every row as of one moment, for a backup. */
  readonly snapshot?: ReadSnapshot;
  /** The store and its archive apart; absent where this kind of store has no archive. */
  readonly parts: StoreParts | undefined;
  /** Time for which rows are kept that leave by their age. */
  readonly retention: RetentionSettings;
  /** Set if the service runs on the same thread: full scans of the store then yield to its calls. */
  readonly beginReading?: BeginReading;
}

/** Reads the JSON of a request. */
export async function readJson({ req }: Context): Promise<unknown> {
  return operatorBody(await req.bytes());
}
