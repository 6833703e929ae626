import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import {
  addIdentity,
  getPasswordHash,
  setPasswordHash,
} from "../../../../kv/people/accounts/account_credentials.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import {
  createAccount,
  findAccountByEmail,
  findAccountByIdentity,
  getAccount,
  listAccounts,
  tryCreateAccount,
  updateAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { block } from "../../../support/worlds/blocked_account.ts";

const email = "ann@example.com";

Deno.test("an account is found by id and by address", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1000, email, locale: "vi" });
  assertEquals(await getAccount(kv, account.id), account);
  assertEquals(await findAccountByEmail(kv, email), account);
  assertEquals(await findAccountByEmail(kv, "bob@example.com"), undefined);
});

Deno.test("one address makes one account, also when twenty ask at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const made = await Promise.all(
    Array.from({ length: 20 }, () => tryCreateAccount(kv, { nowMs: 1000, email })),
  );
  assertEquals(made.filter((account) => account !== undefined).length, 1);
  await assertRejects(() => createAccount(kv, { nowMs: 1, email }), GatewayError, "already");
  assertEquals((await listAccounts(kv, { limit: 100 })).accounts.length, 1);
});

Deno.test("reading an account never carries the password hash", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1, email, passwordHash: "scrypt$x" });
  const text = Deno.inspect(await getAccount(kv, account.id));
  assert(!text.includes("scrypt"), text);
  assertEquals(await getPasswordHash(kv, account.id), "scrypt$x");
});

Deno.test("a change sets and clears fields and leaves the others alone", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1, email, locale: "vi" });
  await updateAccount(kv, account.id, { lowBalanceMicroVnd: 5n, lowBalanceMailedAtMs: 6 });
  assertEquals((await getAccount(kv, account.id))?.lowBalanceMicroVnd, 5n);
  const cleared = { lowBalanceMicroVnd: undefined, lowBalanceMailedAtMs: undefined };
  await updateAccount(kv, account.id, cleared);
  assertEquals(await getAccount(kv, account.id), account);
});

Deno.test("concurrent changes of different fields all survive", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs: 1, email });
  await Promise.all([
    updateAccount(kv, id, { locale: "en" }),
    updateAccount(kv, id, { lowBalanceMicroVnd: 7n }),
    block(kv, id),
  ]);
  const account = await getAccount(kv, id);
  assertEquals(account?.locale, "en");
  assertEquals(account?.lowBalanceMicroVnd, 7n);
  assertEquals(account?.blockedAtMs, 9);
});

Deno.test("a block and its end keep everything else; a deleted account cannot be blocked", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 1, email, locale: "vi" });
  const blocked = await block(kv, account.id);
  assertEquals([blocked?.blockedAtMs, blocked?.blockedReason], [9, "test"]);
  assertEquals(await block(kv, account.id, false), account);
  await forgetPerson(kv, account.id, 50);
  assertEquals(await block(kv, account.id), undefined);
});

Deno.test("an identity belongs to one account only", async () => {
  using kv = await Deno.openKv(":memory:");
  const identity = { issuer: "https://id.example.com", subject: "42" };
  const ann = await createAccount(kv, { nowMs: 1, email });
  const bob = await createAccount(kv, { nowMs: 2, email: "bob@example.com" });
  assertEquals(await addIdentity(kv, ann.id, identity), true);
  assertEquals(await addIdentity(kv, ann.id, identity), true);
  assertEquals(await addIdentity(kv, bob.id, identity), false);
  assertEquals((await findAccountByIdentity(kv, identity))?.id, ann.id);
  assertEquals((await getAccount(kv, ann.id))?.identities, [identity]);
});

Deno.test("forgetting a person keeps the id and frees the address", async () => {
  using kv = await Deno.openKv(":memory:");
  const identity = { issuer: "https://id.example.com", subject: "42" };
  const { id } = await createAccount(kv, {
    nowMs: 1,
    email,
    locale: "vi",
    passwordHash: "scrypt$x",
    identity,
  });
  await forgetPerson(kv, id, 50);
  assertEquals(await getAccount(kv, id), {
    id,
    createdAtMs: 1,
    deletedAtMs: 50,
    blockedAtMs: 50,
  });
  assertEquals(await findAccountByEmail(kv, email), undefined);
  assertEquals(await findAccountByIdentity(kv, identity), undefined);
  assertEquals(await getPasswordHash(kv, id), undefined);
  assertEquals(await setPasswordHash(kv, id, "scrypt$y"), false);
  const left: string[] = [];
  for await (const row of kv.list({ prefix: [] })) left.push(Deno.inspect(row));
  assert(!left.join().includes("ann@"), left.join());
  const again = await createAccount(kv, { nowMs: 60, email });
  assert(again.id !== id);
});

Deno.test("accounts are listed in pages without gaps or repeats", async () => {
  using kv = await Deno.openKv(":memory:");
  for (let i = 0; i < 7; i++) await createAccount(kv, { nowMs: i });
  const seen: string[] = [];
  let after: AccountId | undefined;
  do {
    const page = await listAccounts(kv, { limit: 3, ...(after !== undefined && { after }) });
    seen.push(...page.accounts.map((account) => account.id));
    after = page.next;
  } while (after !== undefined);
  assertEquals(seen.length, 7);
  assertEquals(new Set(seen).size, 7);
});

Deno.test("normaliseEmail is idempotent and never yields a control character", () => {
  fc.assert(fc.property(fc.oneof(fc.emailAddress(), fc.string()), (text) => {
    const email = normaliseEmail(text);
    if (email === undefined) return;
    assertEquals(normaliseEmail(email), email);
    assert(/^[\x21-\x7e]+$/.test(email), email);
  }));
});

Deno.test("normaliseEmail refuses what is no address", () => {
  for (
    const text of [
      "",
      "ann",
      "@example.com",
      "ann@",
      "ann@@example.com",
      "ann@example",
      "ann@example..com",
      "ann@-example.com",
      "a b@example.com",
      "ann@127.0.0.1",
      "ann@example.com\nBcc: bob@example.com",
      "<ann@example.com>",
      ".ann@example.com",
      "аnn@example.com", // Cyrillic a
      `${"a".repeat(65)}@example.com`,
      `ann@${"a.".repeat(130)}com`,
    ]
  ) assertEquals(normaliseEmail(text), undefined, text);
});
