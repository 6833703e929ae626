import { assert, assertEquals } from "../../../support/assert.ts";
import { addToOutbox, nextDueAtMs, type OutboxQueue } from "../../../../kv/engine/outbox/outbox.ts";
import {
  claimDue,
  finishClaim,
  postponeClaim,
  retryClaim,
} from "../../../../kv/engine/outbox/outbox_claims.ts";
import {
  forgetDeadLetter,
  listDeadLetters,
  reviveDeadLetter,
} from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import { outboxRowKey } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const letters: OutboxQueue<string> = {
  name: "letters",
  parse: (stored) => {
    if (typeof stored !== "string") throw new TypeError("not a letter");
    return stored;
  },
  claimMs: 60_000,
  maxAttempts: 3,
  backoffMs: [1_000, 10_000],
};

async function put(kv: KeyValueStore, id: string, nowMs: number, dueAtMs?: number): Promise<void> {
  const operation = kv.atomic();
  addToOutbox(operation, letters, {
    id,
    payload: `to ${id}`,
    nowMs,
    ...(dueAtMs === undefined ? {} : { dueAtMs }),
  });
  await operation.commit();
}

async function claimOne(kv: KeyValueStore, nowMs: number) {
  const [claim] = await claimDue(kv, letters, { nowMs, count: 1 });
  assert(claim !== undefined, `nothing to claim at ${nowMs}`);
  return claim;
}

async function finish(
  kv: KeyValueStore,
  claim: Awaited<ReturnType<typeof claimOne>>,
): Promise<boolean> {
  const operation = kv.atomic();
  finishClaim(operation, letters, claim);
  return (await operation.commit()).ok;
}

Deno.test("rows are claimed in order of their due time, and none before it", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "late", 0, 300);
  await put(kv, "early", 0, 100);
  await put(kv, "later", 0, 301);
  assertEquals(await claimDue(kv, letters, { nowMs: 99, count: 10 }), []);
  const claims = await claimDue(kv, letters, { nowMs: 300, count: 10 });
  assertEquals(claims.map((claim) => claim.id), ["early", "late"]);
  assertEquals(claims.map((claim) => claim.payload), ["to early", "to late"]);
  assertEquals(claims.map((claim) => claim.attempt), [1, 1]);
});

Deno.test("a claimed row has one owner until the claim ends, then it is due again", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 1_000);
  const first = await claimOne(kv, 1_000);
  assertEquals(await claimDue(kv, letters, { nowMs: 60_999, count: 10 }), []);
  const second = await claimOne(kv, 61_000);
  assertEquals(second.attempt, 2);
  assertEquals(await finish(kv, first), false, "a claim that ran out cannot finish");
  assertEquals(await finish(kv, second), true);
  assertEquals(await nextDueAtMs(kv, letters), undefined);
});

Deno.test("of many claimers at the same time exactly one gets the row", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 0);
  const all = await Promise.all(
    Array.from({ length: 20 }, () => claimDue(kv, letters, { nowMs: 0, count: 5 })),
  );
  assertEquals(all.flat().length, 1);
});

Deno.test("a failed attempt waits for the back-off, the last pause repeats, then the row is dead", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 0);
  const fail = async (nowMs: number, random: number) =>
    await retryClaim(kv, letters, await claimOne(kv, nowMs), {
      nowMs,
      random,
      reason: "smtp_refused",
    });
  assertEquals(await fail(0, 0), "retried");
  assertEquals(await nextDueAtMs(kv, letters), 500, "half the pause is certain");
  assertEquals(await fail(500, 1), "retried");
  assertEquals(await nextDueAtMs(kv, letters), 10_500, "the other half is spread");
  assertEquals(await fail(10_500, 0), "dead");
  assertEquals(await nextDueAtMs(kv, letters), undefined);
  const [dead] = await listDeadLetters(kv, letters, 10);
  assertEquals(dead?.reason, "smtp_refused");
  assertEquals(dead?.attempts, 3);
  assertEquals(dead?.payload, "to a");
});

Deno.test("a row that kills its worker each time becomes a dead letter too", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 0);
  for (const nowMs of [0, 60_000, 120_000]) await claimOne(kv, nowMs);
  assertEquals(await claimDue(kv, letters, { nowMs: 180_000, count: 1 }), []);
  assertEquals((await listDeadLetters(kv, letters, 10))[0]?.reason, "attempts_used_up");
});

Deno.test("a row that cannot be read is set aside and does not hold up the queue", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(outboxRowKey("letters", 1, "x"), { payload: 7, createdAtMs: 1, attempts: 0 });
  await kv.set(outboxRowKey("letters", 2, "y"), "no row at all");
  await put(kv, "z", 3);
  const claims = await claimDue(kv, letters, { nowMs: 3, count: 10 });
  assertEquals(claims.map((claim) => claim.id), ["z"]);
  const dead = await listDeadLetters(kv, letters, 10);
  assertEquals(dead.map(({ id, reason }) => [id, reason]), [
    ["x", "unreadable"],
    ["y", "unreadable"],
  ]);
});

Deno.test("a postponed row comes back with fresh attempts and its new payload", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 5);
  const claim = await claimOne(kv, 5);
  const operation = kv.atomic();
  postponeClaim(operation, letters, claim, { dueAtMs: 2_000, payload: "second step" });
  assert((await operation.commit()).ok);
  assertEquals(await nextDueAtMs(kv, letters), 2_000);
  const again = await claimOne(kv, 2_000);
  assertEquals([again.attempt, again.payload, again.createdAtMs], [1, "second step", 5]);
});

Deno.test("an effect in the same atomic happens once, however many workers try", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 0);
  const stale = await claimOne(kv, 0);
  const fresh = await claimOne(kv, 60_000);
  for (const claim of [fresh, stale, fresh]) {
    const operation = kv.atomic();
    finishClaim(operation, letters, claim);
    await operation.set(["effect", crypto.randomUUID()], true).commit();
  }
  const effects = await Array.fromAsync(kv.list({ prefix: ["effect"] }));
  assertEquals(effects.length, 1);
});

Deno.test("a lost claim is neither retried nor buried", async () => {
  using kv = await Deno.openKv(":memory:");
  await put(kv, "a", 0);
  const stale = await claimOne(kv, 0);
  await claimOne(kv, 60_000);
  const failure = { nowMs: 60_001, random: 0, reason: "late" };
  assertEquals(await retryClaim(kv, letters, stale, failure), "lost");
  assertEquals(await retryClaim(kv, letters, { ...stale, attempt: 3 }, failure), "lost");
  assertEquals(await listDeadLetters(kv, letters, 10), []);
});

Deno.test("a dead letter can be revived once", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(outboxRowKey("letters", 0, "a"), { payload: "p", createdAtMs: 0, attempts: 3 });
  assertEquals(await claimDue(kv, letters, { nowMs: 0, count: 1 }), []);
  assertEquals(await reviveDeadLetter(kv, letters, { id: "a", nowMs: 9 }), "revived");
  assertEquals(await reviveDeadLetter(kv, letters, { id: "a", nowMs: 9 }), "missing");
  assertEquals((await claimOne(kv, 9)).attempt, 1);
});

Deno.test("a dead letter that cannot be read stays where it is, until it is forgotten", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(outboxRowKey("letters", 0, "a"), { payload: 7, createdAtMs: 0, attempts: 0 });
  assertEquals(await claimDue(kv, letters, { nowMs: 0, count: 1 }), []);
  assertEquals(await reviveDeadLetter(kv, letters, { id: "a", nowMs: 9 }), "unreadable");
  assertEquals((await listDeadLetters(kv, letters, 9)).map(({ id }) => id), ["a"]);
  assertEquals(await forgetDeadLetter(kv, letters, { id: "a" }), "forgotten");
  assertEquals(await forgetDeadLetter(kv, letters, { id: "a" }), "missing");
  assertEquals(await listDeadLetters(kv, letters, 9), []);
});

Deno.test("a row of a later version waits for a worker that can read it, for a week", async () => {
  using kv = await Deno.openKv(":memory:");
  const older: OutboxQueue<string> = {
    ...letters,
    parse: () => {
      throw new TypeError("not known yet");
    },
    isOfLaterVersion: (stored) => String(stored).startsWith("to new"),
  };
  await put(kv, "new", 0);
  await put(kv, "broken", 0);
  const claimed = (queue: OutboxQueue<string>, nowMs: number) =>
    claimDue(kv, queue, { nowMs, count: 8 });
  assertEquals(await claimed(older, 0), []);
  assertEquals((await listDeadLetters(kv, older, 9)).map(({ id }) => id), ["broken"]);
  assertEquals(await claimed(older, 1), [], "it is not looked at again at once");
  for (let hour = 1; hour <= 48; hour++) await claimed(older, hour * 3_600_000);
  const [claim] = await claimed(letters, 49 * 3_600_000);
  assertEquals([claim?.id, claim?.attempt], ["new", 1], "none of its attempts is used up");
  await put(kv, "new too", 0);
  await claimed(older, 7 * 86_400_000);
  const dead = await listDeadLetters(kv, older, 9);
  assert(dead.some(({ id, reason }) => id === "new too" && reason === "unreadable"));
});
