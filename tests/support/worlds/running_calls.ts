/** Callers of a gateway process that go on until a test has seen enough. */
import type { StartedGateway } from "../gateways/started_gateway.ts";
import { bearerPost } from "../api_post.ts";

/** Calls at once. */
export const callers = 4;

/** Calls with the demo key until it is disposed of; `failed` has the statuses of calls that were refused. */
export function startCalls({ address, key }: StartedGateway) {
  let isOver = false;
  let answered = 0;
  const failed: number[] = [];
  const running = Array.from({ length: callers }, async () => {
    while (!isOver) {
      const response = await fetch(bearerPost(`${address}/v1/chat/completions`, key, {
        model: "low-cost-01",
        max_tokens: 1,
        messages: [{ role: "user", content: "Hello" }],
      }));
      await response.text();
      if (response.status === 200) answered++;
      else failed.push(response.status);
    }
  });
  return {
    failed,
    get answered() {
      return answered;
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

/** Gives the demo account money for them. */
export async function payDemo(gateway: StartedGateway): Promise<void> {
  const { data: [account] } = JSON.parse((await gateway.admin("account", "list")).output);
  await gateway.admin("credit", account.id, "10000000", "--reason", "money to spend");
}
