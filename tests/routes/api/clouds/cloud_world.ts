/** A gateway whose model is at a fake cloud, with a second route at the sandbox where a test wants one. */
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { FakeCloud } from "../../../support/servers/fake_cloud.ts";
import { apiPost } from "../../../support/api_post.ts";

export interface CloudWorld extends AsyncDisposable {
  readonly cloud: FakeCloud;
  readonly gateway: TestGateway;
  readonly key: string;
  ask(body: object, path?: string): Promise<Response>;
  /** The credentials of the cloud's route, as operators see them. */
  credentials(): {
    readonly count: number;
    readonly resting: number;
    readonly reasons: readonly string[];
  };
  /** All that the gateway wrote to its log. */
  log(): string;
}

export interface CloudWorldOptions {
  /** `auth`, `cloud` and what else the provider has. */
  readonly provider: (cloud: FakeCloud) => object;
  readonly route: object;
  readonly secrets: (cloud: FakeCloud) => readonly string[];
  /** Adds a route at the sandbox, which is used if the cloud's fails. */
  readonly hasSecondRoute?: boolean;
}

export async function openCloudWorld(options: CloudWorldOptions): Promise<CloudWorld> {
  const time = new ManualTime();
  const cloud = await FakeCloud.start(time);
  const secrets = options.secrets(cloud);
  const names = secrets.map((_, i) => `CLOUD_KEY_${i}`);
  const gateway = await openTestGateway({
    time,
    file: () => ({
      defaultModel: "m",
      providers: {
        cloud: {
          kind: "http",
          baseUrl: cloud.origin,
          apiKeyEnv: names,
          ...options.provider(cloud),
        },
        sandbox: { kind: "sandbox" },
      },
      models: [{
        id: "m",
        kind: "chat",
        family: "f",
        price: { unit: "token", vndPerMtok: 1_000 },
        routes: [
          { provider: "cloud", priority: 0, ...options.route },
          ...options.hasSecondRoute === true ? [{ provider: "sandbox", priority: 1 }] : [],
        ],
      }],
    }),
    env: Object.fromEntries(secrets.map((secret, i) => [`CLOUD_KEY_${i}`, secret])),
  });
  const { key } = await gateway.customer(100_000);
  return {
    cloud,
    gateway,
    key,
    ask: (body, path = "/v1/messages") =>
      gateway.fetch(
        apiPost(`http://gateway.test${path}`, key, { model: "m", max_tokens: 100, ...body }),
      ),
    credentials() {
      const reports = gateway.assembled.gateway.router.reports();
      const report = reports.find(({ route }) => route.provider === "cloud");
      if (report === undefined) throw new Error("no report");
      return report.credentials;
    },
    log: () => gateway.log.join("\n"),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await cloud[Symbol.asyncDispose]();
    },
  };
}

export const turns = [{ role: "user", content: "Hi" }];

/** A whole answer of the Messages style. */
export function messagesAnswer(text: string): object {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-of-the-cloud",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  };
}

/** A whole answer of the Chat style. */
export function chatAnswer(text: string): object {
  return {
    id: "c-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-of-the-cloud",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  };
}

/** The events of a stream of the Messages style. */
export const messagesEvents: readonly object[] = [
  {
    type: "message_start",
    message: {
      ...messagesAnswer(""),
      content: [],
      stop_reason: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Chào " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "bạn" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 2 },
  },
  { type: "message_stop" },
];

/** The text of a stream of the Messages style. */
export function textOfEvents(stream: string): string {
  return [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))
    .filter(({ type }) => type === "content_block_delta").map(({ delta }) => delta.text).join("");
}

/** The text of a Bedrock stream whose second part is sent when the client has the beginning. */
export async function heldStream(
  world: CloudWorld,
  first: readonly Uint8Array<ArrayBuffer>[],
  rest: readonly Uint8Array<ArrayBuffer>[],
): Promise<string> {
  const begun = Promise.withResolvers<void>();
  world.cloud.answer = () =>
    new Response(
      new ReadableStream({
        async start(controller) {
          for (const bytes of first) controller.enqueue(bytes);
          await begun.promise;
          for (const bytes of rest) controller.enqueue(bytes);
          controller.close();
        },
      }),
      { headers: { "content-type": "application/vnd.amazon.eventstream" } },
    );
  const response = await world.ask({ messages: turns, stream: true });
  begun.resolve();
  return await response.text();
}
