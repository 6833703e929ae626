/** The public pages of signed days: the last one on the status page, all of them in pages of two weeks. */
import { sha256Hex } from "../../../../core/lib/hash/sha256.ts";
import { shiftDay } from "../../../../core/lib/time/vietnam_time.ts";
import { writeStatement } from "../../../../core/trade/proofs/signed_day.ts";
import { proofDayKey } from "../../../../kv/engine/schema/keys.ts";
import { makeSigningKey } from "../../../../kv/services/proofs/proof_keys.ts";
import { listSignedDays } from "../../../../kv/services/proofs/read_proofs.ts";
import type { SignedDayRow } from "../../../../kv/services/proofs/signed_days.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";

const days = 31;

/** A world with signed days up to yesterday's. */
async function signedWorld() {
  const world = await openDashboardWorld();
  const { kv, deps } = world;
  const key = await makeSigningKey(kv, deps.masterKeys, 0);
  let previous: string | null = null;
  for (let at = 0; at < days; at++) {
    const day = shiftDay("2026-10-01", at);
    const receipts = { size: 1, root: await sha256Hex(`receipts ${day}`) };
    const balances = { size: 1, root: await sha256Hex(`balances ${day}`) };
    const statement = writeStatement({
      origin: "https://gw.example",
      ...{ day, receipts, balances, previous },
    });
    previous = await sha256Hex(statement);
    const row: SignedDayRow = {
      ...{ day, statement, digest: previous, key: key.id },
      signature: await key.sign(statement),
    };
    await kv.set(proofDayKey(day), row);
  }
  return { world, key };
}

const daysOn = (text: string) => [...text.matchAll(/>(2026-1\d-\d\d)</g)].map(([, day]) => day);
const linkOf = (text: string, rel: string) =>
  new RegExp(`<a href="([^"]+)" rel="${rel}">`).exec(text)?.[1]?.replaceAll("&amp;", "&");

Deno.test("the status page has the last signed day: its roots, key and signature", async () => {
  const { world, key } = await signedWorld();
  await using _closed = world;
  const [newest] = await listSignedDays(world.kv, { limit: 1 });
  assert(newest !== undefined);
  for (const [language, state] of [["en", "Valid"], ["vi", "Hợp lệ"]] as const) {
    const { text } = await world.browser({ "accept-language": language }).get("/status");
    for (const shown of [newest.day, key.id, state, 'href="/proofs"', 'href="/proofs#check"']) {
      assertStringIncludes(text, shown);
    }
    assertStringIncludes(text, await sha256Hex(`receipts ${newest.day}`));
    assertStringIncludes(text, await sha256Hex(`balances ${newest.day}`));
  }
});

Deno.test("a signature that does not hold is shown as one", async () => {
  const { world } = await signedWorld();
  await using _closed = world;
  const [newest] = await listSignedDays(world.kv, { limit: 1 });
  assert(newest !== undefined);
  await world.kv.set(proofDayKey(newest.day), {
    ...newest,
    statement: newest.statement.replace(/^1 /m, "2 "),
  });
  const browser = world.browser();
  assertStringIncludes((await browser.get("/status")).text, "Invalid");
  const { text } = await browser.get("/proofs");
  assertEquals(text.match(/>Invalid</g)?.length, 1);
  assert((text.match(/>Valid</g)?.length ?? 0) > 1, "the others hold");
});

Deno.test("all signed days are listed in pages of two weeks, there and back", async () => {
  const { world } = await signedWorld();
  await using _closed = world;
  const browser = world.browser();
  const seen: (string | undefined)[][] = [];
  const ways: string[] = [];
  let path: string | undefined = "/proofs";
  while (path !== undefined) {
    ways.push(path);
    const { text } = await browser.get(path);
    seen.push(daysOn(text));
    path = linkOf(text, "next");
  }
  assertEquals(seen.map(({ length }) => length), [14, 14, 3]);
  assertEquals(
    seen.flat(),
    Array.from({ length: days }, (_, at) => shiftDay("2026-10-31", -at)),
  );
  const back = ways.at(-1);
  assert(back !== undefined);
  assertEquals(linkOf((await browser.get(back)).text, "prev"), ways.at(-2));
  assertEquals(linkOf((await browser.get(ways[1] ?? "")).text, "prev"), "/proofs");
  assertEquals(daysOn((await browser.get("/proofs?before=nonsense")).text), seen[0]);
  assertEquals(daysOn((await browser.get("/proofs?before=2000-01-01")).text), []);
});

Deno.test("without a signed day both pages say so, and how a proof is checked offline", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  assertStringIncludes((await browser.get("/status")).text, "No day is signed yet");
  const { text } = await browser.get("/proofs");
  assertStringIncludes(text, "No day is signed yet");
  assertStringIncludes(text, "task check-proof proof.json keys.json");
  assertStringIncludes(text, "https://gw.example/.well-known/gateway-proof-keys.json");
});
