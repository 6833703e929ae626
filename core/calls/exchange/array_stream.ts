/** Turns a stream of events into one JSON array, the form in which Gemini clients get a stream unless they ask for events. */
import type { TokenUsage } from "../../billing/tokens/token_usage.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";

const encoder = new TextEncoder();

/**
 * A pipe whose output is a JSON array of what the events of another pipe hold. That pipe writes whole frames with one
 * line of data each, as the Gemini style has them.
 */
export class ArrayStream implements StreamPipe {
  readonly #pipe: StreamPipe;
  readonly #decoder = new TextDecoder();
  #isBegun = false;

  constructor(pipe: StreamPipe) {
    this.#pipe = pipe;
  }

  get reading(): StreamReading {
    return this.#pipe.reading;
  }

  push(bytes: Uint8Array): Uint8Array {
    return encoder.encode(this.#elements(this.#pipe.push(bytes)));
  }

  end(): Uint8Array {
    return this.#closed(this.#pipe.end());
  }

  fail(error: GatewayError): Uint8Array {
    return this.#closed(this.#pipe.fail(error));
  }

  stopForLength(usage: TokenUsage): Uint8Array | undefined {
    const tail = this.#pipe.stopForLength(usage);
    return tail && this.#closed(tail);
  }

  #closed(bytes: Uint8Array): Uint8Array {
    const elements = this.#elements(bytes);
    return encoder.encode(`${elements}${this.#isBegun ? "" : "["}]`);
  }

  #elements(bytes: Uint8Array): string {
    let out = "";
    for (const line of this.#decoder.decode(bytes, { stream: true }).split(/\r\n|\n|\r/)) {
      // An error is written without the name of the field.
      const json = line.startsWith("data:")
        ? line.slice(5).trim()
        : line.startsWith("{")
        ? line
        : "";
      if (json === "") continue;
      out += this.#isBegun ? `,\r\n${json}` : `[${json}`;
      this.#isBegun = true;
    }
    return out;
  }
}
