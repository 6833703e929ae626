/** A session with an MCP server: its time-outs, the pages of its list, and its end. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { failedResult, McpFailure, McpSession } from "../../../../core/calls/rounds/mcp_session.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { bodyOf } from "../../../../core/net/transport/read_whole.ts";
import {
  type Transport,
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../../../../core/net/transport/transport.ts";

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params: JsonObject;
}

/** A session whose server answers messages so; `undefined`: never. */
function sessionWith(answer: (message: Message) => JsonObject | undefined) {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  const seen: UpstreamRequest[] = [];
  let cancelled = 0;
  const transport: Transport = {
    open(request) {
      seen.push(request);
      const { promise, resolve, reject } = Promise.withResolvers<UpstreamResponse>();
      promise.catch(() => {});
      const header = (name: string) =>
        name === "content-type" ? "application/json" : name === "mcp-session-id" ? "s1" : undefined;
      const message: Message | undefined = request.body === null
        ? undefined
        : JSON.parse(new TextDecoder().decode(request.body as Uint8Array));
      const result =
        message === undefined || message.id === undefined || message.method === "initialize"
          ? { protocolVersion: "2025-06-18" }
          : answer(message);
      const text = JSON.stringify({ jsonrpc: "2.0", id: message?.id ?? 0, result });
      if (result !== undefined) {
        resolve({ status: 200, header, body: bodyOf(new TextEncoder().encode(text)) });
      }
      return {
        response: promise,
        cancel() {
          cancelled++;
          reject(new UpstreamFailure("cancelled", "The exchange was cancelled"));
        },
      };
    },
  };
  const address = {
    url: "https://mcp.example/mcp",
    headers: [["authorization", "Bearer t"]] as const,
  };
  return {
    session: new McpSession({ transport, deadlines }, address),
    seen,
    time,
    cancelled: () => cancelled,
  };
}

/** Lets everything run that needs no time, then lets time pass. */
async function pass(time: ManualTime, ms: number) {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  time.advance(ms);
}

Deno.test("a server that hangs is given up: a list is a failure, a call has a failed result", async () => {
  const { session, time } = sessionWith(() => undefined);
  const listing = session.list().catch((error: unknown) => error);
  await pass(time, 21_000);
  const failure = await listing;
  assert(
    failure instanceof McpFailure && failure.message === "did not answer in time",
    String(failure),
  );
  const calling = session.call("f", {});
  await pass(time, 61_000);
  assertEquals(await calling, failedResult("The server did not answer in time"));
});

Deno.test("pages of a list are read in turn, and bounded; the session is told to servers and ended once", async () => {
  const pages = (count: number) =>
    sessionWith(({ params }) => {
      const page = Number(params["cursor"] ?? 0);
      const inputSchema: Json = { type: "object" };
      return {
        tools: [{ name: `tool${page}`, inputSchema }],
        ...(page + 1 < count && { nextCursor: String(page + 1) }),
      };
    });
  const { session, seen, cancelled } = pages(10);
  const tools = await session.list();
  assertEquals(tools.map(({ name }) => name), Array.from({ length: 10 }, (_, i) => `tool${i}`));
  const headersOf = ({ headers }: UpstreamRequest) =>
    new Map(headers.map(([name, value]) => [name, value]));
  for (const request of seen.slice(1)) {
    const headers = headersOf(request);
    assertEquals(
      [
        headers.get("mcp-session-id"),
        headers.get("mcp-protocol-version"),
        headers.get("authorization"),
      ],
      ["s1", "2025-06-18", "Bearer t"],
    );
  }
  session.end();
  session.end();
  assertEquals(seen.filter(({ method }) => method === "DELETE").length, 1);
  await Promise.resolve();
  assert(cancelled() > 0);
  const failure = await pages(11).session.list().catch((error: unknown) => error);
  assert(failure instanceof McpFailure && /pages/.test(failure.message), String(failure));
});

Deno.test("arguments and results are passed on exactly; media are named", async () => {
  let given: unknown;
  const { session } = sessionWith(({ params }) => {
    given = params;
    return {
      content: [
        { type: "text", text: "a" },
        { type: "image", mimeType: "image/png", data: "AAAA" },
        { type: "resource", resource: { uri: "file:///a", text: "inner" } },
        { type: "resource_link", uri: "https://example.com/b", name: "b" },
      ],
    };
  });
  const { text, failed } = await session.call("f", { x: [1, "ä"] });
  assert(isJsonObject(given as Json));
  assertEquals(given, { name: "f", arguments: { x: [1, "ä"] } });
  assertEquals([text, failed], ["a\n[image image/png]\ninner\nb: https://example.com/b", false]);
});
