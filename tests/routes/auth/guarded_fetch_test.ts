import { assertEquals, assertRejects } from "../../support/assert.ts";
import type {
  Transport,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../core/net/transport/transport.ts";
import { createGuardedFetch } from "../../../routes/auth/guarded_fetch.ts";

/** A transport that gives one answer, and keeps what it was asked. */
function answering(
  pieces: readonly Uint8Array[],
  head: { readonly status?: number; readonly headers?: Record<string, string> } = {},
) {
  const asked: UpstreamRequest[] = [];
  let cancelled = 0;
  const transport: Transport = {
    open(request) {
      asked.push(request);
      const rest = [...pieces];
      const response: UpstreamResponse = {
        status: head.status ?? 200,
        header: (name) => head.headers?.[name],
        body: { read: () => Promise.resolve(rest.shift() ?? null) },
      };
      return { response: Promise.resolve(response), cancel: () => void cancelled++ };
    },
  };
  return { fetch: createGuardedFetch(transport), asked, cancelled: () => cancelled };
}

const text = (words: string) => new TextEncoder().encode(words);

Deno.test("a request is sent with its headers and its body, and its answer is read", async () => {
  const headers = { "content-type": "application/json" };
  const { fetch, asked, cancelled } = answering([text('{"a":'), text("1}")], { headers });
  const response = await fetch("https://login.acme.example/token", {
    method: "POST",
    headers: { authorization: "Basic eA==" },
    body: new URLSearchParams({ code: "x y" }),
  });
  assertEquals(await response.json(), { a: 1 });
  assertEquals(response.headers.get("content-type"), "application/json");
  const [request] = asked;
  const sent = new Headers(request?.headers.map(([name, value]) => [name, value]));
  assertEquals(sent.get("authorization"), "Basic eA==");
  assertEquals(sent.get("accept-encoding"), "identity");
  const [body] = request?.body instanceof Uint8Array ? [request.body] : request?.body ?? [];
  assertEquals(new TextDecoder().decode(body), "code=x+y");
  assertEquals(cancelled(), 1, "the connection is given back");
});

Deno.test("addresses inside, other schemes and other methods are never asked", async () => {
  const { fetch, asked } = answering([]);
  const refused = [
    "http://login.acme.example/",
    "https://10.0.0.1/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://localhost/",
    "https://169.254.169.254/latest/meta-data",
    "https://user:password@login.acme.example/",
    "https://login.acme.example:6379/",
  ];
  for (const address of refused) await assertRejects(() => fetch(address), TypeError);
  await assertRejects(() => fetch("https://login.acme.example/", { method: "DELETE" }), TypeError);
  assertEquals(asked, []);
});

Deno.test("a redirect is an answer like any other, and is not followed", async () => {
  const headers = { location: "https://10.0.0.1/" };
  const { fetch, asked } = answering([], { status: 302, headers });
  const response = await fetch("https://login.acme.example/");
  assertEquals([response.status, response.headers.get("location")], [302, null]);
  assertEquals(asked.length, 1);
});

Deno.test("an answer without end is given up", async () => {
  const piece = new Uint8Array(64 * 1024);
  const { fetch, cancelled } = answering(Array.from({ length: 100 }, () => piece));
  await assertRejects(() => fetch("https://login.acme.example/"), TypeError, "too long");
  assertEquals(cancelled(), 1);
});
