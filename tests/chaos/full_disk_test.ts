/** The store refuses writes exactly when calls end and money arrives. */
import { assert, assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { getTopupOrder } from "../../kv/money/payments/topups.ts";
import {
  askAdmin,
  assertSoundBooks,
  beginStream,
  newPayer,
  noticeOfOrder,
  onStore,
  seedOrders,
  sendNotice,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import { until } from "../support/until.ts";
import { canLimit, limitFileSize } from "../support/gateways/started_gateway.ts";

for (const killed of [false, true]) {
  Deno.test({
    name: killed
      ? "kill -9 on a full disk: what was not written did not happen, and can be repeated once"
      : "a full disk loses nothing: calls end, and money arrives, when there is room again",
    ignore: !canLimit(),
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () =>
      withStoreFolder(async (folder) => {
        const orders = await onStore(folder, (kv) => seedOrders(kv, 8));
        let gateway = await startMoneyGateway(folder, {}, { outlivesFileLimit: true });
        const { key, accountId } = await newPayer(gateway, 50_000);
        const credit = () =>
          askAdmin<{ status: string }>(gateway, "POST", `/api/accounts/${accountId}/credit`, {
            vnd: "1000",
            reason: "on a full disk",
            operationId: "full-disk-1",
          });
        const tell = (from: number, to: number) =>
          Promise.all(
            orders.slice(from, to).map((order, i) =>
              sendNotice(gateway.address, noticeOfOrder(order, from + i))
            ),
          );
        assertEquals(await tell(0, 2), [200, 200]);
        const texts: string[] = [];
        let begun = 0;
        const streams = Array.from({ length: 8 }, async (_, i) => {
          const said = `[[sandbox:pace 1500]] rivers, ${i} of 8`;
          const response = await beginStream(gateway, key, said);
          begun++;
          texts[i] = "";
          try {
            for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
              texts[i] += piece;
            }
          } catch {
            texts[i] = "killed";
          }
          return { requestId: response.headers.get("x-request-id") ?? "", text: texts[i] };
        });
        await until(() => begun === 8, "all calls have begun");
        await limitFileSize(gateway, 0);
        assertEquals(await tell(2, 6), [503, 503, 503, 503]);
        const told = await credit().catch((error) => String(error));
        assert(String(told).includes("The store is away"), JSON.stringify(told));
        // The last words of each answer have come, and its receipt cannot be written.
        const areSaid = () => texts.every((text, i) => text.includes(`${i} of 8"`));
        await until(areSaid, "all answers are complete but for their ends");
        assertEquals(await Promise.race([...streams, sleep(0)]), undefined, "a call has ended");
        await until(async () => {
          const ready = await fetch(`${gateway.address}/readyz`);
          const { reasons } = await ready.json();
          return ready.status === 503 && reasons.includes("ledger unavailable");
        }, "the gateway knows that its store does not write");
        assertEquals((await beginStream(gateway, key, "hello")).status, 503);
        if (killed) {
          await gateway.end("SIGKILL");
          gateway = await startMoneyGateway(folder);
        } else await limitFileSize(gateway, "unlimited");
        const ended = await Promise.all(streams);
        const whole = ended.filter(({ text }) => text.endsWith("data: [DONE]\n\n"));
        assertEquals(whole.length, killed ? 0 : 8);
        assertEquals(await tell(0, 8), orders.map(() => 200));
        assertEquals((await credit()).status, "applied");
        assertEquals((await credit()).status, "duplicate");
        const { output } = await gateway.admin("export");
        for (const { requestId } of ended) {
          assertEquals(output.includes(`["receipt","${requestId}"]`), !killed, requestId);
        }
        assertEquals(await gateway.end("SIGTERM"), 0);
        await onStore(folder, async (kv) => {
          await assertSoundBooks(kv);
          for (const { code, askedMicroVnd } of orders) {
            assertEquals((await getTopupOrder(kv, code)).value?.receivedMicroVnd, askedMicroVnd);
          }
        });
      }),
  });
}
