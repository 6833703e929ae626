/** A gateway inside this process, on a store in memory whose calls can be counted. */
import { systemClock } from "../core/lib/time/clock.ts";
import { readConfig } from "../core/config/config.ts";
import { type MasterKeys, newMasterKey, readMasterKeys } from "../core/people/api_keys/seal.ts";
import { fromVnd } from "../core/billing/money/micro_vnd.ts";
import { createAccount } from "../kv/people/accounts/accounts.ts";
import { createApiKey } from "../kv/people/api_keys/api_key_changes.ts";
import { credit } from "../kv/money/ledger/ledger.ts";
import { createApp } from "../routes/server/listen/app.ts";
import { assemble } from "../routes/server/assembly/assemble.ts";
import type { KeyValueStore } from "../kv/engine/store/key_value_store.ts";
import { configuration } from "./gateway.ts";

/** Calls `onCall` with the result of each call of a method. */
export function countCalls(target: object, name: string, onCall: (result: unknown) => void): void {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") throw new TypeError(`No method ${name}`);
  Reflect.set(target, name, (...args: unknown[]) => {
    const result: unknown = method.apply(target, args);
    onCall(result);
    return result;
  });
}

async function makeKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  nowMs: number,
): Promise<string> {
  const account = await createAccount(kv, { nowMs, email: "bench@example.invalid" });
  await credit(kv, {
    accountId: account.id,
    amountMicroVnd: fromVnd(1_000_000_000),
    kind: "demo",
    operationId: "bench",
    reason: "bench",
    atMs: nowMs,
  });
  const made = await createApiKey(kv, masterKeys, account.id, { name: "bench", nowMs });
  if (!made.ok) throw new Error("No key");
  return made.secret;
}

export interface InProcessGateway extends AsyncDisposable {
  /** Makes one small chat call, and waits for the end of its answer. */
  call(): Promise<void>;
}

/**
 * Opens a gateway on `kv`, whose only provider listens at `upstreamPort`. `onReady` runs once the store holds the
 * account and before the gateway opens it.
 */
export async function openInProcessGateway(
  kv: KeyValueStore,
  upstreamPort: number,
  onReady: () => void,
): Promise<InProcessGateway> {
  const masterKeys = await readMasterKeys(newMasterKey());
  const secret = await makeKey(kv, masterKeys, Date.now());
  onReady();
  const read = readConfig({ BENCH_PROVIDER_KEY: "bench" }, configuration(upstreamPort));
  if (!read.ok) throw new Error(read.problems.join("\n"));
  const assembled = await assemble(read.config, kv, {
    clock: systemClock,
    random: Math.random,
    write: () => {},
    masterKeys,
  });
  const app = createApp(assembled.gateway, { stopping: () => false });
  return {
    async call() {
      const answer = await app.fetch(
        new Request("http://gateway.invalid/v1/chat/completions", {
          method: "POST",
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: "bench-json",
            max_tokens: 100,
            messages: [{ role: "user", content: "Hello!" }],
          }),
        }),
        { clientAddress: "127.0.0.1" },
      );
      await answer.bytes();
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    },
    [Symbol.asyncDispose]: () => assembled.close(),
  };
}
