/** What the command line may do with wallets. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import { formatVnd } from "../../core/money/micro_vnd.ts";
import { inVnd } from "../../core/money/vnd_json.ts";
import { credit, debit, isOwnOperationId } from "../../kv/ledger.ts";
import type { AdminDeps } from "./app.ts";
import { movementSummary, readTypedVnd } from "./amount.ts";
import { requireAccount } from "./named_account.ts";

const creditBody = z.strictObject({
  vnd: z.string(),
  reason: z.string().min(3).max(500),
  operationId: z.string().min(8).max(100).refine(
    (id) => !isOwnOperationId(id),
    "is the gateway's own (a bank notice is credited on the operator's pages); use another",
  ),
});

/** Adds `POST /accounts/{account}/credit`: money given or, with a minus, taken, once per operation id. */
export function addWalletRoutes(app: Hono, { kv, clock, teller }: AdminDeps): void {
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
}
