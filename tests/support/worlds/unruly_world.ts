/**
 * A gateway in this process, served over a socket, whose providers are loopback servers that send exactly the bytes of
 * a test. At the end the money must add up to the last µVND.
 */
import { assert, assertEquals } from "../assert.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { ManualTime } from "../manual_time.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { BodyStyle } from "../body_style.ts";
import { parseVnd } from "../../../core/billing/money/micro_vnd.ts";
import { billedInputTokens } from "../../../core/billing/tokens/token_bounds.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { type Conversation, RawPeer } from "../../core/net/transport/raw_peer.ts";
import { openTestGateway, type TestGateway } from "../gateways/gateway_in_process.ts";
import { readChatStream } from "../strict_client/strict_client_chat.ts";
import { readMessagesStream } from "../strict_client/strict_client_messages.ts";
import { readResponsesStream } from "../strict_client/strict_client_responses.ts";
import { until } from "../until.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { bearerPost } from "../api_post.ts";

export const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];

const pathOf: Record<BodyStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};

/** What a provider does with each connection; the request has been read. */
export type Unruly = (conversation: Conversation, request: { head: string }) => Promise<void>;

const vndPerMtok = 8_300;
const creditVnd = 100_000_000;

export interface WorldOptions {
  /** By name, in the order in which they are preferred. */
  readonly providers: Readonly<Record<string, Unruly | "refusing">>;
  /** The style that the providers speak; the client's own by default. */
  readonly upstreamStyle?: BodyStyle;
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly slowAfterMs?: number;
  readonly driver?: "http1" | "fetch";
  readonly env?: Readonly<Record<string, string>>;
  /** A clock for the time-outs of calls; those of connections use the machine's clock. */
  readonly deadlines?: Deadlines;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
  /** The connection broke before the clean end of the body. */
  readonly broken: boolean;
}

/** Time that passes as on the machine: providers that hang are given up by it. */
class PassingTime extends ManualTime {
  readonly #beganMs = systemClock.monotonicMs();

  override nowMs(): number {
    return super.nowMs() + Math.floor(systemClock.monotonicMs() - this.#beganMs);
  }

  override monotonicMs(): number {
    return this.nowMs();
  }
}

export class UnrulyWorld implements AsyncDisposable {
  readonly gateway: TestGateway;
  readonly address: string;
  readonly key: string;
  readonly #accountId;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #peers: readonly RawPeer[];
  readonly #client = Deno.createHttpClient({});

  private constructor(
    gateway: TestGateway,
    customer: Awaited<ReturnType<TestGateway["customer"]>>,
    peers: readonly RawPeer[],
    serve: (request: Request) => Response | Promise<Response>,
  ) {
    this.gateway = gateway;
    this.#accountId = customer.accountId;
    this.key = customer.key;
    this.#peers = peers;
    this.#server = Deno.serve({
      port: 0,
      hostname: "127.0.0.1",
      onListen() {},
      onError: () => new Response(null, { status: 500 }),
    }, serve);
    this.address = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  static async open(options: WorldOptions): Promise<UnrulyWorld> {
    const peers: RawPeer[] = [];
    const providers: Record<string, unknown> = {};
    for (const [name, script] of Object.entries(options.providers)) {
      providers[name] = {
        kind: "http",
        baseUrl: `http://127.0.0.1:${script === "refusing" ? closedPort() : listen(script, peers)}`,
        apiKeyEnv: "UNRULY_KEY",
        driver: options.driver ?? "http1",
        ...defined({ timeouts: options.timeouts }),
      };
    }
    const names = Object.keys(providers);
    const gateway = await openTestGateway({
      time: new PassingTime(),
      env: { UNRULY_KEY: "provider-secret-1234567890", ...options.env },
      file: () => ({
        defaultModel: "m-chat",
        providers,
        models: styles.map((style) => ({
          id: `m-${style}`,
          kind: "chat",
          family: "unruly",
          price: { unit: "token", vndPerMtok },
          routes: names.map((provider, priority) => ({
            provider,
            model: `up-${provider}`,
            style: options.upstreamStyle ?? style,
            priority,
          })),
          ...defined({ slowAfterMs: options.slowAfterMs }),
        })),
      }),
    });
    const { deadlines } = options;
    const customer = await gateway.customer(creditVnd);
    if (deadlines === undefined) {
      return new UnrulyWorld(gateway, customer, peers, (request) => gateway.fetch(request));
    }
    const app = createApp({ ...gateway.assembled.gateway, deadlines }, { stopping: () => false });
    return new UnrulyWorld(
      gateway,
      customer,
      peers,
      (request) => app.fetch(request, { clientAddress: "127.0.0.1" }),
    );
  }

  /** Sends a call. `onChunk` receives the body as it arrives; if it returns false, the client leaves. */
  async call(
    style: BodyStyle,
    stream: boolean,
    onChunk: (text: string) => boolean = () => true,
  ): Promise<Answer> {
    const response = await fetch(this.address + pathOf[style], {
      method: "POST",
      client: this.#client,
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: `m-${style}`,
        stream,
        ...(style === "responses"
          ? { input: "Hi", max_output_tokens: 100 }
          : { messages: [{ role: "user", content: "Hi" }], max_tokens: 100 }),
      }),
    });
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let broken = false;
    try {
      for await (const chunk of response.body ?? []) {
        chunks.push(chunk);
        if (!onChunk(new TextDecoder().decode(chunk))) break;
      }
    } catch {
      broken = true;
    }
    const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      text: new TextDecoder().decode(bytes),
      broken,
    };
  }

  /** Every receipt so far, newest first. */
  async receipts(): Promise<Receipt[]> {
    const all: Receipt[] = [];
    let before: Receipt["requestId"] | undefined;
    for (;;) {
      const page = await listReceipts(this.gateway.kv, this.#accountId, {
        limit: 500,
        ...defined({ before }),
      });
      all.push(...page.receipts);
      if (page.next === undefined) return all;
      before = page.next;
    }
  }

  async receiptOf(answer: Answer): Promise<Receipt> {
    const id = answer.headers.get("x-request-id");
    const found = (await this.receipts()).filter(({ requestId }) => requestId === id);
    assertEquals(found.length, 1, "one receipt per call");
    return found[0]!;
  }

  get logLines(): Record<string, unknown>[] {
    return this.gateway.log.map((line): Record<string, unknown> => JSON.parse(line));
  }

  /** One receipt per call, nothing held, nothing in flight, the wallet exact. */
  async checkBooks(calls: number): Promise<void> {
    const { gateway } = this.gateway.assembled;
    // A client may leave before its call is settled.
    await until(() => gateway.calls.count === 0, "no call is in flight");
    const receipts = await this.receipts();
    assertEquals(receipts.length, calls, "one receipt per call");
    let spent = 0n;
    for (const receipt of receipts) {
      if (receipt.outcome === "failed") assertEquals(receipt.costMicroVnd, 0n, "a failure is free");
      assertEquals(receipt.shortfallMicroVnd, 0n);
      const { usage } = receipt;
      const tokens = usage === undefined ? 0 : billedInputTokens(usage) + usage.output;
      if (receipt.costMicroVnd > 0n) {
        assertEquals(receipt.costMicroVnd, BigInt(tokens) * BigInt(vndPerMtok), "tokens × price");
      }
      spent += receipt.costMicroVnd;
    }
    const balance = await gateway.wallet.balance(this.#accountId);
    assertEquals(balance.reservedMicroVnd, 0n, "nothing is held any more");
    assertEquals(balance.totalMicroVnd, (parseVnd(String(creditVnd)) ?? 0n) - spent);
    const verified = await verifyStore(this.gateway.kv);
    assert(
      verified.ok,
      JSON.stringify(verified.problems, (_, v) => typeof v === "bigint" ? `${v}` : v),
    );
    const inFlight = gateway.router.reports().flatMap(({ operations }) =>
      Object.values(operations).map((view) => view.inFlight)
    );
    assert(inFlight.every((count) => count === 0), `tries in flight: ${inFlight}`);
    assert(!this.gateway.log.join("\n").includes("provider-secret"), "a provider's key in the log");
    assert(!this.gateway.log.join("\n").includes("127.0.0.1"), "a provider's host in the log");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    await this.#server.shutdown();
    await this.gateway[Symbol.asyncDispose]();
    for (const peer of this.#peers) await peer[Symbol.asyncDispose]();
  }
}

function listen(script: Unruly, peers: RawPeer[]): number {
  const peer = new RawPeer(async (conversation) => {
    const request = await conversation.request();
    if (request !== null) await script(conversation, request);
  });
  peers.push(peer);
  return peer.port;
}

/** A port without a listener. */
function closedPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

const encoder = new TextEncoder();

/** The head of an answer that comes in chunks. */
export function chunkedHead(contentType = "text/event-stream", extra = ""): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n${extra}\r\n`;
}

/** One chunk of such a body. */
export function chunk(text: string | Uint8Array): Uint8Array {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  const head = encoder.encode(`${bytes.length.toString(16)}\r\n`);
  const whole = new Uint8Array(head.length + bytes.length + 2);
  whole.set(head);
  whole.set(bytes, head.length);
  whole.set([13, 10], head.length + bytes.length);
  return whole;
}

export const lastChunk = "0\r\n\r\n";

/** A whole answer with its length. */
export function plain(
  body: string,
  options: { readonly status?: number; readonly type?: string; readonly extra?: string } = {},
): string {
  const length = encoder.encode(body).length;
  return `HTTP/1.1 ${options.status ?? 200} Said\r\ncontent-type: ${
    options.type ?? "application/json"
  }\r\ncontent-length: ${length}\r\n${options.extra ?? ""}\r\n${body}`;
}

/** How a stream ended for a strict client of its style. */
export function strictEnd(style: BodyStyle, bytes: Uint8Array): "whole" | "error" {
  const outcome = style === "messages"
    ? readMessagesStream(bytes)
    : style === "chat"
    ? readChatStream(bytes, false)
    : readResponsesStream(bytes);
  return outcome.kind === "error" ? "error" : "whole";
}

/** The transcripts of the built-in provider: short, and correct in every byte. */
export async function transcripts(): Promise<
  Record<BodyStyle, { readonly stream: string; readonly whole: string }>
> {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(1_000_000);
  const ask = async (style: BodyStyle, stream: boolean): Promise<string> => {
    const response = await gateway.fetch(bearerPost(`http://gateway${pathOf[style]}`, key, {
      model: "premium-1",
      stream,
      ...(style === "responses"
        ? { input: "Hi", max_output_tokens: 100 }
        : { messages: [{ role: "user", content: "Hi" }], max_tokens: 100 }),
      ...(style === "chat" && stream ? { stream_options: { include_usage: true } } : {}),
    }));
    return await response.text();
  };
  const of = async (style: BodyStyle) => ({
    stream: await ask(style, true),
    whole: await ask(style, false),
  });
  return {
    messages: await of("messages"),
    chat: await of("chat"),
    responses: await of("responses"),
  };
}
