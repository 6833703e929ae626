/** What the clients know themselves: the calls that they saw whole, what each cost, and what failed. */

/** A call that its client saw whole. */
export interface SeenCall {
  readonly requestId: string;
  readonly costMicroVnd: bigint;
}

/** The status of a failed call of an SDK, or what the network said. */
function statusOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "status" in error) {
    if (typeof error.status === "number") return String(error.status);
  }
  return error instanceof Error && /abort|time/i.test(error.name) ? "timeout" : "connection";
}

/** What the innermost cause of an error says: an SDK says only that there is no connection. */
function causeOf(error: unknown): string {
  let cause = error;
  for (let depth = 0; depth < maxCauses && cause instanceof Error && cause.cause; depth++) {
    cause = cause.cause;
  }
  return String(cause);
}

/** Causes of causes that are followed. */
const maxCauses = 5;

/** The id of a call whose client was told that it is free. One whose commit was on its way may be charged. */
function withheldId(error: unknown): string | undefined {
  if (!(error instanceof Error) || !error.message.includes("nothing is charged")) return undefined;
  return "requestID" in error && typeof error.requestID === "string" ? error.requestID : undefined;
}

/** Counts calls. */
export class ClientLedger {
  /** Cost by request id. */
  readonly whole = new Map<string, bigint>();
  /** Number of failed calls by status; `connection` where the connection was refused or cut. */
  readonly failed = new Map<string, number>();
  /** What the first call said that failed in this way. */
  readonly causes = new Map<string, string>();
  /** Ids of calls that the client was told are free, although they were carried out. */
  readonly withheld = new Set<string>();
  calls = 0;
  longestMs = 0;
  creditedVnd = 0;

  /** Makes a call and records its end. Returns the status if it failed. */
  async record(call: () => Promise<SeenCall>): Promise<string | undefined> {
    this.calls++;
    const startMs = performance.now();
    try {
      const { requestId, costMicroVnd } = await call();
      if (this.whole.has(requestId)) throw new Error(`two calls have the id ${requestId}`);
      this.whole.set(requestId, costMicroVnd);
      return undefined;
    } catch (error) {
      const status = statusOf(error);
      const withheld = withheldId(error);
      if (withheld !== undefined) this.withheld.add(withheld);
      this.failed.set(status, (this.failed.get(status) ?? 0) + 1);
      if (!this.causes.has(status)) this.causes.set(status, causeOf(error));
      return status;
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - startMs);
    }
  }

  failures(): number {
    return [...this.failed.values()].reduce((sum, count) => sum + count, 0);
  }
}
