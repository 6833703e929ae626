/**
 * What every engine must do when answers are lost, come twice or take effect late: callers learn too little then, but
 * never something wrong that moves money. Each engine's test file runs the suite over stores behind a faulty way.
 */
import { sleep } from "../../../../core/lib/time/sleep.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { runRandom } from "../../../support/random.ts";

/** An empty store that is reached in two ways. */
export interface FaultyTestStore extends AsyncDisposable {
  /** Clients whose calls fail now and then once the faults have begun. */
  readonly clients: readonly KeyValueStore[];
  /** A client of the same store without faults. */
  readonly sound: KeyValueStore;
  /** Begins the faults. */
  begin(): void;
  /** Ends them, and waits until what was late has taken effect. */
  end(): Promise<void>;
  /** Faults so far: a suite that met none has shown nothing. */
  readonly faults: number;
}

/** What engines may differ in. */
export interface FaultTraits {
  /** A commit that was refused has not taken effect. Not so where the client repeats unanswered calls. */
  readonly refusedIsUnwritten: boolean;
}

type Case = (store: FaultyTestStore, traits: FaultTraits) => Promise<void>;

/** Tries of one piece of work. Each may meet a fault, and loses its race at most as often as others win. */
const triesMax = 2_000;

/** Longest pause between two tries. */
const pauseMaxMs = 20;

/** What a client was told of a commit. */
type Told = "ok" | "refused" | "nothing";

/** Commits, and says what the client was told. */
async function told(write: ReturnType<KeyValueStore["atomic"]>): Promise<Told> {
  try {
    return (await write.commit()).ok ? "ok" : "refused";
  } catch {
    return "nothing";
  }
}

/** Repeats a step until it is done. A step whose calls fail is repeated, too. */
async function insist(step: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    if (await step().catch(() => false)) return;
    await sleep(runRandom() * pauseMaxMs);
  }
  throw new Error(`not done in ${triesMax} tries`);
}

/** Runs a number of tasks, each with the next client. */
async function spread(
  { clients }: FaultyTestStore,
  count: number,
  run: (kv: KeyValueStore, at: number) => Promise<void>,
): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, at) => {
    const kv = clients[at % clients.length];
    assert(kv !== undefined);
    return run(kv, at);
  }));
}

async function sumOf(kv: KeyValueStore, prefix: Deno.KvKey): Promise<number> {
  const values = await Array.fromAsync(kv.list<number>({ prefix }), ({ value }) => value);
  return values.reduce((sum, value) => sum + value, 0);
}

const cases: Readonly<Record<string, Case>> = {
  async "work that leaves its id in the same commit counts once, however often it is repeated"(
    store,
  ) {
    await store.sound.set(["sum"], 0);
    store.begin();
    await spread(store, 60, (kv, id) =>
      insist(async () => {
        if ((await kv.get(["done", id])).value !== null) return true;
        const sum = await kv.get<number>(["sum"]);
        const write = kv.atomic().check(sum, { key: ["done", id], versionstamp: null })
          .set(["sum"], (sum.value ?? NaN) + 1).set(["done", id], true);
        return await told(write) === "ok";
      }));
    await store.end();
    assertEquals((await store.sound.get(["sum"])).value, 60);
  },

  async "money that moves between rows keeps its sum, whatever its mover is told"(store) {
    const places = 6;
    for (let at = 0; at < places; at++) await store.sound.set(["purse", at], 100);
    store.begin();
    await spread(store, 120, async (kv, at) => {
      const from = at % places;
      const to = (from + 1 + at % (places - 1)) % places;
      const [source, target] = await kv.getMany<[number, number]>([
        ["purse", from],
        ["purse", to],
      ]).catch(() => [undefined, undefined]);
      if (source === undefined || target === undefined) return;
      const write = kv.atomic().check(source, target)
        .set(["purse", from], (source.value ?? NaN) - 1)
        .set(["purse", to], (target.value ?? NaN) + 1);
      await told(write);
    });
    await store.end();
    assertEquals(await sumOf(store.sound, ["purse"]), places * 100);
  },

  async "a commit of many rows is there whole or not at all, and whole if it was answered"(store) {
    const rows = 25;
    const outcomes = new Map<number, Told>();
    store.begin();
    await spread(store, 60, async (kv, at) => {
      const write = kv.atomic().check({ key: ["whole", at, 0], versionstamp: null });
      for (let row = 0; row < rows; row++) write.set(["whole", at, row], 1);
      outcomes.set(at, await told(write));
    });
    await store.end();
    for (const [at, outcome] of outcomes) {
      const found = await sumOf(store.sound, ["whole", at]);
      assert(found === 0 || found === rows, `${found} of ${rows} rows`);
      if (outcome === "ok") assertEquals(found, rows);
    }
  },

  async "of commits that need a row to be absent, at most one is told that it succeeded, and it did"(
    store,
    { refusedIsUnwritten },
  ) {
    const rounds = 12;
    const rivals = 6;
    const outcomes: { round: number; rival: number; outcome: Told }[] = [];
    store.begin();
    await spread(store, rounds * rivals, async (kv, at) => {
      const round = at % rounds;
      const rival = Math.floor(at / rounds);
      const key = ["once", round];
      const write = kv.atomic().check({ key, versionstamp: null }).set(key, rival);
      outcomes.push({ round, rival, outcome: await told(write) });
    });
    await store.end();
    for (let round = 0; round < rounds; round++) {
      const { value } = await store.sound.get<number>(["once", round]);
      const here = outcomes.filter((one) => one.round === round);
      const winners = here.filter(({ outcome }) => outcome === "ok");
      assert(winners.length <= 1, `${winners.length} were told that they succeeded`);
      for (const { rival } of winners) assertEquals(value, rival);
      if (!refusedIsUnwritten || value === null) continue;
      assert(here.find(({ rival }) => rival === value)?.outcome !== "refused");
    }
  },

  async "a number in the row tells whether an unanswered commit took effect"(store) {
    // As the lease of an instance does: each commit leaves its number, and an empty one uses up the version.
    const appliedOf = new Map<number, number>();
    store.begin();
    await spread(store, 4, async (kv, lane) => {
      const key = ["lane", lane];
      let applied = 0;
      let versionstamp: string | null = null;
      for (let number = 1; number <= 25; number++) {
        const write = kv.atomic().check({ key, versionstamp }).set(key, number)
          .set(["effect", lane, number], 1);
        const result = await write.commit().catch(() => undefined);
        if (result?.ok === true) {
          versionstamp = result.versionstamp;
          applied++;
          continue;
        }
        await insist(async () => {
          const row = await kv.get<number>(key);
          if (row.value === number) {
            versionstamp = row.versionstamp;
            applied++;
            return true;
          }
          // Late, it might still arrive: a write of the same version keeps it out.
          const shut = await kv.atomic().check(row).set(key, -number).commit();
          if (!shut.ok) return false;
          versionstamp = shut.versionstamp;
          return true;
        });
      }
      appliedOf.set(lane, applied);
    });
    await store.end();
    assertEquals(appliedOf.size, 4);
    for (const [lane, applied] of appliedOf) {
      assertEquals(await sumOf(store.sound, ["effect", lane]), applied);
    }
  },

  async "what a read or a list answers is right and complete"(store) {
    const rows = 230;
    for (let from = 0; from < rows; from += 100) {
      const write = store.sound.atomic();
      for (let at = from; at < Math.min(rows, from + 100); at++) write.set(["row", at], at);
      await write.commit();
    }
    const all = Array.from({ length: rows }, (_, at) => at);
    let answered = 0;
    store.begin();
    await spread(store, 60, async (kv, at) => {
      const keys = [["row", at], ["none"], ["row", rows - 1]];
      const read = await kv.getMany<number[]>(keys).catch(() => undefined);
      if (read !== undefined) {
        answered++;
        assertEquals(read.map(({ value }) => value), [at, null, rows - 1]);
      }
      const list = kv.list<number>({ prefix: ["row"] }, { batchSize: 20, reverse: at % 2 === 1 });
      const listed = await Array.fromAsync(list, ({ value }) => value).catch(() => undefined);
      if (listed === undefined) return;
      answered++;
      assertEquals(at % 2 === 1 ? listed.reverse() : listed, all);
    });
    await store.end();
    assert(answered > 0, "some reads were answered");
  },
};

/** Registers the suite for an engine and a kind of fault. */
export function testLostAnswers(
  name: string,
  traits: FaultTraits,
  open: () => Promise<FaultyTestStore>,
): void {
  for (const [title, run] of Object.entries(cases)) {
    Deno.test({
      name: `${name}: ${title}`,
      // The drivers' timers outlive a connection by some milliseconds.
      sanitizeOps: false,
      sanitizeResources: false,
      async fn() {
        await using store = await open();
        await run(store, traits);
        assert(store.faults > 0, "no fault was met");
        for (const kv of store.clients) {
          // A connection that a fault has cut may be noticed by the first call that takes it.
          await insist(() => kv.set(["after"], 1).then(() => true));
          assertEquals((await kv.get(["after"])).value, 1);
        }
      },
    });
  }
}
