import { assert, assertEquals } from "../../../../support/assert.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../../support/worlds/money_world.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import {
  addVersion,
  type CatalogVersion,
  readVersion,
  seedCatalog,
} from "../../../../../kv/services/catalog/versions.ts";
import type { CatalogHead } from "../../../../../kv/engine/control/catalog_head.ts";
import { commandLine } from "../../../../../kv/people/audit/operator_audit.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { catalogProblems } from "../../../../../kv/services/verify/checks/verify_catalog.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";

const headKey = ["control", "catalog"];

async function threeVersions(): Promise<Deno.Kv> {
  const kv = await Deno.openKv(":memory:");
  await seedCatalog(kv, { models: [] }, 1_000);
  for (const base of [1, 2]) {
    const act = { author: commandLine, reason: "", nowMs: 2_000, base };
    assert((await addVersion(kv, { text: `{"models":[${base}]}` }, act)).ok);
  }
  return kv;
}

/** Each damage with what is found of it. */
const damages: Record<string, [(kv: KeyValueStore) => Promise<unknown>, string]> = {
  "a missing version": [(kv) => kv.delete(["catalog_version", 2]), "version 2 is missing"],
  "a version that follows a later one": [async (kv) => {
    const row = await readVersion(kv, 2);
    await kv.set(["catalog_version", 2], { ...row, parent: 3 });
  }, "version 2 follows 3"],
  "a head without its version": [async (kv) => {
    const { value } = await kv.get<CatalogHead>(headKey);
    await kv.set(headKey, { ...value, version: 9 });
  }, "the head names version 9, which is not there"],
  "a head with another digest": [async (kv) => {
    const { value } = await kv.get<CatalogHead>(headKey);
    await kv.set(headKey, { ...value, digest: "0" });
  }, "the head has another digest of version 3"],
  "contents that were changed": [async (kv) => {
    const row = await readVersion(kv, 3);
    await kv.set(["catalog_piece", row?.contentId ?? "", 0], new Uint8Array(9));
  }, "the contents of version 3 are missing or damaged"],
  "contents under another version": [async (kv) => {
    const one = await readVersion(kv, 1);
    const row: CatalogVersion | undefined = await readVersion(kv, 2);
    await kv.set(["catalog_version", 2], { ...row, contentId: one?.contentId });
  }, "the contents of version 2 are missing or damaged"],
};

for (const [name, [damage, detail]] of Object.entries(damages)) {
  Deno.test(`verification finds ${name}`, async () => {
    using kv = await threeVersions();
    assertEquals((await verifyStore(kv)).problems, []);
    await damage(kv);
    assertEquals((await verifyStore(kv)).problems, [{ kind: "catalog", detail }]);
  });
}

Deno.test("verification finds a receipt with a version that does not exist", async () => {
  using kv = await threeVersions();
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  const settle = async (catalogVersion: number) =>
    await wallet.settle(await mustReserve(wallet, account, 50n), {
      ...draftOf(40n),
      attempts: [{ route: "sandbox/m", outcome: "ok", ms: 1 }],
      catalogVersion,
    });
  await settle(3);
  assertEquals((await verifyStore(kv)).problems, []);
  await settle(4);
  assertEquals((await verifyStore(kv)).problems, [
    { kind: "catalog", detail: "a receipt names version 4, the newest is 3" },
  ]);
  await wallet.close();
});

Deno.test("a store of an earlier release has no versions, and is right", async () => {
  using kv = await Deno.openKv(":memory:");
  assertEquals(await catalogProblems(kv, { latestOnReceipts: 0, isFull: true }), []);
});
