/**
 * The objects that an open stream keeps alive in the real process. A coding agent sends its whole history with each
 * call, and the answer takes minutes; once a route has begun to answer, the request must not be retained. Of a Responses
 * call that may be continued the items are, once, within the bounds of kept turns.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { freePort } from "../support/servers/free_port.ts";
import { newPayer } from "../support/worlds/money_process.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";

/**
 * The live objects of another process, measured through its inspector. Resident memory says little, because V8 returns
 * unused memory late.
 */
class LiveHeap implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: Record<string, number>) => void>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    };
  }

  static async of(inspectorPort: number): Promise<LiveHeap> {
    const response = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`);
    const [{ webSocketDebuggerUrl }] = await response.json();
    const socket = new WebSocket(webSocketDebuggerUrl);
    await new Promise((opened, failed) => {
      socket.onopen = opened;
      socket.onerror = failed;
    });
    return new LiveHeap(socket);
  }

  #ask(method: string): Promise<Record<string, number>> {
    const id = ++this.#calls;
    const answer = new Promise<Record<string, number>>((told) => this.#waiting.set(id, told));
    this.#socket.send(JSON.stringify({ id, method }));
    return answer;
  }

  /** Collects all garbage and returns how much is left: objects and the contents of buffers. */
  async liveBytes(): Promise<number> {
    // Objects that the first collection frees may still refer to others, which only the second frees.
    for (let i = 0; i < 2; i++) await this.#ask("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize } = await this.#ask("Runtime.getHeapUsage");
    assert(usedSize !== undefined && backingStorageSize !== undefined, "no heap usage was told");
    return usedSize + backingStorageSize;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

const operatorKey = "operator-key-of-the-memory-test";
const streamsOfEach = 12;
const promptBytes = 400_000;
/** A call that has just ended may be retained a moment longer. What a stream retains shows in every round. */
const rounds = 3;
/** Objects and buffers of one open stream, with a margin: 27 to 29 KB were measured … */
const maxBytesPerStream = 60_000;
/** … and 103 to 107 KB with `fetch`, whose bodies use buffers of the runtime. */
const maxBytesByFetch = 150_000;

const chat = 'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",' +
  '"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}\n\n';
const messages =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",' +
  '"role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,' +
  '"usage":{"input_tokens":1,"output_tokens":1}}}\n\n' +
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,' +
  '"content_block":{"type":"text","text":""}}\n\n' +
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,' +
  '"delta":{"type":"text_delta","text":"Hi"}}\n\n';
const responses =
  'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":' +
  '{"id":"r","object":"response","status":"in_progress","model":"m","output":[]}}\n\n' +
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta",' +
  '"sequence_number":1,"item_id":"i","output_index":0,"content_index":0,"delta":"Hi"}\n\n';
const picture = "event: image_edit.partial_image\ndata: " +
  '{"type":"image_edit.partial_image","b64_json":"iVBORw0KGgoAAAAA","partial_image_index":0}\n\n';

/** The first words of each path; the rest of the answer never comes. */
const beginnings: Readonly<Record<string, string>> = {
  "/chat/completions": chat,
  "/messages": messages,
  "/responses": responses,
  "/images/edits": picture,
};

function silentProvider() {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    await request.bytes();
    const text = beginnings[new URL(request.url).pathname.replace(/^\/v1/, "")];
    assert(text !== undefined, request.url);
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
}

function configuration(port: number): string {
  const provider = { kind: "http", baseUrl: `http://127.0.0.1:${port}`, apiKeyEnv: "PROVIDER_KEY" };
  const chatModel = (style: string, provider = "p") => ({
    id: `${style}-${provider}`,
    kind: "chat",
    family: "test",
    contextWindow: 1_000_000,
    maxOutputTokens: 1_000,
    price: { unit: "token", vndPerMtok: 1 },
    routes: [{ provider, style }],
  });
  return JSON.stringify({
    defaultModel: "chat-p",
    providers: { p: provider, f: { ...provider, driver: "fetch" } },
    models: [
      ...["chat", "messages", "responses"].map((style) => chatModel(style)),
      chatModel("chat", "f"),
      {
        id: "image-p",
        kind: "image",
        family: "test",
        price: { unit: "image", vnd: 1 },
        routes: [{ provider: "p" }],
      },
    ],
  });
}

interface Kind {
  readonly name: string;
  readonly path: string;
  readonly body: (prompt: string) => BodyInit;
  readonly maxBytes?: number;
  /** Its calls go on without their client: those of a round before count in both measurements. */
  readonly outlivesClient?: true;
}

const inMessages = (model: string) => (content: string) =>
  JSON.stringify({ model, max_tokens: 50, stream: true, messages: [{ role: "user", content }] });

function edit(prompt: string): FormData {
  const form = new FormData();
  form.set("model", "image-p");
  form.set("prompt", "brighter");
  form.set("stream", "true");
  form.set("partial_images", "1");
  form.set("image", new File([`GIF89a${prompt}`], "a.gif", { type: "image/gif" }));
  return form;
}

const kinds: readonly Kind[] = [
  { name: "chat", path: "/v1/chat/completions", body: inMessages("chat-p") },
  { name: "messages", path: "/v1/messages", body: inMessages("messages-p") },
  { name: "converted", path: "/v1/chat/completions", body: inMessages("messages-p") },
  {
    name: "responses",
    path: "/v1/responses",
    body: (input) => JSON.stringify({ model: "responses-p", stream: true, store: false, input }),
  },
  {
    name: "responses to continue",
    path: "/v1/responses",
    body: (input) => JSON.stringify({ model: "responses-p", stream: true, input }),
    maxBytes: promptBytes + maxBytesPerStream,
  },
  {
    name: "by fetch",
    path: "/v1/chat/completions",
    body: inMessages("chat-f"),
    maxBytes: maxBytesByFetch,
  },
  // The last one, since its calls run on when their clients have left.
  { name: "a picture to edit", path: "/v1/images/edits", body: edit, outlivesClient: true },
];

Deno.test("an open stream keeps nothing of its request alive, however large that was", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (test) => {
  const provider = silentProvider();
  const folder = await Deno.makeTempDir({ prefix: "gateway-test-" });
  try {
    await Deno.writeTextFile(`${folder}/gateway.json`, configuration(provider.addr.port));
    const inspectorPort = freePort();
    await using gateway = await startGateway({
      folder,
      inspectorPort,
      env: {
        GATEWAY_CONFIG: `${folder}/gateway.json`,
        PROVIDER_KEY: "secret",
        GATEWAY_OPERATOR_KEY: operatorKey,
      },
    });
    using heap = await LiveHeap.of(inspectorPort);
    const { key } = await newPayer(gateway, 1_000_000);
    const callsInFlight = async () => {
      const headers = { authorization: `Bearer ${operatorKey}` };
      const text = await (await fetch(`${gateway.address}/metrics`, { headers })).text();
      return Number(/^gateway_calls_in_flight (\d+)$/m.exec(text)?.[1]);
    };
    const authorization = `Bearer ${key}`;

    const begin = async ({ path, body }: Kind): Promise<() => void> => {
      const json = path.includes("images") ? {} : { "content-type": "application/json" };
      const leaving = new AbortController();
      const response = await fetch(gateway.address + path, {
        method: "POST",
        headers: { authorization, ...json },
        body: body("word ".repeat(promptBytes / 5)),
        signal: leaving.signal,
      });
      assertEquals(response.status, 200, response.ok ? "" : await response.text());
      const { value } = await response.body!.getReader().read();
      assert(value !== undefined);
      return () => leaving.abort();
    };
    const beginAll = (kind: Kind) =>
      Promise.all(Array.from({ length: streamsOfEach }, () => begin(kind)));

    for (const kind of kinds) {
      await test.step(kind.name, async () => {
        const { maxBytes = maxBytesPerStream } = kind;
        // Objects that are created once, mainly code, must not count.
        for (const leave of await beginAll(kind)) leave();
        let perStream = Infinity;
        for (let round = 0; round < rounds && perStream > maxBytes; round++) {
          if (!kind.outlivesClient) {
            await until(async () => await callsInFlight() === 0, "those have ended");
          }
          const before = await heap.liveBytes();
          const leaves = await beginAll(kind);
          perStream = (await heap.liveBytes() - before) / streamsOfEach;
          for (const leave of leaves) leave();
        }
        assert(perStream < maxBytes, `${Math.round(perStream)} bytes of each stream`);
      });
    }
  } finally {
    await provider.shutdown().catch(() => {});
    await Deno.remove(folder, { recursive: true });
  }
});
