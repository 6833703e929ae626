/** Goal 12: from the start of the process on an empty disk to the first answered call. */
import { cores, Server } from "./child.ts";
import { gatewayCommand } from "./gateway.ts";
import type { Effort } from "./measure.ts";
import { print } from "./print.ts";
import { residentBytes } from "./process_stats.ts";
import type { Row } from "./report.ts";
import { median } from "./statistics.ts";

interface FirstAnswer {
  readonly afterMs: number;
  /** Memory of the process after it. */
  readonly residentBytes: number;
}

async function firstAnswer(): Promise<FirstAnswer> {
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
    const afterMs = performance.now() - startedMs;
    return { afterMs, residentBytes: residentBytes(server.pid) };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

export async function coldStartRows(effort: Effort): Promise<Row[]> {
  const answers: FirstAnswer[] = [];
  for (let round = 0; round < Math.max(3, effort.rounds); round++) {
    const answer = await firstAnswer();
    answers.push(answer);
    print(`  cold start: ${(answer.afterMs / 1_000).toFixed(3)} s`);
  }
  const times = answers.map(({ afterMs }) => afterMs / 1_000);
  const sizes = answers.map(({ residentBytes }) => residentBytes / 1e6);
  return [{
    goal: 12,
    measure: "cold start to first answered call",
    seen: times.map((seconds) => seconds.toFixed(2)).join(", ") + " s",
    value: median(times),
    bar: { firstStep: 0.5, goal: 0.35, better: "less", unit: " s" },
  }, {
    goal: 12,
    measure: "memory after the first answered call",
    seen: sizes.map((megabytes) => megabytes.toFixed(0)).join(", ") + " MB",
    value: median(sizes),
    bar: { firstStep: 130, goal: 90, better: "less", unit: " MB" },
  }];
}
