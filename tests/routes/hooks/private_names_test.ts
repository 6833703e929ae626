/** Endpoints of webhooks whose names lead inside a network are refused when they are added or changed, with the reason. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { isPublicAddress } from "../../../core/net/remote/address.ts";
import { PublicNames } from "../../../core/net/remote/public_names.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { listEndpoints } from "../../../kv/people/webhooks/endpoints.ts";
import { type Outcome, perform } from "../../../routes/acts/operation.ts";
import {
  webhookChange,
  webhookCreation,
  type WebhookRefusal,
} from "../../../routes/acts/webhooks.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";
import { ownerOf } from "../../support/worlds/acting.ts";

/** Opens a store whose name server answers with what the test says; `undefined`: it fails. */
async function openWorld(addressesOf: (host: string) => readonly string[] | undefined) {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.UTC(2026, 10, 28, 3));
  const names = new PublicNames({
    clock: time,
    deadlines: new Deadlines({ clock: time, timer: time }),
    resolve: (host) => {
      const found = addressesOf(host);
      return found === undefined
        ? Promise.reject(new Error("no name server"))
        : Promise.resolve(found);
    },
  });
  const account = await createAccount(kv, { nowMs: time.nowMs() });
  const deps = {
    kv,
    masterKeys: await readMasterKeys(newMasterKey()),
    webhooks: {
      isLocalAllowed: false,
      hasPrivateAddress: (host: string) => names.hasPrivateAddress(host),
      hintDelivery: () => {},
    },
  };
  const acting = () => ownerOf(account, time.nowMs());
  const told = (outcome: Outcome<unknown, WebhookRefusal>) =>
    outcome.ok ? "done" : "why" in outcome ? outcome.why : outcome.common;
  return {
    time,
    urls: async () => (await listEndpoints(kv, account.id)).map(({ url }) => url),
    async add(url: string): Promise<string> {
      const input = { url, kinds: ["topup.credited"] };
      return told(await perform(deps, acting(), webhookCreation, input));
    },
    async edit(url: string): Promise<string> {
      const [endpoint] = await listEndpoints(kv, account.id);
      assert(endpoint !== undefined);
      return told(await perform(deps, acting(), webhookChange, { id: endpoint.id, url }));
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

const reason = "must point to a public address";

const addresses = fc.array(
  fc.constantFrom(
    "93.184.215.14",
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "10.0.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "100.64.0.9",
    "192.168.1.7",
    "::1",
    "fd00::1",
    "fe80::1",
    "::ffff:10.0.0.1",
    "0.0.0.0",
  ),
  { maxLength: 4 },
);

Deno.test("an endpoint is refused, added or changed, exactly where one of its addresses is not public", async () => {
  await fc.assert(
    fc.asyncProperty(fc.option(addresses, { nil: undefined }), async (found) => {
      using world = await openWorld((host) => host === "known.example" ? ["93.184.215.14"] : found);
      assertEquals(await world.add("https://known.example/in"), "done");
      const hasPrivateAddress = found?.every(isPublicAddress) === false;
      const url = "https://hooks.example/in";
      assertEquals(await world.edit(url), hasPrivateAddress ? reason : "done");
      assertEquals(await world.urls(), [hasPrivateAddress ? "https://known.example/in" : url]);
      assertEquals(await world.add(`${url}/more`), hasPrivateAddress ? reason : "done");
    }),
    { numRuns: 60 },
  );
});

Deno.test("a name is asked again, so that what is refused now can be added once it is public", async () => {
  let found = ["10.0.0.1"];
  using world = await openWorld(() => found);
  assertEquals(await world.add("https://hooks.example/in"), reason);
  found = ["93.184.215.14"];
  world.time.advance(61_000);
  assertEquals(await world.add("https://hooks.example/in"), "done");
});

Deno.test("pages and programs say the reason, beside the field", async () => {
  await using world = await openDashboardWorld({
    hasPrivateAddress: (host) => Promise.resolve(host.startsWith("inside.")),
  });
  const { browser, account } = await world.signIn();
  const form = await browser.get("/webhooks/new");
  const url = "https://inside.example/in";
  const page = await browser.submit(form, "/webhooks", { url });
  assertEquals(page.status, 422);
  assertStringIncludes(page.text, "The URL must lead to a public address.");
  assertStringIncludes(page.text, url);
  assertEquals(await listEndpoints(world.kv, account.id), []);

  await using managed = await openManagementWorld();
  const { status, body } = await managed.send("POST", "/webhooks", {
    body: { url, kinds: ["topup.credited"] },
  });
  assertEquals([status, body.error.message, body.error.param], [400, `url: ${reason}`, "url"]);
});
