/** A complete gateway in this process, on a store in memory, for tests that need no socket. */
import { buildCatalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { type Config, readConfig } from "../../../core/config/config.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  type MasterKeys,
  newMasterKey,
  readMasterKeys,
} from "../../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import type { ApiKeyOptions } from "../../../kv/people/api_keys/api_keys.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { assemble, type Assembled } from "../../../routes/server/assembly/assemble.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import { kvCallMs } from "../../../kv/engine/store/store_deadlines.ts";
import { ManualTime } from "../manual_time.ts";

export interface TestGateway extends AsyncDisposable {
  readonly assembled: Assembled;
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  /** The clock of the gateway; it stands still until the test advances it. */
  readonly time: ManualTime;
  /** Log lines so far. */
  readonly log: string[];
  /** Moves the clock on, by more than a tick. What begins afterwards has the whole of its time. */
  advance(ms: number): Promise<void>;
  /** Serves one request, as if it came over a socket. */
  fetch(request: Request): Promise<Response>;
  /** Creates an account with a key and, optionally, money. */
  customer(
    vnd?: number,
    limits?: Omit<ApiKeyOptions, "name">,
  ): Promise<{ accountId: AccountId; key: string }>;
}

export interface TestGatewayOptions {
  /** Changes the default file before it is read. */
  readonly file?: (file: Record<string, unknown>) => unknown;
  readonly env?: Readonly<Record<string, string>>;
  /** A store that is shared with another gateway; it is not closed at the end. */
  readonly kv?: KeyValueStore;
  readonly masterKeys?: MasterKeys;
  /** A clock that is shared with other parts of the test. */
  readonly time?: ManualTime;
  /**
   * Runs pauses, time-outs and periodic work. By default the machine does, and finds how much time has passed on the
   * clock of the test: what is periodic runs, and nothing times out. A test that times such work passes its `time`.
   */
  readonly timer?: Timer;
}

/**
 * A catalogue whose models are served by one stub of a provider: `p`, as chat models of the family `test` unless they
 * say otherwise.
 *
 * @param auth the way its key is sent; absent: that of the style
 */
export function servedBy(
  { port }: { readonly port: number },
  { models, ...file }: { readonly models: readonly object[]; readonly [member: string]: unknown },
  auth?: string,
): Required<Pick<TestGatewayOptions, "env" | "file">> {
  const provider = { kind: "http", baseUrl: `http://127.0.0.1:${port}`, apiKeyEnv: "PROVIDER_KEY" };
  return {
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      ...file,
      providers: { p: auth === undefined ? provider : { ...provider, auth } },
      models: models.map((model) => ({ kind: "chat", family: "test", ...model })),
    }),
  };
}

const defaultFile = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));

/**
 * Variables that every gateway of the tests has: the server that `TEST_HTTP_SERVER` names, so that all tests can run
 * with each.
 */
export const testEnvironment: Readonly<Record<string, string>> = {
  // What is away stays away until a test mends it.
  GATEWAY_STORE_WAIT_MS: "0",
  GATEWAY_HTTP_SERVER: Deno.env.get("TEST_HTTP_SERVER") ?? "",
};

/** Configurations that were read, by what they were read from: reading one takes half of the time of a gateway's start. */
const readConfigs = new Map<string, Config>();

/** The configuration of a test: the default file, changed. Tests that ask for the same one share it. */
export function testConfig(options: TestGatewayOptions = {}): Config {
  const file: Record<string, unknown> = JSON.parse(defaultFile);
  const text = JSON.stringify(options.file?.(file) ?? file);
  const env = { GATEWAY_KV: ":memory:", ...testEnvironment, ...options.env };
  const key = JSON.stringify([env, text]);
  const known = readConfigs.get(key);
  if (known !== undefined) return known;
  const read = readConfig(env, text);
  if (!read.ok) throw new Error(read.problems.join("\n"));
  readConfigs.set(key, read.config);
  return read.config;
}

/** How much longer than in production a slow machine may take for what is bounded by seconds, as a call of the store is. */
const patience = 20;

/** Milliseconds of a tick of {@linkcode Deadlines}; what is this short is due once a test has moved the clock on. */
const tickMs = 100;

/** The machine's timer. Nothing times out with it because the machine is slow. */
class PatientTimer implements Timer {
  readonly #ticks = new Set<() => void>();

  start(run: () => void, delayMs: number): () => void {
    if (delayMs > tickMs) {
      return systemTimer.start(run, delayMs >= kvCallMs ? patience * delayMs : delayMs);
    }
    const tick = () => {
      cancel();
      run();
    };
    const stop = systemTimer.start(tick, delayMs);
    const cancel = () => {
      this.#ticks.delete(tick);
      stop();
    };
    this.#ticks.add(tick);
    return cancel;
  }

  /** Runs the ticks that wait: the machine would need a tenth of a second each time that a test moves the clock. */
  tick(): void {
    for (const tick of [...this.#ticks]) tick();
  }
}

/** In the middle of a minute, an hour and a day of Vietnam, so that no test meets their ends unless it goes there. */
const startMs = Date.UTC(2026, 10, 20, 5, 30, 30);

/** Opens a gateway; dispose of it at the end. */
export async function openTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const kv = options.kv ?? await Deno.openKv(":memory:");
  const masterKeys = options.masterKeys ?? await readMasterKeys(newMasterKey());
  const time = options.time ?? new ManualTime(startMs);
  const log: string[] = [];
  const timer = new PatientTimer();
  const assembled = await assemble(testConfig(options), kv, {
    clock: time,
    timer: options.timer ?? timer,
    // Of equal routes the first one is taken: a draw of a sequence would depend on what others drew before.
    random: () => 0,
    write: (line) => log.push(line),
    masterKeys,
  });
  const app = createApp(assembled.gateway, { stopping: () => false });
  const { clock, deadlines } = assembled.gateway;
  return {
    assembled,
    kv,
    masterKeys,
    time,
    log,
    async advance(ms) {
      // Deadlines count from their last turn: one that is armed before the next would have lost this time.
      const { promise: turned, resolve } = Promise.withResolvers<void>();
      deadlines.create(resolve).arm(0);
      time.advance(ms);
      timer.tick();
      await turned;
    },
    async fetch(request) {
      return await app.fetch(request, { clientAddress: "127.0.0.1" });
    },
    async customer(vnd = 0, limits = {}) {
      const account = await createAccount(kv, { nowMs: clock.nowMs() });
      const made = await createApiKey(kv, masterKeys, account.id, {
        name: "test",
        nowMs: clock.nowMs(),
        ...limits,
      });
      if (!made.ok) throw new Error(made.reason);
      if (vnd > 0) {
        await credit(kv, {
          accountId: account.id,
          amountMicroVnd: fromVnd(vnd),
          kind: "admin",
          operationId: `test:${account.id}`,
          reason: "test",
          atMs: clock.nowMs(),
        });
      }
      return { accountId: account.id, key: made.secret };
    },
    async [Symbol.asyncDispose]() {
      await assembled.close();
      if (options.kv === undefined) kv.close();
    },
  };
}

/** The default catalogue, for tests that need one model of it. */
export function defaultCatalog() {
  const built = buildCatalog(gatewayFileSchema.parse(JSON.parse(defaultFile)));
  if (!built.ok) throw new Error(built.problems.join("\n"));
  return built.catalog;
}
