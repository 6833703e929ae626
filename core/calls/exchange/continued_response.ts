/**
 * Names, in the response to a request with `previous_response_id`, the turn that it continues. Providers get the whole
 * conversation and know of no such turn, so their answers and those that the gateway writes say `null`. All other bytes
 * stay as they are.
 */
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { type SseFrame, SseFrameTooLargeError, SseSplitter } from "../../lib/sse/frame.ts";
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";
import { parseJsonBody, withFields } from "../body/json_body.ts";
import { previousField } from "../request/kept_responses.ts";
import type { ChatExchange } from "./chat_call.ts";

/** Names the continued turn in a response. What is no JSON object stays as it is: any vendor's bytes pass here. */
function withPrevious(response: Uint8Array, id: string): Uint8Array {
  try {
    return joined(withFields(parseJsonBody(response), { [previousField]: id }));
  } catch (error) {
    if (error instanceof GatewayError) return response;
    throw error;
  }
}

/** The place of the response in an event that has one. */
function responseIn({ payload, payloadStart, payloadEnd, bytes }: SseFrame) {
  // An event of several lines is none of a vendor that the gateway knows.
  if (payload !== bytes) return undefined;
  try {
    const data = payload.subarray(payloadStart, payloadEnd);
    const span = parseJsonBody(data).fields.get("response");
    return span && { start: payloadStart + span.start, end: payloadStart + span.end };
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** The events whose data has the response. */
const responseEvents: ReadonlySet<string> = new Set(
  ["created", "queued", "in_progress", "completed", "incomplete", "failed"]
    .map((state) => `response.${state}`),
);

class ContinuedPipe implements StreamPipe {
  readonly #pipe: StreamPipe;
  readonly #id: string;
  /** Removed after an event that is too large to parse; the bytes pass all the same. */
  #splitter: SseSplitter | undefined = new SseSplitter(maxSseEventBytes);

  constructor(pipe: StreamPipe, id: string) {
    this.#pipe = pipe;
    this.#id = id;
  }

  get reading(): StreamReading {
    return this.#pipe.reading;
  }

  get heldBack(): Uint8Array {
    return this.#pipe.heldBack ?? new Uint8Array(0);
  }

  push(chunk: Uint8Array): Uint8Array {
    return this.#named(this.#pipe.push(chunk));
  }

  end(): Uint8Array {
    return this.#named(this.#pipe.end());
  }

  fail(error: GatewayError): Uint8Array {
    return this.#named(this.#pipe.fail(error));
  }

  stopForLength(usage: TokenUsage): Uint8Array | undefined {
    const tail = this.#pipe.stopForLength(usage);
    return tail && this.#named(tail);
  }

  /** Pipes return whole events, so that nothing is left in the splitter. */
  #named(bytes: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = [];
    try {
      this.#splitter?.push(bytes, (frame) => {
        const { bytes: all, start, end } = frame;
        const at = responseEvents.has(frame.event) ? responseIn(frame) : undefined;
        if (at === undefined) return pieces.push(all.slice(start, end)) > 0;
        const response = withPrevious(all.subarray(at.start, at.end), this.#id);
        return pieces.push(all.slice(start, at.start), response, all.slice(at.end, end)) > 0;
      });
    } catch (error) {
      if (!(error instanceof SseFrameTooLargeError)) throw error;
      this.#splitter = undefined;
    }
    return this.#splitter === undefined ? bytes : joined(pieces);
  }
}

/** Has the answers of an exchange name the turn that they continue. */
export function continuing(exchange: ChatExchange, id: string): ChatExchange {
  const { fromStream } = exchange;
  return {
    ...exchange,
    createPipe: () => new ContinuedPipe(exchange.createPipe(), id),
    toClient: (answer) => withPrevious(exchange.toClient(answer), id),
    ...(fromStream !== undefined && {
      fromStream: (bytes) => {
        const answer = fromStream(bytes);
        return { ...answer, clientBytes: withPrevious(answer.clientBytes, id) };
      },
    }),
  };
}
