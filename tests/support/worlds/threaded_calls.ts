/** Calls of a gateway on several threads, and what must hold of its books. */
import { assert, assertEquals } from "../assert.ts";
import { type AccountId, parseId } from "../../../core/lib/ids/ids.ts";
import { readReceipts } from "../../../kv/money/receipts/receipts.ts";
import {
  instanceOf,
  instancesPrefix,
  leaseOf,
  leasesPrefix,
} from "../../../kv/engine/schema/keys.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import type { ThreadedGateway } from "../gateways/threaded_gateway.ts";
import { until } from "../until.ts";

/** The price of a call of {@linkcode chat}, whatever it says. */
export const callVnd = 230;

/** What a client saw of a call. */
export interface Seen {
  readonly status: number;
  readonly requestId: string;
  readonly text: string;
  readonly isWhole: boolean;
  readonly headers: Headers;
}

interface ChatOptions {
  readonly stream?: boolean;
  readonly headers?: HeadersInit;
  readonly model?: string;
}

/** Makes a call that costs {@linkcode callVnd}, on a connection of its own. */
export async function chat(
  { fetch }: Pick<ThreadedGateway, "fetch">,
  key: string,
  said: string,
  { stream = false, headers = {}, model = "low-cost-01" }: ChatOptions = {},
): Promise<Seen> {
  const response = await fetch("/v1/chat/completions", {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...Object.fromEntries(new Headers(headers)),
    },
    body: JSON.stringify({
      model,
      max_tokens: 20,
      stream,
      messages: [{ role: "user", content: said }],
    }),
  });
  const text = await response.text();
  return {
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? "",
    text,
    isWhole: response.ok && (stream ? text.includes("data: [DONE]") : text.endsWith("}")),
    headers: response.headers,
  };
}

/** What ended workers held is returned while the others run, and all of it when they have stopped. */
export async function assertSound(gateway: ThreadedGateway, workers = 2): Promise<void> {
  const { kv } = gateway;
  const instances = async () => {
    const rows = await Array.fromAsync(kv.list({ prefix: instancesPrefix() }));
    return rows.length === workers + 1;
  };
  await until(instances, "only running instances are left", 20_000);
  const living = new Set(
    await Array.fromAsync(kv.list({ prefix: instancesPrefix() }), ({ key }) => instanceOf(key)),
  );
  for await (const { key } of kv.list({ prefix: leasesPrefix() })) {
    assert(living.has(leaseOf(key).instanceId), "a lease of an ended worker is left");
  }
  assertEquals(await gateway.stop(), 0);
  const report = await gateway.afterwards(verifyStore);
  assertEquals([report.problems, report.leasedMicroVnd], [[], 0n]);
}

/** Fails if a call that a client saw complete has no receipt. */
export async function assertReceipts(
  gateway: ThreadedGateway,
  accountId: AccountId,
  whole: readonly Seen[],
): Promise<void> {
  await gateway.afterwards(async (kv) => {
    for (const { requestId } of whole) {
      const id = parseId("request", requestId);
      const [receipt] = id === undefined ? [] : await readReceipts(kv, [id]);
      assertEquals(receipt?.accountId, accountId, requestId);
    }
  });
}
