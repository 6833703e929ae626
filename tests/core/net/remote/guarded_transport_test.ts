/** The check of names before a transport that resolves them itself: what is not public is never sent. */
import { assertEquals } from "../../../support/assert.ts";
import {
  createGuardedTransport,
  type Resolve,
} from "../../../../core/net/remote/guarded_connect.ts";
import {
  type Transport,
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../../../../core/net/transport/transport.ts";

const answer: UpstreamResponse = {
  status: 204,
  header: () => undefined,
  body: { read: () => Promise.resolve(null) },
};

/** A transport that notes what it sends, and answers. */
function noting() {
  const sent: string[] = [];
  let cancelled = 0;
  const transport: Transport = {
    open({ url }) {
      sent.push(url);
      return { response: Promise.resolve(answer), cancel: () => void cancelled++ };
    },
  };
  return { transport, sent, cancelled: () => cancelled };
}

const request = (url: string): UpstreamRequest => ({ method: "GET", url, headers: [], body: null });

async function outcome(response: Promise<UpstreamResponse>): Promise<string> {
  try {
    return String((await response).status);
  } catch (error) {
    return error instanceof UpstreamFailure ? error.code : String(error);
  }
}

Deno.test("only names whose addresses are all public, and public addresses, are sent", async () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    "public.example": ["93.184.216.34", "2606:2800:220:1::1"],
    "mixed.example": ["93.184.216.34", "10.0.0.1"],
    "private.example": ["169.254.169.254"],
    "empty.example": [],
  };
  const resolve: Resolve = (name) => {
    const found = names[name];
    return found === undefined ? Promise.reject(new Error("SERVFAIL")) : Promise.resolve(found);
  };
  const wanted: readonly (readonly [host: string, outcome: string])[] = [
    ["public.example", "204"],
    ["93.184.216.34", "204"],
    ["mixed.example", "refused"],
    ["private.example", "refused"],
    ["127.0.0.1", "refused"],
    ["[::1]", "refused"],
    ["empty.example", "connect"],
    ["unknown.example", "connect"],
  ];
  for (const [host, expected] of wanted) {
    const { transport, sent } = noting();
    const exchange = createGuardedTransport(transport, resolve).open(request(`https://${host}/a`));
    assertEquals(await outcome(exchange.response), expected, host);
    assertEquals(sent, expected === "204" ? [`https://${host}/a`] : [], host);
  }
});

Deno.test("what is cancelled while its name is resolved is never sent; later, the transport stops it", async () => {
  const resolved = Promise.withResolvers<readonly string[]>();
  const early = noting();
  const first = createGuardedTransport(early.transport, () => resolved.promise)
    .open(request("https://public.example/"));
  first.cancel();
  resolved.resolve(["93.184.216.34"]);
  assertEquals(await outcome(first.response), "cancelled");
  assertEquals(early.sent, []);

  const late = noting();
  const second = createGuardedTransport(late.transport, () => resolved.promise)
    .open(request("https://public.example/"));
  assertEquals(await outcome(second.response), "204");
  second.cancel();
  assertEquals([late.sent.length, late.cancelled()], [1, 1]);
});
