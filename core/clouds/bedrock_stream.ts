/** Turns a stream of Bedrock into server-sent events: of the Messages style for `invoke`, of Converse for the others. */
import {
  type EventFrame,
  EventStreamDecoder,
  EventStreamFault,
} from "../lib/eventstream/decoder.ts";
import { joined } from "../lib/bytes/byte_parts.ts";
import { isJsonObject, type JsonObject } from "../lib/json/json.ts";
import { decodeBase64 } from "../lib/runtime/mod.ts";
import { encodeSseEvent } from "../lib/sse/writer.ts";
import { type ByteReader, UpstreamFailure } from "../net/transport/transport.ts";
import { bedrockError } from "./bedrock_errors.ts";

const decoder = new TextDecoder();

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Events of Converse; the kind of a frame becomes the name of the event. */
const converseEvents: ReadonlySet<string> = new Set([
  "messageStart",
  "contentBlockStart",
  "contentBlockDelta",
  "contentBlockStop",
  "messageStop",
  "metadata",
]);

/** Line breaks can only be between the values of JSON; an event has one line. */
function oneLine(json: string): string {
  return json.replace(/[\r\n]+/g, " ");
}

/** The event in a frame; none for events that say nothing about the answer. */
function eventOf({ headers, payload }: EventFrame): Uint8Array | undefined {
  const text = decoder.decode(payload);
  if (headers.get(":message-type") !== "event") {
    const type = headers.get(":exception-type") ?? headers.get(":error-code") ?? "";
    const said = parsed(text)?.["message"] ?? headers.get(":error-message");
    const { body } = bedrockError(500, type, typeof said === "string" ? said : "");
    return encodeSseEvent(JSON.stringify(body), "error");
  }
  const kind = headers.get(":event-type") ?? "";
  if (converseEvents.has(kind)) return encodeSseEvent(oneLine(text), kind);
  if (kind !== "chunk") return undefined;
  const bytes = parsed(text)?.["bytes"];
  const data = typeof bytes === "string" ? decodeBase64(bytes) : undefined;
  if (data === undefined) throw new EventStreamFault("a chunk without bytes");
  const event = oneLine(decoder.decode(data));
  const type = parsed(event)?.["type"];
  if (typeof type !== "string" || !/^\w+$/.test(type)) {
    throw new EventStreamFault("a chunk without an event");
  }
  // The last event carries metrics of the operator's account.
  return encodeSseEvent(type === "message_stop" ? JSON.stringify({ type }) : event, type);
}

/** Reads the events of a body of frames. */
export class BedrockEvents implements ByteReader {
  readonly #body: ByteReader;
  readonly #frames = new EventStreamDecoder();

  constructor(body: ByteReader) {
    this.#body = body;
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      const bytes = await this.#body.read();
      if (bytes === null) {
        if (this.#frames.isWithinFrame) throw new UpstreamFailure("cut", "The answer was cut");
        return null;
      }
      const events = this.#events(bytes);
      if (events.length > 0) return events;
    }
  }

  #events(bytes: Uint8Array): Uint8Array {
    try {
      const events = this.#frames.push(bytes).map(eventOf);
      return joined(events.filter((event) => event !== undefined));
    } catch (error) {
      if (!(error instanceof EventStreamFault)) throw error;
      throw new UpstreamFailure("protocol", "The answer is no event stream", { cause: error });
    }
  }
}
