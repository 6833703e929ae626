import { systemClock } from "../../../../core/lib/time/clock.ts";
import { KvConnectStore } from "../../../../kv/engine/kv_connect/kv_connect_store.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { denokvProgram, startDenokv } from "../../../support/servers/denokv_server.ts";
import { testEngine, testExpiry } from "./conformance.ts";

const program = await denokvProgram();
const processes = { sanitizeOps: false, sanitizeResources: false };

if (program === undefined) {
  Deno.test({
    name: "denokv is not installed here: its engine is not tested",
    ignore: true,
    fn() {},
  });
} else {
  const open = async () => {
    const server = await startDenokv(program);
    const clients = await Promise.all(
      [1, 2, 3].map(() => KvConnectStore.open({ ...server, clock: systemClock })),
    );
    return {
      clients,
      async [Symbol.asyncDispose]() {
        for (const kv of clients) kv.close();
        await server[Symbol.asyncDispose]();
      },
    };
  };
  testEngine("denokv", open, processes);
  testExpiry("denokv", 600_000, open, processes);

  Deno.test("rows of the runtime's client and of ours are read by both", processes, async () => {
    await using server = await startDenokv(program);
    Deno.env.set("DENO_KV_ACCESS_TOKEN", server.accessToken);
    using theirs = await Deno.openKv(server.url);
    using ours = await KvConnectStore.open({ ...server, clock: systemClock });
    const values = [
      { amount: 2n ** 70n, list: [1, null, undefined], at: new Date(5), text: "đồng 🙂" },
      new Map([["a", new Set([1])]]),
      Uint8Array.of(0, 255),
      "",
      0,
      null,
    ];
    for (const [at, value] of values.entries()) {
      await theirs.set(["theirs", at], value);
      await ours.set(["ours", at], value);
    }
    for (const kv of [theirs, ours]) {
      for (const writer of ["theirs", "ours"]) {
        const read = await Array.fromAsync(kv.list({ prefix: [writer] }), ({ value }) => value);
        assertEquals(read, values);
      }
    }
  });

  Deno.test("a wrong token is refused in one line", processes, async () => {
    await using server = await startDenokv(program);
    await assertRejects(
      () => KvConnectStore.open({ ...server, accessToken: "wrong-token", clock: systemClock }),
      Error,
      "The store refuses DENO_KV_ACCESS_TOKEN",
    );
  });

  Deno.test("a server that was killed and started again is used again", processes, async () => {
    await using server = await startDenokv(program);
    using kv = await KvConnectStore.open({ ...server, clock: systemClock });
    await kv.set(["row"], 1);
    await server.kill();
    const meanwhile = kv.get(["row"]);
    await server.start();
    assertEquals((await meanwhile).value, 1);
    assert((await kv.atomic().set(["row"], 2).commit()).ok);
  });

  Deno.test("a closed store ends the calls under way", processes, async () => {
    await using server = await startDenokv(program);
    const kv = await KvConnectStore.open({ ...server, clock: systemClock });
    server.signal("SIGSTOP");
    const read = kv.get(["row"]);
    kv.close();
    await assertRejects(() => read);
    server.signal("SIGCONT");
  });
}
