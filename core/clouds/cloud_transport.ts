/** A transport that adds a cloud's credential to requests and brings its answers into the plain form of a style. */
import type { Cloud } from "../catalog/entries/cloud_schema.ts";
import {
  bodyOf,
  decompressed,
  maxErrorBodyBytes,
  readBeginning,
  readWhole,
} from "../net/transport/read_whole.ts";
import type { Deadlines } from "../lib/time/deadlines.ts";
import {
  type ByteReader,
  type Transport,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../net/transport/transport.ts";
import { plainException, readException } from "./cloud_errors.ts";
import { type Authorizer, CredentialFailure } from "./credentials/authorizer.ts";
import {
  type EventFrame,
  EventStreamDecoder,
  EventStreamFault,
} from "../lib/eventstream/decoder.ts";
import { joined } from "../lib/bytes/byte_parts.ts";
import { isJsonObject, type JsonObject } from "../lib/json/json.ts";
import { decodeBase64 } from "../lib/runtime/built_ins.ts";
import { encodeSseEvent } from "../lib/sse/writer.ts";

// Turns a stream of Bedrock into server-sent events: of the Messages style for `invoke`, of Converse for the others.

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
    const body = plainException(type, typeof said === "string" ? said : "");
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
class BedrockEvents implements ByteReader {
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

/** Milliseconds to wait for the body of a refusal; after that the status decides. */
const refusalBodyMs = 2_000;

/** Needs of a cloud's transport. */
export interface CloudTransportOptions {
  readonly transport: Transport;
  readonly cloud: Cloud | undefined;
  readonly authorizer: Authorizer | undefined;
  readonly deadlines: Deadlines;
  /** Called when a request could not be sent for want of a credential. */
  readonly onFailure: (failure: CredentialFailure) => void;
}

/** Creates the transport for one attempt or more. */
export function cloudTransport(options: CloudTransportOptions): Transport {
  return { open: (request) => new CloudExchange(options, request) };
}

class CloudExchange implements UpstreamExchange {
  readonly response: Promise<UpstreamResponse>;
  readonly #options: CloudTransportOptions;
  #inner: UpstreamExchange | undefined;
  #isCancelled = false;

  constructor(options: CloudTransportOptions, request: UpstreamRequest) {
    this.#options = options;
    this.response = this.#run(request);
    // A caller that cancels may ignore the response.
    this.response.catch(() => {});
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#inner?.cancel();
  }

  async #run(request: UpstreamRequest): Promise<UpstreamResponse> {
    let sent = await this.#authorized(request);
    let response = await this.#send(sent);
    if (response.status === 401 || response.status === 403) {
      if (this.#options.authorizer?.refused(sent, response) === true) {
        this.#inner?.cancel();
        sent = await this.#authorized(request);
        response = await this.#send(sent);
      }
    }
    return await this.#plain(request, response);
  }

  async #authorized(request: UpstreamRequest): Promise<UpstreamRequest> {
    const { authorizer, onFailure } = this.#options;
    if (authorizer === undefined) return request;
    try {
      return await authorizer.authorize(request);
    } catch (failure) {
      if (!(failure instanceof CredentialFailure)) throw failure;
      onFailure(failure);
      throw new UpstreamFailure("connect", "No credential for the provider", { cause: failure });
    }
  }

  #send(request: UpstreamRequest): Promise<UpstreamResponse> {
    if (this.#isCancelled) throw new UpstreamFailure("cancelled", "The exchange was cancelled");
    this.#inner = this.#options.transport.open(request);
    return this.#inner.response;
  }

  async #plain(request: UpstreamRequest, received: UpstreamResponse): Promise<UpstreamResponse> {
    const { cloud } = this.#options;
    const response = decompressed(received);
    if (cloud === undefined) return response;
    if (cloud.name !== "bedrock") return response;
    if (response.status >= 400) return await this.#refusal(response);
    if (isEventStream(response)) {
      return {
        ...headOf(response, "text/event-stream"),
        body: new BedrockEvents(response.body),
      };
    }
    if (!new URL(request.url).pathname.endsWith("/count-tokens")) return response;
    return await plainCount(response);
  }

  async #refusal(response: UpstreamResponse): Promise<UpstreamResponse> {
    const deadline = this.#options.deadlines.create(() => this.#inner?.cancel());
    deadline.arm(refusalBodyMs);
    const bytes = await readBeginning(response.body, maxErrorBodyBytes);
    deadline.disarm();
    const text = new TextDecoder().decode(bytes);
    const error = readException(text, (name) => response.header(name));
    if (error === undefined) return { ...headOf(response), body: bodyOf(bytes) };
    const plain = new TextEncoder().encode(JSON.stringify(error));
    return { ...headOf(response, "application/json"), body: bodyOf(plain) };
  }
}

function isEventStream(response: UpstreamResponse): boolean {
  return /^application\/vnd\.amazon\.eventstream\b/i.test(response.header("content-type") ?? "");
}

function headOf(
  response: UpstreamResponse,
  contentType?: string,
): Pick<UpstreamResponse, "status" | "header"> {
  return {
    status: response.status,
    header: (name) => {
      if (contentType === undefined) return response.header(name);
      if (name === "content-type") return contentType;
      return name === "content-length" ? undefined : response.header(name);
    },
  };
}

/** Renames the count, which Bedrock writes in its own form. */
async function plainCount(response: UpstreamResponse): Promise<UpstreamResponse> {
  const text = new TextDecoder().decode(await readWhole(response, maxErrorBodyBytes));
  const plain = text.replace('"inputTokens"', '"input_tokens"');
  return { ...headOf(response, "application/json"), body: bodyOf(new TextEncoder().encode(plain)) };
}
