/** Commands on bank notices. They do not credit: the operator's pages do, which ask twice. */
import type { Hono } from "hono";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { bankSources, isEventId } from "../../../../core/trade/bank/bank_notice.ts";
import type { BankNoticeRef } from "../../../../kv/money/payments/bank_notices.ts";
import { resolveBankNotice } from "../../../../kv/money/payments/bank_intake.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import type { AdminDeps } from "./admin_deps.ts";

/** Parses the name of a notice, such as `sepay:92704`. */
function noticeOf(text: string): BankNoticeRef {
  const [name, ...rest] = text.split(":");
  const source = bankSources.find((one) => one === name);
  const id = rest.join(":");
  if (source === undefined || !isEventId(id)) {
    throw new GatewayError("invalid_request", `Not a bank notice: ${text}`);
  }
  return { source, id };
}

const refusals = {
  missing: "there is no such notice",
  state: "it waits already, its money has been moved, or it never was money in",
  not_same: "it is another movement",
  busy: "it has just changed; try again",
} as const;

/** Adds `POST /notices/{source}:{id}/return`: puts a notice back under review, whatever was decided about it. */
export function addNoticeRoutes(
  app: Hono,
  { kv, clock, receivingAccounts }: Pick<AdminDeps, "kv" | "clock" | "receivingAccounts">,
): void {
  app.post("/notices/:notice/return", async (context) => {
    const notice = noticeOf(context.req.param("notice"));
    const result = await resolveBankNotice(kv, notice, { kind: "return" }, {
      operator: commandLine,
      nowMs: clock.nowMs(),
      receivingAccounts,
    });
    if (!result.ok) {
      throw new GatewayError("invalid_request", `It was not put back: ${refusals[result.why]}`);
    }
    return context.json(result.state);
  });
}
