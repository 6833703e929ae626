/**
 * Measures durable debits per second: reserve, settle, receipt on disk, index and day sums (goal 7 of
 * `docs/performance.md`). Before that it measures the floor of the goal: the store on this disk with one row per
 * commit.
 *
 * `deno run --allow-all bench/wallet_engine.ts [seconds]`
 */
import { systemClock } from "../core/lib/time/clock.ts";
import { type AccountId, type ApiKeyId, newId } from "../core/lib/ids/ids.ts";
import { credit } from "../kv/money/ledger/ledger.ts";
import { openWalletEngine, type ReceiptDraft, type WalletEngine } from "../kv/money/wallet/mod.ts";
import { print } from "./print.ts";
import { median } from "./statistics.ts";

const seconds = Number(Deno.args[0] ?? "5");
const settleMs = 1_500;
const priceMicroVnd = 12_782_000n;

/** User and system time of this process so far, all threads, in µs. */
function cpuMicros(): number {
  const fields = Deno.readTextFileSync("/proc/self/stat").split(") ")[1]?.split(" ") ?? [];
  const ticks = Number(fields[11]) + Number(fields[12]);
  return ticks * 10_000;
}

function draft(keyId: ReceiptDraft["keyId"]): ReceiptDraft {
  const nowMs = Date.now();
  return {
    requestId: newId("request", nowMs),
    keyId,
    kind: "chat",
    model: "premium-model",
    style: "messages",
    route: "sandbox/premium-model",
    startedAtMs: nowMs,
    latencyMs: 1234,
    firstOutputMs: 321,
    status: 200,
    stream: true,
    outcome: "completed",
    usage: { input: 1200, cacheRead: 0, cacheWrite: 0, output: 340, reasoning: 0 },
    estimated: false,
    units: 1,
    price: {
      unit: "token",
      inputPerMtokMicroVnd: 8_300_000_000n,
      outputPerMtokMicroVnd: 8_300_000_000n,
      cacheReadPerMtokMicroVnd: 8_300_000_000n,
      cacheWritePerMtokMicroVnd: 8_300_000_000n,
    },
    priceMicroVnd,
    attempts: [{ route: "sandbox/premium-model", outcome: "ok", ms: 1230 }],
  };
}

interface Customer {
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
}

interface Run {
  readonly wallets: number;
  readonly inFlight: number;
}

async function callsUntil(
  wallet: WalletEngine,
  accounts: readonly Customer[],
  lane: { at: number; readonly step: number; readonly untilMs: number },
  latenciesMs: number[],
): Promise<void> {
  while (performance.now() < lane.untilMs) {
    const customer = accounts[lane.at % accounts.length];
    lane.at += lane.step;
    if (!customer) throw new Error("no customer");
    const startedMs = performance.now();
    const pending = wallet.reserve(customer.accountId, priceMicroVnd * 4n);
    const result = "then" in pending ? await pending : pending;
    if (!result.ok) throw new Error(`refused: ${result.reason}`);
    await wallet.settle(result.reservation, draft(customer.keyId));
    latenciesMs.push(performance.now() - startedMs);
  }
}

async function bench(run: Run): Promise<void> {
  const directory = await Deno.makeTempDir();
  const kv = await Deno.openKv(`${directory}/bench.sqlite3`);
  const wallet = await openWalletEngine(kv, { clock: systemClock });
  const accounts: Customer[] = [];
  for (let at = 0; at < run.wallets; at++) {
    const accountId = newId("account", Date.now());
    accounts.push({ accountId, keyId: newId("apiKey", Date.now()) });
    await credit(kv, {
      accountId,
      amountMicroVnd: 10n ** 18n,
      kind: "demo",
      operationId: `bench:${at}`,
      reason: "bench",
      atMs: Date.now(),
    });
  }
  const load = async (durationMs: number): Promise<number[]> => {
    const latenciesMs: number[] = [];
    const untilMs = performance.now() + durationMs;
    await Promise.all(Array.from({ length: run.inFlight }, (_, at) => {
      return callsUntil(wallet, accounts, { at, step: run.inFlight, untilMs }, latenciesMs);
    }));
    return latenciesMs;
  };
  // The first call of a wallet draws its lease, which is rare; the benchmark measures the cost of every other call.
  await load(settleMs);
  const cpuBefore = cpuMicros();
  const startedMs = performance.now();
  const latenciesMs = await load(seconds * 1000);
  const settledMs = performance.now() - startedMs;
  await wallet.close();
  const closedMs = performance.now() - startedMs;
  const cpu = cpuMicros() - cpuBefore;
  kv.close();
  await Deno.remove(directory, { recursive: true });
  report(run, { latenciesMs, settledMs, closedMs, cpu });
}

const floorInFlight = 64;

async function benchFloor(): Promise<void> {
  const directory = await Deno.makeTempDir();
  const kv = await Deno.openKv(`${directory}/bench.sqlite3`);
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: floorInFlight }, async (_, lane) => {
    while (performance.now() < startedMs + seconds * 1_000) {
      const sentMs = performance.now();
      await kv.atomic().set(["floor", lane, latenciesMs.length], lane).commit();
      latenciesMs.push(performance.now() - sentMs);
    }
  }));
  const spentSeconds = (performance.now() - startedMs) / 1_000;
  kv.close();
  await Deno.remove(directory, { recursive: true });
  print(JSON.stringify({
    commitsPerSecond: Math.round(latenciesMs.length / spentSeconds),
    p50Ms: Number(median(latenciesMs).toFixed(2)),
  }));
}

function report(
  { wallets, inFlight }: Run,
  { latenciesMs, settledMs, closedMs, cpu }: {
    latenciesMs: number[];
    settledMs: number;
    closedMs: number;
    cpu: number;
  },
): void {
  latenciesMs.sort((one, other) => one - other);
  const at = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0;
  const count = latenciesMs.length;
  print(JSON.stringify({
    wallets,
    inFlight,
    debitsPerSecond: Math.round(count / settledMs * 1000),
    debitsPerSecondWithIndex: Math.round(count / closedMs * 1000),
    p50Ms: Number(at(0.5).toFixed(2)),
    p99Ms: Number(at(0.99).toFixed(2)),
    cpuMicrosPerDebit: Number((cpu / count).toFixed(1)),
    drainMs: Math.round(closedMs - settledMs),
  }));
}

if (import.meta.main) {
  await benchFloor();
  for (const inFlight of [1, 64, 256]) {
    for (const wallets of [1, 1000]) await bench({ wallets, inFlight });
  }
}
