/** The reader of the log stops reading or ends: a pipe to a pager, a log driver that hangs. */
import { assertEquals } from "../support/assert.ts";
import { beginStream } from "../support/worlds/money_process.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";

for (const logReader of ["gone", "stuck"] as const) {
  Deno.test({
    name:
      `the reader of the log is ${logReader}: calls go on, and the process ends when it is told to`,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      await using gateway = await startGateway({ logReader });
      let whole = 0;
      // A pipe holds 64 KB, and a line has some 700 bytes.
      for (let round = 0; round < 10; round++) {
        const calls = Array.from({ length: 30 }, async (_, i) => {
          const response = await beginStream(gateway, gateway.key, `round ${round}, call ${i}`);
          if ((await response.text()).includes("data: [DONE]")) whole++;
        });
        await Promise.all(calls);
      }
      assertEquals(whole, 300);
      assertEquals(await gateway.end("SIGTERM"), 0);
    },
  });
}
