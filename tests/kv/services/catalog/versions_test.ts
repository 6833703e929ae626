import { assert, assertEquals } from "../../../support/assert.ts";
import { catalogText, writeContents } from "../../../../kv/services/catalog/contents.ts";
import {
  addVersion,
  type CatalogAct,
  declineFile,
  isPassedOver,
  keptVersions,
  listVersions,
  readHead,
  readVersion,
  readVersionContents,
  rollBack,
  seedCatalog,
  withdrawScheduled,
} from "../../../../kv/services/catalog/versions.ts";
import { inForce } from "../../../../kv/engine/control/catalog_head.ts";
import { commandLine, listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";

const startMs = Date.UTC(2026, 10, 20);

function act(base: number, reason = "a test", nowMs = startMs): CatalogAct {
  return { author: commandLine, reason, nowMs, base };
}

function textOf(price: number): string {
  return catalogText({ models: [{ id: "m", price }] });
}

Deno.test("versions form a chain, with author, reason and audit line", async () => {
  using kv = await Deno.openKv(":memory:");
  const { head } = await seedCatalog(kv, { $schema: "x", models: [] }, startMs);
  assertEquals([head.version, head.newest], [1, 1]);
  const made = await addVersion(kv, { text: textOf(5) }, act(1, "cheaper"));
  assert(made.ok);
  assertEquals(made.version.parent, 1);
  assertEquals(await readVersionContents(kv, 2), JSON.parse(textOf(5)));
  const [second, first] = await listVersions(kv);
  assertEquals(
    [first?.author, first?.parent, second?.author, second?.reason, second?.effectiveFromMs],
    ["gateway.json", undefined, "command line", "cheaper", startMs],
  );
  const [line, ...others] = await listAuditLines(kv, { count: 9 });
  assertEquals([line?.act, line?.subject, line?.detail], [
    "catalog_applied",
    "version 2",
    "cheaper",
  ]);
  assertEquals(others, []);
});

Deno.test("of two editors one is told of the other's version, and nothing is written of it", async () => {
  using kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, {}, startMs);
  const [one, other] = await Promise.all([
    addVersion(kv, { text: textOf(1) }, act(1, "one")),
    addVersion(kv, { text: textOf(2) }, act(1, "other")),
  ]);
  const refused = one.ok ? other : one;
  assert(one.ok !== other.ok && !refused.ok && refused.reason === "conflict");
  assertEquals(refused.newest?.version, 2);
  assertEquals((await readHead(kv))?.newest, 2);
  assertEquals((await listAuditLines(kv, { count: 9 })).length, 1);
  const same = await addVersion(kv, { text: one.ok ? textOf(1) : textOf(2) }, act(2));
  assertEquals(same, { ok: false, reason: "unchanged" });
});

Deno.test("a version with a moment is in force from it on, and the next one continues it", async () => {
  using kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, {}, startMs);
  const fromMs = startMs + 60_000;
  await addVersion(kv, { text: textOf(1), effectiveFromMs: fromMs }, act(1));
  const head = await readHead(kv);
  assert(head !== undefined);
  assertEquals(inForce(head, fromMs - 1).version, 1);
  assertEquals(inForce(head, fromMs).version, 2);
  const next = await addVersion(kv, { text: textOf(2) }, act(2, "later", fromMs));
  assert(next.ok && next.withdrawn === undefined);
  assertEquals(next.version.parent, 2);
});

Deno.test("a version that waits is withdrawn by hand, or by the next one", async () => {
  using kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, {}, startMs);
  const waiting = { text: textOf(1), effectiveFromMs: startMs + 60_000 };
  await addVersion(kv, waiting, act(1));
  assertEquals(await withdrawScheduled(kv, act(1)), "conflict");
  assertEquals(await withdrawScheduled(kv, act(2)), "done");
  assertEquals(await withdrawScheduled(kv, act(2)), "missing");
  assertEquals((await readHead(kv))?.scheduled, undefined);
  await addVersion(kv, waiting, act(2));
  const next = await addVersion(kv, { text: textOf(2) }, act(3));
  assert(next.ok);
  assertEquals([next.withdrawn, next.version.parent], [3, 1]);
});

Deno.test("a rollback is a new version with the contents of an old one, which are not written again", async () => {
  using kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, { models: ["first"] }, startMs);
  await addVersion(kv, { text: textOf(1) }, act(1));
  const back = await rollBack(kv, { to: 1 }, act(2, "wrong price"));
  assert(back.ok);
  assertEquals([back.version.version, back.version.rollbackTo, back.version.parent], [3, 1, 2]);
  assertEquals(back.version.contentId, (await readVersion(kv, 1))?.contentId);
  assertEquals(await readVersionContents(kv, 3), { models: ["first"] });
  assertEquals(await rollBack(kv, { to: 9 }, act(3)), { ok: false, reason: "missing" });
});

Deno.test("ten thousand models fit, and come back as they were", async () => {
  using kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, {}, startMs);
  const models = Array.from({ length: 10_000 }, (_, i) => ({
    id: `model-${i}-${crypto.randomUUID()}`,
    family: `family ${i % 40}`,
    price: { unit: "token", vndPerMtok: i },
    routes: [{ provider: "one", model: crypto.randomUUID() }, { provider: "two" }],
  }));
  const made = await addVersion(kv, { text: catalogText({ models }) }, act(1));
  assert(made.ok);
  assertEquals(await readVersionContents(kv, 2), { models });
});

Deno.test("contents of old versions are removed, and those of a commit that did not come", async () => {
  using kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, {}, startMs);
  const lost = await writeContents(kv, textOf(-1), startMs);
  const dayMs = 24 * 3_600_000;
  for (let i = 1; i <= keptVersions; i++) {
    const made = await addVersion(kv, { text: textOf(i) }, act(i, "", startMs + dayMs + i));
    assert(made.ok);
  }
  assertEquals(await readVersionContents(kv, 1), undefined);
  assertEquals(await readVersionContents(kv, 2), JSON.parse(textOf(1)));
  assertEquals((await readVersion(kv, 1))?.author, "gateway.json");
  assertEquals((await kv.get(["catalog_content", lost.contentId])).value, null);
  assertEquals(await rollBack(kv, { to: 1 }, act(keptVersions + 1)), {
    ok: false,
    reason: "missing",
  });
});

Deno.test("gateway.json is taken over while nobody has edited the store, and passed over afterwards", async () => {
  using kv = await Deno.openKv(":memory:");
  const file = (price: number) => JSON.parse(textOf(price));
  const seed = async (price: number) => {
    const { head, isFilePassedOver } = await seedCatalog(kv, file(price), startMs);
    return { version: head.version, isFilePassedOver };
  };
  assertEquals(await seed(1), { version: 1, isFilePassedOver: false });
  assertEquals(await seed(1), { version: 1, isFilePassedOver: false });
  assertEquals(await seed(2), { version: 2, isFilePassedOver: false });
  await addVersion(kv, { text: textOf(7) }, act(2));
  assertEquals(await seed(2), { version: 3, isFilePassedOver: false });
  assertEquals(await seed(4), { version: 3, isFilePassedOver: true });
  const { head } = await seedCatalog(kv, file(4), startMs);
  assert(isPassedOver(head, "another", startMs));
  const digest = (await addVersion(kv, { text: textOf(4) }, act(9))).ok;
  assertEquals(digest, false);
  await declineFile(kv, "no digest of a file", act(3));
  assertEquals(await seed(4), { version: 3, isFilePassedOver: true });
  // What the store has is what the file says: from here on the file counts again.
  const applied = await addVersion(kv, { text: textOf(4) }, act(3));
  assert(applied.ok);
  await declineFile(kv, applied.version.digest, act(4));
  assertEquals(await seed(5), { version: 5, isFilePassedOver: false });
});

Deno.test("instances that start at the same time make one version of the file", async () => {
  using kv = await Deno.openKv(":memory:");
  const seeds = await Promise.all(
    Array.from({ length: 4 }, () => seedCatalog(kv, { models: [] }, startMs)),
  );
  assertEquals(seeds.map(({ head }) => head.newest), [1, 1, 1, 1]);
});
