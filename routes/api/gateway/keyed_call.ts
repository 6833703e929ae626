/**
 * A call with an idempotency key: writes the state of the key in the commit of the receipt, and keeps a copy of the
 * answer for repeated requests.
 */
import {
  type AnswerDraft,
  replayedAnswerBytes,
} from "../../../core/calls/replay/replayed_answers.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import {
  type ClaimedKey,
  freeCharged,
  releaseKey,
  writeCharged,
  writeReleased,
} from "../../../kv/services/calls/idempotency.ts";
import type { Attachment, ReceiptDraft } from "../../../kv/money/wallet/mod.ts";
import type { KeyedCalls } from "./keyed_calls.ts";
import type { AtomicWrite, KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** Needs of a keyed call. */
interface KeyedCallDeps {
  readonly clock: Clock;
  readonly kv: KeyValueStore;
  readonly keyedCalls: KeyedCalls;
}

/** A call that has claimed its idempotency key. */
export class KeyedCall {
  readonly #world: KeyedCallDeps;
  readonly #claim: ClaimedKey;
  readonly #id: string;
  readonly #owner: string;
  readonly #leave: () => void;
  /** State that the settlement writes: nothing yet, that the key is free, or that the call is over. */
  #written: "nothing" | "free" | "over" = "nothing";
  #isComplete = false;

  constructor(
    world: KeyedCallDeps,
    claim: ClaimedKey,
    id: string,
    owner: string,
    leave: () => void,
  ) {
    this.#world = world;
    this.#claim = claim;
    this.#id = id;
    this.#owner = owner;
    this.#leave = leave;
  }

  /** Makes the row for the commit of the receipt, so that charge and key change together or not at all. */
  rows({ outcome, priceMicroVnd }: Pick<ReceiptDraft, "outcome" | "priceMicroVnd">): Attachment {
    this.#isComplete = outcome === "completed";
    this.#written = this.#isComplete || priceMicroVnd > 0n ? "over" : "free";
    const nowMs = this.#world.clock.nowMs();
    return {
      mutations: 1,
      apply: (op) =>
        this.#written === "over"
          ? writeCharged(op, this.#claim, nowMs)
          : writeReleased(op, this.#claim),
    };
  }

  /** Notes that the client did not get the whole answer, so that no copy of it is kept. */
  withhold(): void {
    this.#isComplete = false;
  }

  /** Makes the row for the receipt of a call whose answer was withheld, and which is free: the key is free as well. */
  withheldRows(): Attachment {
    return {
      mutations: 1,
      apply: (op) => {
        // Another call may have claimed the key after that.
        if (this.#world.clock.nowMs() < this.#claim.row.expiresAtMs) writeReleased(op, this.#claim);
      },
    };
  }

  /** Frees the key of a call that was charged, in the commit of its refund. */
  async freeRefunded(op: AtomicWrite): Promise<void> {
    await freeCharged(this.#world.kv, op, this.#claim);
  }

  /**
   * Frees the key of a call that ended before it was settled, so nothing was charged. If the store does not answer,
   * the row expires.
   */
  async abandon(): Promise<void> {
    if (this.#written === "nothing") await releaseKey(this.#world.kv, this.#claim).catch(() => {});
  }

  /** Ends a call that failed before its answer began. */
  async failed(): Promise<void> {
    await this.abandon();
    this.#leave();
  }

  /** Passes the answer on, and keeps a copy if it turns out to be complete. */
  async answered(response: Response): Promise<Response> {
    const draft = this.#world.keyedCalls.replayed.draft(this.#owner);
    const { status, body } = response;
    const headers: [string, string][] = [...response.headers];
    const end = (isWhole: boolean) => {
      if (isWhole && this.#isComplete) draft.keep(this.#id, { status, headers });
      else draft.drop();
      this.#leave();
    };
    if (body === null) {
      end(true);
      return response;
    }
    if (!isSmallAnswer(response)) {
      return new Response(copied(body, draft, end), { status, headers });
    }
    // Kept even if the client has left.
    const bytes = await response.bytes();
    draft.add(bytes);
    end(true);
    return new Response(bytes, { status, headers });
  }
}

/** Whether an answer is complete already, and small enough to be kept. */
function isSmallAnswer({ headers }: Response): boolean {
  if (headers.get("content-type")?.startsWith("application/json") !== true) return false;
  return Number(headers.get("content-length") ?? 0) <= replayedAnswerBytes;
}

/** Passes a stream on, and copies it to a draft. */
function copied(
  body: ReadableStream<Uint8Array>,
  draft: AnswerDraft,
  onEnd: (isWhole: boolean) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          onEnd(true);
          controller.close();
          return;
        }
        draft.add(value);
        controller.enqueue(value);
      } catch (error) {
        onEnd(false);
        controller.error(error);
      }
    },
    async cancel(reason) {
      try {
        await reader.cancel(reason);
      } finally {
        onEnd(false);
      }
    },
  }, { highWaterMark: 0 });
}
