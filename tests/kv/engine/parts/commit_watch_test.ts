import { assert, assertEquals } from "../../../support/assert.ts";
import { CommitWatch } from "../../../../kv/engine/parts/commit_watch.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import {
  type OutageKind,
  StoreUnavailableError,
} from "../../../../kv/engine/store/store_unavailable.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { breakStore, type StoreCall } from "../../../support/stores/broken_store.ts";
import { nextTurn } from "../../../support/turns.ts";
import { until } from "../../../support/until.ts";

interface WatchedStore {
  readonly kv: KeyValueStore;
  readonly watch: CommitWatch;
  readonly time: ManualTime;
  readonly changes: (OutageKind | undefined)[];
}

async function withWatch(run: (store: WatchedStore) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const changes: (OutageKind | undefined)[] = [];
  const onChange = (outage: OutageKind | undefined) => void changes.push(outage);
  const watch = new CommitWatch(kv, { clock: time, timer: time, onChange });
  try {
    await run({ kv, watch, time, changes });
  } finally {
    watch.close();
  }
}

const silence = () => new Promise<never>(() => {});
const refusal = (kind: OutageKind) => () => Promise.reject(new StoreUnavailableError(kind));

Deno.test("a store that was written lately is not asked again, an idle one is", () =>
  withWatch(async ({ kv, watch, time }) => {
    await watch.kv.set(["row"], 1);
    breakStore(kv, ["set"], refusal("unreachable"));
    assertEquals(await watch.confirm(), true);
    time.advance(2_001);
    assertEquals(await watch.confirm(), false);
  }));

const reads: readonly StoreCall[] = ["get", "getMany", "list"];

Deno.test("a store that answers reads and keeps commits waiting is not ready", () =>
  withWatch(async ({ kv, watch, time, changes }) => {
    assertEquals(await watch.confirm(), true);
    breakStore(kv, ["set", "delete", "commit"], silence);
    time.advance(2_001);
    const answer = watch.confirm();
    await nextTurn();
    time.advance(1_000);
    assertEquals(await answer, false);
    assertEquals((await watch.kv.get(["row"])).value, null);
    // The outage is known: no health check waits for it.
    assertEquals(await watch.confirm(), false);
    assertEquals(changes, ["no_answer"]);
  }));

for (const call of [...reads, "set", "delete", "commit"] as const) {
  Deno.test(`a failed ${call} asks the store: an outage begins once, and ends with a commit`, () =>
    withWatch(async ({ kv, watch, time, changes }) => {
      const mend = breakStore(kv, [call, "set"], refusal("connection_lost"));
      const calls = {
        get: () => watch.kv.get(["row"]),
        getMany: () => watch.kv.getMany([["row"]]),
        list: () => watch.kv.list({ prefix: ["row"] }).next(),
        set: () => watch.kv.set(["row"], 1),
        delete: () => watch.kv.delete(["row"]),
        commit: () => watch.kv.atomic().set(["row"], 1).commit(),
      };
      for (let times = 0; times < 20; times++) {
        const error: unknown = await calls[call]().catch((error: unknown) => error);
        assert(error instanceof StoreUnavailableError);
      }
      await until(() => changes.length > 0, "the outage has begun");
      assertEquals(await watch.confirm(), false);
      mend();
      time.advance(1_000);
      await until(() => changes.length > 1, "the outage has ended");
      assertEquals([changes, await watch.confirm()], [["connection_lost", undefined], true]);
    }));
}

Deno.test("one broken connection of a store that takes commits is no outage", () =>
  withWatch(async ({ kv, watch, changes }) => {
    breakStore(kv, ["get"], refusal("connection_lost"));
    await watch.kv.get(["row"]).catch(() => {});
    assertEquals([await watch.confirm(), changes], [true, []]);
  }));

Deno.test("an error of the caller is no outage", () =>
  withWatch(async ({ watch, changes }) => {
    await watch.kv.set(["row"], "x".repeat(70_000)).catch(() => {});
    assertEquals([await watch.confirm(), changes], [true, []]);
  }));

Deno.test("a store that confirms late does not flap between ready and not", () =>
  withWatch(async ({ kv, watch, time, changes }) => {
    const set = kv.set.bind(kv);
    const late: (() => void)[] = [];
    kv.set = async (...call) => {
      await new Promise<void>((resolve) => late.push(resolve));
      return await set(...call);
    };
    const answer = watch.confirm();
    for (let second = 0; second < 12; second++) {
      time.advance(1_001);
      if (second % 3 === 2) { for (const confirm of late.splice(0)) confirm(); }
      for (let turn = 0; turn < 4; turn++) await nextTurn();
    }
    assertEquals([await answer, changes], [false, ["no_answer"]]);
  }));
