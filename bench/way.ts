/**
 * Counts the source files that a call runs through: what someone has to read who wants to know what happens to it.
 *
 * A gateway runs as in production, with the inspector of its runtime open. Each call is made several times in the same
 * words. For each time but the first, precise coverage has the functions that ran from the first byte of the request
 * until the client had the whole answer, which it gets after the receipt is durable. A file counts if it ran each time,
 * and not while nobody called. So neither what the first call prepares nor the jobs of the process are counted, and no
 * figure depends on the speed of the machine.
 *
 * `deno task way [--files]`; `tests/clients/way_of_a_call_test.ts` holds the figures as upper bounds.
 */
import { changeBudgets } from "../kv/people/accounts/budgets.ts";
import { findAccountByEmail } from "../kv/people/accounts/accounts.ts";
import { recordOf } from "../core/lib/base/record_of.ts";
import { freePort } from "../tests/support/servers/free_port.ts";
import { cores, denoCommand, Server } from "./child.ts";
import { benchEmail, BenchGateway } from "./gateway.ts";
import { print } from "./print.ts";
import type { ScenarioName } from "./scenarios.ts";

/** A call, with the status of its answer. */
interface WayCall {
  readonly path: "/v1/chat/completions" | "/v1/messages";
  readonly model: ScenarioName;
  readonly stream: boolean;
  readonly status: number;
}

/** The calls whose files are counted; all routes are of the Chat style. */
const calls = {
  "native call": { path: "/v1/chat/completions", model: "bench-json", stream: false, status: 200 },
  "converted stream": { path: "/v1/messages", model: "bench-first", stream: true, status: 200 },
  "budget refusal": {
    path: "/v1/chat/completions",
    model: "bench-slow",
    stream: false,
    status: 402,
  },
} as const satisfies Record<string, WayCall>;

type WayName = keyof typeof calls;

const names: readonly WayName[] = ["native call", "converted stream", "budget refusal"];

/** Files by call: paths from the root of the project. */
type Ways = Readonly<Record<WayName, readonly string[]>>;

/** Calls before the first that is counted. */
const preparingCalls = 2;
/** Calls that a file must have run in to count, so that a job that happens to run beside one does not. */
const countedCalls = 5;
/** Times that all calls are made and nobody calls afterwards: a machine with other work runs jobs late. */
const rounds = 3;
/**
 * Milliseconds for which the gateway is watched without a call: longer than the intervals of the jobs that run every few
 * seconds.
 */
const idleMs = 12_000;

/** The folders whose files count. */
const counted = /^(?:core|kv|routes|sandbox)\//;

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

/** The coverage of a process, by way of its inspector. */
class Coverage implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<{ result?: ScriptCoverage[] }>>();
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result, error } = JSON.parse(data);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error.message));
    };
  }

  static async start(inspectorPort: number): Promise<Coverage> {
    const response = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`);
    const [{ webSocketDebuggerUrl }] = await response.json();
    const socket = new WebSocket(webSocketDebuggerUrl);
    await new Promise((opened, failed) => {
      socket.onopen = opened;
      socket.onerror = failed;
    });
    const coverage = new Coverage(socket);
    await coverage.#ask("Profiler.enable");
    // Blocks, since a function that has waited since before the call is not entered anew.
    await coverage.#ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    return coverage;
  }

  #ask(method: string, params = {}): Promise<{ result?: ScriptCoverage[] }> {
    const id = ++this.#asked;
    const waiting = Promise.withResolvers<{ result?: ScriptCoverage[] }>();
    this.#waiting.set(id, waiting);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return waiting.promise;
  }

  /** The files that ran since this was last asked. */
  async files(): Promise<Set<string>> {
    const { result = [] } = await this.#ask("Profiler.takePreciseCoverage");
    const root = new URL("../", import.meta.url).href;
    const ran = result.filter(({ functions }) =>
      functions.some(({ ranges }) => ranges.some(({ count }) => count > 0))
    );
    return new Set(
      ran.filter(({ url }) => url.startsWith(root)).map(({ url }) => url.slice(root.length))
        .filter((file) => counted.test(file)),
    );
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

async function makeCall(gateway: BenchGateway, { path, model, stream, status }: WayCall) {
  const { url, headers } = gateway.target;
  const response = await fetch(url + path, {
    method: "POST",
    headers: [...headers.map(([name, value]): [string, string] => [name, value]), [
      "content-type",
      "application/json",
    ]],
    body: JSON.stringify({
      model,
      stream,
      max_tokens: 100,
      messages: [{ role: "user", content: "Where does a call go?" }],
    }),
  });
  const text = await response.text();
  if (response.status !== status) throw new Error(`${path}: ${response.status} ${text}`);
}

/** The files of a call. */
async function filesOf(
  gateway: BenchGateway,
  coverage: Coverage,
  call: WayCall,
): Promise<Set<string>> {
  for (let time = 0; time < preparingCalls; time++) await makeCall(gateway, call);
  let files: Set<string> | undefined;
  for (let time = 0; time < countedCalls; time++) {
    await coverage.files();
    await makeCall(gateway, call);
    const ran = await coverage.files();
    files = files?.intersection(ran) ?? ran;
  }
  return files ?? new Set();
}

/** Gives the account a budget that refuses each call of the model of that way. */
async function addBudget(storePath: string): Promise<void> {
  using kv = await Deno.openKv(storePath);
  const account = await findAccountByEmail(kv, benchEmail);
  if (account === undefined) throw new Error("no account");
  await changeBudgets(kv, account.id, () => [{
    id: "way",
    name: "way",
    subject: { kind: "model", model: calls["budget refusal"].model },
    window: "month",
    amountMicroVnd: 1n,
    atLimit: "refuse",
    createdAtMs: 0,
  }]);
}

/** Runs each call and returns its files. */
export async function countWays(): Promise<Ways> {
  await using mock = await Server.start({
    command: denoCommand("mock_upstream.ts"),
    core: cores.around,
  });
  const inspectorPort = freePort();
  await using gateway = await BenchGateway.prepare(mock.port, { inspectorPort });
  await addBudget(gateway.storePath);
  await gateway.start();
  using coverage = await Coverage.start(inspectorPort);
  const ran = recordOf(names, (): Set<string>[] => []);
  let idle = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) ran[name].push(await filesOf(gateway, coverage, calls[name]));
    await coverage.files();
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    idle = idle.union(await coverage.files());
  }
  const waysOf = (name: WayName) =>
    [...ran[name].reduce((each, files) => each.intersection(files)).difference(idle)].sort();
  return {
    "native call": waysOf("native call"),
    "converted stream": waysOf("converted stream"),
    "budget refusal": waysOf("budget refusal"),
  };
}

/** The package of a file: its layer and the folder below it. */
function packageOf(file: string): string {
  return file.split("/").slice(0, 2).join("/");
}

/** Lines of the table by package. */
function table(ways: Ways): string[] {
  const packages = [...new Set(Object.values(ways).flat().map(packageOf))].sort();
  const row = (label: string, isIn: (file: string) => boolean) =>
    label.padEnd(24) +
    names.map((name) => String(ways[name].filter(isIn).length).padStart(name.length + 2)).join("");
  return [
    "package".padEnd(24) + names.map((name) => `  ${name}`).join(""),
    ...packages.map((name) => row(name, (file) => packageOf(file) === name)),
    row("all", () => true),
  ];
}

if (import.meta.main) {
  const ways = await countWays();
  for (const line of table(ways)) print(line);
  if (Deno.args.includes("--files")) {
    for (const [name, files] of Object.entries(ways)) {
      print(`\n${name}`);
      for (const file of files) print(`  ${file}`);
    }
  }
}
