/** Commands on accounts: creation, display, wallets, second factors. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { inVnd } from "../../../../core/billing/money/vnd_json.ts";
import {
  createAccount,
  getAccount,
  listAccounts,
} from "../../../../kv/people/accounts/accounts.ts";
import { isActive, listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  credit,
  debit,
  isOwnOperationId,
  type MovementResult,
} from "../../../../kv/money/ledger/ledger.ts";
import { addAuditLine, commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { forgetSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { requireAccount } from "./account_operand.ts";
import { movementSummary, readTypedVnd } from "./amount.ts";
import type { AdminDeps } from "./admin_deps.ts";
import type { AtomicWrite } from "../../../../kv/engine/store/key_value_store.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

/** Accounts that `admin account list` shows: more than a person reads in a terminal. */
const maxAccountsListed = 1_000;

/** Characters of the shortest reason for a correction of a wallet. */
export const minReasonChars = 3;

/** Characters of the longest reason, which appears in the statement: a few sentences. */
export const maxReasonChars = 500;

/** Characters of the shortest operation id given by hand: a shorter one would be used again by accident. */
export const minOperationIdChars = 8;

/** Characters of the longest operation id given by hand. */
export const maxOperationIdChars = 100;

function textOf(minChars: number, maxChars: number) {
  const error = `must have ${minChars} to ${maxChars} characters`;
  return z.string({ error }).min(minChars, { error }).max(maxChars, { error });
}

const accountBody = z.strictObject({ email: z.email().optional() });
const creditBody = z.strictObject({
  vnd: z.string(),
  reason: textOf(minReasonChars, maxReasonChars),
  operationId: textOf(minOperationIdChars, maxOperationIdChars)
    .refine(
      (id) => !isOwnOperationId(id),
      "is the gateway's own (a bank notice is credited on the operator's pages); use another",
    ),
});

/** Adds `/accounts` and, below an account, its balance and second factor. */
export function addAccountRoutes(
  app: Hono,
  { kv, clock, wallet }: Pick<AdminDeps, "kv" | "clock" | "wallet">,
): void {
  app.post("/accounts", async (context) => {
    const { email } = accountBody.parse(await context.req.json());
    const account = await createAccount(kv, {
      nowMs: clock.nowMs(),
      ...defined({ email: email?.toLowerCase() }),
    });
    return context.json(account);
  });

  app.get("/accounts", async (context) => {
    const { accounts } = await listAccounts(kv, { limit: maxAccountsListed });
    return context.json(accounts.map(({ id, email, createdAtMs, blockedAtMs }) => ({
      id,
      email,
      createdAt: new Date(createdAtMs).toISOString(),
      blocked: blockedAtMs !== undefined,
    })));
  });

  app.get("/accounts/:account", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    const balance = await wallet.balance(id);
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

function refusalOf(
  result: Exclude<MovementResult, { readonly status: "applied" | "duplicate" }>,
): string {
  switch (result.status) {
    case "mismatch": {
      const { amountMicroVnd, reason } = result.entry;
      return `this operation id was used for ${
        formatVnd(amountMicroVnd)
      } VND, "${reason}"; use another`;
    }
    case "insufficient":
      return `the wallet has ${formatVnd(result.availableMicroVnd)} VND that no running call holds`;
    case "conflict":
      return "the wallet kept changing; try again";
  }
}

/** Adds `POST /accounts/{account}/credit`: credits a wallet or, with a negative amount, debits it. */
export function addCreditRoute(
  app: Hono,
  { kv, clock, wallet }: Pick<AdminDeps, "kv" | "clock" | "wallet">,
): void {
  app.post("/accounts/:account/credit", async (context) => {
    const { vnd, reason, operationId } = creditBody.parse(await context.req.json());
    const amountMicroVnd = readTypedVnd(vnd);
    if (amountMicroVnd === undefined) {
      throw new GatewayError("invalid_request", `Not an amount in whole VND: ${vnd}`);
    }
    const accountId = await requireAccount(kv, context.req.param("account"));
    const atMs = clock.nowMs();
    const movement = {
      accountId,
      kind: "admin",
      operationId,
      reason,
      atMs,
      async attach(operation: AtomicWrite) {
        const { totalMicroVnd: balanceBeforeMicroVnd } = await wallet.balance(accountId);
        const balanceAfterMicroVnd = balanceBeforeMicroVnd + amountMicroVnd;
        addAuditLine(operation, commandLine, {
          act: "wallet_adjusted",
          subject: accountId,
          detail: `${operationId}: ${reason}`,
          atMs,
          money: { accountId, amountMicroVnd, balanceBeforeMicroVnd, balanceAfterMicroVnd },
        });
      },
    } as const;
    const result = amountMicroVnd > 0n
      ? await credit(kv, { ...movement, amountMicroVnd })
      : await debit(kv, { ...movement, amountMicroVnd: -amountMicroVnd });
    if (result.status !== "applied" && result.status !== "duplicate") {
      throw new GatewayError("invalid_request", `Nothing was moved: ${refusalOf(result)}`);
    }
    const balance = await wallet.balance(accountId);
    const summary = movementSummary(amountMicroVnd, result.status);
    const balanceVnd = formatVnd(balance.totalMicroVnd);
    return Response.json(inVnd({ summary, ...result, balanceVnd }));
  });
}
