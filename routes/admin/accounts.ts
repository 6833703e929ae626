/** What the command line may do with accounts and their keys. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import { type ApiKeyId, parseId } from "../../core/ids.ts";
import { formatVnd } from "../../core/money/micro_vnd.ts";
import { inVnd } from "../../core/money/vnd_json.ts";
import { createAccount, getAccount, listAccounts } from "../../kv/accounts.ts";
import { createApiKey, isActive, listApiKeys, revokeApiKey } from "../../kv/api_keys.ts";
import { forgetSecondFactor } from "../../kv/second_factor.ts";
import type { AdminDeps } from "./app.ts";
import { requireAccount } from "./named_account.ts";

const accountBody = z.strictObject({ email: z.email().optional() });
const keyBody = z.strictObject({ name: z.string().min(1).max(100).default("admin") });

function keyIdOf(text: string): ApiKeyId {
  const id = parseId("apiKey", text);
  if (id === undefined) throw new GatewayError("invalid_request", `Not a key id: ${text}`);
  return id;
}

/** Adds `/accounts`: making them, listing them, looking at one, and forgetting its second factor. */
export function addAccountRoutes(app: Hono, { kv, clock, teller }: AdminDeps): void {
  app.post("/accounts", async (context) => {
    const { email } = accountBody.parse(await context.req.json());
    const account = await createAccount(kv, {
      nowMs: clock.nowMs(),
      ...(email === undefined ? {} : { email: email.toLowerCase() }),
    });
    return context.json(account);
  });

  app.get("/accounts", async (context) => {
    const { accounts } = await listAccounts(kv, { limit: 1_000 });
    return context.json(accounts.map(({ id, email, createdAtMs, blockedAtMs }) => ({
      id,
      email,
      createdAt: new Date(createdAtMs).toISOString(),
      blocked: blockedAtMs !== undefined,
    })));
  });

  app.get("/accounts/:account", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    const balance = await teller.balance(id);
    const keys = await listApiKeys(kv, id);
    return Response.json(inVnd({
      ...(await getAccount(kv, id)),
      balanceVnd: formatVnd(balance.totalMicroVnd),
      keys: keys.map((key) => ({
        id: key.id,
        name: key.name,
        masked: key.masked,
        active: isActive(key, clock.nowMs()),
      })),
    }));
  });

  app.delete("/accounts/:account/second-factor", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    await forgetSecondFactor(kv, id);
    return context.json({ id, secondFactor: "forgotten" });
  });
}

/** Adds `/accounts/{account}/keys`: making and revoking them. */
export function addKeyRoutes(app: Hono, { kv, clock, masterKeys, control }: AdminDeps): void {
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
