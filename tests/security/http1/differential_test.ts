/**
 * Whatever request the server accepts, Node's server reads the same way: the same requests, headers and bodies, in
 * the same order. So a proxy that reads like Node cannot be made to see other requests than the gateway does.
 *
 * `FUZZ_CASES` and `FUZZ_SEED` change the number of connections and where they begin.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { TextLineStream } from "../../support/text_lines.ts";
import { Reply } from "../../../core/net/http1/server/reply.ts";
import { latin1, serve } from "../../routes/server/http1/fake_client.ts";
import { randomConnection, randomOf } from "./random_bytes.ts";

const cases = Number(Deno.env.get("FUZZ_CASES") ?? 5_000);
const firstSeed = Number(Deno.env.get("FUZZ_SEED") ?? 1);

interface ReadRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Base64. */
  readonly body: string;
}

/** What the gateway's server reads of a connection whose bytes come in pieces. */
async function ownReading(bytes: Uint8Array, random: () => number): Promise<ReadRequest[]> {
  const requests: ReadRequest[] = [];
  const { client, over } = serve(async (request) => {
    const body = (await request.bytes()).toBase64();
    const { method, headers } = request;
    requests.push({ method, url: headers.target, headers: headers.entries(), body });
    return new Reply(200, [], null);
  });
  const cut = random() < 0.5 ? bytes.length : Math.floor(random() * bytes.length);
  client.send(bytes.subarray(0, cut));
  if (random() < 0.5) await Promise.resolve();
  client.send(bytes.subarray(cut));
  client.end();
  await over;
  return requests;
}

/** Node's server, as a function from a connection to its requests. */
class NodeReader implements AsyncDisposable {
  readonly #child = new Deno.Command("node", {
    args: [new URL("node_reader.mjs", import.meta.url).pathname],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  readonly #input = this.#child.stdin.getWriter();
  readonly #lines = this.#child.stdout.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream()).getReader();

  /** Readings of several connections, in their order. */
  async read(connections: readonly Uint8Array[]): Promise<ReadRequest[][]> {
    const lines = connections.map((bytes) => `${bytes.toBase64()}\n`).join("");
    const written = this.#input.write(new TextEncoder().encode(lines));
    const readings: ReadRequest[][] = [];
    while (readings.length < connections.length) {
      const { value } = await this.#lines.read();
      assert(value !== undefined, "Node has ended");
      readings.push(JSON.parse(value));
    }
    await written;
    return readings;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close();
    await this.#lines.cancel();
    await this.#child.status;
  }
}

/** Node gives an absolute target as it was sent. */
function withPath(request: ReadRequest): ReadRequest {
  const path = request.url.replace(/^https?:\/\/[^/?]*/i, "");
  return { ...request, url: path.startsWith("/") || path === "*" ? path : `/${path}` };
}

function hasNode(): boolean {
  try {
    return new Deno.Command("node", { args: ["--version"], stdout: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** Connections that are sent to Node at once. */
const batch = 500;

Deno.test({
  name: `Node reads every accepted request alike${hasNode() ? "" : " (skipped: no node)"}`,
  ignore: !hasNode(),
  fn: async () => {
    await using node = new NodeReader();
    let accepted = 0;
    let refused = 0;
    for (let seed = firstSeed; seed < firstSeed + cases; seed += batch) {
      const seeds = Array.from(
        { length: Math.min(batch, firstSeed + cases - seed) },
        (_, i) => seed + i,
      );
      const texts = seeds.map((seed) => randomConnection(randomOf(seed)));
      const wires = texts.map(latin1);
      const readings = await node.read(wires);
      for (const [at, wire] of wires.entries()) {
        const own = await ownReading(wire, randomOf(seeds[at]!));
        const others = (readings[at] ?? []).slice(0, own.length).map(withPath);
        assertEquals(own, others, `seed ${seeds[at]}: ${JSON.stringify(texts[at])}`);
        accepted += own.length;
        refused += (readings[at] ?? []).length - own.length;
      }
    }
    assert(accepted > cases * 0.5, `hardly anything is accepted: ${accepted}`);
    const report = `${cases} connections: ${accepted} requests read alike, ${refused} by Node only`;
    if (Deno.env.has("FUZZ_CASES")) Deno.stderr.writeSync(new TextEncoder().encode(`${report}\n`));
  },
});
