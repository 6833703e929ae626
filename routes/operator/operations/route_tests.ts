/** The operation that tests a route: one small call, charged to nobody. */
import { z } from "zod";
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { maxModelNameChars } from "../../../core/lib/base/limits.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { findAccountByEmail } from "../../../kv/people/accounts/accounts.ts";
import { countTry } from "../../../kv/people/accounts/rate_limits.ts";
import { addAuditLine } from "../../../kv/people/audit/operator_audit.ts";
import { operation, type OperationAct, type OperationDeps, refused } from "./contract/operation.ts";
import { lineText } from "./contract/texts.ts";

/** Characters of the id of a route: the names of a provider and of a model, and a style. */
const maxRouteIdChars = 2 * maxModelNameChars + 32;

/** Tests of an operator: each is a real call that a provider charges for. */
const testRule = { name: "route_test", count: 10, windowMs: minuteMs };

function routeOf(
  { catalog }: OperationDeps,
  modelId: string,
  routeId: string,
): { readonly model: Model; readonly route: Route } | undefined {
  const model = catalog?.current.find(modelId);
  const route = model?.routes.find(({ id }) => id === routeId);
  return model === undefined || route === undefined ? undefined : { model, route };
}

/** The account that has the receipt: that of the operator, or the first one of an operator for commands and programs. */
async function accountOf(
  { kv, operatorEmails = [] }: OperationDeps,
  { operator }: OperationAct,
): Promise<AccountId | undefined> {
  if ("accountId" in operator) return operator.accountId;
  for (const email of operatorEmails) {
    const account = await findAccountByEmail(kv, email);
    if (account !== undefined) return account.id;
  }
  return undefined;
}

/** Counts a test, unless there were too many, and writes that it begins: a call that was sent is in the log, whatever becomes of it. */
async function begin(
  { kv }: OperationDeps,
  { operator, nowMs }: OperationAct,
  subject: string,
  detail: string,
): Promise<GatewayError | undefined> {
  const tries = await countTry(kv, testRule, operator.email, nowMs);
  if (!tries.allowed) {
    const { retryAfterSeconds } = tries;
    const message = `At most ${testRule.count} tests a minute; wait ${retryAfterSeconds} s`;
    return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds });
  }
  const line = kv.atomic();
  addAuditLine(line, operator, { act: "route_tested", subject, detail, atMs: nowMs });
  await line.commit();
  return undefined;
}

/** Sends one small call through a route. */
export const tryRoute = operation({
  name: "routes.test",
  summary: "Sends one small chat call through one route, whatever its health; charged to nobody",
  effect: "acts",
  input: z.strictObject({
    model: lineText(maxModelNameChars).describe("The id of the model."),
    route: lineText(maxRouteIdChars)
      .describe("The id of its route, as `GET /operator/routes` lists it."),
  }),
  output: z.object({
    object: z.literal("route_test"),
    request_id: z.string(),
    ok: z.boolean(),
    status: z.int().nullable().describe("Of the provider; null: no answer began."),
    first_byte_ms: z.number().nullable(),
    duration_ms: z.number(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    cost_vnd: z.string().nullable().describe("What the provider charges; null: not known."),
  }),
  async run(deps, { model: modelId, route: routeId }, act) {
    const found = routeOf(deps, modelId, routeId);
    if (found === undefined || deps.testRoute === undefined) {
      return refused("missing", "not_found", "There is no such route in this process");
    }
    if (found.model.kind !== "chat") {
      return refused(
        "kind",
        "invalid_request",
        "Only routes of chat models can be tested",
        "model",
      );
    }
    const accountId = await accountOf(deps, act);
    if (accountId === undefined) {
      const text = "The receipt of a test belongs to an operator, and none has signed up yet";
      return refused("account", "invalid_request", text);
    }
    const error = await begin(deps, act, routeId, found.model.id);
    if (error !== undefined) return { ok: false as const, why: "limit" as const, error };
    const result = await deps.testRoute({ ...found, accountId });
    const { status, firstByteMs, costMicroVnd } = result;
    return {
      ok: true,
      body: {
        object: "route_test" as const,
        request_id: result.requestId,
        ok: result.isOk,
        status: status ?? null,
        first_byte_ms: firstByteMs ?? null,
        duration_ms: result.durationMs,
        error: result.error ?? null,
        cost_vnd: costMicroVnd === undefined ? null : formatVnd(costMicroVnd),
      },
    };
  },
});
