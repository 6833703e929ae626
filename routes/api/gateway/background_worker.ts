/** A worker of this process on a queue that all processes share. */

/** What the start of the process needs of a worker. */
export interface BackgroundWorker {
  /** Lets the worker look at its queue now. */
  nudge(): void;
  /** The same work as one run, for cron: it ends when nothing is due. */
  readonly sweep: {
    readonly name: string;
    readonly everyMs: number;
    readonly run: () => Promise<unknown>;
    readonly withoutTimer?: true;
  };
  stop(): Promise<void>;
}
