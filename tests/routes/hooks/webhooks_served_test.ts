/** A gateway as it is served in a sandbox: from the forms of a customer to the request at their server. */
import { Webhook } from "standardwebhooks";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { serveGateway } from "../../support/gateways/served_gateway.ts";
import { openReceiver } from "../../support/worlds/webhook_world.ts";
import { until } from "../../support/until.ts";

Deno.test("a customer adds an endpoint, makes a key, and their server is told at once", async () => {
  await using receiver = openReceiver();
  await using gateway = await serveGateway();
  const browser = gateway.browser();
  await browser.submit(await browser.get("/sign-up"), "/sign-up", {
    email: "ann@example.com",
    password: "correct horse battery",
  });
  const [, token = ""] = /#token=([\w-]+)/.exec(await gateway.line(/#token=/))!;
  await browser.submit(await browser.get("/verify"), "/verify", { token });
  const form = await browser.get("/webhooks/new");
  const added = await browser.submit(form, "/webhooks", { url: receiver.url });
  const secret = /whsec_[A-Za-z0-9+/]+=/.exec(added.text)?.[0];
  assert(secret !== undefined, "a sandbox on this machine may send to this machine");
  await browser.submit(await browser.get("/keys/new"), "/keys", { name: "deploy" });
  const got = await until(() => receiver.received[0], "the webhook of the key");
  const event = new Webhook(secret).verify(got.body, { ...got.headers });
  assert(typeof event === "object" && event !== null && "type" in event);
  assertEquals(event.type, "key.created");
  assertStringIncludes(got.body, '"name":"deploy"');
  const [path = ""] = /\/webhooks\/whe_\w+/.exec(added.text) ?? [];
  await until(
    async () => (await browser.get(path)).text.includes("Delivered"),
    "its row of the log",
  );
  await browser.submit(await browser.get(path), `${path}/test`, { kind: "video.ended" });
  const test = await until(() => receiver.received[1], "the test");
  assertStringIncludes(test.body, '"test":true');
});
