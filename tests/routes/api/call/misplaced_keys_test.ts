/** Keys that a client puts where they do not belong: the store never has them, whatever the vendor and the place. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { everyRow } from "../../../../kv/engine/schema/keys.ts";
import { bearerPost } from "../../../support/api_post.ts";

const alphanumeric = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"];

/** What the key of a vendor begins with. */
const prefixes = [
  "sk-",
  "sk-ant-api03-",
  "sk-proj-",
  "sk-or-v1-",
  "gsk_",
  "xai-",
  "AIzaSy",
  "hf_",
  "r8_",
  "pplx-",
  "nvapi-",
  "ghp_",
  "AKIA",
  "fw_",
];

/** Keys of vendors: a prefix and random characters, among them a digit and a letter in the first part. */
const anyKey = fc.tuple(
  fc.constantFrom(...prefixes),
  fc.array(fc.constantFrom(...alphanumeric), { minLength: 18, maxLength: 40 }),
).map(([prefix, text]) => `${prefix}a1${text.join("")}`);

const messages = [{ role: "user", content: "Hi" }];

Deno.test("a key in the place of a model, a tag or an end user is not stored", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(1_000_000);
  const send = async (body: Record<string, unknown>, headers: Record<string, string> = {}) => {
    const response = await gateway.fetch(
      bearerPost("http://gateway.example/v1/chat/completions", key, {
        model: "premium-1",
        max_tokens: 5,
        messages,
        ...body,
      }, headers),
    );
    await response.text();
    return response.status;
  };
  const sent: string[] = [];
  await fc.assert(
    fc.asyncProperty(anyKey, async (secret) => {
      sent.push(secret);
      assertEquals(await send({ model: secret }), 200);
      assertEquals(await send({ user: secret, metadata: { team: secret } }), 200);
      assertEquals(await send({ user: `me ${secret}` }), 200);
      assertEquals(await send({}, { "x-gateway-tags": `team=${secret}` }), 400);
    }),
    { numRuns: 20 },
  );
  const rows = await Array.fromAsync(gateway.kv.list(everyRow()));
  const stored = JSON.stringify(
    rows,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
  assert(stored.includes("[removed]"), "the receipts are there");
  for (const secret of sent) assert(!stored.includes(secret.slice(-16)), secret);
});

Deno.test("names that are no keys stay as they are", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(1_000_000);
  for (const name of ["gpt-4o-2024-08-06", "key-account-team-2026", "claude-opus-4-1-20250805"]) {
    const response = await gateway.fetch(
      bearerPost("http://gateway.example/v1/chat/completions", key, {
        model: name,
        max_tokens: 5,
        messages,
      }, { "x-gateway-tags": `team=${name}` }),
    );
    assertEquals(response.status, 200, await response.text());
    assertEquals(response.headers.get("x-gateway-model-mapped-from"), name);
  }
});
