import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { AccessToken } from "../../../core/clouds/credentials/access_token.ts";
import {
  CredentialFailure,
  type IssuedToken,
} from "../../../core/clouds/credentials/authorizer.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { nextTurn } from "../../support/turns.ts";

const hour = 3600;

function newToken() {
  const time = new ManualTime();
  const asked: PromiseWithResolvers<IssuedToken>[] = [];
  const renewals: (string | undefined)[] = [];
  const replaced: (string | undefined)[] = [];
  const token = new AccessToken({
    issue: (refused) => {
      replaced.push(refused);
      const pending = Promise.withResolvers<IssuedToken>();
      asked.push(pending);
      return pending.promise;
    },
    clock: time,
    onRenewal: (failure) => renewals.push(failure),
  });
  const grant = (name: string, lifeSeconds = hour) =>
    asked.at(-1)?.resolve({ token: name, lifeSeconds });
  const refuse = () => asked.at(-1)?.reject(new CredentialFailure("token_refused: x", true));
  return { time, asked, replaced, renewals, token, grant, refuse };
}

/** Lets a renewal that was answered come to its end. */

Deno.test("one request serves all who ask meanwhile, and later ones until the token is old", async () => {
  const { time, asked, token, grant } = newToken();
  const all = Promise.all([token.get(), token.get(), token.get()]);
  grant("a");
  assertEquals(await all, ["a", "a", "a"]);
  time.advance(54 * 60_000);
  assertEquals(await token.get(), "a");
  assertEquals(asked.length, 1);
});

Deno.test("before it expires, the token is renewed beside the calls that use it", async () => {
  const { time, asked, token, grant } = newToken();
  const first = token.get();
  grant("a");
  await first;
  time.advance(56 * 60_000);
  assertEquals([await token.get(), await token.get()], ["a", "a"]);
  assertEquals(asked.length, 2);
  grant("b");
  await nextTurn();
  assertEquals(await token.get(), "b");
});

Deno.test("a failed renewal is reported, paused, and only an expired token fails calls", async () => {
  const { time, asked, renewals, token, grant, refuse } = newToken();
  const first = token.get();
  grant("a");
  await first;
  time.advance(56 * 60_000);
  assertEquals(await token.get(), "a");
  refuse();
  await nextTurn();
  assertEquals(renewals, [undefined, "token_refused: x"]);
  assertEquals(await token.get(), "a");
  assertEquals(asked.length, 2, "not again at once");
  time.advance(4 * 60_000);
  const expired = token.get();
  refuse();
  await assertRejects(() => expired, CredentialFailure);
  await assertRejects(() => token.get(), CredentialFailure);
  assertEquals(asked.length, 3);
  time.advance(11_000);
  const again = token.get();
  grant("b");
  assertEquals(await again, "b");
  assertEquals(renewals.at(-1), undefined);
});

Deno.test("a refused token is not used again, and a newer one is not thrown away for it", async () => {
  const { token, grant, asked } = newToken();
  const first = token.get();
  grant("a");
  await first;
  assert(token.forget("a"));
  const second = token.get();
  grant("b");
  assertEquals(await second, "b");
  assert(token.forget("a"));
  assertEquals(await token.get(), "b");
  assertEquals(asked.length, 2);
});

Deno.test("another thread gets the token with what is left of its life, and a new one only for the current one", async () => {
  const { time, token, grant, asked, replaced } = newToken();
  const first = token.issued(undefined);
  grant("a");
  assertEquals(await first, { token: "a", lifeSeconds: hour });
  time.advance(600_000);
  assertEquals(await token.issued(undefined), { token: "a", lifeSeconds: hour - 600 });
  const both = Promise.all([token.issued("a"), token.issued("a")]);
  grant("b");
  assertEquals((await both).map((issued) => issued.token), ["b", "b"]);
  assertEquals((await token.issued("a")).token, "b");
  assertEquals(asked.length, 2);
  assertEquals(replaced, [undefined, "a"]);
});
