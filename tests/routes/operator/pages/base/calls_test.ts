/** The operator's log of calls: of all customers, of one, and one call by its id. */
import { newId, type RequestId } from "../../../../../core/lib/ids/ids.ts";
import { createAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { requestIdAt } from "../../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../../support/worlds/money_world.ts";
import { type OperatorWorld, operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { refuse } from "../../../../support/worlds/refused_calls.ts";

/** Settles calls of an account, one for each moment. */
async function answer(
  { world: { kv, nowMs } }: OperatorWorld,
  accountId: ReturnType<typeof newId<"account">>,
  timesMs: readonly number[],
): Promise<RequestId[]> {
  await topUp(kv, accountId, 1_000_000_000n);
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  try {
    return await Promise.all(timesMs.map(async (startedAtMs) => {
      const requestId = requestIdAt(startedAtMs);
      await wallet.settle(
        await mustReserve(wallet, accountId, 1n),
        draftOf(1n, {
          requestId,
          startedAtMs,
          route: "secret-vendor/x",
          attempts: [{ route: "secret-vendor/x", outcome: "ok", ms: 7 }],
        }),
      );
      return requestId;
    }));
  } finally {
    await wallet.close();
  }
}

function listed(text: string): string[] {
  return [...text.matchAll(/\/operator\/calls\/(req_\w+)/g)].map(([, id]) => id ?? "");
}

Deno.test("calls of all customers are one list, newest first, on as many pages as it takes", () =>
  operatorWorld(async (operators) => {
    const { world, operator } = operators;
    const [ann, bob] = [
      await createAccount(world.kv, { nowMs: world.nowMs, email: "ann@example.com" }),
      await createAccount(world.kv, { nowMs: world.nowMs, email: "bob@example.com" }),
    ];
    // Several calls of one moment are on one page of receipts, and several pages have the same bucket of time.
    const at = (i: number) => world.nowMs - 10_000 - i * 7;
    const answered = await answer(operators, ann.id, Array.from({ length: 60 }, (_, i) => at(i)));
    const others = await answer(operators, bob.id, Array.from({ length: 30 }, (_, i) => at(2 * i)));
    const refused: RequestId[] = [];
    for (let i = 0; i < 30; i++) {
      const call = await refuse(world.kv, {
        accountId: bob.id,
        keyId: newId("apiKey", 0),
        atMs: at(3 * i),
      });
      refused.push(call.requestId);
    }
    const browser = await operator("staff", "en");
    const walk = async (start: string) => {
      const seen: string[] = [];
      let path: string | undefined = start;
      while (path !== undefined) {
        const { text, status } = await browser.get(path);
        assertEquals(status, 200);
        seen.push(...listed(text));
        path = /href="(\/operator\/calls\?[^"]+)" rel="next"/.exec(text)?.[1]
          ?.replaceAll("&amp;", "&");
      }
      return seen;
    };
    const newest = (ids: readonly string[]) => [...ids].sort().reverse();
    assertEquals(await walk("/operator/calls"), newest([...answered, ...others, ...refused]));
    assertEquals(await walk("/operator/calls?status=refused"), newest(refused));
    assertEquals(await walk("/operator/calls?status=ok"), newest([...answered, ...others]));
    assertEquals(
      await walk("/operator/calls?account=bob@example.com"),
      newest([...others, ...refused]),
    );
    assertEquals(await walk(`/operator/calls?account=${ann.id}&status=402`), []);
    const unknown = await browser.get("/operator/calls?account=nobody@example.com");
    assertEquals(listed(unknown.text), []);
    assertStringIncludes(unknown.text, "no such customer");
  }));

Deno.test("a call of any customer is found by its id, with its routes", () =>
  operatorWorld(async (operators) => {
    const { world, operator } = operators;
    const account = await createAccount(world.kv, { nowMs: world.nowMs });
    const [id] = await answer(operators, account.id, [world.nowMs - 1_000]);
    const { requestId } = await refuse(world.kv, {
      accountId: account.id,
      keyId: newId("apiKey", 0),
      atMs: world.nowMs - 500,
    });
    const browser = await operator("staff", "en");
    const found = await browser.get(`/operator/calls?id=${id}`);
    assertEquals(found.status, 303);
    assertEquals(found.headers.get("location"), `/operator/calls/${id}`);
    const answered = await browser.get(`/operator/calls/${id}`);
    for (const part of [account.id, "secret-vendor/x", "Completed"]) {
      assertStringIncludes(answered.text, part);
    }
    const vietnamese = await operator("second", "vi");
    const refused = await vietnamese.get(`/operator/calls/${requestId}`);
    for (const part of [account.id, "insufficient_balance", "Bị từ chối"]) {
      assertStringIncludes(refused.text, part);
    }
    assertEquals((await browser.get("/operator/calls/req_0000")).status, 404);
    assert(
      (await browser.get(`/operator/accounts/${account.id}`)).text.includes(
        `/operator/calls?account=${account.id}`,
      ),
    );
  }));
