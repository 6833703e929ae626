/** Goal 12: from the start of the process on an empty disk to the first answered call. */
import { cores, Server } from "./child.ts";
import { gatewayCommand } from "./gateway.ts";
import type { Effort } from "./measure.ts";
import { print } from "./print.ts";
import type { Row } from "./report.ts";
import { median } from "./statistics.ts";

async function firstAnswerMs(): Promise<number> {
  const directory = await Deno.makeTempDir({ prefix: "bench" });
  try {
    const startedMs = performance.now();
    await using server = await Server.start({
      command: gatewayCommand(),
      core: cores.measured,
      environment: { PORT: "0", GATEWAY_KV: `${directory}/gateway.sqlite3` },
      directory,
    }, /listening on \S+:(\d+)[^]*?(sk-[A-Za-z0-9]+)/);
    const [, port, secret] = server.match;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "premium-1",
        max_tokens: 20,
        messages: [{ role: "user", content: "Hello!" }],
      }),
    });
    await answer.bytes();
    if (answer.status !== 200) throw new Error(`The first call got status ${answer.status}`);
    return performance.now() - startedMs;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

export async function coldStartRows(effort: Effort): Promise<Row[]> {
  const times: number[] = [];
  for (let round = 0; round < Math.max(3, effort.rounds); round++) {
    times.push(await firstAnswerMs() / 1_000);
    print(`  cold start: ${times.at(-1)?.toFixed(3)} s`);
  }
  return [{
    goal: 12,
    measure: "cold start to first answered call",
    seen: times.map((seconds) => seconds.toFixed(2)).join(", ") + " s",
    value: median(times),
    bar: { firstStep: 1, goal: 0.5, better: "less", unit: " s" },
  }];
}
