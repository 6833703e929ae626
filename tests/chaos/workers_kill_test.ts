/** Workers die under load: each client's own ledger and the books agree, and limits hold. */
import { assert, assertEquals } from "../support/assert.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { addBudget } from "../../kv/people/accounts/budgets.ts";
import { serveThreaded, type ThreadedGateway } from "../support/gateways/threaded_gateway.ts";
import { until } from "../support/until.ts";
import {
  assertReceipts,
  assertSound,
  callVnd,
  chat,
  type Seen,
} from "../support/worlds/threaded_calls.ts";

const threads = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "workers that are killed under load cost their own calls only, are replaced, and what they held returns at once",
  threads,
  async () => {
    const deaths = 6;
    await using gateway = await serveThreaded({ workers: 2 });
    const { key, accountId } = await gateway.customer(10_000_000);
    const whole: Seen[] = [];
    let cut = 0;
    let isLoaded = true;
    const load = Array.from({ length: 24 }, async (_, client) => {
      for (let i = client; isLoaded; i++) {
        const said = `[[sandbox:pace ${1 + i % 5}]] call ${client} ${i}`;
        const seen = await chat(gateway, key, said, { stream: i % 2 === 0 }).catch(() => undefined);
        if (seen?.isWhole) whole.push(seen);
        else cut++;
        // A refused connection or a cut answer; a worker that serves answers everything.
        assert(seen === undefined || seen.isWhole || seen.status === 200, seen?.text);
      }
    });
    for (let death = 1; death <= deaths; death++) {
      const before = whole.length;
      await until(() => whole.length > before + 60, `calls before death ${death} have ended`);
      gateway.threads.get(1 + death % 2)?.terminate();
      const replaced = () =>
        gateway.lines.filter((line) => line.includes("a worker was replaced")).length === death;
      await until(replaced, `death ${death} is made up for`);
    }
    isLoaded = false;
    await Promise.all(load);
    assert(cut > 0, "some calls were cut");
    assertEquals(gateway.lines.filter((line) => line.includes('"a worker ended"')).length, deaths);
    await assertSound(gateway);
    await assertReceipts(gateway, accountId, whole);
  },
);

Deno.test(
  "a wallet that affords exactly 40 calls pays 40 of 120 on two workers",
  threads,
  async () => {
    await using gateway = await serveThreaded();
    const { key } = await gateway.customer(40 * callVnd);
    // Money in the lease of the other worker comes back, so a retry can succeed only then.
    const insist = async (i: number): Promise<number> => {
      for (let tries = 0;; tries++) {
        const { status, text } = await chat(gateway, key, `call ${i}`);
        if (!text.includes("balance_on_hold") || tries === 100) return status;
      }
    };
    const statuses = await Promise.all(Array.from({ length: 120 }, (_, i) => insist(i)));
    assertEquals(statuses.filter((status) => status === 200).length, 40);
    assertEquals(statuses.filter((status) => status === 402).length, 80);
    await assertSound(gateway);
  },
);

Deno.test(
  "a key makes no more images per day than its limit, over all workers",
  threads,
  async () => {
    await using gateway = await serveThreaded();
    const { key } = await gateway.customer(1_000_000, { imagesPerDay: 10n });
    const image = async () => {
      const response = await gateway.fetch("/v1/images/generations", {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "image-1", prompt: "a cat" }),
      });
      await response.body?.cancel();
      return response.status;
    };
    const statuses = await Promise.all(Array.from({ length: 30 }, image));
    assertEquals(statuses.filter((status) => status === 200).length, 10);
    assertEquals(statuses.filter((status) => status === 429).length, 20);
    await assertSound(gateway);
  },
);

/** Customers who can pay for 30 calls by another bound than their wallet. */
const bounded: Readonly<Record<string, (gateway: ThreadedGateway) => Promise<{ key: string }>>> = {
  "the limit of a key": (gateway) =>
    gateway.customer(1_000_000, { dailyLimitMicroVnd: fromVnd(30 * callVnd) }),
  "a budget of an account": async (gateway) => {
    const customer = await gateway.customer(1_000_000);
    await addBudget(gateway.kv, customer.accountId, {
      name: "All",
      subject: { kind: "account" },
      window: "total",
      amountVnd: 30 * callVnd,
      atLimit: "refuse",
    }, { nowMs: 0 });
    return customer;
  },
};

for (const [name, customerOf] of Object.entries(bounded)) {
  Deno.test(`${name} holds over all workers, also after one died`, threads, async () => {
    await using gateway = await serveThreaded();
    const { key } = await customerOf(gateway);
    const round = async (calls: number) => {
      const seen = await Promise.all(
        Array.from({ length: calls }, (_, i) => chat(gateway, key, `call ${i}`)),
      );
      return seen.filter(({ isWhole }) => isWhole).length;
    };
    assertEquals(await round(10), 10);
    gateway.threads.get(1)?.terminate();
    await until(
      () => gateway.lines.some((line) => line.includes("was replaced")),
      "it is replaced",
    );
    let paid = 10;
    for (let more = 1; more > 0;) paid += more = await round(50);
    assertEquals(paid, 30);
    await assertSound(gateway);
  });
}
