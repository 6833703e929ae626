/**
 * `kill -9` while events are delivered to endpoints, and while a budget is reached. Every event arrives at least once,
 * with one id, one body and a signature that holds, also if the process dies after the receiver has it and before the
 * answer is stored; no budget is exceeded.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { webhookKinds } from "../../core/people/webhooks/events.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { createAccount } from "../../kv/people/accounts/accounts.ts";
import { addBudget } from "../../kv/people/accounts/budgets.ts";
import { addEndpoint } from "../../kv/people/webhooks/endpoints.ts";
import { addWebhookEvent } from "../../kv/people/webhooks/events.ts";
import { listReceipts } from "../../kv/money/receipts/receipts.ts";
import { BudgetNotices } from "../../kv/services/limits/budget_notices.ts";
import { openKeyLimitBook } from "../../kv/services/limits/limit_book.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import {
  assertSoundBooks,
  killAmid,
  newPayer,
  onStore,
  passClaims,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import {
  newFormId,
  openReceiver,
  type ReceivedWebhook,
  verified,
} from "../support/worlds/webhook_world.ts";
import { callVnd, chat } from "../support/worlds/threaded_calls.ts";
import { seededRandom } from "../support/random.ts";
import { until } from "../support/until.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

const idOf = ({ headers }: ReceivedWebhook): string => headers["webhook-id"] ?? "";

/** Counts what arrived of each id, and checks that it was the same each time. */
function arrivals(received: readonly ReceivedWebhook[]): Map<string, number> {
  const bodies = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const one of received) {
    const id = idOf(one);
    assertEquals(one.body, bodies.get(id) ?? one.body, `the body of ${id}`);
    bodies.set(id, one.body);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  assertEquals(new Set(bodies.values()).size, bodies.size, "one id for an event");
  return counts;
}

/** Events and deliveries that wait, without the turns of endpoints; none may have been given up. */
async function waiting(kv: KeyValueStore): Promise<number> {
  assertEquals(await Array.fromAsync(kv.list({ prefix: ["outbox_dead"] })), []);
  const rows = await Array.fromAsync(kv.list({ prefix: ["outbox"] }), ({ key }) => String(key[1]));
  return rows.filter((queue) => /^webhook_(?:events|deliveries)/.test(queue)).length;
}

/** Lives without a kill that deliver what waits: whatever is in flight at the end of one is sent again by the next. */
const maxQuietLives = 5;

const accounts = 4;
const eventsOfEachLife = 2;
/** Fewer than the claims of a row before it is given up: every one of them may be lost. */
const kills = 7;

Deno.test(
  "kill -9 while events are delivered: each arrives, also the one whose answer was lost, with one id",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const random = seededRandom(38);
      const keyText = newMasterKey();
      const masterKeys = await readMasterKeys(keyText);
      await using receiver = openReceiver();
      const secrets = new Set<string>();
      const people = await onStore(folder, (kv) =>
        Promise.all(Array.from({ length: accounts }, async (_, i) => {
          const nowMs = Date.now();
          const { id } = await createAccount(kv, { nowMs, email: `w${i}@example.com` });
          const made = await addEndpoint(kv, masterKeys, id, {
            ...{ url: receiver.url, name: "", kinds: webhookKinds, formId: newFormId(), nowMs },
          });
          assert(made.ok);
          secrets.add(made.done.secret);
          return id;
        })));
      let made = 0;
      const unanswered = new Set<string>();
      for (let life = 0; life < kills; life++) {
        await onStore(folder, async (kv) => {
          await assertSoundBooks(kv);
          await passClaims(kv);
          for (const id of people) {
            for (let i = 0; i < eventsOfEachLife; i++) {
              const data = { amount_vnd: String(++made) };
              const operation = kv.atomic();
              addWebhookEvent(operation, id, { type: "topup.credited", data }, Date.now());
              await operation.commit();
            }
          }
        });
        const started = Promise.withResolvers<StartedGateway>();
        const killed = Promise.withResolvers<void>();
        const last = 1 + Math.floor(random() * accounts * eventsOfEachLife);
        const losesAnswer = random() < 0.5;
        const laterMs = random() * 20;
        let arrived = 0;
        receiver.answer = async (one) => {
          arrived++;
          if (arrived < last) {
            return new Response(null, { status: 204 });
          }
          const kill = async () => {
            if (!losesAnswer) {
              await sleep(laterMs);
            }
            await (await started.promise).end("SIGKILL");
            killed.resolve();
          };
          // The answer may arrive before the end, and be stored or not.
          const isAnswered = arrived === last && !losesAnswer;
          if (arrived === last) {
            void kill();
          }
          if (!isAnswered) {
            unanswered.add(idOf(one));
            await killed.promise;
          }
          return new Response(null, { status: 204 });
        };
        started.resolve(await startMoneyGateway(folder, { GATEWAY_MASTER_KEYS: keyText }));
        await killed.promise;
      }
      let left = Infinity;
      for (let life = 0; left > 0 && life < maxQuietLives; life++) {
        left = await onStore(folder, async (kv) => {
          await passClaims(kv);
          return await waiting(kv);
        });
        let arrived = 0;
        receiver.answer = () => {
          arrived++;
          return new Response(null, { status: 204 });
        };
        const gateway = await startMoneyGateway(folder, { GATEWAY_MASTER_KEYS: keyText });
        await until(() =>
          arrived >= left, "what waits has arrived");
        assertEquals(await gateway.end("SIGTERM"), 0);
      }
      assertEquals(left, 0);
      const counts = arrivals(receiver.received);
      assertEquals(counts.size, made);
      assert(unanswered.size >= kills / 2, `${unanswered.size} answers were lost`);
      for (const id of unanswered) {
        assert((counts.get(id) ?? 0) > 1, `${id} was sent again`);
      }
      for (const one of receiver.received) {
        const isSigned = [...secrets].some((secret) => {
          try {
            return verified(secret, one, Date.now()) !== undefined;
          } catch {
            return false;
          }
        });
        assert(isSigned, `the signature of ${idOf(one)}`);
      }
    }),
);

const affordedCalls = 30;
const callsAtOnce = 12;

Deno.test(
  "kill -9 while a budget is reached: its calls and no more are paid, and it is told once",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const random = seededRandom(39);
      const keyText = newMasterKey();
      const env = { GATEWAY_MASTER_KEYS: keyText };
      const masterKeys = await readMasterKeys(keyText);
      await using receiver = openReceiver();
      const first = await startMoneyGateway(folder, env);
      const { accountId, key } = await newPayer(first, 1_000_000);
      assertEquals(await first.end("SIGTERM"), 0);
      await onStore(folder, async (kv) => {
        const nowMs = Date.now();
        await addBudget(kv, accountId, {
          ...{ name: "All", subject: { kind: "account" }, window: "total", atLimit: "refuse" },
          amountVnd: affordedCalls * callVnd,
        }, { nowMs });
        await addEndpoint(kv, masterKeys, accountId, {
          ...{ url: receiver.url, name: "", kinds: webhookKinds, formId: newFormId(), nowMs },
        });
      });
      const paid = () =>
        onStore(folder, async (kv) => {
          await assertSoundBooks(kv);
          const { receipts } = await listReceipts(kv, accountId, { limit: 1_000 });
          return receipts.filter(({ costMicroVnd }) => costMicroVnd > 0n).length;
        });
      const callsOf = (gateway: StartedGateway, statuses: number[]) => {
        const at = {
          fetch: (path: string, init?: RequestInit) => fetch(gateway.address + path, init),
        };
        return Array.from({ length: callsAtOnce }, (_, i) => async () => {
          await sleep(random() * 20);
          const { status } = await chat(at, key, `call ${i}`, { stream: i % 2 === 0 });
          statuses.push(status);
          assert(status === 200 || status === 402, `${status}`);
        });
      };
      let answered = 0;
      for (let life = 0; life < 4; life++) {
        const gateway = await startMoneyGateway(folder, env);
        const statuses: number[] = [];
        await killAmid(gateway, callsOf(gateway, statuses), 1 + Math.floor(random() * 8));
        answered += statuses.filter((status) => status === 200).length;
        const receipts = await paid();
        assert(receipts >= answered && receipts <= affordedCalls, `${receipts} of ${answered}`);
      }
      const last = await startMoneyGateway(folder, env);
      for (let more = 1; more > 0;) {
        const statuses: number[] = [];
        for (const call of callsOf(last, statuses)) await call();
        more = statuses.filter((status) => status === 200).length;
      }
      assertEquals(await last.end("SIGTERM"), 0);
      assertEquals(await paid(), affordedCalls);
      await onStore(folder, async (kv) => {
        const book = openKeyLimitBook({ kv, clock: systemClock, kindOf: () => "chat" });
        const told = [];
        // Also who looks anew, after a process that died, tells nothing twice. The last gateway may have looked itself.
        for (let look = 0; look < 2; look++) {
          told.push(await new BudgetNotices({ kv, book }).look(Date.now()));
        }
        assert(told[0] === 0 || told[0] === 1, `${told[0]} were told`);
        assertEquals(told[1], 0);
      });
      const teller = await startMoneyGateway(folder, env);
      const reached = () => receiver.received.filter(({ body }) => body.includes("budget.reached"));
      await until(() => reached().length > 0, "the event arrives");
      assertEquals(await teller.end("SIGTERM"), 0);
      assertEquals(reached().map(({ body }) => JSON.parse(body).data.percent), [100]);
    }),
);
