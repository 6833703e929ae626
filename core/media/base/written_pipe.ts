/** A stream of events that the gateway writes from a whole answer. */
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import { newStreamReading } from "../../wire/stream/reading.ts";
import { mediaErrorEvent } from "./events.ts";

const nothing = new Uint8Array(0);

/** A pipe without input: only the last event waits for settlement. */
export class WrittenPipe implements StreamPipe {
  readonly reading = { ...newStreamReading(), sawOutput: true, state: "completed" as const };
  readonly #last: Uint8Array;
  readonly #requestId: string;
  /** Whether the last event was written. */
  isWhole = false;

  constructor(last: Uint8Array, requestId: string) {
    this.#last = last;
    this.#requestId = requestId;
  }

  push(): Uint8Array {
    return nothing;
  }

  end(): Uint8Array {
    this.isWhole = true;
    return this.#last;
  }

  fail(error: GatewayError): Uint8Array {
    return mediaErrorEvent(error, this.#requestId);
  }

  stopForLength(): undefined {
    return undefined;
  }
}
