/** Several gateway processes on one store: what one does holds for all, and the money is exact. */
import { assert, assertEquals } from "../support/assert.ts";
import OpenAI from "openai";
import { sleep } from "../../core/lib/time/sleep.ts";
import {
  type SharedStore,
  startDenokvStore,
  startFaultyStore,
} from "../support/servers/kv_connect/server.ts";
import { denokvProgram } from "../support/servers/denokv_server.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { newAdminPayer } from "../support/gateways/admin_payer.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { until } from "../support/until.ts";
import { bearerPost } from "../support/api_post.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

/** A PostgreSQL server of its own as the store. */
async function startPostgresStore(): Promise<SharedStore> {
  const server = await startPostgres(programs ?? "");
  return {
    env: { GATEWAY_KV: server.url, GATEWAY_MASTER_KEYS: newMasterKey() },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Milliseconds for money to come back from leases, of which those of a dead instance last a minute. */
const leasesMs = 180_000;

/** Milliseconds between two verifications of a whole store, which take much of a processor. */
const betweenVerifyingMs = 1_000;

/** Calls that a store has to serve while it loses answers. */
const servedCalls = 200;

const programs = await postgresPrograms();
const denokv = await denokvProgram();

/** The stores that several instances may share. */
const stores: readonly (readonly [string, () => Promise<SharedStore>])[] = [
  denokv === undefined
    ? ["KV Connect", () => Promise.resolve(startFaultyStore())]
    : ["denokv", () => startDenokvStore(denokv)],
  ...(programs === undefined ? [] : [["PostgreSQL", startPostgresStore] as const]),
];

function startSeveral({ env }: SharedStore, count: number): Promise<StartedGateway[]> {
  return Promise.all(Array.from({ length: count }, () => startGateway({ env })));
}

/** The price of premium-1 in gateway.json, for input and output alike. */
const premiumVndPerMtok = 8_300;

/** A call at 230 VND, and its outcome. */
async function call(
  { address }: StartedGateway,
  key: string,
  said: string,
  stream = false,
): Promise<{ readonly requestId: string; readonly outcome: string }> {
  const response = await fetch(bearerPost(`${address}/v1/chat/completions`, key, {
    model: "low-cost-01",
    max_tokens: 20,
    stream,
    messages: [{ role: "user", content: said }],
  }));
  const requestId = response.headers.get("x-request-id") ?? "";
  const text = await response.text();
  if (response.status !== 200) return { requestId, outcome: JSON.parse(text).error.code };
  const isWhole = stream ? text.includes("data: [DONE]") : text.endsWith("}");
  return { requestId, outcome: isWhole ? "whole" : "cut" };
}

async function assertVerified(gateway: StartedGateway): Promise<{ leasedVnd: string }> {
  const { code, output } = await gateway.admin("verify");
  assertEquals(code, 0, output);
  return JSON.parse(output);
}

/** Charges of other instances appear when they write their leases, some half a second later. */
async function untilBalance({ admin }: StartedGateway, id: string, vnd: number): Promise<void> {
  await until(async () => {
    const { output } = await admin("account", "show", id);
    return JSON.parse(output).balanceVnd === String(vnd);
  }, `the balance is ${vnd}`);
}

async function endAll(gateways: readonly StartedGateway[]): Promise<void> {
  for (const gateway of gateways) assertEquals(await gateway.end("SIGTERM"), 0);
}

for (const [name, start] of stores) {
  Deno.test(
    `${name}: 200 calls over three instances on a wallet that affords exactly 50: 50 succeed, nothing is left`,
    processes,
    async () => {
      await using store = await start();
      const gateways = await startSeveral(store, 3);
      const [first] = gateways as [StartedGateway];
      const payer = await newAdminPayer(first, 50 * 230);
      // Money in the lease of another instance comes back, so a retry can succeed only then.
      const insist = async (i: number) => {
        let tries = 0;
        return await until(
          async () => {
            const gateway = gateways[(i + tries++) % gateways.length]!;
            const { outcome } = await call(gateway, payer.key, `call ${i}`);
            if (outcome !== "balance_on_hold") return outcome;
            await sleep(50);
            return undefined;
          },
          `call ${i} gets the money or none is left`,
          leasesMs,
        );
      };
      const outcomes = await Promise.all(Array.from({ length: 200 }, (_, i) => insist(i)));
      assertEquals(outcomes.filter((outcome) => outcome === "whole").length, 50, outcomes.join());
      const rest = new Set(outcomes);
      rest.delete("whole");
      assertEquals(rest, new Set(["insufficient_balance"]));
      await untilBalance(first, payer.id, 0);
      await assertVerified(first);
      await endAll(gateways);
    },
  );
}

/** A call of some 0.1 VND that reserves about `vnd` for what the model might write. */
async function reservingCall({ address }: StartedGateway, key: string, vnd: number) {
  const response = await fetch(bearerPost(`${address}/v1/chat/completions`, key, {
    model: "premium-1",
    max_tokens: Math.floor(vnd / premiumVndPerMtok * 1_000_000),
    messages: [{ role: "user", content: "hello" }],
  }));
  await response.body?.cancel();
  return response.status;
}

for (const [name, start] of stores) {
  Deno.test(
    `${name}: a wallet of 100 VND serves a client, and then eight, on three instances`,
    processes,
    async () => {
      await using store = await start();
      const gateways = await startSeveral(store, 3);
      const [first] = gateways as [StartedGateway];
      const { key } = await newAdminPayer(first, 100);
      const statuses: number[] = [];
      for (let at = 0; at < 30; at++) {
        statuses.push(await reservingCall(gateways[at % 3]!, key, 67));
      }
      const eight = await Promise.all(Array.from({ length: 8 }, async (_, client) => {
        const own: number[] = [];
        for (let at = 0; at < 5; at++) {
          own.push(await reservingCall(gateways[(client + at) % 3]!, key, 11));
        }
        return own;
      }));
      assertEquals([...statuses, ...eight.flat()].filter((status) => status !== 200), []);
      await endAll(gateways);
    },
  );
}

for (const [name, start] of stores) {
  Deno.test(
    `${name}: a key revoked at one instance is refused by another, and maintenance holds there too`,
    processes,
    async () => {
      await using store = await start();
      const gateways = await startSeveral(store, 2);
      const [, other] = gateways as [StartedGateway, StartedGateway];
      const { key, keyId, id } = await newAdminPayer(other, 100_000);
      assertEquals((await call(other, key, "before")).outcome, "whole");
      assertEquals((await other.admin("key", "revoke", id, keyId)).code, 0);
      const refused = async (code: string) => (await call(other, key, "after")).outcome === code;
      await until(() => refused("invalid_api_key"), "the key is refused");
      assertEquals((await other.admin("maintenance", "on", "--message", "back soon")).code, 0);
      await until(() => refused("maintenance"), "maintenance holds");
      assertEquals((await other.admin("maintenance", "off")).code, 0);
      await until(() => refused("invalid_api_key"), "maintenance has ended");
      await endAll(gateways);
    },
  );
}

// Most of its time is a minute's wait for the lease of the dead instance, so the stores share it.
Deno.test(
  `${stores.map(([name]) => name).join(", ")}: kill -9 of one of three under load: ` +
    "the others go on, what it held comes back, no receipt is missing",
  processes,
  async () => {
    const ends = await Promise.allSettled(stores.map(async ([, start]) => {
      await using store = await start();
      const gateways = await startSeveral(store, 3);
      const [first, , doomed] = gateways as [StartedGateway, StartedGateway, StartedGateway];
      const { key } = await newAdminPayer(first, 10_000_000);
      const whole: string[] = [];
      let isLoaded = true;
      const load = Array.from({ length: 32 }, async (_, client) => {
        for (let i = client; isLoaded; i++) {
          const gateway = gateways[i % gateways.length]!;
          const said = `[[sandbox:pace ${1 + i % 5}]] call ${client} ${i}`;
          const seen = await call(gateway, key, said, i % 2 === 0).catch(() => undefined);
          if (seen?.outcome === "whole") whole.push(seen.requestId);
          else if (gateway !== doomed) assertEquals(seen?.outcome, "whole");
        }
      });
      await until(() => whole.length > 100, "100 calls have ended", leasesMs);
      await doomed.end("SIGKILL");
      gateways.pop();
      const before = whole.length;
      await until(() => whole.length > before + 100, "100 more have ended", leasesMs);
      isLoaded = false;
      await Promise.all(load);
      const exported = (await first.admin("export")).output;
      assertEquals(whole.filter((requestId) => !exported.includes(requestId)), []);
      // Its lease ends a minute after its last heartbeat; those of the others, once they are idle.
      await until(
        async () => {
          if ((await assertVerified(first)).leasedVnd === "0") return true;
          await sleep(betweenVerifyingMs);
          return undefined;
        },
        "everything is back in the wallet",
        leasesMs,
      );
      await endAll(gateways);
    }));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  },
);

Deno.test(
  "answers of the store are lost or come twice: every call counts once and has its receipt",
  processes,
  async () => {
    await using store = startFaultyStore();
    const gateways = await startSeveral(store, 2);
    const [first] = gateways as [StartedGateway];
    const { id, key } = await newAdminPayer(first, 1_000_000);
    let calls = 0;
    let served = 0;
    store.fateOf = () => ++calls % 5 === 0 ? "lost" : "answered";
    const seen = await Promise.all(Array.from({ length: 16 }, async (_, client) => {
      const whole: string[] = [];
      for (let i = 0; served < servedCalls; i++) {
        assert(i < servedCalls, "one client alone has made as many calls as all of them need");
        const gateway = gateways[(client + i) % gateways.length]!;
        const { outcome, requestId } = await call(gateway, key, `${client} ${i}`, i % 2 === 0);
        if (outcome === "whole") {
          whole.push(requestId);
          served++;
        } else assert(["overloaded", "maintenance"].includes(outcome), outcome);
      }
      return whole;
    }));
    const whole = seen.flat();
    store.fateOf = () => "answered";
    await untilBalance(first, id, 1_000_000 - whole.length * 230);
    const exported = (await first.admin("export")).output;
    assertEquals(whole.filter((requestId) => !exported.includes(requestId)), []);
    await assertVerified(first);
    await endAll(gateways);
  },
);

Deno.test(
  "a store that stops answering: 503 soon for every call that needs it, and normal service when it is back",
  processes,
  async () => {
    await using store = startFaultyStore();
    const gateways = await startSeveral(store, 2);
    const [first, other] = gateways as [StartedGateway, StartedGateway];
    const { key } = await newAdminPayer(first, 100_000);
    assertEquals((await call(first, key, "before")).outcome, "whole");
    store.fateOf = () => "silent";
    const status = async (path: string) => {
      const headers: HeadersInit = path.startsWith("/v1")
        ? { authorization: `Bearer ${key}` }
        : { cookie: `session=${"a".repeat(43)}` };
      const signal = AbortSignal.timeout(15_000);
      const response = await fetch(`${first.address}${path}`, { headers, signal });
      await response.body?.cancel();
      return response.status;
    };
    await until(async () => await status("/readyz") === 503, "it is not ready");
    const paths = ["/v1/models", "/v1/videos", "/v1/usage", "/usage", "/healthz"];
    assertEquals(await Promise.all(paths.map(status)), [503, 503, 503, 503, 200]);
    assertEquals((await call(first, key, "meanwhile")).outcome, "maintenance");
    // No job, worker or ledger write that waits for the store keeps the process from ending.
    assertEquals(await other.end("SIGTERM"), 0);
    store.fateOf = () => "answered";
    await until(async () => await status("/readyz") === 200, "it is ready again");
    assertEquals((await call(first, key, "after")).outcome, "whole");
    await assertVerified(first);
    assertEquals(await first.end("SIGTERM"), 0);
  },
);

for (const [name, start] of stores) {
  Deno.test(
    `${name}: videos that two instances make and poll end once, and a failure is refunded once`,
    processes,
    async () => {
      await using store = await start();
      const gateways = await startSeveral(store, 2);
      const [first] = gateways as [StartedGateway];
      const { id, key } = await newAdminPayer(first, 100_000);
      const clients = gateways.map(({ address }) =>
        new OpenAI({ baseURL: `${address}/v1`, apiKey: key, maxRetries: 0 })
      );
      await Promise.all(Array.from({ length: 12 }, (_, i) =>
        clients[i % 2]!.videos.create({
          model: "video-c",
          prompt: i % 3 === 0 ? "[[sandbox:video-fail]]" : "works",
        })));
      const statuses = () =>
        Promise.all(
          clients.map(async (client) =>
            (await Array.fromAsync(client.videos.list({ limit: 100 }))).map(({ status }) => status)
          ),
        );
      const [mine = [], others = []] = await until(
        async () => {
          const all = await statuses();
          return all.flat().every((one) => one === "completed" || one === "failed") && all;
        },
        "all videos have ended",
        60_000,
      );
      assertEquals(mine, others);
      assertEquals(mine.filter((status) => status === "completed").length, 8);
      assertEquals(mine.filter((status) => status === "failed").length, 4);
      await untilBalance(first, id, 100_000 - 8 * 2_200);
      await assertVerified(first);
      await endAll(gateways);
    },
  );
}
