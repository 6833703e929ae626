import { assert, assertEquals } from "../../support/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { cassoHook, cassoSignedText } from "../../../core/trade/bank/casso.ts";
import { sepayHook } from "../../../core/trade/bank/sepay.ts";
import type { BankHook } from "../../../core/trade/bank/bank_notice.ts";
import { listUnreadable } from "../../../kv/money/payments/bank_notices.ts";
import { createBankHookRoutes, type HookProblem } from "../../../routes/hooks/bank.ts";
import { faultyKv } from "../../support/stores/faulty_kv.ts";
import { receivingAccount, type TopupWorld, topupWorld } from "../../support/worlds/topup_world.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

const secret = "sepay-webhook-secret";

async function hmacHex(hash: "SHA-256" | "SHA-512", key: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const imported = await crypto.subtle.importKey(
    "raw",
    encoder.encode(key),
    { name: "HMAC", hash },
    false,
    ["sign"],
  );
  const bytes = await crypto.subtle.sign("HMAC", imported, encoder.encode(text));
  return new Uint8Array(bytes).toHex();
}

interface Hooked {
  readonly world: TopupWorld;
  readonly problems: HookProblem[];
  send(provider: string, body: string, headers?: Record<string, string>): Promise<Response>;
  sendSepay(notice: Record<string, unknown>, atMs?: number): Promise<Response>;
}

async function hooked(
  run: (hooked: Hooked) => Promise<void>,
  hooks: readonly (BankHook | undefined)[] = [sepayHook({ hmacSecret: secret })],
  view: (kv: KeyValueStore) => KeyValueStore = (kv) => kv,
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const clock: Clock = { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs };
  const deadlines = new Deadlines({ clock });
  const problems: HookProblem[] = [];
  const app = createBankHookRoutes({
    clock,
    deadlines,
    hooks: hooks.filter((hook) => hook !== undefined),
    intake: world.intakeOver(view(kv)),
    report: (problem) => void problems.push(problem),
  });
  const send: Hooked["send"] = async (provider, body, headers = {}) =>
    await app.request(`/hooks/bank/${provider}`, { method: "POST", body, headers });
  try {
    await run({
      world,
      problems,
      send,
      async sendSepay(notice, atMs = world.nowMs) {
        const body = JSON.stringify(notice);
        const timestamp = String(Math.floor(atMs / 1_000));
        const signature = await hmacHex("SHA-256", secret, `${timestamp}.${body}`);
        return await send("sepay", body, {
          "x-sepay-timestamp": timestamp,
          "x-sepay-signature": `sha256=${signature}`,
        });
      },
    });
  } finally {
    deadlines.close();
  }
}

function sepayNotice(content: string, change: Record<string, unknown> = {}) {
  return {
    id: 92704,
    gateway: "MBBank",
    transactionDate: "2026-11-20 14:00:05",
    accountNumber: receivingAccount.account,
    subAccount: null,
    code: null,
    content,
    transferType: "in",
    description: `BankAPINotify ${content}`,
    transferAmount: 200_000,
    accumulated: 19_077_000,
    referenceCode: "MBVCB.3278907687",
    ...change,
  };
}

async function isTaken(response: Response): Promise<void> {
  assertEquals([response.status, await response.json()], [200, { success: true }]);
}

Deno.test("a signed notice raises the balance and is answered with success", () =>
  hooked(async ({ world, sendSepay }) => {
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    await isTaken(await sendSepay(sepayNotice(`CT tu 0123 ${code} GD 1`)));
    assertEquals(await world.balanceVnd(ann.id), 200_000);
  }));

Deno.test("fifty signed deliveries at once are all answered with success and credit once", () =>
  hooked(async ({ world, sendSepay }) => {
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => sendSepay(sepayNotice(code))),
    );
    for (const answer of answers) await isTaken(answer);
    assertEquals(await world.balanceVnd(ann.id), 200_000);
    assertEquals(await world.findings(), []);
  }));

Deno.test("outgoing, unmatched, unknown and repeated notices are all answered with success", () =>
  hooked(async ({ world, sendSepay }) => {
    for (
      const [id, change] of [
        { transferType: "out" },
        { content: "no code" },
        { content: "ST7K2M9QXJ" },
        { accountNumber: "4711" },
        { transferAmount: 0 },
      ].entries()
    ) {
      const notice = sepayNotice("x", { id, referenceCode: `R${id}`, ...change });
      await isTaken(await sendSepay(notice));
      await isTaken(await sendSepay(notice));
    }
    assertEquals(await world.findings(), []);
  }));

Deno.test("a provider without a secret has no endpoint, whatever is sent", async () => {
  await hooked(async ({ send, world }) => {
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    const body = JSON.stringify(sepayNotice(code));
    // Signed with the empty secret, as forgers try.
    const timestamp = String(world.nowMs / 1_000);
    for (
      const headers of [
        {},
        { authorization: "Apikey " },
        { authorization: "Apikey undefined" },
        { "x-sepay-timestamp": timestamp, "x-sepay-signature": `sha256=${"0".repeat(64)}` },
      ]
    ) {
      const answer = await send("sepay", body, headers);
      assertEquals(answer.status, 404);
      await answer.body?.cancel();
    }
    assertEquals(await world.balanceVnd(ann.id), 0);
  }, [sepayHook({ hmacSecret: "" }), cassoHook("")]);
});

Deno.test("another provider's path, a made-up one and one of our inner sources are 404", () =>
  hooked(async ({ send }) => {
    for (const provider of ["casso", "nobank", "manual", "csv", "sepay-poll", "__proto__"]) {
      const answer = await send(provider, "{}");
      assertEquals(answer.status, 404, provider);
      await answer.body?.cancel();
    }
  }));

Deno.test("a wrong, missing or reused signature is 401 and writes nothing", () =>
  hooked(async ({ world, send, problems }) => {
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    const body = JSON.stringify(sepayNotice(code));
    const timestamp = String(world.nowMs / 1_000);
    const good = await hmacHex("SHA-256", secret, `${timestamp}.${body}`);
    const dearer = JSON.stringify(sepayNotice(code, { transferAmount: 90_000_000 }));
    const cases: readonly [string, Record<string, string>][] = [
      [body, {}],
      [body, { "x-sepay-timestamp": timestamp }],
      [body, { "x-sepay-timestamp": timestamp, "x-sepay-signature": good }],
      [dearer, { "x-sepay-timestamp": timestamp, "x-sepay-signature": `sha256=${good}` }],
      [` ${body}`, { "x-sepay-timestamp": timestamp, "x-sepay-signature": `sha256=${good}` }],
      [body, { authorization: `Apikey ${secret}` }],
    ];
    for (const [sent, headers] of cases) {
      const answer = await send("sepay", sent, headers);
      assertEquals(answer.status, 401);
      await answer.body?.cancel();
    }
    assertEquals(problems.map(({ what }) => what), cases.map(() => "forged"));
    assertEquals(await world.balanceVnd(ann.id), 0);
    assertEquals(await listUnreadable(world.kv), []);
  }));

Deno.test("a replay after the window is 401; inside it, known", () =>
  hooked(async ({ world, sendSepay, problems }) => {
    const ann = await world.customer("ann");
    const notice = sepayNotice((await world.order(ann)).code);
    const signedAtMs = world.nowMs;
    await isTaken(await sendSepay(notice, signedAtMs));
    world.nowMs += 300_000;
    await isTaken(await sendSepay(notice, signedAtMs));
    world.nowMs += 1_000;
    const late = await sendSepay(notice, signedAtMs);
    assertEquals(late.status, 401);
    await late.body?.cancel();
    assertEquals(problems, [{ provider: "sepay", what: "stale" }]);
    assertEquals(await world.balanceVnd(ann.id), 200_000);
  }));

Deno.test("a signed body that cannot be read is kept for staff and answered with success", () =>
  hooked(async ({ world, sendSepay, problems }) => {
    await isTaken(await sendSepay({ hello: "world" }));
    await isTaken(await sendSepay({ hello: "world" }));
    const kept = await listUnreadable(world.kv);
    assertEquals(kept.map(({ raw, source }) => [raw, source]), [['{"hello":"world"}', "sepay"]]);
    assertEquals(problems, []);
  }));

Deno.test("a body above the bound is 413", () =>
  hooked(async ({ send }) => {
    const answer = await send("sepay", " ".repeat(64 * 1024 + 1));
    assertEquals(answer.status, 413);
    await answer.body?.cancel();
  }));

Deno.test("a store that cannot write answers 503, and the repeated notice is credited once", async () => {
  let failing = true;
  await hooked(
    async ({ world, sendSepay, problems }) => {
      const ann = await world.customer("ann");
      const notice = sepayNotice((await world.order(ann)).code);
      const refused = await sendSepay(notice);
      assertEquals(refused.status, 503);
      await refused.body?.cancel();
      assertEquals(problems.map(({ what }) => what), ["not_written"]);
      failing = false;
      await isTaken(await sendSepay(notice));
      assertEquals(await world.balanceVnd(ann.id), 200_000);
    },
    undefined,
    (kv) => faultyKv(kv, (call) => failing && call === "commit" ? "before" : "none"),
  );
});

Deno.test("a store that fails only after the journal answers success, and the sweep credits", async () => {
  let commits = 0;
  await hooked(
    async ({ world, sendSepay }) => {
      const ann = await world.customer("ann");
      await isTaken(await sendSepay(sepayNotice((await world.order(ann)).code)));
      assertEquals(await world.balanceVnd(ann.id), 0);
      assertEquals(await world.intake.sweep(), { matched: 1, failed: 0 });
      assertEquals(await world.balanceVnd(ann.id), 200_000);
    },
    undefined,
    (kv) => faultyKv(kv, (call) => call === "commit" && commits++ > 0 ? "before" : "none"),
  );
});

Deno.test("Casso's notices come through their own path", async () => {
  await hooked(async ({ world, send }) => {
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    const body = JSON.stringify({
      error: 0,
      data: {
        id: 1,
        reference: "FT1",
        description: `${code} nạp/tiền`,
        amount: 200_000,
        transactionDateTime: "2026-11-20 14:00:05",
        accountNumber: receivingAccount.account,
      },
    });
    const text = cassoSignedText(String(world.nowMs), new TextEncoder().encode(body));
    assert(text !== undefined);
    const signature = await hmacHex("SHA-512", "casso-key", text);
    const headers = { "x-casso-signature": `t=${world.nowMs},v1=${signature}` };
    await isTaken(await send("casso", body, headers));
    assertEquals(await world.balanceVnd(ann.id), 200_000);
    const toSepay = await send("sepay", body, headers);
    assertEquals(toSepay.status, 404);
    await toSepay.body?.cancel();
  }, [cassoHook("casso-key")]);
});

Deno.test("GET and other methods find nothing", () =>
  hooked(async () => {
    const clock: Clock = { nowMs: () => 0, monotonicMs: () => 0 };
    const deadlines = new Deadlines({ clock });
    using kv = await Deno.openKv(":memory:");
    const app = createBankHookRoutes({
      clock,
      deadlines,
      hooks: [],
      intake: topupWorld(kv).intake,
      report: () => {},
    });
    assertEquals((await app.request("/hooks/bank/sepay")).status, 404);
    deadlines.close();
  }));
