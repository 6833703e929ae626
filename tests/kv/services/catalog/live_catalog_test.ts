import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { testConfig } from "../../../support/gateways/gateway_in_process.ts";
import { readCatalogIn } from "../../../../core/config/catalog_reading.ts";
import { catalogText } from "../../../../kv/services/catalog/contents.ts";
import { LiveCatalog } from "../../../../kv/services/catalog/live_catalog.ts";
import {
  addVersion,
  readHead,
  seedCatalog,
  withdrawScheduled,
} from "../../../../kv/services/catalog/versions.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";

type File = {
  models: { id: string; price: { vndPerMtok?: number }; routes: object[] }[];
  providers: Record<string, object>;
};

function copyOf(contents: unknown): File {
  return JSON.parse(JSON.stringify(contents));
}

async function world(env: Record<string, string> = {}) {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const config = testConfig({ env });
  await seedCatalog(kv, config.fileContents, time.nowMs());
  const log: string[] = [];
  const live = new LiveCatalog({
    kv,
    clock: time,
    timer: time,
    initial: config,
    fileContents: config.fileContents,
    read: readCatalogIn(config.mode, config.readCatalog),
    storedKeys: { secretOf: () => undefined, problemOf: () => undefined },
    onChange: (version) => log.push(`changed ${version}`),
    onRefused: ({ version, problems }) => log.push(`refused ${version}`, ...problems),
  });
  return {
    kv,
    time,
    live,
    log,
    file: () => copyOf(config.fileContents),
    async apply(contents: unknown, inMs?: number) {
      const result = await addVersion(kv, {
        text: catalogText(contents),
        effectiveFromMs: inMs === undefined ? undefined : time.nowMs() + inMs,
      }, {
        author: commandLine,
        reason: "test",
        nowMs: time.nowMs(),
        base: (await readHead(kv))?.newest ?? 0,
      });
      assert(result.ok);
      return result.version.version;
    },
    follow: async () => await live.follow(await readHead(kv)),
    [Symbol.dispose]() {
      live.close();
      kv.close();
    },
  };
}

Deno.test("the version of the file is the catalogue of the start, with its number", async () => {
  using w = await world();
  const before = w.live.current.models[0];
  await w.follow();
  assertEquals(w.live.current.version, 1);
  assert(w.live.current.models[0] === before);
});

Deno.test("a change replaces the catalogue as a whole and keeps the objects of what is the same", async () => {
  using w = await world();
  await w.follow();
  const before = w.live.current;
  const file = w.file();
  file.models[0]!.price.vndPerMtok = 9_100;
  file.models[1]!.routes = [{ provider: "sandbox", style: "chat", weight: 2 }];
  await w.apply(file);
  await w.follow();
  const after = w.live.current;
  assertEquals([before.version, after.version], [1, 2]);
  assert(after.models[0]?.routes[0] === before.models[0]?.routes[0]);
  assert(after.models[1]?.routes[0] !== before.models[1]?.routes[0]);
  assert(after.providers["sandbox"] === before.providers["sandbox"]);
  const { price } = before.models[0]!;
  assert(
    price.unit === "token" && JSON.stringify(price) !== JSON.stringify(after.models[0]!.price),
  );
});

Deno.test("a version that this process cannot serve leaves the former one in force, and is reported once", async () => {
  using w = await world();
  await w.follow();
  const file = w.file();
  file.providers["real"] = {
    kind: "http",
    baseUrl: "https://real.example",
    apiKeyEnv: "REAL_KEY",
  };
  file.models[0]!.routes = [{ provider: "real" }, { provider: "nowhere" }];
  const version = await w.apply(file);
  await w.follow();
  await w.follow();
  assertEquals(w.live.current.version, 1);
  assertEquals(w.log, [
    "changed 1",
    `refused ${version}`,
    `catalogue version 2 models.0 (premium-1).routes: provider "nowhere" is not in providers`,
    "environment REAL_KEY: not set; providers.real needs it",
  ]);
  assertEquals(w.live.refused?.version, 2);
  await w.apply(w.file());
  await w.follow();
  assertEquals(w.live.current.version, 3);
  assertEquals(w.live.refused, undefined);
});

Deno.test("a sandbox takes no real provider, whose calls would be paid with play money", async () => {
  using w = await world({ REAL_KEY: "secret-of-a-test" });
  await w.follow();
  const file = w.file();
  file.providers["real"] = { kind: "http", baseUrl: "https://a.example", apiKeyEnv: "REAL_KEY" };
  await w.apply(file);
  await w.follow();
  assertEquals(w.live.current.version, 1);
  assert(w.live.refused?.problems[0]?.includes("play money") === true);
});

Deno.test("a version comes into force at its moment by the clock of this process, without a read", async () => {
  using w = await world();
  await w.follow();
  const file = w.file();
  file.models[0]!.price.vndPerMtok = 1;
  await w.apply(file, 5 * 3_600_000);
  await w.follow();
  assertEquals(w.live.current.version, 1);
  w.kv.get = () => Promise.reject(new Error("the store is not asked"));
  w.time.advance(5 * 3_600_000 - 1);
  await Promise.resolve();
  assertEquals(w.live.current.version, 1);
  w.time.advance(1);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  assertEquals(w.live.current.version, 2);
});

Deno.test("a version that was withdrawn does not come into force", async () => {
  using w = await world();
  await w.follow();
  const file = w.file();
  file.models[0]!.price.vndPerMtok = 1;
  const base = await w.apply(file, 60_000);
  await w.follow();
  const act = { author: commandLine, reason: "", nowMs: w.time.nowMs(), base };
  assertEquals(await withdrawScheduled(w.kv, act), "done");
  await w.follow();
  w.time.advance(120_000);
  await w.follow();
  assertEquals(w.live.current.version, 1);
});

Deno.test("an answer that a later one overtook does not bring its version back", async () => {
  using w = await world();
  const first = await readHead(w.kv);
  const file = w.file();
  file.models[0]!.price.vndPerMtok = 1;
  await w.apply(file);
  await Promise.all([w.follow(), w.live.follow(first)]);
  await w.live.follow(first);
  assertEquals(w.live.current.version, 2);
});
