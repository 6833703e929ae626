/**
 * `kill -9` during every act that moves money without a call. Afterwards each act is done once or not at all, can be
 * repeated if its answer was lost, and never counts twice.
 */
import { assert, assertEquals } from "../support/assert.ts";
import type { Invoice } from "../../core/trade/invoices/invoice.ts";
import { listInvoices, requestInvoice } from "../../kv/money/invoices/invoices.ts";
import { ledgerPrefix } from "../../kv/engine/schema/keys.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import { listAuditLines } from "../../kv/people/audit/operator_audit.ts";
import { getTopupOrder, type TopupOrder } from "../../kv/money/payments/topups.ts";
import { buyer } from "../support/worlds/invoice_requests.ts";
import {
  askAdmin,
  assertSoundBooks,
  balanceVnd,
  killAmid,
  noticeOfOrder,
  onStore,
  OperatorBrowser,
  seedOperators,
  seedOrders,
  sendNotice,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { until } from "../support/until.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

async function ledgerOf(
  kv: KeyValueStore,
  { accountId }: TopupOrder,
): Promise<readonly LedgerEntry[]> {
  const lines = kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) });
  return (await Array.fromAsync(lines)).map(({ value }) => value);
}

/** How many of the orders have received what they asked for. Other sums, and books that are wrong, fail the test. */
async function countPaid(folder: string, orders: readonly TopupOrder[]): Promise<number> {
  return await onStore(folder, async (kv) => {
    await assertSoundBooks(kv);
    let paid = 0;
    const received = new Map<string, bigint>();
    for (const { code, accountId, askedMicroVnd } of orders) {
      const sum = (await getTopupOrder(kv, code)).value?.receivedMicroVnd ?? 0n;
      assert(sum === 0n || sum === askedMicroVnd, `${code} received ${sum}`);
      if (sum > 0n) paid++;
      received.set(accountId, (received.get(accountId) ?? 0n) + sum);
    }
    for (const order of orders) {
      const lines = await ledgerOf(kv, order);
      const sum = lines.reduce((all, { amountMicroVnd }) => all + amountMicroVnd, 0n);
      assertEquals(sum, received.get(order.accountId), "the ledger says what the orders say");
    }
    return paid;
  });
}

/** Starts a gateway and acts on it, and kills it when so many acts are answered. */
async function killedLife(
  folder: string,
  answers: number,
  acts: (gateway: StartedGateway) => Promise<(() => Promise<unknown>)[]>,
  env?: Readonly<Record<string, string>>,
): Promise<readonly boolean[]> {
  const gateway = await startMoneyGateway(folder, env);
  return await killAmid(gateway, await acts(gateway), answers);
}

Deno.test(
  "kill -9 while notices are credited: sent again, each counts once",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 48));
      const tell = (gateway: StartedGateway) =>
        Promise.resolve(
          orders.map((order, i) => async () =>
            assertEquals(await sendNotice(gateway.address, noticeOfOrder(order, i)), 200)
          ),
        );
      for (const answers of [3, 20]) {
        const answered = (await killedLife(folder, answers, tell)).filter(Boolean).length;
        assert(answered > 0 && answered < orders.length, `${answered} were answered`);
        const paid = await countPaid(folder, orders);
        assert(paid >= answered, `${paid} are paid of ${answered} that were answered`);
      }
      await killedLife(folder, Infinity, tell);
      assertEquals(await countPaid(folder, orders), orders.length);
    }),
);

Deno.test(
  "kill -9 while operators assign and approve payments: done again, each counts once",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 32));
      const [first = "", second = ""] = await onStore(folder, seedOperators);
      // Half of them are above the limit and need the second operator.
      const env = { GATEWAY_APPROVAL_ABOVE_VND: "20015" };
      const gateway = await startMoneyGateway(folder, env);
      for (const [i, order] of orders.entries()) {
        await sendNotice(gateway.address, { ...noticeOfOrder(order, i), memo: `chuyen tien ${i}` });
      }
      for (const session of [first, second]) {
        await new OperatorBrowser(gateway, session).passSecondFactor();
      }
      await gateway.end("SIGTERM");
      const assign = async (gateway: StartedGateway) => {
        const browser = await new OperatorBrowser(gateway, first).ready();
        return orders.map(({ code }, i) => () => {
          const { id } = noticeOfOrder(orders[i]!, i);
          const target = { target: code, reason: "the receipt was shown" };
          return browser.act(`/operator/notices/sepay/${id}/assign`, target);
        });
      };
      const approve = async (gateway: StartedGateway) => {
        const browser = await new OperatorBrowser(gateway, second).ready();
        const { text } = await browser.get("/operator/approvals");
        return [...text.matchAll(/href="(\/operator\/approvals\/[^"]+)"/g)]
          .map(([, path]) => () => browser.approve(path!));
      };
      for (const [act, answers] of [[assign, 9], [assign, Infinity], [approve, 5]] as const) {
        const done = await killedLife(folder, answers, act, env);
        const answered = done.filter(Boolean).length;
        // The machine decides which are answered first: those that are credited at once or those that wait.
        assert(answered > 0, "nothing was answered before the kill");
        if (answers < done.length) assert(answered < done.length, "the kill came too late");
        const paid = await countPaid(folder, orders);
        assert(paid < orders.length, `${paid} are paid: not in the middle`);
      }
      await killedLife(folder, Infinity, approve, env);
      assertEquals(await countPaid(folder, orders), orders.length);
    }),
);

/** Lives of the test below: in one of them the kill comes before the import is over, however busy the machine is. */
const maxImports = 5;

/** Kills the gateway while it imports a statement, and imports it again; `false` if the kill came too late. */
const importedAmid = () =>
  withStoreFolder(async (folder) => {
    const orders = await onStore(folder, (kv) => seedOrders(kv, 80));
    const [session = ""] = await onStore(folder, seedOperators);
    const rows = orders.map(({ code, askedMicroVnd }, i) =>
      `20/11/2026 14:${10 + i % 50},FT${i},${askedMicroVnd / 1_000_000n},,${code} nap tien`
    );
    const csv = ["Ngày,Số tham chiếu,Ghi có,Ghi nợ,Nội dung", ...rows].join("\n");
    const upload = {
      account: "0123456789",
      statement: new File([csv], "statement.csv", { type: "text/csv" }),
    };
    const gateway = await startMoneyGateway(folder);
    const browser = await new OperatorBrowser(gateway, session).passSecondFactor();
    const importing = browser.act("/operator/bank/import", upload).catch(() => {});
    const isPaid = async () => await balanceVnd(gateway, orders[8]!.accountId) !== "0";
    await until(isPaid, "the import has begun");
    await gateway.end("SIGKILL");
    await importing;
    const paid = await countPaid(folder, orders);
    assert(paid > 0, "something was paid before the kill");
    await using again = await startMoneyGateway(folder);
    await new OperatorBrowser(again, session).act("/operator/bank/import", upload);
    await again.end("SIGTERM");
    assertEquals(await countPaid(folder, orders), orders.length);
    return paid < orders.length;
  });

Deno.test(
  "kill -9 in the middle of a statement import: imported again, each row counts once",
  processes,
  async () => {
    for (let imports = 1; !await importedAmid(); imports++) {
      assert(imports < maxImports, "no kill was in the middle");
    }
  },
);

Deno.test(
  "kill -9 while the command line credits: repeated under its id, each counts once",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 20));
      const credit = (gateway: StartedGateway) =>
        Promise.resolve(orders.map(({ accountId }, i) => () =>
          askAdmin(gateway, "POST", `/api/accounts/${accountId}/credit`, {
            vnd: "1000",
            reason: "test",
            operationId: `credit-${i}`,
          })
        ));
      let lines: readonly LedgerEntry[] = [];
      for (const answers of [2, 12, Infinity]) {
        const answered = await killedLife(folder, answers, credit);
        lines = await onStore(folder, async (kv) => {
          await assertSoundBooks(kv);
          // Four orders to an account.
          const owners = orders.filter((_, i) =>
            i % 4 === 0
          );
          return (await Promise.all(owners.map((order) => ledgerOf(kv, order)))).flat();
        });
        const ids = new Set(lines.map(({ operationId }) => operationId));
        assertEquals(ids.size, lines.length, "an operation counts once");
        answered.forEach((was, i) => assert(!was || ids.has(`credit-${i}`), `credit-${i} is gone`));
      }
      assertEquals(lines.length, orders.length);
    }),
);

Deno.test(
  "kill -9 while invoices are issued: each is issued once or waits as before",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const orders = await onStore(folder, (kv) => seedOrders(kv, 24));
      const [session = ""] = await onStore(folder, seedOperators);
      const gateway = await startMoneyGateway(folder);
      for (const [i, order] of orders.entries()) {
        await sendNotice(gateway.address, noticeOfOrder(order, i));
      }
      await new OperatorBrowser(gateway, session).passSecondFactor();
      await gateway.end("SIGTERM");
      const invoices = await onStore(folder, (kv) => requestAll(kv, orders));
      const issue = async (gateway: StartedGateway) => {
        const browser = await new OperatorBrowser(gateway, session).ready();
        return invoices.map(({ id }, i) => () => {
          const given = { series: "C26TAA", number: String(i), date: "2026-11-20" };
          return browser.act(`/operator/invoices/${id}/move`, { to: "issued", ...given });
        });
      };
      for (const answers of [5, Infinity]) {
        const answered = await killedLife(folder, answers, issue);
        const { now, audited } = await onStore(folder, async (kv) => {
          await assertSoundBooks(kv);
          const lines = await listAuditLines(kv, { count: 200 });
          return {
            now: new Map((await listInvoices(kv, { count: 100 })).map((one) => [one.id, one])),
            audited: lines.filter(({ act }) => act === "invoice_issued").map(({ subject }) =>
              subject
            ),
          };
        });
        invoices.forEach(({ id }, i) => {
          const { state, issued } = now.get(id)!;
          const times = audited.filter((subject) => subject === id).length;
          assertEquals(
            [state, issued?.number, times],
            state === "issued" ? ["issued", String(i), 1] : ["requested", undefined, 0],
          );
          assert(state === "issued" || (!answered[i] && answers !== Infinity), id);
        });
      }
    }),
);

async function requestAll(kv: KeyValueStore, orders: readonly TopupOrder[]): Promise<Invoice[]> {
  for (const { accountId, code } of orders) {
    const made = await requestInvoice(kv, {
      accountId,
      codes: [code],
      buyer: buyer(),
      note: "",
      rate: { percent: 8 },
      itemName: "Phí dịch vụ",
      nowMs: Date.now(),
    });
    assert(made.ok);
  }
  return await listInvoices(kv, { count: 100 });
}
