/** Top-up orders that are paid: their notices of the bank reach every instance. */
import { assertEquals } from "../support/assert.ts";
import type { TopupOrder } from "../../kv/money/payments/topups.ts";
import { noticeOfOrder, seedOrders, sendNotice } from "../support/worlds/money_process.ts";
import type { ClientLedger } from "./client_ledger.ts";
import type { Cluster } from "./cluster.ts";
import { openClusterStore } from "./stores.ts";

/** Makes customers with open orders. */
export async function openOrders(cluster: Cluster, count: number): Promise<TopupOrder[]> {
  using store = await openClusterStore(cluster.env(0));
  return await seedOrders(store.kv, count);
}

/** Sends the notice of every order to all instances at once, twice each. */
export async function payOrders(
  cluster: Cluster,
  ledger: ClientLedger,
  orders: readonly TopupOrder[],
  firstNotice = 0,
): Promise<void> {
  await Promise.all(orders.map(async (order, at) => {
    const notice = noticeOfOrder(order, firstNotice + at);
    const targets = cluster.gateways.keys().toArray().flatMap((gateway) => [gateway, gateway]);
    const send = (target: number) => sendNotice(cluster.address(target), notice);
    assertEquals(new Set(await Promise.all(targets.map(send))), new Set([200]));
    ledger.creditedVnd += Number(order.askedMicroVnd / 1_000_000n);
  }));
}
