import { assert, assertEquals, assertMatch, assertRejects } from "../../support/assert.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import {
  createPasswordHasher,
  maxPasswordHashQueue,
  passwordHashesAtOnce,
} from "../../../routes/auth/password_hash.ts";

const password = "correct horse battery";
const cheap = { logN: 4, r: 8, p: 1 };

Deno.test("the default cost is the one that guidance asks for, and it works", async () => {
  const hasher = createPasswordHasher();
  const encoded = await hasher.hash(password);
  assertMatch(encoded, /^scrypt\$16\$8\$2\$/);
  assert(await hasher.verify(password, encoded));
});

Deno.test("two hashes of one password differ, and both fit", async () => {
  const hasher = createPasswordHasher(cheap);
  const [one, other] = [await hasher.hash(password), await hasher.hash(password)];
  assert(one !== other);
  assert(await hasher.verify(password, one) && await hasher.verify(password, other));
  assert(!await hasher.verify(`${password} `, one));
});

Deno.test("a hash made at another cost still fits", async () => {
  const old = await createPasswordHasher({ logN: 3, r: 1, p: 1 }).hash(password);
  assert(await createPasswordHasher(cheap).verify(password, old));
});

Deno.test("the same letters typed in another Unicode form are the same password", async () => {
  const hasher = createPasswordHasher(cheap);
  const encoded = await hasher.hash("mật khẩu của tôi".normalize("NFC"));
  assert(await hasher.verify("mật khẩu của tôi".normalize("NFD"), encoded));
});

Deno.test("a stored hash that cannot be read throws, and verifies no password", async () => {
  await assertRejects(() => createPasswordHasher(cheap).verify(password, "plain"), TypeError);
});

Deno.test("hashes wait in a queue, and are refused beyond its bound", async () => {
  const hasher = createPasswordHasher(cheap);
  const many = passwordHashesAtOnce + maxPasswordHashQueue;
  const results = await Promise.allSettled(
    Array.from({ length: many + 5 }, () => hasher.hash(password)),
  );
  const refused = results.filter(({ status }) => status === "rejected");
  assertEquals(refused.length, 5);
  for (const result of refused) {
    assert(result.status === "rejected" && result.reason instanceof GatewayError);
    assertEquals(result.reason.code, "overloaded");
  }
  assert(await hasher.verify(password, await hasher.hash(password)));
});
