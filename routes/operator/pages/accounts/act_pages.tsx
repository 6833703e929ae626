/** The pages of acts on an account: what the act does, and the form that does it. */
import { type Account, accountName } from "../../../../kv/people/accounts/accounts.ts";
import {
  Card,
  FormIdField,
  PostForm,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { accountTexts } from "../base/account_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  ReasonField,
  renderOperatorPage,
} from "../base/frame.tsx";
import { BlockConsequences, SignOutConsequences } from "./customer_cards.tsx";
import { readCustomer } from "./customer_reading.ts";
import { customerTexts } from "./customer_texts.ts";
import { loadRates, RateForm } from "./rate_card.tsx";

/** The acts that have a page. */
export const accountActs = ["adjust", "limits", "sign-out", "block"] as const;

/** One of them. */
export type AccountAct = typeof accountActs[number];

/** Shows the page of an act; `problem` explains why the form that was sent had no effect. */
export async function accountActPage(
  c: OperatorContext,
  deps: OperatorDeps,
  { account, act, problem }: {
    readonly account: Account;
    readonly act: AccountAct;
    readonly problem?: string;
  },
) {
  const visitor = c.get("visitor");
  const t = customerTexts[visitor.locale];
  const who = accountName(account);
  const path = `/operator/accounts/${account.id}`;
  const titles = {
    adjust: t.adjust,
    limits: t.limits,
    "sign-out": t.signOutTitle(who),
    block: account.blockedAtMs === undefined ? t.blockTitle(who) : t.unblockTitle(who),
  };
  return await renderOperatorPage(
    c,
    { title: titles[act], lead: <a href={path}>{who}</a>, problem },
    <>
      {act === "adjust" && <AdjustCard account={account} deps={deps} visitor={visitor} />}
      {act === "limits" && (
        <RateForm
          account={account}
          limits={await loadRates(deps, account)}
          deps={deps}
          visitor={visitor}
        />
      )}
      {act === "sign-out" && (
        <Card>
          <SignOutConsequences
            account={account}
            view={await readCustomer(deps, account)}
            locale={visitor.locale}
          />
          <PostForm visitor={visitor} action={`${path}/sign-out`}>
            <ReasonField locale={visitor.locale} />
            <SubmitButton tone="danger">{t.signOutButton}</SubmitButton>
          </PostForm>
        </Card>
      )}
      {act === "block" && (
        <Card>
          <BlockConsequences
            account={account}
            view={await readCustomer(deps, account)}
            locale={visitor.locale}
          />
          <BlockForm account={account} visitor={visitor} />
        </Card>
      )}
      <p>
        <a href={path}>{t.back}</a>
      </p>
    </>,
  );
}

function AdjustCard({ account, deps, visitor }: {
  account: Account;
  deps: OperatorDeps;
  visitor: Visitor;
}) {
  const t = accountTexts[visitor.locale];
  return (
    <Card>
      <p>{t.adjustText(formatMoney(deps.topup.approvalAboveMicroVnd, visitor.locale))}</p>
      <PostForm visitor={visitor} action={`/operator/accounts/${account.id}/adjust`}>
        {/* A form that is sent twice moves money once. */}
        <FormIdField />
        <TextField name="amount" label={t.adjustField} required maxlength={20} />
        <ReasonField locale={visitor.locale} />
        <SubmitButton>{t.adjustButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function BlockForm({ account, visitor }: { account: Account; visitor: Visitor }) {
  const t = accountTexts[visitor.locale];
  const isBlocked = account.blockedAtMs !== undefined;
  return (
    <PostForm
      visitor={visitor}
      action={`/operator/accounts/${account.id}/${isBlocked ? "unblock" : "block"}`}
    >
      <ReasonField locale={visitor.locale} />
      <SubmitButton tone={isBlocked ? "primary" : "danger"}>
        {isBlocked ? t.unblock : t.block}
      </SubmitButton>
    </PostForm>
  );
}
