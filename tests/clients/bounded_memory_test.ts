/**
 * Memory of the real process under `GATEWAY_MEMORY_MB=512`, with the heap that V8 takes on a machine of that size:
 * bodies of the largest size at once, from one account and from several.
 */
import { assert } from "../support/assert.ts";
import { peakDuring, residentMegabytes } from "../support/resident_memory.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { newPayer } from "../support/worlds/money_process.ts";

const memoryMegabytes = 512;
const bodyBytes = 19 * 1024 * 1024;

/** The body contains a picture: text of that length would reserve more money than the accounts have. */
function largeBody(): Uint8Array<ArrayBuffer> {
  const [head = "", tail = ""] = JSON.stringify({
    model: "premium-1",
    max_tokens: 20,
    stream: true,
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "What is this? [[sandbox:slow 300]]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,CUT" } },
      ],
    }],
  }).split("CUT");
  const body = new Uint8Array(bodyBytes).fill(0x41);
  const encoder = new TextEncoder();
  body.set(encoder.encode(head));
  const end = encoder.encode(tail);
  body.set(end, body.length - end.length);
  return body;
}

/** Sends a body and returns the status. A refusal says when to try again. */
async function send({ address }: StartedGateway, key: string, body: BodyInit): Promise<number> {
  const response = await fetch(`${address}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  const isRefused = response.status === 503 && Number(response.headers.get("retry-after")) > 0;
  assert(response.status === 200 && text.includes("[DONE]") || isRefused, text.slice(0, 500));
  return response.status;
}

Deno.test("12 and 24 bodies of 19 MB at once stay within the memory that is set", {
  ignore: Deno.build.os !== "linux",
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  await using gateway = await startGateway({
    env: {
      GATEWAY_MEMORY_MB: String(memoryMegabytes),
      DENO_V8_FLAGS: `--max-old-space-size=${memoryMegabytes / 2}`,
    },
  });
  const payers = await Promise.all(Array.from({ length: 6 }, () => newPayer(gateway, 1_000_000)));
  const idle = await residentMegabytes(gateway.pid);
  const body = largeBody();
  for (const [count, keys] of [[12, [gateway.key]], [24, payers.map(({ key }) => key)]] as const) {
    const statuses: number[] = [];
    const rush = Array.from({ length: count }, async (_, i) => {
      statuses.push(await send(gateway, keys[i % keys.length] ?? "", body));
    });
    const peak = await peakDuring(gateway.pid, Promise.all(rush));
    const served = statuses.filter((status) => status === 200).length;
    const report = `idle ${idle} MB, peak ${peak} MB for ${count} bodies of ${keys.length} ` +
      `accounts, ${served} served`;
    assert(peak < memoryMegabytes, report);
    assert(served > 0, report);
    if (Deno.env.get("GATEWAY_MEMORY_TEST") === "full") {
      Deno.stderr.writeSync(new TextEncoder().encode(`${report}\n`));
    }
  }
});
