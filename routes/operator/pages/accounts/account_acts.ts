/**
 * Handles the acts on an account: notes, blocking, changes of its wallet, rate limits.
 *
 * - Folder `routes/operator/pages/accounts/`: the operator's pages about customers.
 * - In: searches, and forms with a reason.
 * - Out: HTML, blocked accounts, adjustments, requests for approval.
 * - Never: sets a balance: money only moves.
 */
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { formIdField } from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { accountOf, accountPage } from "./account_page.tsx";
import { adjustAccount } from "../../operations/money/movements.ts";
import {
  limitAccount,
  noteAccount,
  signOutAccount,
  turnAccount,
} from "../../operations/accounts.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
} from "../base/frame.tsx";
import { confirmAct, seenField } from "../dossier/dossier_view.tsx";
import { frameTexts } from "../base/texts.ts";
import { accountActPage, accountActs } from "./act_pages.tsx";
import { rateProblem, readRateForm } from "./rate_card.tsx";
import { Hono } from "hono";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { accountListPage, keptCharged } from "./account_list.tsx";
import { accountsLabel } from "../base/account_texts.ts";

/** Blocks or unblocks an account. */
async function block(c: OperatorContext, deps: OperatorDeps, blocked: boolean) {
  const account = await accountOf(c, deps);
  if (account === undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const reason = (await readForm(c)).text("reason");
  const wanted = { account: account.id, blocked, reason };
  const turned = await turnAccount.run(deps, wanted, actOf(c, deps));
  if (!turned.ok) {
    const problem = t.problems[turned.why === "input" ? "reason" : "busy"];
    return await accountActPage(c, deps, { account, act: "block", problem });
  }
  return doneAt(c, `/operator/accounts/${account.id}`, blocked ? "blocked" : "unblocked");
}

/** Ends all sessions of an account. */
async function signOut(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const reason = (await readForm(c)).text("reason");
  const ended = await signOutAccount.run(deps, { account: account.id, reason }, actOf(c, deps));
  if (!ended.ok) {
    const problem = t.problems[ended.why === "input" ? "reason" : "busy"];
    return await accountActPage(c, deps, { account, act: "sign-out", problem });
  }
  return doneAt(c, `/operator/accounts/${account.id}`, "signedOut");
}

/** Changes a wallet, or requests the approval of a second operator above the limit of one. */
async function adjust(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const [amount, reason] = [form.text("amount"), form.text("reason")];
  const formId = form.formId() ?? "";
  const seen = form.text(seenField);
  const wanted = { account: account.id, vnd: amount, reason, operationId: formId, seen };
  const result = await adjustAccount.run(deps, wanted, actOf(c, deps));
  if (result.ok) {
    return result.body.status === "asked"
      ? doneAt(c, "/operator/approvals", "asked")
      : doneAt(c, `/operator/accounts/${account.id}`, "adjusted");
  }
  const refuse = (problem: string) => accountActPage(c, deps, { account, act: "adjust", problem });
  if (result.why === "input") {
    const problems: Readonly<Record<string, string>> = {
      vnd: t.problems.amount,
      reason: t.problems.reason,
    };
    return await refuse(problems[result.field] ?? t.problems.busy);
  }
  if (result.why === "account") return await refuse(t.problems.target);
  if (result.why !== "changed") return await refuse(t.problems[result.why]);
  return await confirmAct(c, deps, result.act, {
    action: `/operator/accounts/${account.id}/adjust`,
    fields: { amount, reason, [formIdField]: formId },
    back: `/operator/accounts/${account.id}`,
    under: "/operator/accounts",
    problem: seen === "" ? undefined : t.problems.changed,
    gone: () => refuse(t.problems.target),
  });
}

/** Sets the limits that the form has. */
async function setLimits(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const { locale } = c.get("visitor");
  const t = frameTexts[locale];
  const form = await readForm(c);
  const read = readRateForm(form);
  if (!read.ok) {
    return await accountActPage(c, deps, {
      account,
      act: "limits",
      problem: rateProblem(read.problem, locale),
    });
  }
  const { limits, models } = read;
  const wanted = { account: account.id, limits, models, reason: form.text("reason") };
  const set = await limitAccount.run(deps, wanted, actOf(c, deps));
  if (!set.ok) {
    const problem = set.why === "models"
      ? rateProblem("model", locale)
      : t.problems[set.why === "input" ? "reason" : "busy"];
    return await accountActPage(c, deps, { account, act: "limits", problem });
  }
  return doneAt(c, `/operator/accounts/${account.id}`, "switched");
}

/** Adds a note about the customer. */
async function note(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const text = (await readForm(c)).text("text");
  const added = await noteAccount.run(deps, { account: account.id, text }, actOf(c, deps));
  if (!added.ok) return await accountPage(c, deps, account, text);
  return doneAt(c, `/operator/accounts/${account.id}`, "noted");
}

// The operator's pages about accounts: search, statement, blocking, changes of a wallet.

/** Registers the pages of accounts. */
function createAccountsPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const chargedOf = keptCharged(deps);
  app.get("/operator/accounts", (c) => accountListPage(c, deps, chargedOf));
  app.get("/operator/accounts/:id", async (c) => {
    const account = await accountOf(c, deps);
    return account === undefined ? await notFoundPage(c) : await accountPage(c, deps, account);
  });
  for (const act of accountActs) {
    app.get(`/operator/accounts/:id/${act}`, async (c) => {
      const account = await accountOf(c, deps);
      return account === undefined || account.deletedAtMs !== undefined
        ? await notFoundPage(c)
        : await accountActPage(c, deps, { account, act });
    });
  }
  app.post("/operator/accounts/:id/sign-out", (c) => signOut(c, deps));
  app.post("/operator/accounts/:id/note", (c) => note(c, deps));
  app.post("/operator/accounts/:id/block", (c) => block(c, deps, true));
  app.post("/operator/accounts/:id/unblock", (c) => block(c, deps, false));
  app.post("/operator/accounts/:id/adjust", (c) => adjust(c, deps));
  app.post("/operator/accounts/:id/limits", (c) => setLimits(c, deps));
  return app;
}

export const accountsPages: OperatorPage = {
  link: { href: "/operator/accounts", label: accountsLabel },
  routes: createAccountsPages,
};
