/** A refused client that waits for \`100 Continue\` is told so before it has sent its body. */
import { assertMatch } from "../support/assert.ts";
import { serveGateway } from "../support/gateways/served_gateway.ts";

const cases: readonly (readonly [name: string, status: number, path: string, length: number])[] = [
  ["without a key", 401, "/v1/chat/completions", 1_000_000],
  ["without a key, small", 401, "/v1/messages", 100],
];

for (const [name, status, path, length] of cases) {
  Deno.test(`a body that its client holds back is not asked for: ${name}`, async () => {
    await using gateway = await serveGateway({ env: { GATEWAY_HTTP_SERVER: "own" } });
    const { hostname, port } = new URL(gateway.address);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const head = `POST ${path} HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\n` +
      `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head));
    const bytes = new Uint8Array(10_000);
    const count = await connection.read(bytes) ?? 0;
    const text = new TextDecoder().decode(bytes.subarray(0, count));
    assertMatch(text, new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nconnection: close\r\n`));
  });
}
