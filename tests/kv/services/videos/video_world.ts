/** A store with accounts and charged video tasks, and a provider whose answers follow from the task's name. */
import { assert } from "../../../support/assert.ts";
import { type AccountId, type ApiKeyId, newId } from "../../../../core/lib/ids/ids.ts";
import type { VideoTask } from "../../../../core/media/video/task.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import {
  type AskProvider,
  newTaskRows,
  type VideoAnswer,
} from "../../../../kv/services/videos/mod.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const startMs = 1_700_000_000_000;
export const creditMicroVnd = 10_000_000_000_000n;

export interface FakeClock {
  now: number;
  nowMs(): number;
  monotonicMs(): number;
}

export function fakeClock(): FakeClock {
  const clock = { now: startMs, nowMs: () => clock.now, monotonicMs: () => clock.now };
  return clock;
}

/** A wallet engine that does background work only on request. */
export async function quietWalletEngine(
  kv: KeyValueStore,
  clock: FakeClock,
): Promise<WalletEngine> {
  return await openWalletEngine(kv, { clock, timer: { start: () => () => {} } });
}

export async function fundedAccount(kv: KeyValueStore): Promise<AccountId> {
  const accountId = newId("account", startMs);
  const result = await credit(kv, {
    accountId,
    amountMicroVnd: creditMicroVnd,
    kind: "topup",
    operationId: `test:${accountId}`,
    reason: "test",
    atMs: startMs,
  });
  assert(result.status === "applied");
  return accountId;
}

export interface NewTask {
  readonly accountId: AccountId;
  /** The behaviour of the provider: the first part of its task id. */
  readonly fate: string;
  readonly priceMicroVnd?: bigint;
  readonly deadlineMs?: number;
}

/** Charges and stores a task, as the endpoint does. */
export async function chargedTask(wallet: WalletEngine, clock: FakeClock, more: NewTask) {
  const { priceMicroVnd = 3_300_000_000n, deadlineMs = 3_600_000 } = more;
  const keyId = newId("apiKey", startMs) as ApiKeyId;
  const requestId = newId("request", clock.now);
  const task: VideoTask = {
    id: newId("video", clock.now),
    accountId: more.accountId,
    keyId,
    requestId,
    model: "video-a",
    route: "sandbox/video-a",
    credential: undefined,
    upstreamId: `${more.fate}-${requestId}`,
    state: "queued",
    progress: 0,
    createdAtMs: clock.now,
    completedAtMs: undefined,
    expiresAtMs: undefined,
    deadlineAtMs: clock.now + deadlineMs,
    seconds: 5,
    size: "720x1280",
    error: undefined,
    costMicroVnd: priceMicroVnd,
    refundId: undefined,
  };
  const reserved = await wallet.reserve(more.accountId, priceMicroVnd);
  assert(reserved.ok, "the wallet pays");
  const receipt = await wallet.settle(reserved.reservation, {
    requestId,
    keyId,
    kind: "video",
    model: task.model,
    style: "videos",
    route: task.route,
    startedAtMs: clock.now,
    latencyMs: 5,
    status: 200,
    stream: false,
    outcome: "completed",
    estimated: false,
    units: 1,
    price: { unit: "video", perUnitMicroVnd: priceMicroVnd },
    priceMicroVnd,
    attempts: [],
  }, newTaskRows(task));
  return { task, receipt };
}

function seen(state: "queued" | "in_progress" | "completed" | "failed"): VideoAnswer {
  const error = state === "failed" ? { code: "moderation_blocked", message: "no" } : undefined;
  return {
    kind: "seen",
    retryAfterMs: undefined,
    sighting: { state, progress: 50, completedAtMs: undefined, expiresAtMs: undefined, error },
  };
}

/** Fates: `works`, `fails`, `stalls` (never ends), `vanishes` (unknown to the provider), `unreachable`. */
export function fatefulProvider(clock: FakeClock): AskProvider {
  return async (task) => {
    await Promise.resolve();
    const ageMs = clock.now - task.createdAtMs;
    switch (task.upstreamId.split("-")[0]) {
      case "works":
        return seen(ageMs < 90_000 ? "queued" : ageMs < 200_000 ? "in_progress" : "completed");
      case "fails":
        return seen(ageMs < 150_000 ? "in_progress" : "failed");
      case "stalls":
        return seen("in_progress");
      case "vanishes":
        return { kind: "unknown" };
      default:
        throw new Error("connection refused");
    }
  };
}
