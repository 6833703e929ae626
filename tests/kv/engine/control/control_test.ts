import { assert, assertEquals } from "../../../support/assert.ts";
import { catalogHeadKey, vaultEpochKey } from "../../../../kv/engine/schema/keys.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  bumpKeysEpoch,
  controlStaleMs,
  openControl,
} from "../../../../kv/engine/control/control.ts";

Deno.test("the state of keys is stale after a freeze, though the clock of durations stood still", async () => {
  using kv = await Deno.openKv(":memory:");
  let wallMs = Date.UTC(2026, 10, 20);
  const control = await openControl(kv, { nowMs: () => wallMs, monotonicMs: () => 0 });
  try {
    assertEquals(control.freshKeysEpoch(), "first");
    wallMs += controlStaleMs + 1;
    assertEquals(control.freshKeysEpoch(), undefined);
    await control.catchUp();
    assertEquals(control.freshKeysEpoch(), "first");
  } finally {
    control.close();
  }
});

Deno.test("while no call needs the state it is hardly polled, and the next call reads it first", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  let reads = 0;
  const counted = new Proxy(kv, {
    get(target, name) {
      if (name === "getMany") reads++;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const control = await openControl(counted, time, { timer: time });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      time.advance(100);
      await kv.get(["a turn of the store"]);
      await kv.get(["and another"]);
    }
  };
  try {
    await pass(75_000);
    assert(reads <= 4, `${reads} reads in an idle minute`);
    await bumpKeysEpoch(kv.atomic()).commit();
    await pass(600);
    assertEquals(control.freshKeysEpoch(), undefined);
    await control.catchUp();
    const epoch = control.freshKeysEpoch();
    assert(epoch !== undefined && epoch !== "first");
    reads = 0;
    for (let passed = 0; passed < 5_000; passed += 500) {
      assert(control.freshKeysEpoch() !== undefined);
      await pass(500);
    }
    assert(reads >= 8, `${reads} reads while calls come`);
    await pass(60_000);
    reads = 0;
    await pass(60_000);
    assert(reads <= 3, `${reads} reads once they have ended`);
  } finally {
    control.close();
  }
});

Deno.test("stored keys are taken over before the version of the catalogue that may name them", async () => {
  using kv = await Deno.openKv(":memory:");
  const followed: string[] = [];
  const head = { version: 2, newest: 2, digest: "d", fileDigest: "f" };
  await kv.atomic().set(vaultEpochKey(), "epoch-1").set(catalogHeadKey(), head).commit();
  const control = await openControl(kv, new ManualTime(), {
    async followVault(epoch) {
      await kv.get(["a turn of the store"]);
      followed.push(`vault ${epoch}`);
    },
    followCatalog(head) {
      followed.push(`catalogue ${head?.version}`);
      return Promise.resolve();
    },
  });
  try {
    assertEquals(followed, ["vault epoch-1", "catalogue 2"]);
  } finally {
    control.close();
  }
});
