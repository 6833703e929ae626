/** Keys of a blocked organisation: told so in the style of the caller, while unusable keys are told only that they are. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { createManagementKey } from "../../../../kv/people/management_keys/management_keys.ts";
import { createApiKey, revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { authoriseManagement } from "../../../../routes/http/management_key.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { apiPost } from "../../../support/api_post.ts";

const messages = [{ role: "user", content: "hello" }];
const bodies: Readonly<Record<string, object>> = {
  "/v1/messages": { model: "general-01", max_tokens: 9, messages },
  "/v1/messages/count_tokens": { model: "general-01", messages },
  "/v1/chat/completions": { model: "general-01", max_tokens: 9, messages },
  "/v1/responses": { model: "general-01", input: "hello" },
  "/v1/completions": { model: "general-01", prompt: "hello" },
  "/v1beta/models/general-01:generateContent": { contents: [{ parts: [{ text: "hello" }] }] },
  "/v1/images/generations": { model: "image-1", prompt: "a river" },
  "/v1/embeddings": { model: "example-embedding", input: "hello" },
};

interface Answered {
  readonly status: number;
  readonly text: string;
}

async function ask(test: TestGateway, key: string, path: string): Promise<Answered> {
  const response = await test.fetch(apiPost(`http://gateway.example${path}`, key, bodies[path]));
  return { status: response.status, text: await response.text() };
}

/** What the caller's style calls the error, and where its message is. */
function errorOf(path: string, text: string): readonly [kind: unknown, message: string] {
  const { error } = JSON.parse(text);
  return [path.startsWith("/v1beta/") ? error.status : error.type, error.message];
}

Deno.test("a key of a blocked organisation is told so on every endpoint, with 403, until it is unblocked", async () => {
  await using test = await openTestGateway();
  const { kv, assembled: { gateway: { control } } } = test;
  const { accountId, key } = await test.customer(100_000);
  for (const isBlocked of [true, false]) {
    await block(kv, accountId, isBlocked);
    await control.refresh();
    for (const path of Object.keys(bodies)) {
      const { status, text } = await ask(test, key, path);
      if (!isBlocked) {
        assertEquals(status, 200, `${path} ${text}`);
        continue;
      }
      assertEquals(status, 403, `${path} ${text}`);
      const [kind, message] = errorOf(path, text);
      assertStringIncludes(message, "The organisation of this API key is blocked");
      const isGemini = path.startsWith("/v1beta/");
      assertEquals(kind, isGemini ? "PERMISSION_DENIED" : "permission_error", path);
    }
  }
});

Deno.test("who has no usable key does not learn that the organisation is blocked", async () => {
  await using test = await openTestGateway();
  const { kv, time, assembled: { gateway: { control } } } = test;
  const revoked = await test.customer(1_000);
  const expired = await test.customer(1_000, { expiresAtMs: time.nowMs() + 1_000 });
  const former = await test.customer(1_000);
  const options = { name: "former", nowMs: time.nowMs(), memberId: newId("account", 0) };
  const made = await createApiKey(kv, test.masterKeys, former.accountId, options);
  assert(made.ok);
  const formerMembers = { ...former, key: made.secret };
  const [key] = await listApiKeys(kv, revoked.accountId);
  assert(key !== undefined);
  await revokeApiKey(kv, revoked.accountId, key.id, time.nowMs());
  await test.advance(2_000);
  for (const { accountId, key } of [revoked, expired, formerMembers]) {
    await block(kv, accountId);
    await control.refresh();
    const { status, text } = await ask(test, key, "/v1/messages");
    assertEquals(status, 401);
    assertEquals(errorOf("/v1/messages", text)[1], "The API key is wrong, revoked or expired");
  }
});

Deno.test("a management key of a blocked organisation is told so, too", async () => {
  await using test = await openTestGateway();
  const { kv, time } = test;
  const { accountId } = await test.customer();
  const nowMs = time.nowMs();
  const made = await createManagementKey(kv, accountId, {
    name: "program",
    role: "admin",
    memberId: accountId,
    nowMs,
  });
  assert(made !== "too_many");
  const headers = new Headers({ authorization: `Bearer ${made.secret}` });
  const authorised = () =>
    authoriseManagement(kv, { headers, clientAddress: undefined, act: "view_money", nowMs });
  assertEquals((await authorised()).account.id, accountId);
  await block(kv, accountId);
  const error = await authorised().catch((error) => error);
  assert(error instanceof GatewayError);
  assertEquals([error.code, error.status], ["organisation_blocked", 403]);
  assertStringIncludes(error.message, "management key is blocked");
});
