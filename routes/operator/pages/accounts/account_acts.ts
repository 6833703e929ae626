/** Handles the acts on an account: blocking, and changes of its wallet. */
import { microVndPerVnd } from "../../../../core/billing/micro_vnd.ts";
import { parseWrittenAmount } from "../../../../core/payments/statement_csv.ts";
import { setBlocked } from "../../../../kv/accounts/account_blocking.ts";
import { requestApproval } from "../../../../kv/operators/approvals.ts";
import { type Adjustment, adjustWallet } from "../../../../kv/wallet/wallet_adjustment.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/form_data.ts";
import { accountOf, accountPage } from "./account_page.tsx";
import { aloneIn, balanceIn, type OperatorDeps } from "../deps.ts";
import { doneAt, type OperatorContext, operatorOf } from "../frame.tsx";
import { frameTexts } from "../texts.ts";

/** Blocks or unblocks an account. */
export async function block(c: OperatorContext, deps: OperatorDeps, blocked: boolean) {
  const account = await accountOf(c, deps);
  if (account === undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const reason = (await readForm(c)).text("reason");
  if (reason === "") return await accountPage(c, deps, account, t.problems.reason);
  const act = { operator: operatorOf(c), nowMs: deps.clock.nowMs() };
  const changed = await setBlocked(deps.kv, account.id, { blocked, reason }, act);
  if (changed === undefined) return await accountPage(c, deps, account, t.problems.busy);
  return doneAt(c, `/operator/accounts/${account.id}`, blocked ? "blocked" : "unblocked");
}

/** Changes a wallet, or requests the approval of a second operator above the limit of one. */
export async function adjust(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const amountMicroVnd = parseWrittenAmount(form.text("amount"));
  const reason = form.text("reason");
  const isWhole = amountMicroVnd !== undefined && amountMicroVnd !== 0n &&
    amountMicroVnd % microVndPerVnd === 0n;
  if (!isWhole) return await accountPage(c, deps, account, t.problems.amount);
  if (reason === "") return await accountPage(c, deps, account, t.problems.reason);
  const formId = form.formId();
  if (formId === undefined) return await accountPage(c, deps, account, t.problems.busy);
  const adjustment: Adjustment = { accountId: account.id, amountMicroVnd, reason };
  const context = {
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
    balanceOf: balanceIn(deps),
  };
  const result = await adjustWallet(deps.kv, adjustment, {
    ...context,
    caseId: formId,
    authority: aloneIn(deps),
  });
  if (result.ok) return doneAt(c, `/operator/accounts/${account.id}`, "adjusted");
  if (result.why !== "limit") return await accountPage(c, deps, account, t.problems[result.why]);
  const act = { kind: "adjust", ...adjustment } as const;
  const asked = await requestApproval(deps.kv, act, { ...context, formId });
  if (!asked.ok) return await accountPage(c, deps, account, t.problems[asked.why]);
  return doneAt(c, "/operator/approvals", "asked");
}
