/**
 * `kill -9` while customers sign up, redeem voucher codes and are credited top-ups with a bonus. Afterwards each
 * got what is due once or not at all, can try again, and no budget is exceeded.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { hashSecret } from "../../core/people/accounts/secret_token.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import type { CampaignTerms } from "../../core/trade/credits/campaign.ts";
import type { CampaignId } from "../../core/lib/ids/ids.ts";
import { createAccount } from "../../kv/people/accounts/accounts.ts";
import { openSession } from "../../kv/people/accounts/sessions.ts";
import { issueMailToken } from "../../kv/people/accounts/tokens.ts";
import { makeVouchers } from "../../kv/money/credits/vouchers.ts";
import { commandLine } from "../../kv/people/audit/operator_audit.ts";
import { bonusDuePrefix, ledgersPrefix } from "../../kv/engine/schema/keys.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { TestBrowser } from "../support/browser/test_browser.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import { campaign, campaignNow, grantsOf } from "../support/worlds/credit_world.ts";
import {
  assertSoundBooks,
  killAmid,
  noticeOfOrder,
  onStore,
  seedOrders,
  sendNotice,
  startMoneyGateway,
  withStoreFolder,
} from "../support/worlds/money_process.ts";
import { until } from "../support/until.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

function open(kv: KeyValueStore, some: Partial<CampaignTerms>) {
  return campaign(kv, { startsAtMs: 0, ...some });
}

function browserAt(gateway: StartedGateway, cookies: Readonly<Record<string, string>>) {
  const fetchPage = (request: Request) => fetch(request, { redirect: "manual" });
  const browser = new TestBrowser(fetchPage, gateway.address);
  for (const [name, value] of Object.entries(cookies)) browser.cookies.set(name, value);
  return browser;
}

/** Checks the books, and returns how many grants a campaign has made. */
async function soundGrants(folder: string, id: CampaignId): Promise<number> {
  return await onStore(folder, async (kv) => {
    await assertSoundBooks(kv);
    const { grants, givenMicroVnd } = await campaignNow(kv, id);
    const rows = await grantsOf(kv, id);
    assertEquals(rows.length, grants);
    assertEquals(new Set(rows.map(({ accountId }) => accountId)).size, grants, "each account once");
    assertEquals(givenMicroVnd, fromVnd(20_000) * BigInt(grants));
    return grants;
  });
}

async function seedCustomers(kv: KeyValueStore, count: number): Promise<string[]> {
  const nowMs = Date.now();
  return await Promise.all(Array.from({ length: count }, async (_, i) => {
    const { id: accountId } = await createAccount(kv, { nowMs, email: `r${i}@example.com` });
    const where = { method: "password", device: "test", address: "127.0.0.1" } as const;
    return (await openSession(kv, { accountId, nowMs, ...where })).token;
  }));
}

Deno.test(
  "kill -9 while many redeem one code: each once, and never more than the budget",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const { id, code, sessions } = await onStore(folder, async (kv) => {
        const { id } = await open(kv, { budgetMicroVnd: fromVnd(20_000) * 20n });
        const made = await makeVouchers(kv, { campaignId: id, count: 1, maxUses: 100 }, {
          operator: commandLine,
          nowMs: Date.now(),
        });
        if (!made.ok) throw new Error(made.why);
        return { id, code: made.codes[0] ?? "", sessions: await seedCustomers(kv, 30) };
      });
      const life = async (answers: number): Promise<number> => {
        const gateway = await startMoneyGateway(folder);
        const acts = await Promise.all(sessions.map(async (session) => {
          const browser = browserAt(gateway, { session });
          const page = await browser.get("/wallet");
          return async () => {
            const { status } = await browser.submit(page, "/wallet/vouchers", { code });
            assert(status === 200 || status === 400, `${status}`);
          };
        }));
        const done = await killAmid(gateway, acts, answers);
        return done.filter(Boolean).length;
      };
      for (const answers of [3, 9]) {
        const answered = await life(answers);
        const given = await soundGrants(folder, id);
        assert(given >= Math.min(answered, answers) && given <= 20, `${given} of ${answered}`);
      }
      await life(Infinity);
      assertEquals(await soundGrants(folder, id), 20, "the whole budget, and no more");
      // Whoever has the credit learns so, also who never got an answer.
      const gateway = await startMoneyGateway(folder);
      const texts = await Promise.all(sessions.map(async (session) => {
        const browser = browserAt(gateway, { session });
        const page = await browser.get("/wallet");
        return (await browser.submit(page, "/wallet/vouchers", { code })).text;
      }));
      await gateway.end("SIGTERM");
      const told = texts.filter((text) => text.includes("already credited to your account"));
      assertEquals(told.length, 20);
      assertEquals(await soundGrants(folder, id), 20, "nobody got it twice");
    }),
);

Deno.test(
  "kill -9 while people confirm their addresses: sign-up credit once each, within the budget",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const browserSecret = "the-browser-that-signed-up";
      const { id, tokens } = await onStore(folder, async (kv) => {
        const { id } = await open(kv, {
          kind: "signup",
          budgetMicroVnd: fromVnd(20_000) * 12n,
          perNetworkPerDay: 1_000,
        });
        const browserHash = await hashSecret("flow-browser", browserSecret);
        const tokens = await Promise.all(Array.from({ length: 24 }, (_, i) =>
          issueMailToken(kv, {
            purpose: "sign_up",
            email: `s${i}@example.com`,
            locale: "en",
            passwordHash: "none",
            browserHash,
            next: "/",
          }, Date.now())));
        return { id, tokens };
      });
      const life = async (answers: number) => {
        const gateway = await startMoneyGateway(folder);
        const acts = await Promise.all(tokens.map(async (token) => {
          const browser = browserAt(gateway, { flow: browserSecret });
          const page = await browser.get("/verify");
          return async () => void await browser.submit(page, "/verify", { token });
        }));
        await killAmid(gateway, acts, answers);
      };
      await life(4);
      const some = await soundGrants(folder, id);
      assert(some <= 12, `${some}`);
      await life(Infinity);
      const all = await soundGrants(folder, id);
      assert(all > 0 && all >= some && all <= 12, `${all}`);
    }),
);

Deno.test(
  "kill -9 while top-ups with a bonus are credited: one bonus for each",
  processes,
  () =>
    withStoreFolder(async (folder) => {
      const { id, orders } = await onStore(folder, async (kv) => {
        const budgetMicroVnd = fromVnd(9_000_000);
        const { id } = await open(kv, { kind: "bonus", budgetMicroVnd, perAccount: 100 });
        return { id, orders: await seedOrders(kv, 24) };
      });
      const tell = (gateway: StartedGateway) =>
        orders.map((order, i) => async () => {
          assertEquals(await sendNotice(gateway.address, noticeOfOrder(order, i)), 200);
        });
      for (const answers of [2, 9]) {
        const gateway = await startMoneyGateway(folder);
        await killAmid(gateway, tell(gateway), answers);
      }
      const gateway = await startMoneyGateway(folder);
      for (const act of tell(gateway)) await act();
      const waitsFor = "the bonuses";
      await until(
        () => gateway.log.some((line) => line.includes("bonuses given")) ? true : undefined,
        waitsFor,
      );
      assertEquals(await gateway.end("SIGTERM"), 0);
      await onStore(folder, async (kv) => {
        await assertSoundBooks(kv);
        const due = await Array.fromAsync(kv.list({ prefix: bonusDuePrefix() }));
        assertEquals(due.length, 0);
        const lines = kv.list<LedgerEntry>({ prefix: ledgersPrefix() });
        const kinds = (await Array.fromAsync(lines)).map(({ value }) => value.kind);
        assertEquals(kinds.filter((kind) => kind === "topup").length, orders.length);
        assertEquals(kinds.filter((kind) => kind === "bonus").length, orders.length);
        assertEquals((await campaignNow(kv, id)).grants, orders.length);
      });
    }),
);
