/**
 * The provider of the benchmark, a process of its own. It implements HTTP/1.1 directly, so that it is not the slowest
 * part.
 *
 * Prints `ready <port>`. `GET /control` returns how many streams run and when a client last left one.
 */
import { type MockStyle, streamScript, wholeAnswer, type WholeStyle } from "./mock_answers.ts";
import { print } from "./print.ts";
import { isScenarioName, type ScenarioName, scenarios } from "./scenarios.ts";
import { preciseNowMs } from "./wall_clock.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const wholeAnswers: Record<WholeStyle, Uint8Array> = {
  chat: whole(wholeAnswer("chat")),
  messages: whole(wholeAnswer("messages")),
  gemini: whole(wholeAnswer("gemini")),
  embeddings: whole(wholeAnswer("embeddings")),
};
const streamHead =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

let runningStreams = 0;
let lastLeftMs = 0;

function whole(body: string): Uint8Array {
  return encoder.encode(
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: bench\r\n" +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
}

// All text is ASCII, so characters are bytes.
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await conn.write(rest));
}

interface Request {
  readonly head: string;
  readonly body: Uint8Array;
}

/** Reads the requests of one connection into one buffer. */
class Requests {
  readonly #conn: Deno.Conn;
  #buffer = new Uint8Array(16 * 1024);
  #end = 0;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  async next(): Promise<Request | null> {
    let headBytes = -1;
    let head = "";
    let total = 0;
    for (;;) {
      if (headBytes === -1) {
        head = decoder.decode(this.#buffer.subarray(0, Math.min(this.#end, 8_192)));
        const at = head.indexOf("\r\n\r\n");
        if (at !== -1) {
          headBytes = at + 4;
          head = head.slice(0, at);
          total = headBytes + Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0);
        }
      }
      if (headBytes !== -1 && this.#end >= total) break;
      if (!await this.more(total)) return null;
    }
    const body = this.#buffer.slice(headBytes, total);
    this.#buffer.copyWithin(0, total, this.#end);
    this.#end -= total;
    return { head, body };
  }

  /** Waits for bytes; false when the client has gone. */
  async more(wantedBytes: number): Promise<boolean> {
    if (this.#end === this.#buffer.length || wantedBytes > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(this.#buffer.length * 2, wantedBytes));
      larger.set(this.#buffer.subarray(0, this.#end));
      this.#buffer = larger;
    }
    const count = await this.#conn.read(this.#buffer.subarray(this.#end)).catch(() => null);
    if (count === null) return false;
    this.#end += count;
    return true;
  }
}

interface StreamRequest {
  readonly scenario: Extract<typeof scenarios[ScenarioName], { kind: "stream" }>;
  readonly style: MockStyle;
  readonly withUsage: boolean;
}

/** Sends a stream, and notices when its client leaves. */
async function stream(conn: Deno.Conn, requests: Requests, request: StreamRequest): Promise<void> {
  const { events, everyMs, eventsPerWrite } = request.scenario;
  const script = streamScript(request.style, request.withUsage);
  let isLeft = false;
  let wake: (() => void) | undefined;
  // There is no pipelining: bytes are the next request, and an end is a client that has left.
  const watching = requests.more(0).then((isMore) => {
    if (isMore) return;
    isLeft = true;
    lastLeftMs = preciseNowMs();
    wake?.();
  });
  runningStreams++;
  try {
    // Without a pace the first event is sent with the head, so that a gateway that waits for it does not wait for this
    // process.
    let text = streamHead + chunk(script.opening);
    if (everyMs > 0) {
      await writeAll(conn, encoder.encode(text));
      text = "";
    }
    const startedMs = performance.now();
    for (let sent = 0; sent < events && !isLeft;) {
      if (everyMs > 0) {
        const waitMs = startedMs + sent * everyMs - performance.now();
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, Math.max(0, waitMs));
        });
        if (isLeft) break;
      }
      for (let count = 0; count < eventsPerWrite; count++, sent++) text += chunk(script.event());
      await writeAll(conn, encoder.encode(text));
      text = "";
    }
  } finally {
    runningStreams--;
  }
  if (!isLeft) await writeAll(conn, encoder.encode(chunk(script.closing) + "0\r\n\r\n"));
  await watching;
}

async function serve(conn: Deno.TcpConn): Promise<void> {
  conn.setNoDelay(true);
  const requests = new Requests(conn);
  for (let request = await requests.next(); request; request = await requests.next()) {
    const { head, body } = request;
    if (head.startsWith("GET /control")) {
      await writeAll(conn, whole(JSON.stringify({ runningStreams, lastLeftMs })));
      continue;
    }
    const path = head.slice(0, head.indexOf("\r\n"));
    if (path.startsWith("POST /v1beta/") || path.startsWith("POST /v1/embeddings")) {
      await writeAll(conn, wholeAnswers[path.startsWith("POST /v1/") ? "embeddings" : "gemini"]);
      continue;
    }
    const style = path.startsWith("POST /v1/messages") ? "messages" : "chat";
    // The fields of interest are at the start or the end of a body, with a long prompt between them.
    const front = decoder.decode(body.subarray(0, 512));
    const back = decoder.decode(body.subarray(Math.max(0, body.length - 512)));
    // The model, or the first word of the prompt where a gateway takes no other model than its own.
    const name = /"(bench-[a-z]+)[" ]/.exec(front + back)?.[1] ?? "";
    const scenario = isScenarioName(name) ? scenarios[name] : scenarios["bench-json"];
    if (scenario.kind === "json") await writeAll(conn, wholeAnswers[style]);
    else {
      const withUsage = (front + back).includes("include_usage");
      await stream(conn, requests, { scenario, style, withUsage });
    }
  }
}

const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
print(`ready ${listener.addr.port}`);
for await (const conn of listener) {
  serve(conn).catch(() => {}).finally(() => {
    try {
      conn.close();
    } catch {
      // Already closed.
    }
  });
}
