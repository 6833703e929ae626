import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { readAnswer } from "../../../core/wire/convert/answer_reading.ts";
import type { StreamReading } from "../../../core/wire/contract/contract.ts";
import type { BodyStyle } from "../../support/body_style.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import {
  createSandboxTransport,
  type SandboxOptions,
} from "../../../sandbox/provider/transport.ts";
import { type UpstreamExchange, UpstreamFailure } from "../../../core/net/transport/transport.ts";

export const fixedClock: Clock = { nowMs: () => 1_700_000_000_000, monotonicMs: () => 0 };

export const paths: Readonly<Record<BodyStyle, string>> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};

export const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];

/** Opens an exchange on a new sandbox; delays are recorded instead of awaited. */
export function openCall(
  path: string,
  body: unknown,
  options: Partial<SandboxOptions> = {},
): { exchange: UpstreamExchange; waits: number[] } {
  const waits: number[] = [];
  const sandbox = createSandboxTransport({
    clock: fixedClock,
    delay: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    ...options,
  });
  const exchange = sandbox.open({
    method: "POST",
    url: `https://sandbox.invalid${path}`,
    headers: [],
    body: new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body)),
  });
  return { exchange, waits };
}

/** Everything that a call returned. */
export interface Called {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly text: string;
  /** The result of each read. */
  readonly reads: readonly string[];
  readonly failure: UpstreamFailure | undefined;
  readonly waits: readonly number[];
}

export async function call(
  path: string,
  body: unknown,
  options: Partial<SandboxOptions> = {},
): Promise<Called> {
  const { exchange, waits } = openCall(path, body, options);
  const response = await exchange.response;
  const reads: string[] = [];
  const decoder = new TextDecoder();
  let failure: UpstreamFailure | undefined;
  try {
    for (let bytes = await response.body.read(); bytes; bytes = await response.body.read()) {
      reads.push(decoder.decode(bytes, { stream: true }));
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    failure = error;
  }
  return {
    status: response.status,
    header: response.header,
    text: reads.join(""),
    reads,
    failure,
    waits,
  };
}

/** Makes a request of any style with the text `text`. */
export function requestOf(style: BodyStyle, text: string, rest: JsonObject = {}): JsonObject {
  if (style === "responses") return { model: "m", input: text, ...rest };
  const messages = [{ role: "user", content: text }];
  return { model: "m", ...(style === "messages" && { max_tokens: 1_000 }), messages, ...rest };
}

/** Returns the parsed body of a call that answers with JSON. */
export async function jsonOf(path: string, body: unknown): Promise<JsonObject> {
  const parsed: unknown = JSON.parse((await call(path, body)).text);
  if (!isJsonObject(parsed)) throw new Error("no object");
  return parsed;
}

/** Returns what a meter reads from a streamed call. */
export async function readingOf(style: BodyStyle, body: JsonObject): Promise<StreamReading> {
  const { text, failure } = await call(paths[style], { ...body, stream: true });
  const pipe = createNativePipe(style, {
    clientModel: "m",
    requestId: "req_1",
    clientWantsUsage: true,
    injectedUsage: false,
    nowSeconds: 0,
  });
  pipe.push(new TextEncoder().encode(text));
  if (failure === undefined) pipe.end();
  return pipe.reading;
}

/** Returns what is read from the same call as a whole answer. */
export async function wholeReadingOf(style: BodyStyle, body: JsonObject) {
  return readAnswer(style, await jsonOf(paths[style], body));
}
