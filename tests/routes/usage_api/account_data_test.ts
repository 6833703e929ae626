/** "Download all data" has every record that a kind of row declares, and no secret; of people, only who downloads it. */
import { assert, assertEquals } from "../../support/assert.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { rowOwners } from "../../../kv/engine/schema/keys.ts";
import { addPasskey } from "../../../kv/people/accounts/passkeys.ts";
import { saveView } from "../../../kv/people/accounts/saved_views.ts";
import { noteSentMail } from "../../../kv/people/accounts/sent_mails.ts";
import { subscribe } from "../../../kv/people/operators/status_subscribers.ts";
import { setCompanyOpenId } from "../../../kv/people/organisations/company_sign_in.ts";
import { handOver } from "../../../kv/people/organisations/organisations.ts";
import { writeRefusedCall } from "../../../kv/services/calls/refused_calls.ts";
import type { TestBrowser } from "../../support/browser/test_browser.ts";
import { actFor, joinAs } from "../../support/worlds/company_world.ts";
import { openFullCompany, signUp } from "../../support/worlds/full_company.ts";
import { openTwoInstances } from "../../support/worlds/two_instances.ts";

async function download(browser: TestBrowser): Promise<{ text: string; kinds: Set<string> }> {
  const { text, status } = await browser.get("/account/data.ndjson");
  assertEquals(status, 200);
  const kinds = text.trimEnd().split("\n").map((line) => String(JSON.parse(line).record));
  return { text, kinds: new Set(kinds) };
}

Deno.test("the file has every record of the table of row owners, and no secret", async () => {
  await using world = await openTwoInstances({ kind: "memory" });
  const { kv, time } = world;
  const { account, people: { owner }, ...company } = await openFullCompany(world);
  const [nowMs, email] = [time.nowMs(), owner.person.email ?? ""];
  const provider = { issuer: "https://id.example", clientId: "gateway", role: "viewer" } as const;
  await setCompanyOpenId(kv, account.id, { ...provider, sealedSecret: "sealed-secret" }, { nowMs });
  const key = { publicKey: "public", counter: 0, transports: [], createdAtMs: nowMs };
  await addPasskey(kv, owner.person.id, { ...key, id: "credential", name: "laptop" });
  await noteSentMail(kv, owner.person.id, { kind: "low_balance", atMs: nowMs });
  await subscribe(kv, { email, locale: "en", confirmedAtMs: nowMs });
  const views = { personId: owner.person.id, organisationId: account.id };
  await saveView(kv, views, { name: "Errors", query: "status=error" });
  const call = { requestId: newId("request", nowMs), keyId: newId("apiKey", nowMs), atMs: nowMs };
  const refusal = { status: 404, code: "model_not_found", message: "x", latencyMs: 1 } as const;
  const operation = kv.atomic();
  writeRefusedCall(operation, { ...call, ...refusal, accountId: account.id }, 60_000);
  await operation.commit();

  const { text, kinds } = await download(owner.browser);
  const declared = Object.values(rowOwners)
    .flatMap((one) => "download" in one && Array.isArray(one.download) ? one.download : []);
  assertEquals([...kinds].sort(), [...new Set([...declared, "end"])].sort());
  const secrets = [company.apiKey, ...Object.values(company.managementKeys), "sealed"];
  for (const secret of [...secrets, "whsec_", '"hash"', "publicKey"]) {
    assert(!text.includes(secret), secret);
  }
});

Deno.test("the owner of an organisation that was handed over gets nothing of the person with its id", async () => {
  await using world = await openTwoInstances({ kind: "memory" });
  const { kv, time } = world;
  const [ann, bob] = [
    await signUp(world, "ann@example.com"),
    await signUp(world, "bob@example.com"),
  ];
  const nowMs = time.nowMs();
  await joinAs(kv, ann.account.id, bob.account, { role: "admin", nowMs });
  const handed = await handOver(kv, ann.account.id, {
    from: ann.account,
    to: bob.account.id,
    nowMs,
  });
  assertEquals(handed, "done");
  await actFor(bob.browser, ann.account);
  const { text } = await download(bob.browser);
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const of = (record: string) => lines.filter((line) => line.record === record);
  assertEquals(of("account").map(({ id }) => id), [bob.account.id]);
  assertEquals(of("organisation").map(({ id }) => id), [ann.account.id]);
  assertEquals(of("session").length, 1, "the session of Bob");
});
