/**
 * `kill -9` while embeddings, ranks, recordings, moderations and completions are settled, with and without idempotency
 * keys. Afterwards the books are exact, every answer that a client has seen has its receipt, and no key is charged twice.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { fromVnd, parseVnd } from "../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import { listReceipts } from "../../kv/money/receipts/receipts.ts";
import { chimeMp3Base64 } from "../../sandbox/provider/media/assets/chime_mp3.ts";
import {
  assertSoundBooks,
  balanceVnd,
  killAmid,
  newPayer,
  onStore,
  type Payer,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };
const creditVnd = 1_000_000;
const callsOfEach = 8;

const model = (id: string, kind: string, price: object) => ({
  id,
  kind,
  family: "test",
  price,
  routes: [{ provider: "sandbox" }],
});

/** Prices with fractions of a VND, so that a rounding that differs between debit and receipt would show. */
const models = [
  model("embed-1", "embedding", { unit: "token", vndPerMtok: 1_234_567.8901 }),
  model("rerank-1", "rerank", { unit: "search", vnd: 50.5 }),
  model("hear-1", "transcription", { unit: "second", vndPerMinute: 601 }),
  model("hear-2", "transcription", { unit: "request", vnd: 70.25 }),
  model("moderate-1", "moderation", { unit: "request", vnd: 5.0001 }),
  model("complete-1", "completion", { unit: "token", vndPerMtok: 1_000_000.5 }),
  model("complete-2", "completion", { unit: "token", vndPerMtok: 2_000_000 }),
];

const recording = Uint8Array.fromBase64(chimeMp3Base64.join(""));
/** The sandbox waits so long, so that calls are in all stages when the process dies. */
const slow = "[[sandbox:slow 12]]";

function formOf(model: string): FormData {
  const form = new FormData();
  form.set("model", model);
  form.set("file", new File([recording], "chime.mp3", { type: "audio/mpeg" }));
  return form;
}

interface Endpoint {
  readonly model: string;
  readonly path: string;
  readonly body: () => object | FormData;
}

const endpoints: readonly Endpoint[] = [
  {
    model: "embed-1",
    path: "/v1/embeddings",
    body: () => ({ model: "embed-1", input: ["a red cat", `${slow} a dog`] }),
  },
  {
    model: "rerank-1",
    path: "/v1/rerank",
    body: () => ({
      model: "rerank-1",
      query: `${slow} red`,
      documents: ["a red cat", "a dog"],
    }),
  },
  { model: "hear-1", path: "/v1/audio/transcriptions", body: () => formOf("hear-1") },
  { model: "hear-2", path: "/v1/audio/translations", body: () => formOf("hear-2") },
  {
    model: "moderate-1",
    path: "/v1/moderations",
    body: () => ({ model: "moderate-1", input: `${slow} is this fine?` }),
  },
  {
    model: "complete-1",
    path: "/v1/completions",
    body: () => ({ model: "complete-1", prompt: `${slow} def f(`, suffix: ")", max_tokens: 40 }),
  },
  {
    model: "complete-2",
    path: "/v1/completions",
    body: () => ({
      model: "complete-2",
      prompt: `${slow} the rivers of the north`,
      max_tokens: 40,
      stream: true,
    }),
  },
];

interface Call {
  readonly endpoint: Endpoint;
  readonly idempotencyKey: string;
}

/** The calls of a round. Keys of an earlier one may still be claimed by calls that were killed. */
const callsOf = (round: number): readonly Call[] =>
  Array.from({ length: endpoints.length * callsOfEach }, (_, i) => {
    return {
      endpoint: endpoints[i % endpoints.length]!,
      idempotencyKey: `order-${round}-${i}`,
    };
  });

/** Answers after which the process of each round is killed. */
const answersBeforeKill = [1, 9, 30];

/** An answer that arrived whole. */
interface Answered {
  readonly status: number;
  readonly requestId: string;
  readonly code: string | undefined;
}

async function send(
  gateway: StartedGateway,
  { key }: Payer,
  { endpoint, idempotencyKey }: Call,
  isKeyed: boolean,
): Promise<Answered> {
  const body = endpoint.body();
  const response = await fetch(`${gateway.address}${endpoint.path}`, {
    method: "POST",
    headers: {
      "x-api-key": key,
      ...(body instanceof FormData ? {} : { "content-type": "application/json" }),
      ...(isKeyed && { "idempotency-key": idempotencyKey }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const { status } = response;
  const code = status === 200 ? undefined : JSON.parse(text).error?.code;
  return { status, requestId: response.headers.get("x-request-id") ?? "", code };
}

/** Adds the models to the default file, in the folder of the store. */
async function writeConfig(folder: string): Promise<string> {
  const file = JSON.parse(await Deno.readTextFile(new URL("../../gateway.json", import.meta.url)));
  const path = `${folder}/gateway.json`;
  const all = { ...file, $schema: undefined, models: [...file.models, ...models] };
  await Deno.writeTextFile(path, JSON.stringify(all));
  return path;
}

/** All receipts of the account, once the books are found sound and equal to them. */
async function soundReceipts(folder: string, { accountId }: Payer): Promise<readonly Receipt[]> {
  return await onStore(folder, async (kv) => {
    await assertSoundBooks(kv);
    const { receipts } = await listReceipts(kv, accountId, { limit: 1_000 });
    assertEquals(new Set(receipts.map(({ requestId }) => requestId)).size, receipts.length);
    return receipts;
  });
}

const spent = (receipts: readonly Receipt[]) =>
  receipts.reduce((sum, { costMicroVnd }) => sum + costMicroVnd, 0n);

for (const isKeyed of [false, true]) {
  const how = isKeyed ? "with idempotency keys" : "without idempotency keys";
  Deno.test(
    `kill -9 while the other endpoints are settled, ${how}: the books are exact`,
    processes,
    () =>
      withStoreFolder(async (folder) => {
        const env = { GATEWAY_CONFIG: await writeConfig(folder) };
        let payer: Payer;
        {
          await using first = await startMoneyGateway(folder, env);
          payer = await newPayer(first, creditVnd);
        }
        const seen: Answered[] = [];
        let sent = 0;
        let lost = 0;
        for (const [round, answers] of answersBeforeKill.entries()) {
          const calls = callsOf(round);
          const gateway = await startMoneyGateway(folder, env);
          const acts = calls.map((call) => async () => {
            const answered = await send(gateway, payer, call, isKeyed);
            if (answered.status === 200) seen.push(answered);
            else assert(["already_answered", "order_under_way"].includes(answered.code ?? ""));
          });
          const done = await killAmid(gateway, acts, answers);
          sent += calls.length;
          lost += done.filter((one) => !one).length;
          const receipts = await soundReceipts(folder, payer);
          assert(receipts.length <= sent);
          const ids = new Set<string>(receipts.map(({ requestId }) => requestId));
          for (const { requestId } of seen) {
            assert(ids.has(requestId), `${requestId} has no receipt`);
          }
        }
        assert(lost > 0, "answers were lost");
        await using gateway = await startMoneyGateway(folder, env);
        const calls = answersBeforeKill.flatMap((_, round) => callsOf(round));
        const answered = await Promise.all(
          calls.map((call) => send(gateway, payer, call, isKeyed)),
        );
        const left = await balanceVnd(gateway, payer.accountId);
        assertEquals(await gateway.end("SIGTERM"), 0);
        const receipts = await soundReceipts(folder, payer);
        for (const { costMicroVnd, outcome } of receipts) {
          assertEquals([outcome, costMicroVnd > 0n], ["completed", true]);
        }
        assertEquals(fromVnd(creditVnd) - spent(receipts), parseVnd(left));
        assert(receipts.length >= answersBeforeKill.reduce((sum, answers) => sum + answers));
        for (const { model } of endpoints) {
          const own = receipts.filter((receipt) => receipt.model === model);
          // Of the keys of a model all may be claimed by calls that were killed.
          assert(new Set(own.map(({ costMicroVnd }) => costMicroVnd)).size <= 1, model);
          const charged = calls.filter(({ endpoint }, i) =>
            endpoint.model === model && answered[i]!.code !== "order_under_way"
          );
          if (isKeyed) {
            assertEquals(own.length, charged.length, `${model}: one receipt for each key`);
          } else assert(own.length >= callsOfEach, model);
        }
      }),
  );
}
