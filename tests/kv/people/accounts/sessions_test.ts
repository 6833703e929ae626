import { assert, assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  closeSession,
  closeSessionById,
  closeSessionsOf,
  findSession,
  listSessions,
  openSession,
  sessionsPerAccount,
} from "../../../../kv/people/accounts/sessions.ts";
import {
  issueMailToken,
  readMailToken,
  saveSignInFlow,
  takeSignInFlow,
} from "../../../../kv/people/accounts/tokens.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const accountId = newId("account", 0);
const open = (kv: KeyValueStore, nowMs: number) =>
  openSession(kv, { accountId, nowMs, method: "password", device: "x", address: "y" });

Deno.test("tokens of sessions are random and never stored", async () => {
  using kv = await Deno.openKv(":memory:");
  const tokens = new Set<string>();
  for (let i = 0; i < 5; i++) tokens.add((await open(kv, i)).token);
  assertEquals(tokens.size, 5);
  for await (const row of kv.list({ prefix: [] })) {
    const text = Deno.inspect(row);
    for (const token of tokens) assert(!text.includes(token), text);
  }
});

Deno.test("the oldest session ends when there are too many", async () => {
  using kv = await Deno.openKv(":memory:");
  const first = await open(kv, 0);
  for (let i = 1; i <= sessionsPerAccount; i++) await open(kv, i);
  assertEquals(await findSession(kv, first.token, 100), undefined);
  assertEquals((await listSessions(kv, accountId, 100)).length, sessionsPerAccount);
});

Deno.test("the time of the last click is written now and then, not on every click", async () => {
  using kv = await Deno.openKv(":memory:");
  const { token } = await open(kv, 0);
  assertEquals((await findSession(kv, token, 60_000))?.lastSeenAtMs, 0);
  assertEquals((await findSession(kv, token, 20 * 60_000))?.lastSeenAtMs, 20 * 60_000);
  assertEquals((await listSessions(kv, accountId, 21 * 60_000))[0]?.lastSeenAtMs, 20 * 60_000);
});

Deno.test("a closed session leaves nothing behind, whichever way it was closed", async () => {
  using kv = await Deno.openKv(":memory:");
  await closeSession(kv, (await open(kv, 0)).token);
  const second = await open(kv, 0);
  assertEquals(await closeSessionById(kv, accountId, second.session.id), true);
  assertEquals(await closeSessionById(kv, accountId, second.session.id), false);
  await open(kv, 0);
  const kept = await open(kv, 0);
  await closeSessionsOf(kv, accountId, kept.session.id);
  assertEquals((await listSessions(kv, accountId, 1)).map(({ id }) => id), [kept.session.id]);
  await closeSessionsOf(kv, accountId);
  const left = await Array.fromAsync(kv.list({ prefix: [] }));
  // That there was a sign-in stays in the activity log.
  assertEquals(left.filter(({ key: [kind] }) => kind !== "activity"), []);
  assertEquals(left.length, 4);
});

Deno.test("a mail token is used by exactly one of many", async () => {
  using kv = await Deno.openKv(":memory:");
  const grant = { purpose: "reset_password", accountId, passwordMark: "m" } as const;
  const token = await issueMailToken(kv, grant, 0);
  const opened = await readMailToken(kv, "reset_password", token, 1);
  assertEquals(opened?.grant, grant);
  assertEquals(await readMailToken(kv, "sign_up", token, 1), undefined);
  const used = await Promise.all(Array.from({ length: 10 }, () => opened!.use()));
  assertEquals(used.filter(Boolean).length, 1);
  assertEquals(await readMailToken(kv, "reset_password", token, 1), undefined);
});

Deno.test("the state of a sign-in elsewhere is taken once and dies after ten minutes", async () => {
  using kv = await Deno.openKv(":memory:");
  const flow = { codeVerifier: "c", nonce: "n", browserHash: "b", next: "/" };
  await saveSignInFlow(kv, "s", flow, 0);
  const taken = await Promise.all([takeSignInFlow(kv, "s", 1), takeSignInFlow(kv, "s", 1)]);
  assertEquals(taken.filter((value) => value !== undefined), [flow]);
  await saveSignInFlow(kv, "t", flow, 0);
  assertEquals(await takeSignInFlow(kv, "t", 10 * 60_000), undefined);
});

Deno.test("a rate rule lets exactly its count through, also when all come at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const rule = { name: "r", count: 5, windowMs: 1000 };
  let allowed = 0;
  for (let i = 0; i < 20; i++) if ((await countTry(kv, rule, "a", 10)).allowed) allowed++;
  assertEquals(allowed, 5);
  assertEquals((await countTry(kv, rule, "b", 10)).allowed, true);
  assertEquals((await countTry(kv, rule, "a", 1000)).allowed, true);
  const flood = await Promise.all(
    Array.from({ length: 50 }, () => countTry(kv, rule, "flood", 10)),
  );
  assert(flood.filter((verdict) => verdict.allowed).length <= 5);
});

Deno.test("a rate counter does not reveal whom it counts", async () => {
  using kv = await Deno.openKv(":memory:");
  await countTry(kv, { name: "r", count: 1, windowMs: 1000 }, "ann@example.com", 0);
  for await (const row of kv.list({ prefix: [] })) {
    assert(!Deno.inspect(row).includes("ann"), Deno.inspect(row));
  }
});
