/**
 * Memory of the real process while more large bodies arrive at once than it may hold. `GATEWAY_MEMORY_TEST=full` sends
 * 60 bodies of nearly 20 MB; the usual run has fewer.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { bufferedBytesPerAccount } from "../../core/lib/bytes/body_budget.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { peakDuring, residentMegabytes } from "../support/resident_memory.ts";

const full = Deno.env.get("GATEWAY_MEMORY_TEST") === "full";
const calls = full ? 60 : 24;
const megabyte = 1024 * 1024;
const bodyMegabytes = 19.9;

/** The body contains a picture: text of that length would reserve more money than the demo account has. */
function largeBody(): Uint8Array<ArrayBuffer> {
  const [head, tail] = JSON.stringify({
    model: "premium-1",
    max_tokens: 20,
    stream: true,
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "What is this? [[sandbox:slow 3000]]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,CUT" } },
      ],
    }],
  }).split("CUT");
  const body = new Uint8Array(bodyMegabytes * megabyte).fill(0x41);
  const encoder = new TextEncoder();
  body.set(encoder.encode(head));
  const end = encoder.encode(tail);
  body.set(end, body.length - end.length);
  return body;
}

function post(gateway: StartedGateway, body: BodyInit): Promise<Response> {
  return fetch(`${gateway.address}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body,
  });
}

Deno.test("a rush of large bodies keeps within memory, and small calls are served meanwhile", {
  ignore: Deno.build.os !== "linux",
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  await using gateway = await startGateway();
  const small = JSON.stringify({
    model: "premium-1",
    max_tokens: 20,
    messages: [{ role: "user", content: "Hi" }],
  });
  assertEquals((await (await post(gateway, small)).json()).object, "chat.completion");
  const idle = await residentMegabytes(gateway.pid);
  const body = largeBody();
  const statuses: number[] = [];
  const rush = () =>
    Promise.all(Array.from({ length: calls }, async () => {
      const response = await post(gateway, body);
      statuses.push(response.status);
      const text = await response.text();
      if (response.status === 503) {
        assert(Number(response.headers.get("retry-after")) > 0, text);
      } else assertEquals(response.status, 200, text);
    }));
  let served = 0;
  let isOver = false;
  const first = rush();
  const beside = (async () => {
    while (!isOver) {
      const response = await post(gateway, small);
      assertEquals(response.status, 200, await response.text());
      served++;
    }
  })();
  const peak = await peakDuring(gateway.pid, first);
  isOver = true;
  await beside;
  const again = await peakDuring(gateway.pid, rush());
  const admitted = statuses.filter((status) => status === 200).length;
  const report = `idle ${idle} MB, peaks ${peak} and ${again} MB for ${calls} bodies at once, ` +
    `${admitted} of ${2 * calls} admitted, ${served} small calls meanwhile`;
  if (full) Deno.stderr.writeSync(new TextEncoder().encode(`${report}\n`));
  const atOnce = Math.floor(bufferedBytesPerAccount / (bodyMegabytes * megabyte));
  // Bodies that find no space wait for it; only the full run takes longer than that.
  if (full) assert(admitted >= 4 * atOnce, report);
  else assertEquals(admitted, 2 * calls, report);
  assert(served > 0, report);
  // Each is held as bytes, as text and value, and as the body that is sent; those of the first rush may not be
  // collected yet when the second begins.
  assert(Math.max(peak, again) - idle < 9 * atOnce * bodyMegabytes + 200, report);
});
