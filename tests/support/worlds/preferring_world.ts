/** A gateway whose providers record what they get, and fail as a test says: for calls with preferences of their route. */
import type { DataPolicy } from "../../../core/catalog/presets/preset.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { assert } from "../assert.ts";
import { openTestGateway, type TestGateway } from "../gateways/gateway_in_process.ts";

/** How a provider fails before any output; `undefined`: it answers. */
export type Fault = "down" | "limited" | "filtered" | "too_long" | "invalid" | undefined;

const refusals: Record<Exclude<Fault, undefined>, readonly [status: number, error: object]> = {
  down: [503, { message: "down", type: "server_error" }],
  limited: [429, { message: "slow down", type: "rate_limit_error" }],
  filtered: [400, { message: "flagged", type: "invalid_request_error", code: "content_filter" }],
  too_long: [400, {
    message: "This model's maximum context length is 10 tokens",
    type: "invalid_request_error",
    code: "context_length_exceeded",
  }],
  invalid: [400, { message: "top_p is too high", type: "invalid_request_error", param: "top_p" }],
};

/** What a provider got. */
export interface Asked {
  readonly provider: string;
  readonly body: string;
}

/** The four styles in which clients call. */
export const preferringStyles = ["chat", "messages", "responses", "gemini"] as const;
/** A style in which clients call. */
export type PreferringStyle = typeof preferringStyles[number];

/** Makes a request of a style, with members of the body beside those that it needs. */
export function requestOf(
  style: PreferringStyle,
  model: string | undefined,
  members: object = {},
  stream = false,
): { readonly path: string; readonly body: object } {
  const messages = [{ role: "user", content: "Hi" }];
  const named = model === undefined ? {} : { model };
  const streamed = stream ? { stream } : {};
  switch (style) {
    case "chat":
      return {
        path: "/v1/chat/completions",
        body: { ...named, ...streamed, messages, max_tokens: 50, ...members },
      };
    case "messages":
      return {
        path: "/v1/messages",
        body: { ...named, ...streamed, messages, max_tokens: 50, ...members },
      };
    case "responses":
      return {
        path: "/v1/responses",
        body: { ...named, ...streamed, input: "Hi", max_output_tokens: 50, ...members },
      };
    case "gemini":
      return {
        path: `/v1beta/models/${model}:${
          stream ? "streamGenerateContent?alt=sse" : "generateContent"
        }`,
        body: {
          contents: [{ role: "user", parts: [{ text: "Hi" }] }],
          generationConfig: { maxOutputTokens: 50 },
          ...members,
        },
      };
  }
}

function answerOf(isStream: boolean): Response {
  const usage = { prompt_tokens: 8, completion_tokens: 4, total_tokens: 12 };
  const about = { id: "chatcmpl-1", created: 1, model: "up" };
  if (!isStream) {
    const message = { role: "assistant", content: "Hello" };
    return Response.json({
      ...about,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    });
  }
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", ...members })}\n\n`;
  const events = chunk({
    choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }],
  }) + chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
    chunk({ choices: [], usage }) + "data: [DONE]\n\n";
  return new Response(events, { headers: { "content-type": "text/event-stream" } });
}

/** What is known of providers, by their names. */
type Policies = Readonly<Record<string, DataPolicy>>;

/** The gateway and its providers. */
export class PreferringWorld implements AsyncDisposable {
  /** What providers got, in order. */
  readonly asked: Asked[] = [];
  readonly faults = new Map<string, Fault>();
  readonly #servers: ReadonlyMap<string, Deno.HttpServer<Deno.NetAddr>>;
  readonly #models: readonly { readonly id: string }[];
  readonly #policies: Policies;
  #gateway: TestGateway | undefined;

  /**
   * @param names the providers
   * @param models the models of the catalogue; the first is the default one
   * @param policies what is known of the providers
   */
  private constructor(
    names: readonly string[],
    models: readonly { readonly id: string }[],
    policies: Policies,
  ) {
    this.#models = models;
    this.#policies = policies;
    this.#servers = new Map(names.map((name) => [
      name,
      Deno.serve(
        { port: 0, hostname: "127.0.0.1", onListen() {} },
        (request) => this.#serve(name, request),
      ),
    ]));
  }

  /** Opens a world; see the constructor. */
  static async open(
    names: readonly string[],
    models: readonly { readonly id: string }[],
    policies: Policies = {},
  ): Promise<PreferringWorld> {
    const world = new PreferringWorld(names, models, policies);
    await world.reopen();
    return world;
  }

  async #serve(provider: string, request: Request): Promise<Response> {
    const body = await request.text();
    this.asked.push({ provider, body });
    const fault = this.faults.get(provider);
    if (fault === undefined) return answerOf(JSON.parse(body).stream === true);
    const [status, error] = refusals[fault];
    return Response.json({ error }, { status });
  }

  /** Opens another gateway in place of the one before, if its books are right: it knows nothing of how routes fared. */
  async reopen(): Promise<void> {
    if (this.#gateway !== undefined) {
      await this.checkBooks();
      await this.#gateway[Symbol.asyncDispose]();
    }
    this.asked.length = 0;
    const providers = Object.fromEntries(
      this.#servers.entries().map(([name, { addr: { port } }]) => [name, {
        kind: "http",
        baseUrl: `http://127.0.0.1:${port}`,
        apiKeyEnv: "PREFERRING_KEY",
        ...defined({ dataPolicy: this.#policies[name] }),
      }]),
    );
    this.#gateway = await openTestGateway({
      env: { PREFERRING_KEY: "provider-secret-1234567890" },
      file: () => ({ defaultModel: this.#models[0]?.id, providers, models: this.#models }),
    });
  }

  get gateway(): TestGateway {
    if (this.#gateway === undefined) throw new Error("The world is not open");
    return this.#gateway;
  }

  /** Sends a request. */
  async ask(
    key: string,
    { path, body }: { readonly path: string; readonly body: object | string },
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
    const response = await this.gateway.fetch(
      new Request(`http://gateway${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );
    const { status } = response;
    return { status, headers: response.headers, text: await response.text() };
  }

  /** The receipts of an account, newest first. */
  async receipts(accountId: AccountId): Promise<readonly Receipt[]> {
    return (await listReceipts(this.gateway.kv, accountId, { limit: 100 })).receipts;
  }

  /** Finds nothing wrong in the books. */
  async checkBooks(): Promise<void> {
    const verified = await verifyStore(this.gateway.kv);
    assert(verified.ok, Deno.inspect(verified));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway[Symbol.asyncDispose]();
    await Promise.all(this.#servers.values().map((server) => server.shutdown()));
  }
}
