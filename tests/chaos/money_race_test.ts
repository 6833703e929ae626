/** Concurrent attempts to move the same money, on the real process: one succeeds, and the books agree. */
import { assert, assertEquals } from "../support/assert.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import type { ApiKeyRecord } from "../../kv/people/api_keys/api_keys.ts";
import { getBankNotice } from "../../kv/money/payments/bank_notices.ts";
import { apiKeyKey } from "../../kv/engine/schema/keys.ts";
import { getTopupOrder } from "../../kv/money/payments/topups.ts";
import {
  askAdmin,
  assertSoundBooks,
  balanceVnd,
  newPayer,
  noticeOfOrder,
  onStore,
  OperatorBrowser,
  type Payer,
  seedOperators,
  seedOrders,
  sendNotice,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";
import { bearerPost } from "../support/api_post.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "notices twice at once while a statement with the same movements is imported: each counts once",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 24));
      const [session = ""] = await onStore(folder, seedOperators);
      const gateway = await startMoneyGateway(folder);
      const browser = await new OperatorBrowser(gateway, session).passSecondFactor();
      await browser.ready();
      const rows = orders.map((order, i) => {
        const { id, amountVnd, memo } = noticeOfOrder(order, i);
        return `20/11/2026 14:02,FT${id},${amountVnd},,${memo}`;
      });
      const csv = ["Ngày,Số tham chiếu,Ghi có,Ghi nợ,Nội dung", ...rows].join("\n");
      const upload = () =>
        browser.act("/operator/bank/import", {
          account: "0123456789",
          statement: new File([csv], "statement.csv", { type: "text/csv" }),
        });
      const tell = () =>
        orders.map((order, i) => sendNotice(gateway.address, noticeOfOrder(order, i)));
      const [statuses] = await Promise.all([
        Promise.all([...tell(), ...tell()]),
        upload(),
        upload(),
      ]);
      assertEquals(new Set(statuses), new Set([200]));
      assertEquals(await gateway.end("SIGTERM"), 0);
      await onStore(folder, async (kv) => {
        await assertSoundBooks(kv);
        for (const { code, askedMicroVnd } of orders) {
          assertEquals((await getTopupOrder(kv, code)).value?.receivedMicroVnd, askedMicroVnd);
        }
      });
    }),
);

Deno.test(
  "two operators credit one payment to different customers, or one sends it back, at the same moment",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 12));
      const sessions = await onStore(folder, seedOperators);
      const gateway = await startMoneyGateway(folder);
      const browsers = await Promise.all(sessions.map(async (session) =>
        await (await new OperatorBrowser(gateway, session).passSecondFactor()).ready()
      ));
      const [one, other] = browsers as [OperatorBrowser, OperatorBrowser];
      for (const [i, order] of orders.entries()) {
        await sendNotice(gateway.address, { ...noticeOfOrder(order, i), memo: `khong ma ${i}` });
      }
      const done = await Promise.all(orders.map(async (order, i) => {
        const notice = `/operator/notices/sepay/${noticeOfOrder(order, i).id}`;
        const credit = (browser: OperatorBrowser, code: string) =>
          browser.act(`${notice}/assign`, { target: code, reason: "the receipt was shown" });
        const rival = i % 2 === 0
          ? credit(other, orders[(i + 5) % orders.length]!.code)
          : other.act(`${notice}/resolve`, { verdict: "start_refund", note: "sent back" });
        return (await Promise.all([credit(one, order.code), rival])).filter(Boolean).length;
      }));
      assertEquals(await gateway.end("SIGTERM"), 0);
      await onStore(folder, async (kv) => {
        await assertSoundBooks(kv);
        for (const [i, order] of orders.entries()) {
          const id = String(noticeOfOrder(order, i).id);
          const { kind } = (await getBankNotice(kv, { source: "sepay", id })).value!.state;
          const isDecided = kind === "credited" || kind === "refund_pending";
          assertEquals([isDecided, done[i]], [true, 1], `${i}: ${kind}`);
        }
      });
    }),
);

/** A call at 230 VND; the status of its answer. */
async function call(gateway: StartedGateway, { key }: Payer): Promise<number> {
  const response = await fetch(bearerPost(`${gateway.address}/v1/chat/completions`, key, {
    model: "low-cost-01",
    max_tokens: 5,
    messages: [{ role: "user", content: "[[sandbox:slow 200]] hello" }],
  }));
  await response.body?.cancel();
  return response.status;
}

for (const limit of ["dailyLimitMicroVnd", "monthlyLimitMicroVnd"] as const) {
  Deno.test(
    `64 calls at once with a key whose ${limit} affords 10: ten are served`,
    processes,
    () =>
      withStoreFolder(async (folder) => {
        let gateway = await startMoneyGateway(folder);
        const payer = await newPayer(gateway, 100_000);
        await gateway.end("SIGTERM");
        await onStore(folder, async (kv) => {
          const { key, value } = await kv.get<ApiKeyRecord>(
            apiKeyKey(payer.accountId, payer.keyId),
          );
          assert(value !== null);
          await kv.set(key, { ...value, [limit]: fromVnd(10 * 230 + 229) });
        });
        gateway = await startMoneyGateway(folder);
        for (const served of [10, 0]) {
          const statuses = await Promise.all(
            Array.from({ length: 64 }, () => call(gateway, payer)),
          );
          assertEquals(statuses.filter((status) => status === 200).length, served, statuses.join());
        }
        // What another thread charged shows half a second later.
        const isCharged = async () =>
          await balanceVnd(gateway, payer.accountId) === String(100_000 - 10 * 230);
        await until(isCharged, "ten calls are charged");
        assertEquals((await gateway.admin("verify")).code, 0);
        await gateway.end("SIGTERM");
      }),
  );
}

Deno.test(
  "sums that are missing, malformed, huge or negative move nothing; the largest accepted ones stay exact",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 8));
      const { accountId } = orders[0]!;
      const gateway = await startMoneyGateway(folder);
      let operations = 0;
      const credit = (vnd: string) =>
        askAdmin<{ balanceVnd: string }>(gateway, "POST", `/api/accounts/${accountId}/credit`, {
          vnd,
          reason: "odd sums",
          operationId: `odd-sum-${operations++}`,
        }).then(({ balanceVnd }) => balanceVnd, () => "refused");
      const odd = ["0", "-0", "", "1.5", "0.000001", "1e5", "NaN", "Infinity", "0x10", "-1", "--1"];
      for (const vnd of [...odd, "9999999999999999", "1".repeat(40)]) {
        assertEquals(await credit(vnd), "refused", vnd);
      }
      // 2^53 µVND is nine billion VND, 2^53 VND has 16 digits.
      for (
        const [vnd, balance] of [
          ["9007199254", "9007199254"],
          ["1", "9007199255"],
          ["999999999999999", "1000009007199254"],
          ["-1000009007199255", "refused"],
          ["-999999999999999", "9007199255"],
        ] as const
      ) {
        assertEquals(await credit(vnd), balance, vnd);
      }
      const other = orders[4]!;
      const sums = [
        0,
        -50_000,
        "-50000",
        1e300,
        2 ** 53,
        "1e5",
        "0x10",
        1e12,
        498_999_999.5,
        "0.5",
        499_000_000,
      ];
      for (const [i, amountVnd] of sums.entries()) {
        const { memo } = noticeOfOrder(other, i);
        assertEquals(await sendNotice(gateway.address, { id: 1 + i, memo, amountVnd }), 200);
      }
      assertEquals(await balanceVnd(gateway, other.accountId), "499000000");
      const verified = await gateway.admin("verify");
      assertEquals(verified.code, 0, verified.output);
      assert(!verified.output.includes('"-'), verified.output);
      await gateway.end("SIGTERM");
    }),
);
