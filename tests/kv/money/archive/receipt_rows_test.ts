import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { encodeReceipt } from "../../../../kv/money/receipts/receipt_codec.ts";
import { isFailed } from "../../../../kv/money/receipts/hour_sums.ts";
import {
  type ArchivedCall,
  pageInColumns,
  pagesOf,
  requestIdOf,
  shapeColumns,
} from "../../../../kv/money/archive/receipt_rows.ts";
import { anyReceipt } from "../../../support/receipt_arbitrary.ts";
import { newAccount, receiptOf } from "../../../support/worlds/money_world.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";

/** A page as the store has it. */
function pageWith(receipts: readonly Receipt[]) {
  const ids = receipts.map(({ requestId }) => requestId).sort();
  const newest = ids.at(-1);
  assert(newest !== undefined, "a page has receipts");
  const rows = receipts.map((receipt) => `["${receipt.requestId}",${encodeReceipt(receipt)}]`);
  return { newest, text: `[${rows.join()}]` };
}

function columnsOf(page: ReturnType<typeof pageWith>, first = 0): readonly ArchivedCall[] {
  const columns = pageInColumns(page, first);
  assert(columns.ok, columns.ok ? "" : columns.problem);
  return columns.calls;
}

/** The rows as a database gives them back: no member shares anything with those that went in. */
const stored = (calls: readonly ArchivedCall[]): ArchivedCall[] => structuredClone([...calls]);

Deno.test("every page of receipts comes back byte by byte, with any member and any name", () => {
  fc.assert(fc.property(fc.array(anyReceipt, { minLength: 1, maxLength: 5 }), (receipts) => {
    const page = pageWith(receipts);
    assertEquals(pagesOf(stored(columnsOf(page))), [page]);
  }));
});

Deno.test("columns say of a call what its receipt says", () => {
  fc.assert(fc.property(anyReceipt, (receipt) => {
    const [call] = columnsOf(pageWith([receipt]));
    assert(call !== undefined, "a row");
    assertEquals(requestIdOf(call), receipt.requestId);
    assertEquals([call.accountId, call.keyId], [receipt.accountId, receipt.keyId]);
    assertEquals(BigInt(call.costMicroVnd), receipt.costMicroVnd);
    assertEquals(call.outputTokens, receipt.usage?.output ?? null);
    const held = receipt.attempts.length <= 1 ? receipt.heldMicroVnd : undefined;
    assertEquals(call.heldMicroVnd, held?.toString() ?? null);
    const { failed, ...shape } = shapeColumns(call.shape);
    assertEquals(failed, isFailed(receipt));
    assertEquals([shape.kind, shape.style], [receipt.kind, receipt.style]);
    assertEquals([shape.status, shape.stream], [receipt.status, receipt.stream]);
    assertEquals(shape.outcome, receipt.outcome);
  }));
});

Deno.test("the usual call needs no text beside its columns", () => {
  const account = newAccount();
  const usual: Partial<Receipt>[] = [
    {},
    { usage: { input: 5, cacheRead: 4, cacheWrite: 3, output: 2, reasoning: 1 } },
    { mappedFrom: "gpt-5", firstOutputMs: 12, region: "hn" },
    { attempts: [{ route: "one/m", outcome: "ok", ms: 5, region: "sg" }], catalogVersion: 3 },
    {
      attempts: [{ route: "one/m", outcome: "ok", ms: 5 }],
      providerCost: { kind: "known", card: "c1", units: { in: 5, out: 7 }, costMicroVnd: 77n },
    },
    { attempts: [{ route: "one/m", outcome: "ok", ms: 5 }], providerCost: { kind: "unknown" } },
    { attempts: [{ route: "one/m", outcome: "cut", ms: 5 }], endCode: "stalled" },
    { attempts: [], outcome: "failed", status: 503 },
    { attempts: [{ route: "one/m", outcome: "ok", ms: 5 }], heldMicroVnd: 3_605_310_000n },
  ];
  for (const some of usual) {
    const page = pageWith([receiptOf(account, some)]);
    const calls = stored(columnsOf(page));
    assertEquals(calls.map(({ rest }) => rest), [null], JSON.stringify(some.attempts));
    assertEquals(pagesOf(calls), [page]);
  }
});

Deno.test("a cost of the tokens that were counted repeats none of them", () => {
  const account = newAccount();
  const usage = { input: 5, cacheRead: 4, cacheWrite: 0, output: 2, reasoning: 1 };
  const columnOf = (units: Readonly<Record<string, number>>, counted = usage) => {
    const providerCost = { kind: "known", card: "c1", units, costMicroVnd: 77n } as const;
    const attempts = [{ route: "one/m", outcome: "ok", ms: 5 }];
    const page = pageWith([receiptOf(account, { usage: counted, attempts, providerCost })]);
    const calls = stored(columnsOf(page));
    assertEquals(pagesOf(calls), [page]);
    assertEquals(calls[0]?.rest, null);
    return calls[0]?.providerUnits;
  };
  assertEquals(columnOf({ input: 5, cache_read: 4, output: 2 }), "");
  assertEquals(columnOf({ input: 5, cache_read: 3, output: 2 }), "5,3,2");
  assertEquals(columnOf({ input: 5, output: 2 }), "5,2");
  assertEquals(columnOf({}), "");
  assertEquals(columnOf({ input: 5, output: 2 }, { ...usage, cacheRead: 0 }), "");
  assertEquals(columnOf({ input: 0, output: 2 }, { ...usage, input: 0, cacheRead: 0 }), "0,2");
});

Deno.test("numbers beyond a column keep the text of their receipt", () => {
  const large = [
    { latencyMs: 2 ** 40 },
    { latencyMs: 1.5 },
    { costMicroVnd: 10n ** 25n },
    { startedAtMs: 2 ** 50 },
    { units: -3 },
    { usage: { input: 2 ** 45, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 } },
  ];
  for (const some of large) {
    const page = pageWith([receiptOf(newAccount(), some)]);
    assertEquals(pagesOf(stored(columnsOf(page))), [page]);
  }
});

Deno.test("pages of one bucket come back apart, each with its calls in their order", () => {
  const at = (n: number) => receiptOf(newAccount(), { requestId: newId("request", 72 + n) });
  const [one, two, three] = [at(0), at(1), at(2)];
  const pages = [pageWith([two, one]), pageWith([three])];
  const [first, second] = pages;
  assert(first !== undefined && second !== undefined, "two pages");
  const calls = [...columnsOf(first), ...columnsOf(second, 2)];
  assertEquals(calls.map(({ position }) => position), [0, 1, 2]);
  assertEquals(pagesOf(stored(calls)), pages);
});

Deno.test("a page of the first form comes back as it was", () => {
  const receipt = receiptOf(newAccount());
  for (const latencyMs of [receipt.latencyMs, 2 ** 40]) {
    const page = { newest: receipt.requestId, text: encodeReceipt({ ...receipt, latencyMs }) };
    assertEquals(pagesOf(stored(columnsOf(page))), [page]);
  }
});

Deno.test("what is no page of a known form is refused, never guessed", () => {
  const receipt = receiptOf(newAccount());
  const { newest, text } = pageWith([receipt]);
  const other = newId("request", 0);
  const cases: [newest: RequestId, text: string, problem: string][] = [
    [newest, "{}", "no form"],
    [newest, "[]", "no form"],
    [newest, text.replace("[1,", "[2,"), "no form"],
    [newest, text.replace(/]]$/, ',"0",7]]'), "no form"],
    [newest, text.replace("req_", "rex_"), "no form"],
    [newest, text.replace(",", " ,"), "another way"],
    [other, text, "another way"],
  ];
  for (const [key, changed, problem] of cases) {
    assert(changed !== text || key === other, changed);
    const columns = pageInColumns({ newest: key, text: changed }, 0);
    assert(!columns.ok && columns.problem.includes(problem), changed);
  }
});
