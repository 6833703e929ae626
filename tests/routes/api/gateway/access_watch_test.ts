/** Streams of callers that may not call any more end, whatever they are doing. */
import { assertEquals } from "../../../support/assert.ts";
import { setImmediate } from "node:timers";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  createApiKey,
  revokeApiKey,
  rotateApiKey,
} from "../../../../kv/people/api_keys/api_key_changes.ts";
import { openControl } from "../../../../kv/engine/control/control.ts";
import { openKeyDirectory, type Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import { AccessWatch, CallsInFlight } from "../../../../routes/api/gateway/access_watch.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { ManualTime } from "../../../support/manual_time.ts";

async function world() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const masterKeys = await readMasterKeys(newMasterKey());
  const control = await openControl(kv, time);
  const directory = openKeyDirectory(kv, control, time);
  const deadlines = new Deadlines({ clock: time, timer: time });
  const calls = new CallsInFlight(deadlines);
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  const watch = new AccessWatch({ control, directory, calls, timer: time, onFailure });
  return {
    kv,
    time,
    masterKeys,
    calls,
    failures,
    async caller(expiresAtMs?: number): Promise<Principal> {
      const account = await createAccount(kv, { nowMs: time.nowMs() });
      const made = await createApiKey(kv, masterKeys, account.id, {
        name: "test",
        nowMs: time.nowMs(),
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      });
      if (!made.ok) throw new Error(made.reason);
      await control.refresh();
      const principal = await directory.lookup(made.secret);
      if (principal === undefined) throw new Error("the key is not known");
      return principal;
    },
    /** As the poll of the epoch and the next look do within a second. */
    async look(): Promise<void> {
      await control.refresh();
      time.advance(500);
      for (let turn = 0; turn < 20; turn++) {
        await kv.get(["nothing"]);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    [Symbol.dispose]() {
      watch.close();
      control.close();
      deadlines.close();
      kv.close();
    },
  };
}

Deno.test("streams of a revoked key and of a blocked account end at the next check, others do not", async () => {
  using w = await world();
  const [revoked, blocked, kept] = [await w.caller(), await w.caller(), await w.caller()];
  const streams = [revoked, revoked, blocked, kept].map((caller) => w.calls.begin(caller));
  const whole = w.calls.begin();
  await w.look();
  const stopped = () => [...streams, whole].map((call) => call.stopped);
  assertEquals(stopped(), Array(5).fill(undefined));
  await revokeApiKey(w.kv, revoked.accountId, revoked.key.id, w.time.nowMs());
  await w.look();
  const ended = "access_ended";
  assertEquals(stopped(), [ended, ended, undefined, undefined, undefined]);
  await block(w.kv, blocked.accountId);
  await w.look();
  assertEquals(stopped(), [ended, ended, ended, undefined, undefined]);
  assertEquals(w.failures, []);
});

Deno.test("a stream ends when its key expires, and when the grace period of a former secret is over", async () => {
  using w = await world();
  const expiring = await w.caller(w.time.nowMs() + 3_000);
  const rotated = await w.caller();
  const [one, two] = [w.calls.begin(expiring), w.calls.begin(rotated)];
  await rotateApiKey(w.kv, w.masterKeys, rotated.accountId, rotated.key.id, {
    nowMs: w.time.nowMs(),
    graceMs: 5_000,
  });
  await w.look();
  assertEquals([one.stopped, two.stopped], [undefined, undefined]);
  w.time.advance(2_500);
  await w.look();
  assertEquals([one.stopped, two.stopped], ["access_ended", undefined]);
  w.time.advance(2_500);
  await w.look();
  assertEquals(two.stopped, "access_ended");
});
