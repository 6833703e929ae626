/** A gateway on several serving threads, whose owner is this thread: its workers can be ended one by one. */
import { systemClock } from "../../../core/lib/time/clock.ts";
import { readConfig } from "../../../core/config/config.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import type { ApiKeyOptions, ApiKeyRecord } from "../../../kv/people/api_keys/api_keys.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { openParts } from "../../../routes/server/assembly/opening.ts";
import { serveWithWorkers } from "../../../routes/server/workers/owner.ts";
import {
  startWorkerThread,
  type WorkerStart,
  type WorkerThread,
} from "../../../routes/server/workers/worker_thread.ts";

export interface ThreadedGateway extends AsyncDisposable {
  readonly address: string;
  /** The open store, beside the workers. */
  readonly kv: KeyValueStore;
  /** Lines so far: the banner and the log. */
  readonly lines: readonly string[];
  /** The running threads by their numbers. */
  readonly threads: ReadonlyMap<number, WorkerThread>;
  customer(
    vnd: number,
    limits?: Omit<ApiKeyOptions, "name">,
  ): Promise<
    { readonly accountId: AccountId; readonly key: string; readonly record: ApiKeyRecord }
  >;
  /** Sends a request on a connection of its own, so that the system chooses the worker. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Tells the gateway to stop, as SIGTERM does; resolves with the exit code. */
  stop(): Promise<number>;
  /** Works on the store of the stopped gateway. */
  afterwards<Result>(run: (kv: KeyValueStore) => Promise<Result>): Promise<Result>;
}

export interface ThreadedGatewayOptions {
  readonly workers?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The text of `gateway.json`. */
  readonly file?: string;
  readonly startThread?: (start: WorkerStart) => WorkerThread;
}

const defaultFile = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));

/** Runs a gateway with threads; resolves with its exit code when it has stopped. */
export async function runThreaded(
  { workers = 2, env = {}, file = defaultFile, startThread = startWorkerThread }:
    ThreadedGatewayOptions,
  { write, signal, onStore }: {
    readonly write: (line: string) => void;
    readonly signal: AbortSignal;
    readonly onStore?: (kv: KeyValueStore, makeKey: MakeKey) => void;
  },
): Promise<number> {
  const environment = { GATEWAY_KV: ":memory:", PORT: "0", GATEWAY_DRAIN_MS: "2000", ...env };
  const read = readConfig(environment, file);
  if (!read.ok) throw new Error(read.problems.join("\n"));
  const options = { clock: systemClock, random: Math.random, write, signal };
  const opened = await openParts(read.config, options);
  if (!opened.ok) throw new Error(opened.problem);
  using store = opened.store;
  const { masterKeys } = opened;
  onStore?.(store.kv, async (accountId, limits) => {
    const nowMs = Date.now();
    const made = await createApiKey(store.kv, masterKeys, accountId, {
      name: "test",
      nowMs,
      ...limits,
    });
    if (!made.ok) throw new Error(made.reason);
    return made;
  });
  const source = { environment, file };
  return await serveWithWorkers(
    opened.config,
    { ...opened, workers, source, startThread },
    options,
  );
}

type MakeKey = (
  accountId: AccountId,
  limits: Omit<ApiKeyOptions, "name">,
) => Promise<{ readonly secret: string; readonly record: ApiKeyRecord }>;

/** Serves until it is disposed of. */
export async function serveThreaded(
  options: ThreadedGatewayOptions = {},
): Promise<ThreadedGateway> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-threads-" });
  const path = `${folder}/gateway.sqlite3`;
  const lines: string[] = [];
  const threads = new Map<number, WorkerThread>();
  const stopping = new AbortController();
  const listening = Promise.withResolvers<string>();
  const opened = Promise.withResolvers<{ kv: KeyValueStore; makeKey: MakeKey }>();
  const ended = runThreaded({
    ...options,
    env: { GATEWAY_KV: path, ...options.env },
    startThread(start) {
      const thread = (options.startThread ?? startWorkerThread)(start);
      threads.set(start.number, thread);
      return thread;
    },
  }, {
    signal: stopping.signal,
    onStore: (kv, makeKey) => opened.resolve({ kv, makeKey }),
    write(text) {
      lines.push(...text.split("\n"));
      const found = /listening on (http:\S+)/.exec(text)?.[1];
      if (found !== undefined) listening.resolve(found);
    },
  });
  const failed = ended.then((code): never => {
    throw new Error(`It ended with code ${code}:\n${lines.join("\n")}`);
  });
  failed.catch(() => {});
  const address = await Promise.race([listening.promise, failed]);
  const { kv, makeKey } = await opened.promise;

  async function stop(): Promise<number> {
    stopping.abort();
    return await ended;
  }

  return {
    address,
    kv,
    lines,
    threads,
    async customer(vnd, limits = {}) {
      const nowMs = Date.now();
      const { id: accountId } = await createAccount(kv, { nowMs });
      const { secret, record } = await makeKey(accountId, limits);
      await credit(kv, {
        accountId,
        amountMicroVnd: fromVnd(vnd),
        kind: "admin",
        operationId: `test:${accountId}`,
        reason: "test",
        atMs: nowMs,
      });
      return { accountId, key: secret, record };
    },
    async fetch(path, init = {}) {
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      const response = await fetch(`${address}${path}`, { ...init, client });
      const body = await response.bytes();
      return new Response(body, response);
    },
    stop,
    async afterwards(run) {
      using kv = await Deno.openKv(path);
      return await run(kv);
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
