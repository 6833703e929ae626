/** Compares the books of the store with the clients' own ledger after a scenario, and prints a line. */
import { report } from "../support/report.ts";
import { assertEquals } from "../support/assert.ts";
import type { ClientLedger } from "./client_ledger.ts";
import type { Cluster } from "./cluster.ts";

interface ExportedReceipt {
  readonly requestId: string;
  readonly costMicroVnd: string;
}

/** µVND of an amount as the command line shows it, such as `12.5`. */
function microVnd(vnd: string): bigint {
  const [, sign = "", whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(vnd) ?? [];
  if (whole === "") throw new Error(`not an amount: ${vnd}`);
  return BigInt(`${sign}${whole}${part.padEnd(6, "0")}`);
}

function rowsOf(exported: string, kind: string) {
  return exported.split("\n").filter((line) => line.startsWith(`{"key":["${kind}",`))
    .map((line) => JSON.parse(line).value);
}

function receiptsOf(exported: string): ExportedReceipt[] {
  return rowsOf(exported, "receipt");
}

/** µVND that went back, by request id. */
function refundsOf(exported: string): Map<string, bigint> {
  return new Map(
    rowsOf(exported, "ledger").filter(({ kind }) => kind === "refund")
      .map(({ requestId, amountMicroVnd }) => [requestId, BigInt(amountMicroVnd)]),
  );
}

function print(line: string): void {
  report(line);
}

/**
 * Ends the gateways, then checks that every call that a client saw whole has exactly one receipt at
 * the cost that it computed, and that the sums agree to the µVND.
 */
export async function assertExactBooks(
  scenario: string,
  cluster: Cluster,
  ledger: ClientLedger,
): Promise<void> {
  assertEquals(await cluster.end(), cluster.gateways.map(() => 0), "every gateway ends with 0");
  const verified = await cluster.admin("verify", "--full");
  assertEquals(verified.code, 0, verified.output);
  const books: Record<string, string> = JSON.parse(verified.output);
  const sum = (name: string) => microVnd(String(books[name]));
  const exported = await cluster.admin("export");
  assertEquals(exported.code, 0, exported.output.slice(-500));
  const receipts = receiptsOf(exported.output);
  const costs = new Map(receipts.map(({ requestId, costMicroVnd }) => [requestId, costMicroVnd]));
  const charged = receipts.reduce((total, receipt) => total + BigInt(receipt.costMicroVnd), 0n);
  const refunds = refundsOf(exported.output);
  const refunded = [...refunds.values()].reduce((total, amount) => total + amount, 0n);
  const credited = BigInt(ledger.creditedVnd) * 1_000_000n + refunded;
  const difference = credited - charged - sum("availableVnd") - sum("leasedVnd");
  const failed = [...ledger.failed]
    .map(([status, count]) => `${status}: ${count}, first: ${ledger.causes.get(status)}`).join(
      "; ",
    );
  print(
    `${scenario}: ${ledger.calls} calls, ${ledger.whole.size} whole, ` +
      `failed {${failed}}, longest ${Math.round(ledger.longestMs)} ms, ` +
      `${receipts.length} receipts, ${ledger.withheld.size} answers withheld, ` +
      `${refunds.size} refunded, difference ${difference} µVND`,
  );
  const wrong = [...ledger.whole].filter(([id, cost]) => costs.get(id) !== String(cost));
  assertEquals(wrong.slice(0, 5), [], `${wrong.length} whole calls without their receipt`);
  const unjust = [...ledger.withheld].filter((id) =>
    BigInt(costs.get(id) ?? 0) !== (refunds.get(id) ?? 0n)
  );
  assertEquals(unjust, [], "an answer that was withheld is free");
  const undue = [...refunds.keys()].filter((id) => ledger.whole.has(id));
  assertEquals(undue, [], "what a client saw whole is paid");
  assertEquals(costs.size, receipts.length, "no call has two receipts");
  assertEquals(sum("ledgerVnd"), credited, "credited as the clients know it");
  assertEquals(sum("chargedVnd"), charged, "charged as the receipts say");
  assertEquals(difference, 0n);
}
