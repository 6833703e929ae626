/** Proofs by API, for the owner of a call only, and checked with nothing but the answers. */
import { openControl } from "../../../kv/engine/control/control.ts";
import { openKeyDirectory } from "../../../kv/people/api_keys/key_directory.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { verifyAndSign } from "../../../kv/services/proofs/verify_and_sign.ts";
import { receiptsInOrder } from "../../../kv/services/proofs/signed_days.ts";
import { checkProofFiles } from "../../../routes/usage_api/check_proof_command.ts";
import { createUsageApi } from "../../../routes/usage_api/usage_api.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { BooksWorld } from "../../support/worlds/books_world.ts";

/** A gateway's API on books of which yesterday is signed. */
async function openWorld() {
  const books = await BooksWorld.open();
  const { kv, masterKeys } = books;
  const { id: accountId } = await createAccount(kv, { nowMs: books.nowMs });
  const { id: otherId } = await createAccount(kv, { nowMs: books.nowMs });
  for (const id of [accountId, otherId]) await books.topUp(id, 1_000_000n);
  for (let at = 0; at < 5; at++) await books.call(accountId, 100n);
  await books.call(otherId, 70n);
  const fromMs = books.nowMs - dayMs;
  books.nextDay();
  await books.call(accountId, 100n);
  const { books: { ok }, proofs } = await verifyAndSign(kv, {
    masterKeys,
    nowMs: books.nowMs,
    origin: "https://gw.example",
    pause: () => Promise.resolve(),
  });
  assertEquals([ok, proofs.problems, proofs.signedNow.length], [true, [], 1]);
  const clock = { nowMs: () => books.nowMs, monotonicMs: () => books.nowMs };
  const control = await openControl(kv, clock);
  const app = createUsageApi({
    baseUrl: "http://localhost",
    vatRates: [],
    seller: undefined,
    kv,
    clock,
    wallet: books.wallet,
    directory: openKeyDirectory(kv, control, clock),
  });
  const keyOf = async (id: typeof accountId) => {
    const made = await createApiKey(kv, masterKeys, id, { name: "k", nowMs: books.nowMs });
    assert(made.ok);
    return made.secret;
  };
  const [secret, otherSecret] = [await keyOf(accountId), await keyOf(otherId)];
  const receipts = await Array.fromAsync(
    receiptsInOrder(kv, { fromMs, toMs: books.nowMs + dayMs }),
  );
  return {
    books,
    secret,
    otherSecret,
    own: receipts.filter((receipt) => receipt.accountId === accountId),
    async get(path: string, key?: string) {
      const response = await app.request(path, {
        headers: key === undefined ? {} : { "x-api-key": key },
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
    async [Symbol.asyncDispose]() {
      control.close();
      await books[Symbol.asyncDispose]();
    },
  };
}

Deno.test("the owner of a call gets a proof that the command finds right, nobody else does", async () => {
  await using world = await openWorld();
  const keys = (await world.get("/.well-known/gateway-proof-keys.json")).text;
  const [first] = world.own;
  const path = `/v1/receipts/${first?.requestId}/proof`;
  const proof = await world.get(path, world.secret);
  assertEquals([proof.status, JSON.parse(proof.text).object], [200, "receipt.proof"]);
  const checked = await checkProofFiles(proof.text, keys);
  assert(checked.ok, checked.lines.join());
  assertMatch(
    checked.lines.join(),
    /^right: receipt "req_[^"]+" of "acc_[^"]+": ".+; signed by "https:\/\/gw\.example" for \d{4}-/,
  );
  const changed = proof.text.replace("0.0001", "0.0009");
  assertEquals((await checkProofFiles(changed, keys)).ok, false);
  assertEquals((await checkProofFiles(proof.text, '{"keys":[]}')).ok, false);
  assertEquals((await checkProofFiles("[", keys)).lines, ["the first file is no proof"]);
  assertEquals((await checkProofFiles("[]", keys)).lines, ["wrong: form"]);
  assertEquals((await checkProofFiles(proof.text, "x")).lines, ["the second file has no keys"]);
  assertEquals((await world.get(path, world.otherSecret)).status, 404);
  assertEquals((await world.get(path)).status, 401);
});

Deno.test("today's call has no proof yet, in words", async () => {
  await using world = await openWorld();
  const today = await world.get(`/v1/receipts/${world.own.at(-1)?.requestId}/proof`, world.secret);
  assertEquals(today.status, 404);
  assertMatch(today.text, /signed in the night after it/);
});

Deno.test("a month is proved by what the account had before it and at its end", async () => {
  await using world = await openWorld();
  const keys = (await world.get("/.well-known/gateway-proof-keys.json")).text;
  const month = vietnamDay(world.books.nowMs - dayMs).slice(0, 7);
  const proof = await world.get(`/v1/statements/${month}/proof`, world.secret);
  assertEquals(proof.status, 200);
  const { opening, closing } = JSON.parse(proof.text);
  assertEquals(opening, null);
  assertEquals(JSON.parse(closing.leaf).at(-1), "0.9995");
  const checked = await checkProofFiles(proof.text, keys);
  assert(checked.ok, checked.lines.join());
  for (const [wrong, status] of [["2026-13", 400], ["x", 400], ["2020-01", 404]] as const) {
    assertEquals(
      (await world.get(`/v1/statements/${wrong}/proof`, world.secret)).status,
      status,
      wrong,
    );
  }
});

Deno.test("everybody reads the signed days and keys, and may keep them", async () => {
  await using world = await openWorld();
  const days = await world.get("/v1/proofs/days?limit=1");
  assertEquals([days.status, days.headers.get("cache-control")], [200, "public, max-age=60"]);
  const [day] = JSON.parse(days.text).data;
  assertMatch(day.digest, /^[0-9a-f]{64}$/);
  assert(day.statement.startsWith("gateway day v1\nhttps://gw.example\n"), day.statement);
  assertEquals((await world.get("/v1/proofs/days?before=x")).status, 400);
  assertEquals((await world.get("/v1/proofs/days?limit=0")).status, 400);
});
