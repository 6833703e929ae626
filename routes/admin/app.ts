/**
 * The administrator's commands as a small HTTP app. `deno task admin` reaches it through the running server's socket
 * or, when no server runs, in its own process: one implementation, one owner of the store.
 */
import { Hono } from "hono";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { type AccountId, type ApiKeyId, parseId } from "../../core/ids.ts";
import type { MasterKeys } from "../../core/keys/seal.ts";
import { formatVnd } from "../../core/money/micro_vnd.ts";
import { inVnd } from "../../core/money/vnd_json.ts";
import type { ReceivingAccount } from "../../core/topup/receiving_account.ts";
import { createAccount, findAccountByEmail, getAccount, listAccounts } from "../../kv/accounts.ts";
import { createApiKey, isActive, listApiKeys, revokeApiKey } from "../../kv/api_keys.ts";
import type { Control } from "../../kv/control.ts";
import { exportRecords } from "../../kv/export.ts";
import { credit, debit, isOwnOperationId } from "../../kv/ledger.ts";
import { commandLine } from "../../kv/operator_audit.ts";
import { setMaintenance } from "../../kv/switches.ts";
import { checkTopups } from "../../kv/topup_checks.ts";
import { verifyStore } from "../../kv/verify.ts";
import { forgetSecondFactor } from "../../kv/second_factor.ts";
import type { Teller } from "../../kv/teller/mod.ts";
import { maintenanceBody } from "../http/maintenance_body.ts";
import { addNoticeRoutes } from "./notices.ts";
import { movementSummary, readTypedVnd } from "./amount.ts";

export interface AdminDeps {
  readonly kv: Deno.Kv;
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly control: Control;
  readonly teller: Teller;
  readonly receivingAccounts: readonly ReceivingAccount[];
}

const accountBody = z.strictObject({ email: z.email().optional() });
const keyBody = z.strictObject({ name: z.string().min(1).max(100).default("admin") });
const creditBody = z.strictObject({
  vnd: z.string(),
  reason: z.string().min(3).max(500),
  operationId: z.string().min(8).max(100).refine(
    (id) => !isOwnOperationId(id),
    "is the gateway's own (a bank notice is credited on the operator's pages); use another",
  ),
});

function accountIdOf(text: string): AccountId {
  const id = parseId("account", text);
  if (id === undefined) throw new GatewayError("invalid_request", `Not an account id: ${text}`);
  return id;
}

function keyIdOf(text: string): ApiKeyId {
  const id = parseId("apiKey", text);
  if (id === undefined) throw new GatewayError("invalid_request", `Not a key id: ${text}`);
  return id;
}

async function requireAccount(kv: Deno.Kv, text: string): Promise<AccountId> {
  const id = text.includes("@")
    ? (await findAccountByEmail(kv, text.toLowerCase()))?.id
    : (await getAccount(kv, accountIdOf(text)))?.id;
  if (id === undefined) throw new GatewayError("not_found", `No such account: ${text}`);
  return id;
}

/** Builds the app. It has no authentication of its own: whoever reaches its socket owns the store. */
export function createAdminApp(deps: AdminDeps): Hono {
  const { kv, clock, masterKeys, control, teller } = deps;
  const app = new Hono();

  app.onError((error, context) => {
    if (error instanceof GatewayError) return context.json({ error: error.message }, 400);
    if (error instanceof z.ZodError) {
      const text = error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; ");
      return context.json({ error: text }, 400);
    }
    return context.json({ error: `${error.name}: ${error.message}` }, 500);
  });

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

  app.post("/accounts/:account/credit", async (context) => {
    const { vnd, reason, operationId } = creditBody.parse(await context.req.json());
    const amountMicroVnd = readTypedVnd(vnd);
    if (amountMicroVnd === undefined) {
      throw new GatewayError("invalid_request", `Not an amount in whole VND: ${vnd}`);
    }
    const accountId = await requireAccount(kv, context.req.param("account"));
    const movement = {
      accountId,
      kind: "admin",
      operationId,
      reason,
      atMs: clock.nowMs(),
    } as const;
    const result = amountMicroVnd > 0n
      ? await credit(kv, { ...movement, amountMicroVnd })
      : await debit(kv, { ...movement, amountMicroVnd: -amountMicroVnd });
    if (result.status !== "applied" && result.status !== "duplicate") {
      throw new GatewayError("invalid_request", `Nothing was moved: ${result.status}`);
    }
    const balance = await teller.balance(accountId);
    const summary = movementSummary(amountMicroVnd, result.status);
    const balanceVnd = formatVnd(balance.totalMicroVnd);
    return Response.json(inVnd({ summary, ...result, balanceVnd }));
  });

  app.delete("/accounts/:account/second-factor", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    await forgetSecondFactor(kv, id);
    return context.json({ id, secondFactor: "forgotten" });
  });

  addNoticeRoutes(app, deps);

  app.get("/verify", async () => {
    const wallets = await verifyStore(kv);
    const topups = await checkTopups(kv, clock.nowMs());
    const ok = wallets.ok && topups.problems.length === 0;
    return Response.json(inVnd({ ...wallets, ok, topups }));
  });

  app.get(
    "/export",
    () => new Response(ReadableStream.from(exportRecords(kv)).pipeThrough(new TextEncoderStream())),
  );

  app.post("/maintenance", async (context) => {
    const { on, message } = maintenanceBody.parse(await context.req.json());
    const act = { operator: commandLine, nowMs: clock.nowMs() };
    await setMaintenance(control, on ? message : undefined, act);
    return context.json({ maintenance: on });
  });

  return app;
}
