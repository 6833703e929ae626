/** Delivers answers of a provider to a client as a call does, without a socket, a store or a clock. */
import { attemptAnswer, attemptStream } from "../../../core/calls/attempts/attempt.ts";
import type { ChatCall, ChatRouteAccess } from "../../../core/calls/exchange/chat_call.ts";
import { startChatExchange } from "../../../core/calls/exchange/chat_exchange.ts";
import { readChatRequest } from "../../../core/calls/request/chat_request.ts";
import { type JsonBody, parseJsonBody } from "../../../core/calls/body/json_body.ts";
import { buildCatalog, type Route } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import type { ReportedUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { ProviderStyle, Style } from "../../../core/wire/contract/contract.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { bodyOf } from "../../../core/net/transport/read_whole.ts";
import { UpstreamFailure } from "../../../core/net/transport/transport.ts";
import { assert } from "../../support/assert.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { concatBytes } from "../../support/strict_client/strict_client.ts";

/** What a client gets, and what it pays for. */
export type Delivered =
  /** Nothing that the client sees or pays: the next route is tried. */
  | { readonly kind: "failed"; readonly error: GatewayError }
  | {
    readonly kind: "answer";
    readonly bytes: Uint8Array;
    /** The names in `x-gateway-conversion`. */
    readonly dropped: readonly string[];
    readonly usage: ReportedUsage | undefined;
    /** Whether anything is paid for: an answer without output and without usage is free. */
    readonly isPaid: boolean;
    /** Whether the stream ended with an error. */
    readonly isBroken: boolean;
  };

const tools = ["get_weather", "get_time"];
const schema: JsonObject = { type: "object", properties: {} };

const requests: Readonly<Record<Style, JsonObject>> = {
  chat: {
    messages: [{ role: "user", content: "Hello" }],
    tools: tools.map((name) => ({ type: "function", function: { name, parameters: schema } })),
  },
  messages: {
    max_tokens: 1_000,
    messages: [{ role: "user", content: "Hello" }],
    tools: tools.map((name) => ({ name, input_schema: schema })),
  },
  responses: {
    input: "Hello",
    tools: tools.map((name) => ({ type: "function", name, parameters: schema })),
  },
  gemini: {
    contents: [{ role: "user", parts: [{ text: "Hello" }] }],
    tools: [{ functionDeclarations: tools.map((name) => ({ name, parameters: schema })) }],
  },
};

const file = gatewayFileSchema.parse({
  defaultModel: "m",
  providers: { p: { kind: "http", baseUrl: "https://p.example", apiKeyEnv: "P" } },
  models: [{
    id: "m",
    kind: "chat",
    family: "f",
    price: { unit: "token", vndPerMtok: 1 },
    routes: [{ provider: "p", model: "up", style: "chat" }],
  }],
});
const built = buildCatalog(file);
assert(built.ok, built.ok ? "" : built.problems.join());
const model = built.catalog.defaultModel;
const [chatRoute] = model.routes;
assert(chatRoute !== undefined);
const provider = gatewayFileSchema.shape.providers.parse({ p: { kind: "sandbox" } })["p"];
assert(provider !== undefined);

const time = new ManualTime();
const attemptTime = { clock: time, deadlines: new Deadlines({ clock: time, timer: time }) };

interface Asked {
  readonly request: ReturnType<typeof readChatRequest>;
  readonly body: JsonBody;
}

const asked = new Map<string, Asked>();

function askedOf(style: Style, stream: boolean): Asked {
  const key = `${style} ${stream}`;
  const known = asked.get(key);
  if (known !== undefined) return known;
  const more = stream && style === "chat" ? { stream_options: { include_usage: true } } : {};
  const text = JSON.stringify({ model: "m", stream, ...requests[style], ...more });
  const body = parseJsonBody(new TextEncoder().encode(text));
  const made = { request: readChatRequest(style, body.value), body };
  asked.set(key, made);
  return made;
}

/** The two sides of a delivery. */
export interface Direction {
  readonly from: ProviderStyle;
  readonly to: Style;
  readonly strict?: boolean;
}

function exchangeOf({ from, to, strict = false }: Direction, bytes: Uint8Array, stream: boolean) {
  const route: Route = { ...chatRoute as Route, style: from };
  const call: ChatCall = {
    ...askedOf(to, stream),
    model: { ...model, routes: [route] },
    requestId: "req_0abc",
    nowSeconds: 1_700_000_000,
    clientHeader: () => undefined,
    strict,
  };
  const type = stream ? "text/event-stream" : "application/json";
  const access: ChatRouteAccess = {
    provider: provider as NonNullable<typeof provider>,
    secret: undefined,
    transport: {
      open: () => ({
        response: Promise.resolve({
          status: 200,
          header: (name: string) => name === "content-type" ? type : undefined,
          body: bodyOf(bytes),
        }),
        cancel: () => {},
      }),
    },
    onStatus: () => {},
    mayRepeat: () => false,
    onSentAgain: () => {},
  };
  return startChatExchange(call, route, access);
}

function failureOf(failure: unknown): Delivered {
  if (failure instanceof GatewayError) return { kind: "failed", error: failure };
  if (!(failure instanceof UpstreamFailure)) throw failure;
  return { kind: "failed", error: new GatewayError("upstream_unreachable", failure.message) };
}

/** Delivers a whole answer. */
export async function deliverWhole(direction: Direction, bytes: Uint8Array): Promise<Delivered> {
  const exchange = exchangeOf(direction, bytes, false);
  try {
    const { clientBytes, reading } = await attemptAnswer(exchange, attemptTime);
    const { usage, empty } = reading;
    return {
      kind: "answer",
      bytes: clientBytes,
      dropped: exchange.dropped,
      usage,
      isPaid: !(empty && usage === undefined),
      isBroken: false,
    };
  } catch (failure) {
    return failureOf(failure);
  }
}

/** Delivers a stream, whose end has come before it is read. */
export async function deliverStream(direction: Direction, bytes: Uint8Array): Promise<Delivered> {
  const exchange = exchangeOf(direction, bytes, true);
  try {
    const { pipe, preamble, body, unread } = await attemptStream(exchange, attemptTime);
    // The header is sent before the rest is read.
    const dropped = [...exchange.dropped];
    const out = [preamble];
    const { reading } = pipe;
    try {
      let next: Uint8Array | null = unread ?? await body.read();
      while (next !== null && reading.state === "open") {
        out.push(pipe.push(next));
        next = await body.read();
      }
      out.push(pipe.end());
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      out.push(pipe.fail(error));
      reading.state = "error";
    }
    const { usage, sawOutput, state } = reading;
    const isBroken = state !== "completed";
    return {
      kind: "answer",
      bytes: concatBytes(out),
      dropped,
      usage,
      isPaid: sawOutput || (usage !== undefined && !isBroken),
      isBroken,
    };
  } catch (failure) {
    return failureOf(failure);
  }
}
