import { assertEquals } from "../../support/assert.ts";
import { bytesLeave } from "../../../routes/http/query.ts";

/** A client on a thread of its own: tells in shared memory when the first bytes are there. */
const client = `
  self.onmessage = async ({ data: { url, arrived } }) => {
    const answer = await fetch(url);
    const reader = answer.body.getReader();
    await reader.read();
    const flag = new Int32Array(arrived);
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
    while (!(await reader.read()).done);
    self.postMessage("done");
  };
`;

Deno.test("bytesLeave() lets go what was released, though nothing else runs from then on", async () => {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  let seen = "";
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (seen === "released") {
        await bytesLeave();
        // This thread does nothing more until the client has them.
        seen = Atomics.wait(flag, 0, 0, 10_000);
        controller.close();
      } else {
        seen = "released";
        controller.enqueue(new TextEncoder().encode("first"));
      }
    },
  }, { highWaterMark: 0 });
  // An answer that waited for something, as all answers of providers do.
  await using server = Deno.serve({ port: 0, onListen: () => {} }, async () => {
    await Deno.lstat(".");
    return new Response(body);
  });
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(client)}`, {
    type: "module",
  });
  try {
    const done = Promise.withResolvers<void>();
    worker.onmessage = () => done.resolve();
    worker.postMessage({ url: `http://127.0.0.1:${server.addr.port}`, arrived: flag.buffer });
    await done.promise;
    assertEquals(seen === "timed-out", false, "the bytes had not left");
  } finally {
    worker.terminate();
  }
});
