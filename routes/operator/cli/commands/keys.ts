/** Commands on API keys. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { type ApiKeyId, parseId } from "../../../../core/lib/ids/ids.ts";
import { createApiKey, revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { requireAccount } from "./account_operand.ts";
import type { AdminDeps } from "./admin_deps.ts";

/** Characters of the name of a key made by the command line: a line of a list. */
export const maxKeyNameChars = 100;

const keyBody = z.strictObject({
  name: z.string().min(1).max(maxKeyNameChars).default("admin"),
});

function keyIdOf(text: string): ApiKeyId {
  const id = parseId("apiKey", text);
  if (id === undefined) throw new GatewayError("invalid_request", `Not a key id: ${text}`);
  return id;
}

/** Adds `/accounts/{account}/keys`. */
export function addKeyRoutes(
  app: Hono,
  { kv, clock, masterKeys, control }: Pick<AdminDeps, "kv" | "clock" | "masterKeys" | "control">,
): void {
  app.post("/accounts/:account/keys", async (context) => {
    const { name } = keyBody.parse(await context.req.json());
    const id = await requireAccount(kv, context.req.param("account"));
    const made = await createApiKey(kv, masterKeys, id, { name, nowMs: clock.nowMs() });
    if (!made.ok) {
      throw new GatewayError(
        "invalid_request",
        "The account has all its active keys; revoke one first",
      );
    }
    return context.json({ id: made.record.id, name, key: made.secret });
  });

  app.delete("/accounts/:account/keys/:key", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    const record = await revokeApiKey(kv, id, keyIdOf(context.req.param("key")), clock.nowMs());
    if (record === undefined) throw new GatewayError("not_found", "No such key");
    await control.refresh();
    return context.json({ id: record.id, revoked: true });
  });
}
