/** The figures under an answer of the playground, from the receipt of its call. */
import type { Context } from "hono";
import { billedInputTokens } from "../../../../core/billing/tokens/token_usage.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatCount, formatDuration, formatMoney } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

/** The figures, formatted. */
export interface CallSummary {
  readonly cost: string;
  /** Absent for calls that are not billed by the token. */
  readonly input?: string;
  readonly output?: string;
  readonly time: string;
  readonly receipt: string;
}

function summaryOf(receipt: Receipt, locale: Locale): CallSummary {
  const { usage, costMicroVnd, latencyMs, requestId } = receipt;
  return {
    cost: formatMoney(costMicroVnd, locale),
    ...(usage !== undefined && {
      input: formatCount(billedInputTokens(usage), locale),
      output: formatCount(usage.output, locale),
    }),
    time: formatDuration(latencyMs, locale),
    receipt: `/receipts/${requestId}`,
  };
}

/** Reads the figures of a call of the account; `undefined` while it has no receipt. */
export async function readCallSummary(
  c: Context<DashboardEnv>,
  deps: Pick<DashboardDeps, "kv">,
  id: string,
): Promise<CallSummary | undefined> {
  const requestId = parseId("request", id);
  const receipt = requestId === undefined ? undefined : await readReceipt(deps.kv, requestId);
  return receipt?.accountId === c.get("signedIn").account.id
    ? summaryOf(receipt, c.get("visitor").locale)
    : undefined;
}
