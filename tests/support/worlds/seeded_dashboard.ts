/** A dashboard behind a real socket, with a customer who has a history, for tests of how pages look. */

import { claimDeliveries } from "./webhook_world.ts";
import { parseTags } from "../../../core/billing/usage/call_tags.ts";
import type { BudgetInput } from "../../../core/limits/budget_input.ts";
import { addBudget } from "../../../kv/people/accounts/budgets.ts";
import { type AccountId, type ApiKeyId, newId } from "../../../core/lib/ids/ids.ts";
import { exampleEvent, webhookBody, webhookKinds } from "../../../core/people/webhooks/events.ts";
import type { WebhookOutcome } from "../../../core/people/webhooks/retries.ts";
import { recordTry, sendAgain } from "../../../kv/people/webhooks/deliveries.ts";
import { addEndpoint, editEndpoint } from "../../../kv/people/webhooks/endpoints.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { readTopupSettings, type TopupSettings } from "../../../core/trade/settings/settings.ts";
import { createApiKey, revokeApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import {
  type DashboardWorld,
  noNetwork,
  openDashboardWorld,
  requestIdAt,
} from "./dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "./money_world.ts";
import { refuse } from "./refused_calls.ts";
import { receivingAccount } from "./topup_world.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

export interface SeededDashboard extends AsyncDisposable {
  readonly world: DashboardWorld;
  readonly address: string;
  /** One call's receipt page. */
  readonly receiptPath: string;
  /** A refused call's page. */
  readonly refusedPath: string;
  readonly keyPath: string;
  /** An endpoint of webhooks with a log, and a try of it. */
  readonly webhookPath: string;
  readonly webhookTryPath: string;
  /** Cookie of a signed-in browser. */
  readonly sessionToken: string;
}

/** What the seeds write to: the pages' store, clock and wallet. */
export type SeededWorld = Pick<DashboardWorld, "kv" | "time" | "wallet"> & {
  readonly deps: Pick<DashboardWorld["deps"], "masterKeys">;
};

function topupSettings(): TopupSettings {
  const read = readTopupSettings({
    GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
    GATEWAY_VAT_RATES: "2025-07-01=8",
  });
  if (!read.ok) throw new Error(read.problems.join("\n"));
  return read.settings;
}

/** A month of calls: more on weekdays, several models, a few that failed. */
export async function makeCalls(
  world: SeededWorld,
  accountId: AccountId,
  keyIds: readonly ApiKeyId[],
): Promise<string> {
  const nowMs = world.time.nowMs();
  const models = ["premium-1", "premium-1-thinking", "image-1"];
  let last = "";
  for (let i = 0; i < 60; i++) {
    const startedAtMs = nowMs - (59 - i) * 11 * hourMs;
    const failed = i % 13 === 5;
    const model = models[i % models.length]!;
    const input = 900 + (i * 7919) % 40_000;
    const output = 200 + (i * 104_729) % 3_000;
    const price = failed ? 0n : BigInt(input + output) * 8_300n;
    const requestId = requestIdAt(startedAtMs);
    await world.wallet.settle(
      await mustReserve(world.wallet, accountId, price),
      draftOf(price, {
        requestId,
        keyId: keyIds[i % keyIds.length]!,
        model,
        style: i % 2 === 0 ? "chat" : "messages",
        startedAtMs,
        latencyMs: 400 + (i * 613) % 9_000,
        firstOutputMs: 180 + (i * 97) % 700,
        stream: i % 3 === 0,
        status: failed ? 502 : 200,
        outcome: failed ? "failed" : "completed",
        usage: { input, cacheRead: i % 4 === 0 ? 512 : 0, cacheWrite: 0, output, reasoning: 0 },
        estimated: i % 17 === 3,
        ...(i % 2 === 0 && { tags: parseTags(`env=prod,team=${i % 6 === 0 ? "ads" : "search"}`)! }),
        price: {
          unit: "token",
          inputPerMtokMicroVnd: 8_300_000_000n,
          outputPerMtokMicroVnd: 8_300_000_000n,
          cacheReadPerMtokMicroVnd: 8_300_000_000n,
          cacheWritePerMtokMicroVnd: 8_300_000_000n,
        },
        priceMicroVnd: price,
        attempts: [
          { route: "a/premium-1", outcome: "upstream_unreachable", ms: 80 },
          { route: "b/premium-1", outcome: failed ? "upstream_unreachable" : "ok", ms: 900 },
        ],
      }),
    );
    last = requestId;
  }
  return last;
}

/** A budget of each end and several windows, one of them nearly used up. */
export async function makeBudgets(world: SeededWorld, accountId: AccountId, keyId: ApiKeyId) {
  const nowMs = world.time.nowMs();
  const inputs: readonly BudgetInput[] = [
    {
      name: "Everything",
      subject: { kind: "account" },
      window: "month",
      amountVnd: 20_000,
      atLimit: "tell",
    },
    {
      name: "Production",
      subject: { kind: "key", keyId },
      window: "week",
      amountVnd: 600,
      atLimit: "refuse",
    },
    {
      name: "Search team",
      subject: { kind: "tag", tag: { key: "team", value: "search" } },
      window: "month",
      amountVnd: 3_000,
      atLimit: "refuse",
    },
  ];
  for (const input of inputs) await addBudget(world.kv, accountId, input, { nowMs });
}

/** Four keys, the last of them revoked. */
export async function makeKeys(world: SeededWorld, accountId: AccountId): Promise<ApiKeyId[]> {
  const nowMs = world.time.nowMs();
  const ids: ApiKeyId[] = [];
  const names = ["Production server", "Máy tính xách tay", "CI", "Old laptop"];
  for (const [at, name] of names.entries()) {
    const made = await createApiKey(world.kv, world.deps.masterKeys, accountId, {
      name,
      nowMs: nowMs - (60 - at) * 24 * hourMs,
      ...(at === 0 && { monthlyLimitMicroVnd: fromVnd(500_000), allowedIps: ["203.0.113.0/24"] }),
    });
    if (!made.ok) throw new Error(made.reason);
    ids.push(made.record.id);
  }
  await revokeApiKey(world.kv, accountId, ids.at(-1)!, nowMs);
  return ids;
}

/** Two endpoints, one of them with tries of every outcome. Returns the path of that one. */
export async function makeWebhooks(world: SeededWorld, accountId: AccountId): Promise<string> {
  const { kv, time, deps: { masterKeys } } = world;
  const atMs = time.nowMs() - 3 * hourMs;
  const forms = ["first", "second"];
  const endpoints = [];
  for (
    const [url, name] of [
      ["https://hooks.example.com/model-gateway/events", "Kế toán"],
      ["https://ops.example.com/in", ""],
    ] as const
  ) {
    const formId = forms[endpoints.length] ?? "";
    const options = { url, name, kinds: webhookKinds, formId, nowMs: atMs };
    const added = await addEndpoint(kv, masterKeys, accountId, options);
    if (!added.ok) throw new Error(added.reason);
    endpoints.push(added.done.endpoint);
  }
  const [endpoint, other] = endpoints;
  if (endpoint === undefined || other === undefined) throw new Error("no endpoint was made");
  await editEndpoint(kv, accountId, other.id, { isOn: false, nowMs: atMs });
  const outcomes: WebhookOutcome[] = [
    { kind: "delivered", status: 204 },
    { kind: "failed", reason: "status", status: 503 },
    { kind: "delivered", status: 200 },
    { kind: "failed", reason: "timeout" },
    { kind: "failed", reason: "unreachable" },
  ];
  for (const [at, outcome] of outcomes.entries()) {
    const kind = webhookKinds[at % webhookKinds.length]!;
    const ended = { outcome, atMs: atMs + at * 60_000, durationMs: 90 + at * 1_234, random: 0 };
    const event = { eventId: newId("webhookEvent", atMs), type: kind };
    const body = webhookBody(exampleEvent(kind), { atMs });
    await sendAgain(kv, accountId, endpoint.id, { ...event, body }, ended.atMs);
    const [claim] = await claimDeliveries(kv, { nowMs: ended.atMs, count: 1 });
    if (claim === undefined) throw new Error("nothing to deliver");
    await recordTry(kv, claim, ended);
  }
  return `/webhooks/${endpoint.id}`;
}

/** Opens it. Close it at the end. */
export async function openSeededDashboard(): Promise<SeededDashboard> {
  const ready = Promise.withResolvers<DashboardWorld>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await (await ready.promise).fetch(request),
  );
  const address = `http://localhost:${server.addr.port}`;
  const topup = topupSettings();
  const world = await openDashboardWorld({
    companySignIn: noNetwork,
    baseUrl: address,
    topup,
  });
  ready.resolve(world);
  const { browser, account } = await world.signIn("lan.nguyen@example.com");
  await topUp(world.kv, account.id, fromVnd(500_000));
  const keyIds = await makeKeys(world, account.id);
  await makeBudgets(world, account.id, keyIds[0]!);
  const requestId = await makeCalls(world, account.id, keyIds.slice(0, 3));
  const [firstKey] = keyIds;
  if (firstKey === undefined) throw new Error("no key was made");
  const refused = await refuse(
    world.kv,
    { accountId: account.id, keyId: firstKey, atMs: world.time.nowMs() - 60_000 },
    { leftOut: 1_234 },
  );
  const webhookPath = await makeWebhooks(world, account.id);
  return {
    world,
    address,
    webhookPath,
    webhookTryPath: `${webhookPath}/deliveries/2`,
    receiptPath: `/receipts/${requestId}`,
    refusedPath: `/receipts/${refused.requestId}`,
    keyPath: `/keys/${keyIds[0]}`,
    sessionToken: browser.cookies.get("session") ?? "",
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await world[Symbol.asyncDispose]();
    },
  };
}
