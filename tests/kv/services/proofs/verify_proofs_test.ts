/** A full verification finds whatever was changed, taken away or put in place of a signed day and of what is below it. */
import { sha256Hex } from "../../../../core/lib/hash/sha256.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { readStatement, writeStatement } from "../../../../core/trade/proofs/signed_day.ts";
import { decodeReceiptPage } from "../../../../kv/money/receipts/receipt_pages.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { makeSigningKey } from "../../../../kv/services/proofs/proof_keys.ts";
import type { SignedDayRow } from "../../../../kv/services/proofs/signed_days.ts";
import { verifyAndSign } from "../../../../kv/services/proofs/verify_and_sign.ts";
import { verifyProofs } from "../../../../kv/services/proofs/verify_proofs.ts";
import { resealDays } from "../../../../kv/services/verify/verify_books.ts";
import { draftOf, mustReserve } from "../../../support/worlds/money_world.ts";
import { type BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import { nextDay } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { origin, sign, signedWorld } from "./signed_world.ts";

/** Verifies the proofs alone, and names days by their number. */
async function found(world: BooksWorld): Promise<string[]> {
  const { masterKeys, nowMs } = world;
  const { problems } = await verifyProofs(world.kv, { masterKeys, nowMs });
  return problems.listed.map(({ kind, detail }) => {
    assertEquals(kind, "proof");
    return detail;
  });
}

const days = (world: BooksWorld) =>
  Array.fromAsync(world.kv.list<SignedDayRow>({ prefix: ["proof_day"] }));

/** Changes the text of a row. */
async function edit(
  world: BooksWorld,
  prefix: Deno.KvKey,
  at: number,
  change: (text: string) => string,
): Promise<void> {
  const { key, value } = await world.row(prefix, at);
  assert(typeof value === "string", "a text");
  const changed = change(value);
  assert(changed !== value, "it changes");
  await world.kv.set(key, changed);
}

async function remove(world: BooksWorld, prefix: Deno.KvKey, at: number): Promise<void> {
  await world.kv.delete((await world.row(prefix, at)).key);
}

/** Signs all days anew, as somebody does who can write the store and has no master key. */
async function forge(world: BooksWorld): Promise<string> {
  const key = await makeSigningKey(world.kv, await readMasterKeys(newMasterKey()), world.nowMs);
  let previous: string | null = null;
  for (const { key: place, value } of await days(world)) {
    const statement = readStatement(value.statement);
    assert(statement !== undefined, "a statement");
    const text = writeStatement({ ...statement, origin: "https://forged.example", previous });
    previous = await sha256Hex(text);
    const signature = await key.sign(text);
    await world.kv.set(place, {
      ...value,
      statement: text,
      digest: previous,
      key: key.id,
      signature,
    });
  }
  const head = await world.row(["proof_head"]);
  await world.kv.set(head.key, { ...(head.value as SignedDayRow), digest: previous });
  return key.id;
}

const setDay = async (world: BooksWorld, at: number, change: (row: SignedDayRow) => unknown) => {
  const row = (await days(world))[at];
  assert(row !== undefined, "a day");
  await world.kv.set(row.key, change(row.value));
};

interface Fault {
  readonly plant: (world: BooksWorld) => Promise<unknown>;
  /** Lines with `DAY1` to `DAY3` for the signed days. */
  readonly lines: readonly string[];
}

const chunksOf = (day: string, tree: string) => ["proof_chunk", day, tree];

const faults: Readonly<Record<string, Fault>> = {
  "a signed root that was changed": {
    plant: (world) =>
      setDay(world, 1, (row) => ({
        ...row,
        statement: row.statement.replace(/^4 ./m, (start) => start === "4 0" ? "4 1" : "4 0"),
      })),
    lines: [
      "the signed day DAY2 has a wrong signature",
      "the statement of DAY2 is not the one that was signed",
      "the receipts of DAY2 are not those that were signed: 4 are there, 4 were signed",
      "the chunks of the receipts of DAY2 do not lead to the signed root",
    ],
  },
  "a row of a day that is none": {
    plant: (world) => setDay(world, 1, () => ({ day: "?" })),
    lines: ["the signed day DAY2 cannot be read"],
  },
  "a signed day that is gone": {
    plant: (world) => remove(world, ["proof_day"], 1),
    lines: ["the signed day DAY2 is missing"],
  },
  "the first signed day that is gone": {
    plant: (world) => remove(world, ["proof_day"], 0),
    lines: ["the signed days before DAY2 are missing"],
  },
  "the last signed day that is gone": {
    plant: (world) => remove(world, ["proof_day"], 2),
    lines: ["the signed day DAY3 is missing"],
  },
  "all signed days that are gone, with their head": {
    plant: async (world) => {
      for (let at = 0; at < 3; at++) await remove(world, ["proof_day"], 0);
      await remove(world, ["proof_head"], 0);
    },
    lines: ["the signed day DAY2 is missing"],
  },
  "a day in the place of another": {
    plant: async (world) => {
      const first = (await days(world))[0]?.value;
      await setDay(world, 1, () => first);
    },
    lines: ["the signed day DAY1 is stored as DAY2"],
  },
  "a head that is gone": {
    plant: (world) => remove(world, ["proof_head"], 0),
    lines: ["the head of the signed days is missing"],
  },
  "a head that was put back": {
    plant: async (world) => {
      const [, second] = await days(world);
      const head = await world.row(["proof_head"]);
      await world.kv.set(head.key, { day: second?.value.day, digest: second?.value.digest });
    },
    lines: ["the head of the signed days names DAY2, and DAY3 is signed"],
  },
  "days that somebody signed anew with a key of his own": {
    plant: forge,
    lines: [
      "the key KEY of proofs is of no configured master key",
      "the statement of DAY1 is not the one that was signed",
      "the statement of DAY2 is not the one that was signed",
    ],
  },
  "a signature of another day": {
    plant: async (world) => {
      const signature = (await days(world))[0]?.value.signature;
      await setDay(world, 2, (row) => ({ ...row, signature }));
    },
    lines: ["the signed day DAY3 has a wrong signature"],
  },
  "a key that is gone": {
    plant: (world) => remove(world, ["proof_key"], 0),
    lines: [1, 2, 3].map((at) => `the signed day DAY${at} is signed with a key that is not stored`),
  },
  "a key with another public part": {
    plant: async (world) => {
      const { key, value } = await world.row(["proof_key"]);
      await world.kv.set(key, { ...(value as object), publicKey: "A".repeat(43) });
    },
    lines: [
      ...[1, 2, 3].map((at) => `the signed day DAY${at} has a wrong signature`),
      "the key KEY of proofs is of no configured master key",
    ],
  },
  "a chunk that was changed": {
    plant: async (world) => {
      const [, second] = await days(world);
      await edit(
        world,
        chunksOf(second?.value.day ?? "", "receipts"),
        0,
        (text) => text.replace(/ [0-9a-f]/, (digit) => digit === " 0" ? " 1" : " 0"),
      );
    },
    lines: ["chunk 1 of the receipts of DAY2 is not the one that was signed"],
  },
  "a chunk that begins elsewhere": {
    plant: async (world) => {
      const [, second] = await days(world);
      await edit(
        world,
        chunksOf(second?.value.day ?? "", "receipts"),
        0,
        (text) => text.replace(/^req_./, "req_z"),
      );
    },
    lines: ["chunk 1 of the receipts of DAY2 is not the one that was signed"],
  },
  "chunks that are gone": {
    plant: async (world) => {
      const [, , third] = await days(world);
      for (const tree of ["receipts", "balances"]) {
        await remove(world, chunksOf(third?.value.day ?? "", tree), 0);
      }
    },
    lines: [
      "chunk 1 of the balances of DAY3 is not the one that was signed",
      "chunk 1 of the receipts of DAY3 is not the one that was signed",
    ],
  },
  "a page of chunks too many": {
    plant: async (world) => {
      const { key, value } = await world.row(["proof_chunk"]);
      await world.kv.set([...key.slice(0, -1), 1], value);
    },
    lines: ["chunk 2 of the balances of DAY1 is not the one that was signed"],
  },
  "a receipt that is gone": {
    plant: (world) => remove(world, ["receipt"], 0),
    lines: [
      "the receipts of DAY1 are not those that were signed, in chunk 1 from REQUEST on: 3 are there, 4 were signed",
    ],
  },
  "a receipt of another model, at the same cost": {
    plant: (world) => edit(world, ["receipt"], 1, (text) => text.replace("some-model", "a-model")),
    lines: [
      "the receipts of DAY1 are not those that were signed, in chunk 1 from REQUEST on: 4 are there, 4 were signed",
    ],
  },
  "a page of receipts that is none": {
    plant: (world) => edit(world, ["receipt"], 1, () => "{}"),
    lines: [
      "the receipts of DAY1 are not those that were signed, in chunk 1 from REQUEST on: 3 are there, 4 were signed",
    ],
  },
  "a balance that was changed": {
    plant: (world) => edit(world, ["proof_balances"], 2, (text) => text.replace(/\d$/, "x")),
    lines: [
      "the balances of DAY3 are not those that were signed, in chunk 1 from ACCOUNT on: 2 are there, 2 were signed",
      "the balances of DAY3 for proofs are not those that were sealed",
    ],
  },
  "balances that are gone": {
    plant: (world) => remove(world, ["proof_balances"], 2),
    lines: [
      "the balances of DAY3 are not those that were signed, in chunk 1 from ACCOUNT on: 0 are there, 2 were signed",
      "the balances of DAY3 for proofs are not those that were sealed",
    ],
  },
};

/** Lines of problems with names in place of ids, which differ with each run. */
function named(lines: readonly string[], names: readonly string[]): string[] {
  const dated = (line: string) =>
    names.reduce((text, day, at) => text.replaceAll(day, `DAY${at + 1}`), line);
  return lines.map((line) =>
    dated(line).replace(/req_[0-9a-z]+/, "REQUEST").replace(/acc_[0-9a-z]+/, "ACCOUNT")
      .replace(/key [0-9a-f]{16}/, "key KEY")
  ).sort();
}

Deno.test("signed days that nobody touched are right, and are counted", async () => {
  await using world = await signedWorld();
  const { masterKeys, nowMs } = world;
  const { problems, ...verified } = await verifyProofs(world.kv, { masterKeys, nowMs });
  assertEquals(problems.listed, []);
  assertEquals(verified, { days: 3, receipts: 12, resealed: [] });
});

for (const [name, { plant, lines }] of Object.entries(faults)) {
  Deno.test(`a full verification names ${name}`, async () => {
    await using world = await signedWorld();
    const names = (await days(world)).map(({ value }) => value.day);
    assertEquals(await found(world), []);
    await plant(world);
    assertEquals(named(await found(world), names), [...lines].sort());
  });
}

Deno.test("of many chunks the changed one is named, and a lost one does not blame the others", async () => {
  await using world = await signedWorld(2_500);
  const [, second] = await days(world);
  const names = (await days(world)).map(({ value }) => value.day);
  const pages = await Array.fromAsync(world.kv.list({ prefix: ["receipt"] }));
  assert(pages.length > 40, `${pages.length} pages`);
  const page = pages[Math.floor(pages.length / 2)];
  assert(page !== undefined && typeof page.value === "string", "a page in the middle");
  assertEquals(decodeReceiptPage(page).length > 0, true);
  await world.kv.set(page.key, page.value.replace("some-model", "a-model"));
  assertEquals(named(await found(world), names), [
    "the receipts of DAY2 are not those that were signed, in chunk 2 from REQUEST on: " +
    "2504 are there, 2504 were signed",
  ]);
  await world.kv.delete(page.key);
  const [lost] = await found(world);
  assert(lost?.includes("in chunk 2 from") === true, lost ?? "");
  assert(!lost.includes("chunk 3"), lost);
  await world.kv.set(page.key, page.value);
  assertEquals(await found(world), []);
  // A line of the chunks leaves: the receipts are right, and its place and all behind it are not.
  const prefix = ["proof_chunk", second?.value.day ?? "", "receipts"];
  await edit(world, prefix, 0, (text) => text.split("\n").toSpliced(1, 1).join("\n"));
  assertEquals(named(await found(world), names), [
    "chunk 2 of the receipts of DAY2 is not the one that was signed",
    "chunk 3 of the receipts of DAY2 is not the one that was signed",
  ]);
});

Deno.test("nothing is signed behind days that were taken away", async () => {
  await using world = await signedWorld();
  const [, second] = await days(world);
  for (let at = 0; at < 3; at++) await remove(world, ["proof_day"], 0);
  await remove(world, ["proof_head"], 0);
  world.nextDay();
  await world.verify();
  const { signedNow, problems } = await sign(world);
  const lost = `${second?.value.day} was signed, and is no longer: no day is signed`;
  assertEquals([signedNow, problems], [[], [lost]]);
});

Deno.test("balances that were forgotten by their age are not missed", async () => {
  await using world = await signedWorld();
  const names = (await days(world)).map(({ value }) => value.day);
  // Those of the end of a month stay.
  const at = names.findIndex((day) => !nextDay(day).endsWith("-01"));
  const day = names[at] ?? "";
  world.advance(45 * dayMs);
  await world.verify();
  await sign(world);
  assertEquals(await Array.fromAsync(world.kv.list({ prefix: ["proof_balances", day] })), []);
  assertEquals(await found(world), []);
  await remove(world, ["proof_chunk", day, "balances"], 0);
  assertEquals(named(await found(world), names), [
    `the chunks of the balances of DAY${at + 1} do not lead to the signed root`,
  ]);
});

Deno.test("a day that was sealed anew after it was signed is noted, and no problem", async () => {
  await using world = await signedWorld();
  const { kv, wallet, masterKeys, nowMs } = world;
  const second = (await days(world))[1]?.value.day ?? "";
  const startedAtMs = nowMs - 2 * dayMs + 60_000;
  const late = draftOf(5n, { requestId: newId("request", startedAtMs), startedAtMs });
  await wallet.settle(await mustReserve(wallet, world.ann, 5n), late);
  await wallet.indexOnce();
  const [problem] = await found(world);
  assert(problem?.includes(`the receipts of ${second} are not those`), problem);
  const options = { masterKeys, nowMs, origin, pause: () => Promise.resolve(), isFull: true };
  const before = await verifyAndSign(kv, options);
  assertEquals(before.books.ok, false);
  assert(problemLines(before.books).some((line) => line.startsWith("proof: ")), "one of the books");
  await resealDays(kv, second, options);
  const { books, proofs } = await verifyAndSign(kv, options);
  assertEquals(problemLines(books), []);
  assertEquals(proofs.problems, []);
  assertEquals(proofs.verified?.days, 3);
  assertEquals(proofs.verified?.resealed.length, 1);
  assert(proofs.verified?.resealed[0]?.includes(second) === true, "the day is named");
});

Deno.test("master keys that were lost are accepted once the days were sealed anew", async () => {
  await using world = await signedWorld();
  const { kv, nowMs } = world;
  const [first] = await days(world);
  const masterKeys = await readMasterKeys(newMasterKey());
  const options = { masterKeys, nowMs, origin, pause: () => Promise.resolve(), isFull: true };
  const lines = async () => problemLines((await verifyAndSign(kv, options)).books);
  assert((await lines()).some((line) => line.includes("of proofs is of no configured")), "named");
  await resealDays(kv, first?.value.day ?? "", options);
  assertEquals(await lines(), []);
});
