/** Proxies in front of the gateway block paths by their text, so no other spelling of a path may reach its endpoint. */
import { assertEquals } from "../support/assert.ts";
import { serveGateway } from "../support/gateways/served_gateway.ts";

const operatorKey = "operator-key-of-this-test";

/** Requests a path over a raw socket and returns the status, since `fetch` normalizes paths. */
async function statusOf(address: string, target: string, headers: readonly string[] = []) {
  const { hostname, port } = new URL(address);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const head = [`GET ${target} HTTP/1.1`, `host: ${hostname}`, "connection: close", ...headers];
  await connection.write(new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n`));
  const bytes = new Uint8Array(64);
  const read = await connection.read(bytes) ?? 0;
  return Number(new TextDecoder().decode(bytes.subarray(0, read)).split(" ")[1]);
}

Deno.test("a path is matched literally: another spelling of a letter is another path", async () => {
  await using gateway = await serveGateway({ env: { GATEWAY_OPERATOR_KEY: operatorKey } });
  const operator = [`authorization: Bearer ${operatorKey}`];
  const page = ["accept: text/html"];
  const cases: readonly (readonly [string, readonly string[], number])[] = [
    ["/metrics", operator, 200],
    ["/%6detrics", operator, 404],
    ["/%6Detrics", [], 404],
    ["/operator/routes", operator, 200],
    ["/%6fperator/routes", operator, 404],
    ["/operator/%72outes", operator, 404],
    ["/healthz", [], 200],
    ["/health%7a", [], 404],
    ["/sign-in", page, 200],
    ["/sign%2din", page, 404],
    ["/%6fperator/", page, 404],
    ["/v1/status", [], 200],
    ["/%76%31/status", [], 404],
  ];
  for (const [target, headers, status] of cases) {
    assertEquals(await statusOf(gateway.address, target, headers), status, target);
  }
});

Deno.test("the value of a path parameter may be encoded", async () => {
  await using gateway = await serveGateway({});
  const [, key = ""] = /: (sk-\S+)/.exec(gateway.lines.find((line) => / sk-/.test(line)) ?? "") ??
    [];
  const headers = [`x-api-key: ${key}`];
  for (const target of ["/v1/models/premium-1", "/v1/models/premium%2D1"]) {
    assertEquals(await statusOf(gateway.address, target, headers), 200, target);
  }
});
