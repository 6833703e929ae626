/** Calls with an idempotency key whose answers are lost because the process is killed: no retry is charged twice. */
import { assert, assertEquals } from "../support/assert.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";
import { bearerPost } from "../support/api_post.ts";

const calls = 60;
const inFlight = 12;

interface Sent {
  readonly status: number;
  readonly code: string | undefined;
  readonly costVnd: number;
}

/** A picture, which has one price. `undefined`: the process died before it answered. */
async function send(gateway: StartedGateway, number: number): Promise<Sent | undefined> {
  try {
    const response = await fetch(
      bearerPost(`${gateway.address}/v1/images/generations`, gateway.key, {
        model: "image-1",
        prompt: `[[sandbox:slow ${5 + number % 20}]] a cat of number ${number}`,
      }, { "idempotency-key": `order-${number}` }),
    );
    const body = await response.json();
    return {
      status: response.status,
      code: body.error?.code,
      costVnd: Number(response.headers.get("x-gateway-cost-vnd")),
    };
  } catch {
    return undefined;
  }
}

/** Sends all of them, some at a time. */
async function sendAll(
  gateway: StartedGateway,
  onAnswer: (answered: number) => void = () => {},
): Promise<(Sent | undefined)[]> {
  const results: (Sent | undefined)[] = [];
  let next = 0;
  let answered = 0;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    while (next < calls) {
      const number = next++;
      results[number] = await send(gateway, number);
      if (results[number] !== undefined) onAnswer(++answered);
    }
  }));
  return results;
}

async function balanceVnd(gateway: StartedGateway): Promise<number> {
  const { data: list } = JSON.parse((await gateway.admin("account", "list")).output);
  const { output } = await gateway.admin("account", "show", list[0].id);
  return Number(String(JSON.parse(output).balanceVnd).replaceAll(/[^\d.]/g, ""));
}

for (const [killAfter, workers] of [[5, "1"], [25, "1"], [15, "2"]] as const) {
  Deno.test(`after a kill at answer ${killAfter} with ${workers} workers, retries under the same keys are charged once`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "gateway-test-" });
    try {
      let first: (Sent | undefined)[] = [];
      let beforeVnd = 0;
      {
        await using gateway = await startGateway({ folder, env: { GATEWAY_WORKERS: workers } });
        beforeVnd = await balanceVnd(gateway);
        let killing: Promise<number> | undefined;
        first = await sendAll(gateway, (answered) => {
          if (answered === killAfter) killing = gateway.end("SIGKILL");
        });
        await killing;
      }
      await using gateway = await startGateway({ folder, env: { GATEWAY_WORKERS: workers } });
      const second = await sendAll(gateway);
      const third = await sendAll(gateway);
      const charged = new Set<number>();
      for (let number = 0; number < calls; number++) {
        const tries = [first[number], second[number], third[number]];
        for (const sent of tries) {
          if (sent?.status === 200 || sent?.code === "already_answered") charged.add(number);
          else assert(sent === undefined || sent.code === "order_under_way", JSON.stringify(sent));
        }
        // The second process knows what the first one answered.
        if (first[number]?.status === 200) assertEquals(second[number]?.code, "already_answered");
      }
      assert(first.includes(undefined), "answers were lost");
      const priceVnd = [...first, ...second].find((sent) => sent?.status === 200)?.costVnd ?? 0;
      assert(priceVnd > 0);
      // What the killed process had settled counts when its lease has come back.
      const spentVnd = async () => beforeVnd - await balanceVnd(gateway);
      await until(
        async () => await spentVnd() === charged.size * priceVnd,
        `${charged.size} calls are charged`,
      );
      assertEquals((await gateway.admin("verify")).code, 0);
    } finally {
      await Deno.remove(folder, { recursive: true }).catch(() => {});
    }
  });
}
