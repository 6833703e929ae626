/** Goal 16: the log of an account with a million calls: lists, filters, search and charts, by the time of the server. */
import { cores, denoCommand, output, Server } from "./child.ts";
import { BenchGateway } from "./gateway.ts";
import { print } from "./print.ts";
import type { Row } from "./report.ts";

const bar = { firstStep: undefined, goal: 150, better: "less", unit: "ms" } as const;

/** Requests of each kind, the first of which is not counted: it loads the pages. */
const rounds = 7;

/** Requests of customers to their log, by name. */
function requests(failedId: string): Record<string, string> {
  return {
    "page: overview": "/",
    "page: 24 h": "/usage?period=24h",
    "page: 7 d": "/usage?period=7d",
    "page: 30 d": "/usage?period=30d",
    "page: 7 d by hour": "/usage?period=7d&grain=hour",
    "page: errors by kind": "/usage?period=30d&metric=errors",
    "page: durations": "/usage?period=30d&metric=duration",
    "page: key and model": "/usage?period=30d&model=fast-1",
    "page: rare model": "/usage?period=30d&model=rare-1",
    "page: errors": "/usage?period=30d&status=error",
    "page: a rare code": "/usage?period=30d&error=upstream_timeout",
    "page: refused": "/usage?period=30d&status=refused",
    "page: a rare refusal": "/usage?period=30d&error=invalid_request",
    "page: search by id": `/receipts/${failedId}`,
    "API: list": "/v1/calls?limit=50",
    "API: errors": "/v1/calls?status=error&limit=50",
    "API: model": "/v1/calls?model=rare-1&limit=50",
    "API: one call": `/v1/calls/${failedId}`,
  };
}

async function medianMs(url: string, headers: HeadersInit): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const startMs = performance.now();
    const response = await fetch(url, { headers, redirect: "manual" });
    await response.text();
    if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
    if (round > 0) times.push(performance.now() - startMs);
  }
  return times.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? NaN;
}

/** Measures the log of an account with so many calls. */
export async function logRows(calls: number): Promise<Row[]> {
  const measure = `log of an account with ${calls} calls: slowest of its pages and lists`;
  if (calls === 0) {
    return [{ goal: 16, measure, seen: "ask for it: --log=1000000", value: undefined, bar }];
  }
  await using mock = await Server.start({
    command: denoCommand("mock_upstream.ts"),
    core: cores.around,
  });
  await using gateway = await BenchGateway.prepare(mock.port);
  print(`  writing ${calls} calls`);
  const written = await output({
    command: denoCommand("grow_log.ts", gateway.storePath, "bench@example.invalid", String(calls)),
    core: cores.measured,
  });
  const { token, failedId } = JSON.parse(written.trimEnd().split("\n").at(-1) ?? "");
  await gateway.start();
  const { url, headers } = gateway.target;
  const seen: [string, number][] = [];
  for (const [name, path] of Object.entries(requests(failedId))) {
    const isPage = name.startsWith("page");
    const ms = await medianMs(
      url + path,
      isPage ? { cookie: `session=${token}` } : Object.fromEntries(headers),
    );
    print(`  ${name}: ${ms.toFixed(1)} ms`);
    seen.push([name, ms]);
  }
  const [slowest, ms] = seen.toSorted(([, one], [, other]) => other - one)[0] ?? ["", NaN];
  return [{ goal: 16, measure, seen: `${slowest}: ${ms.toFixed(1)} ms`, value: ms, bar }];
}
