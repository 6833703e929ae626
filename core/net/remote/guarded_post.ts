/** Posts a short body to a URL that a customer names: no redirect is followed, and of the answer only the beginning is read. */
import type { Clock } from "../../lib/time/clock.ts";
import { retryAfterSeconds } from "../transport/retry_after.ts";
import { readBeginning } from "../transport/read_whole.ts";
import { UpstreamFailure, type UpstreamFailureCode } from "../transport/transport.ts";
import type { GuardedFetchWorld } from "./guarded_fetch.ts";

/** Message to post, and its bounds. */
export interface GuardedPost {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** Milliseconds for all of it: name, connection, TLS, answer. */
  readonly totalMs: number;
  /** Bytes of the answer's body that are read: with all of a short one read, its sender sees no broken connection. */
  readonly maxAnswerBytes: number;
  /** Gives up at once. */
  readonly signal?: AbortSignal | undefined;
}

/** Result of a post. `stopped`: by the signal. */
export type GuardedPostResult =
  | {
    readonly kind: "answered";
    readonly status: number;
    readonly retryAfterSeconds: number | undefined;
    /** The beginning of the answer's body. */
    readonly body: Uint8Array;
  }
  | { readonly kind: "timeout" | "unreachable" | "broken_answer" | "stopped" };

/** Failures that mean that no request was sent. They have one name, for all that may be inside the network. */
const unreachable: ReadonlySet<UpstreamFailureCode> = new Set(["connect", "refused", "shortage"]);

/**
 * Posts once and never rejects for what the peer does.
 *
 * @param world its transport must use a guarded connect, which checks each address
 */
export async function postGuarded(
  world: GuardedFetchWorld & { readonly clock: Clock },
  { url, headers, body, totalMs, maxAnswerBytes, signal }: GuardedPost,
): Promise<GuardedPostResult> {
  let late = false;
  const exchange = world.transport.open({ method: "POST", url, headers, body });
  const deadline = world.deadlines.create(() => {
    late = true;
    exchange.cancel();
  });
  deadline.arm(totalMs);
  const stop = () => exchange.cancel();
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  try {
    const response = await exchange.response;
    // Its status counts even if the rest is slow or missing.
    const begun = await readBeginning(response.body, maxAnswerBytes);
    const pause = retryAfterSeconds((name) => response.header(name), world.clock);
    return { kind: "answered", status: response.status, retryAfterSeconds: pause, body: begun };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    if (signal?.aborted === true) return { kind: "stopped" };
    if (late || error.code === "timeout") return { kind: "timeout" };
    return { kind: unreachable.has(error.code) ? "unreachable" : "broken_answer" };
  } finally {
    deadline.disarm();
    signal?.removeEventListener("abort", stop);
    exchange.cancel();
  }
}
