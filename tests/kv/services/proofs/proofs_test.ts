/** Signed days: every receipt and balance is proved by them, and whatever is changed afterwards is found. */
import {
  checkDay,
  checkDocument,
  type WrongProof,
} from "../../../../core/trade/proofs/check_document.js";
import type { Inclusion, KeySet } from "../../../../core/trade/proofs/check_proof.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { readStatement } from "../../../../core/trade/proofs/signed_day.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { makeSigningKey, readKeySet } from "../../../../kv/services/proofs/proof_keys.ts";
import {
  listSignedDays,
  proveBalance,
  proveReceipt,
} from "../../../../kv/services/proofs/read_proofs.ts";
import { receiptsInOrder } from "../../../../kv/services/proofs/signed_days.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { BooksWorld } from "../../../support/worlds/books_world.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { origin, sign, signedWorld } from "./signed_world.ts";

async function receiptsOf(world: BooksWorld) {
  const range = { fromMs: world.nowMs - 10 * dayMs, toMs: world.nowMs + dayMs };
  return await Array.fromAsync(receiptsInOrder(world.kv, range));
}

const checkReceipt = (proof: Inclusion, keys: KeySet) =>
  checkDocument({ object: "receipt.proof", ...proof }, keys);

function proved(found: Awaited<ReturnType<typeof proveReceipt>>): Inclusion {
  assert(found.ok, found.ok ? "" : found.why);
  return found.proof;
}

Deno.test("each receipt of a signed day has a proof that holds; later calls have none yet", async () => {
  await using world = await signedWorld();
  const keys = await readKeySet(world.kv);
  const receipts = await receiptsOf(world);
  assertEquals(receipts.length, 16);
  for (const [at, { requestId, accountId, costMicroVnd }] of receipts.entries()) {
    const found = await proveReceipt(world.kv, requestId);
    if (at >= 12) {
      assertEquals(found, { ok: false, why: "not_signed" });
      continue;
    }
    const proof = proved(found);
    const check = await checkReceipt(proof, keys);
    assert(check.ok);
    assertEquals(check.facts.map((fact) => fact.origin), [origin]);
    assertEquals(readStatement(proof.day.statement)?.receipts.size, 4);
    const leaf = JSON.parse(proof.leaf);
    assertEquals(leaf.slice(0, 3), ["gateway receipt v1", requestId, accountId]);
    assertEquals(leaf.at(-1), formatVnd(costMicroVnd));
  }
  assertEquals(await proveReceipt(world.kv, newId("request", 0)), { ok: false, why: "not_signed" });
});

Deno.test("what an account has at the end of each day is proved", async () => {
  await using world = await signedWorld();
  const keys = await readKeySet(world.kv);
  const days = (await listSignedDays(world.kv, { limit: 10 })).map(({ day }) => day).reverse();
  assertEquals(days.length, 3);
  for (const [at, day] of days.entries()) {
    for (const accountId of [world.ann, world.bob]) {
      const proof = proved(await proveBalance(world.kv, accountId, day));
      const document = { object: "statement.proof", month: day.slice(0, 7), closing: proof };
      assert((await checkDocument(document, keys)).ok);
      const left = 10_000 - 30 * (at + 1);
      assertEquals(JSON.parse(proof.leaf), [
        "gateway balance v1",
        accountId,
        day,
        (left / 1e6).toFixed(6).replace(/0+$/, ""),
      ]);
    }
    const stranger = newId("account", 0);
    assertEquals((await proveBalance(world.kv, stranger, day)).ok, false);
  }
});

Deno.test("signed days are a chain, and each names the one before", async () => {
  await using world = await signedWorld();
  const keys = await readKeySet(world.kv);
  const days = (await listSignedDays(world.kv, { limit: 10 })).reverse();
  let previous: string | null = null;
  for (const day of days) {
    assert((await checkDay(day, keys)).ok);
    const statement = readStatement(day.statement);
    assertEquals([statement?.day, statement?.previous], [day.day, previous]);
    previous = day.digest;
  }
  assertEquals(await sign(world), { signedNow: [], problems: [] }, "signed once");
});

Deno.test("a proof that anybody changed does not hold", async () => {
  await using world = await signedWorld();
  const keys = await readKeySet(world.kv);
  const [receipt] = await receiptsOf(world);
  assert(receipt !== undefined);
  const proof = proved(await proveReceipt(world.kv, receipt.requestId));
  const other = { ...proof.day, statement: proof.day.statement.replace("4 ", "5 ") };
  const changed: readonly (readonly [WrongProof, Inclusion])[] = [
    ["path", { ...proof, leaf: proof.leaf.replace("some-model", "other-model") }],
    ["path", { ...proof, index: proof.index + 1 }],
    ["path", { ...proof, path: proof.path.slice(1) }],
    ["path", { ...proof, path: [...proof.path, "0".repeat(64)] }],
    ["form", { ...proof, tree: "balances" }],
    ["signature", { ...proof, day: other }],
    ["signature", { ...proof, day: { ...proof.day, signature: "AAAA" } }],
    ["unknown_key", { ...proof, day: { ...proof.day, key: "0000" } }],
  ];
  for (const [why, wrong] of changed) {
    assertEquals(await checkReceipt(wrong, keys), { ok: false, why }, JSON.stringify(wrong));
  }
});

Deno.test("a receipt that is changed after its day was signed has no proof any more", async () => {
  await using world = await signedWorld();
  const [receipt] = await receiptsOf(world);
  assert(receipt !== undefined);
  for (const at of [0, 1, 2, 3]) {
    const row = await world.row(["receipt"], at);
    assert(typeof row.value === "string", "a page is a text");
    await world.kv.set(row.key, row.value.replaceAll(world.ann, world.bob));
  }
  assertEquals(await proveReceipt(world.kv, receipt.requestId), { ok: false, why: "changed" });
});

Deno.test("a day whose receipts are not those that were sealed is not signed", async () => {
  await using world = await BooksWorld.used();
  const { sealedNow } = await world.verify();
  const row = await world.row(["receipt"]);
  await world.kv.delete(row.key);
  const { signedNow, problems } = await sign(world);
  assertEquals(signedNow, []);
  assertEquals(problems.length, 1);
  assert(problems[0]?.startsWith(`${sealedNow[0]} has `), problems[0]);
});

Deno.test("a new key signs from then on, and old proofs hold", async () => {
  await using world = await signedWorld();
  const [first] = await receiptsOf(world);
  assert(first !== undefined);
  const before = proved(await proveReceipt(world.kv, first.requestId));
  await makeSigningKey(world.kv, world.masterKeys, world.nowMs);
  world.nextDay();
  await world.verify();
  assertEquals((await sign(world)).signedNow.length, 1);
  const keys = await readKeySet(world.kv);
  assertEquals(keys.keys.length, 2);
  assert((await checkReceipt(before, keys)).ok);
  const [last] = await listSignedDays(world.kv, { limit: 1 });
  assert(last !== undefined && last.key !== before.day.key);
  assert((await checkDay(last, keys)).ok);
});

Deno.test("master keys that are lost lose no proof: another key signs", async () => {
  await using world = await signedWorld();
  const [signed] = await listSignedDays(world.kv, { limit: 1 });
  const others = await readMasterKeys(newMasterKey());
  const { problems } = await sign(world, others);
  assertEquals(problems.length, 1, "the seals are of the lost key");
  assert(signed !== undefined && (await checkDay(signed, await readKeySet(world.kv))).ok);
});
